"""The pytest plug-in, run by pytest itself in a project of rules and cases, and in one that is none of its business."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from samples import CASE, workshop, write_files

PROJECT = '[tool.rulecheck]\nrules = ["my"]\ncases = ["cases"]\n'


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest with the plug-in in a folder, and return its exit code and what it printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", *arguments]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one rule and one case."""
    return write_files(workshop(tmp_path), {"pyproject.toml": PROJECT})


def test_each_case_is_a_test(folder: Path) -> None:
    """Each case is a test of its own: what passes passes, what fails shows missed and extra evidence by file and line."""
    wrong = CASE.replace("rank = 5", "rank = 6").replace(":2", ":1")
    write_files(
        folder,
        {
            "cases/storage/broken_shard/wrong/case.toml": wrong,
            "cases/storage/broken_shard/wrong/rank5.log": (folder / "logs" / "rank5.log").read_text(),
            "cases/storage/broken_shard/odd/case.toml": 'says = "x"\noutcome = "quiet"\n',
        },
    )
    code, out = run(folder)
    assert code == 1
    assert "cases/storage/broken_shard/two_ranks/case.toml::two_ranks PASSED" in out
    assert "- initiator missed: rank 6" in out
    assert "rank5.log:1" in out
    assert "rank5.log:2" in out
    assert "no log stands beside it" in out
    assert "Traceback" not in out
    assert "2 failed, 1 passed" in out


def test_rules_that_do_not_compile(folder: Path) -> None:
    """A mistake in a rule fails the tests with the mistake as `check` shows it."""
    rule = folder / "my" / "storage" / "broken_shard.rule"
    rule.write_text(rule.read_text().replace("within 1h", "within 1"))
    code, out = run(folder)
    assert code == 1
    assert "error[E0303]: `1` has no unit" in out


def test_by_node_and_word(folder: Path) -> None:
    """A single case can be chosen as any test."""
    assert "1 passed" in run(folder, "cases/storage/broken_shard/two_ranks/case.toml::two_ranks")[1]
    assert "1 deselected" in run(folder, "-k", "nothing")[1]


def test_other_projects_are_left_alone(tmp_path: Path) -> None:
    """Where the project does not ask for it no case is collected, nor one that lies outside of what it names."""
    write_files(workshop(tmp_path), {"pyproject.toml": "[project]\n"})
    assert "no tests ran" in run(tmp_path)[1]
    write_files(tmp_path, {"pyproject.toml": PROJECT.replace('"cases"', '"other"'), "other/x.txt": ""})
    assert "no tests ran" in run(tmp_path)[1]


def test_wrong_project(folder: Path) -> None:
    """A project file that is wrong is a usage error in a sentence."""
    write_files(folder, {"pyproject.toml": PROJECT + "colour = 1\n"})
    code, out = run(folder)
    assert code != 0
    assert "unknown key colour" in out
    assert "Traceback" not in out


def test_start_is_light() -> None:
    """Where there is no case, the plug-in loads neither the parser, nor the engine, nor the terminal's library."""
    heavy = ("lark", "rich", "typer", "cattrs", "re2", "denpex_rules.engine")
    program = f"import sys, denpex_rules.pytest_plugin; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    before = subprocess.run(
        [sys.executable, "-c", program.replace("denpex_rules.pytest_plugin", "pytest")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == before.stdout
