"""What `[tool.rulecheck]` may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.errors import UsageError
from denpex_rules.project import Project, find_project, need_project

TABLE = 'rules = ["rules"]\ncases = ["tests/rules"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the paths that the table names."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "tests/rules").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(("name", "head"), [("rulecheck.toml", ""), ("pyproject.toml", "[tool.rulecheck]\n")])
def test_both_files(folder: Path, name: str, head: str) -> None:
    """Either file names rules and cases, relative to itself."""
    (folder / name).write_text(head + TABLE, encoding="utf-8")
    assert find_project(folder) == Project((folder / "rules",), (folder / "tests/rules",))


def test_own_file_wins(folder: Path) -> None:
    """Where both are there, `rulecheck.toml` counts."""
    (folder / "rulecheck.toml").write_text('rules = ["rules"]\n', encoding="utf-8")
    (folder / "pyproject.toml").write_text(f"[tool.rulecheck]\n{TABLE}", encoding="utf-8")
    assert find_project(folder) == Project((folder / "rules",), ())


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n"])
def test_no_project(folder: Path, text: str) -> None:
    """A folder that names nothing is no project, and asking for one says what is missing."""
    assert find_project(folder) is None
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    assert find_project(folder) is None
    with pytest.raises(UsageError, match=r"neither rulecheck\.toml nor \[tool\.rulecheck\]"):
        need_project(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('rule = ["rules"]\n', "unknown key rule; known: rules, cases"),
        ('rules = "rules"\n', "`rules` must be a list of paths"),
        ("cases = [1]\n", "`cases` must be a list of paths"),
        ('cases = ["nowhere"]\n', "which does not exist"),
        ("rules = [\n", "rulecheck.toml: "),
    ],
)
def test_mistakes(folder: Path, text: str, words: str) -> None:
    """Each mistake of the file is named."""
    (folder / "rulecheck.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        find_project(folder)
    assert words in str(caught.value)


def test_table_that_is_none(folder: Path) -> None:
    """A `tool.rulecheck` that is no table is refused."""
    (folder / "pyproject.toml").write_text("[tool]\nrulecheck = 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="not a table"):
        find_project(folder)
