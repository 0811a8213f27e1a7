"""The pre-commit hooks: each names a verb and options that exist, and does what it promises on the files of a commit."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from denpex_rules.verbs import VERBS
from examples import ROOT
from samples import RULE, run_command, workshop, write_files

FILE = "my/storage/broken_shard.rule"


def hooks() -> dict[str, dict[str, str]]:
    """Return the hooks by their ids: a list of flat tables, which is all of YAML that the file uses."""
    found: dict[str, dict[str, str]] = {}
    for block in re.split(r"^- ", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        table = dict(re.findall(r"^ *(\w+): (.+)$", block, re.MULTILINE))
        assert len(table) == len([line for line in block.splitlines() if line.strip()])
        found[table["id"]] = table
    return found


def run_hook(capsys: pytest.CaptureFixture[str], name: str, *files: str) -> int:
    """Run a hook as pre-commit does: its entry, then the files that it asks for."""
    hook = hooks()[name]
    fitting = [] if hook.get("pass_filenames") == "false" else [f for f in files if re.search(hook["files"], f)]
    assert any(re.search(hook["files"], f) for f in files)
    return run_command(capsys, *shlex.split(hook["entry"])[1:], *fitting)[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository with a pack and a case that its pyproject.toml names."""
    monkeypatch.chdir(workshop(tmp_path))
    return write_files(tmp_path, {"pyproject.toml": '[tool.rulecheck]\nrules = ["my"]\ncases = ["cases"]\n'})


def test_hooks_name_what_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """Every hook has what pre-commit requires, and runs a verb of rulecheck with options that it has."""
    assert list(hooks()) == ["rulecheck-check", "rulecheck-fmt", "rulecheck-test"]
    for hook in hooks().values():
        assert {"id", "name", "entry", "language", "files"} <= set(hook)
        program, verb, *options = shlex.split(hook["entry"])
        assert (program, verb in VERBS, hook["language"]) == ("rulecheck", True, "python")
        _, text, _ = run_command(capsys, verb, "--help")
        assert [o for o in options if o not in text] == []


def test_hooks_are_documented() -> None:
    """The reference of the command line names every hook."""
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert [name for name in hooks() if f"`{name}`" not in page] == []


def test_check_hook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check fails a commit with a mistake in one of its rules."""
    assert run_hook(capsys, "rulecheck-check", FILE, "README.md") == 0
    write_files(folder, {FILE: RULE.replace("within 1h", "within 1")})
    assert run_hook(capsys, "rulecheck-check", FILE) == 2


def test_fmt_hook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The layout hook changes the file, which fails the commit by itself; a second run changes nothing."""
    write_files(folder, {FILE: RULE.replace("  require broken", "     require   broken")})
    run_hook(capsys, "rulecheck-fmt", FILE)
    once = (folder / FILE).read_text(encoding="utf-8")
    assert "     require   broken" not in once
    assert run_hook(capsys, "rulecheck-fmt", FILE) == 0
    assert (folder / FILE).read_text(encoding="utf-8") == once


def test_test_hook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The test hook runs all cases of the project when a rule or a case changes."""
    case = "cases/storage/broken_shard/two_ranks/case.toml"
    assert run_hook(capsys, "rulecheck-test", FILE) == 0
    write_files(folder, {case: (folder / case).read_text(encoding="utf-8").replace("rank = 5", "rank = 4")})
    assert run_hook(capsys, "rulecheck-test", case) == 1
