"""The template of a rule pack: what it holds, and that a package built from it works where it is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from denpex_rules import gather, starter
from denpex_rules.errors import UsageError
from denpex_rules.layout import format_text
from examples import ROOT

BUILD = "import sys, hatchling.build as build; print(build.build_wheel(sys.argv[1]))"


def test_files(tmp_path: Path) -> None:
    """A template is a package with an entry point for packs, a rule in canonical layout, a hit and a near miss, CI and hooks."""
    written = {
        path.relative_to(tmp_path / "p").as_posix(): path.read_text() for path in starter.write(tmp_path / "p", "Acme Rules")
    }
    project = tomllib.loads(written["pyproject.toml"])
    assert project["project"]["name"] == "acme-rules"
    assert project["project"]["entry-points"]["denpex_rules.packs"] == {"acme": "acme_rules"}
    assert project["tool"]["rulecheck"] == {"rules": ["acme_rules"], "cases": ["cases"]}
    rule = written["acme_rules/storage/broken_shard.rule"]
    assert format_text(rule) == rule
    assert "actions/checkout@v4" in written[".github/workflows/rules.yml"]
    assert {"cases/storage/broken_shard/hit/case.toml", "cases/storage/broken_shard/near_miss/case.toml"} <= set(written)
    assert not [name for name, text in written.items() if re.search(r"@(?!v\d|_?\d)", text) or "(at)" in text]


def test_rules_are_strictly_sound(tmp_path: Path) -> None:
    """The template's rule has neither a mistake nor advice against it: its CI asks for that."""
    starter.write(tmp_path / "p", "acme")
    assert gather.check([tmp_path / "p" / "acme_rules"]) == (1, ())


@pytest.mark.parametrize(
    ("text", "name"),
    [("acme", "acme"), ("Acme Rules", "acme"), ("acme-gpu_rules", "acme_gpu"), ("rules", "rules"), ("x rule-pack", "x_rule")],
)
def test_names(text: str, name: str) -> None:
    """What makes no name, and `rules` at the end, is left out of a pack's name."""
    assert starter.pack_name(text) == name


@pytest.mark.parametrize("text", ["", "***", "3d", "denpex", "denpex-rules"])
def test_no_name(text: str) -> None:
    """A text without a name in it, and the shipped pack's own, are refused."""
    with pytest.raises(UsageError, match="gives no name"):
        starter.pack_name(text)


def test_only_into_an_empty_folder(tmp_path: Path) -> None:
    """Nothing that exists is overwritten; a fresh repository is as good as an empty folder."""
    (tmp_path / "p" / ".git").mkdir(parents=True)
    starter.write(tmp_path / "p", "acme")
    with pytest.raises(UsageError, match="not empty"):
        starter.write(tmp_path / "p", "acme")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        starter.write(tmp_path / "file", "acme")


def run(arguments: list[str], folder: Path) -> str:
    """Run a command in a folder, without this checkout on its path, and return what it printed."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "COV"))}
    done = subprocess.run(arguments, cwd=folder, env=plain, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def installation(folder: Path, wheels: Path) -> Path:
    """Make an environment that sees this one's dependencies, install the wheels in it, and return its folder of commands."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "outer.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
    options = ["--quiet", "--ignore-installed", "--no-deps", "--no-index", "--disable-pip-version-check", "--no-compile"]
    python = str(folder / "bin" / "python")
    run([sys.executable, "-m", "pip", "--python", python, "install", *options, *map(str, sorted(wheels.glob("*.whl")))], folder)
    return folder / "bin"


def test_built_and_installed(tmp_path: Path) -> None:
    """Built as a wheel and installed beside this package's, the pack is listed, used by name, and tested by plain pytest."""
    pack, wheels = tmp_path / "pack", tmp_path / "wheels"
    wheels.mkdir()
    starter.write(pack, "acme")
    for source in (ROOT, pack):
        run([sys.executable, "-c", BUILD, str(wheels)], source)
    commands = installation(tmp_path / "env", wheels)
    rulecheck = str(commands / "rulecheck")
    listed = run([rulecheck, "list", "broken_shard"], tmp_path)
    assert listed.startswith("acme:storage.broken_shard  preview")
    case = pack / "cases" / "storage" / "broken_shard" / "hit"
    used = run([rulecheck, "test", str(case), "--rules", "acme:"], tmp_path)
    assert used == "1 case: all pass\n"
    tested = run([str(commands / "python"), "-m", "pytest", "-v", "-p", "no:cacheprovider"], pack)
    assert "cases/storage/broken_shard/hit/case.toml::hit PASSED" in tested
    assert "2 passed" in tested
