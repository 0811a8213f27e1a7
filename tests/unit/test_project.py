"""What `[tool.rulecheck]` may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.errors import UsageError
from denpex_rules.project import Project, find_project, need_project
from denpex_rules.record import LineFormat

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


def test_log_formats(tmp_path: Path) -> None:
    """A format has a name and one line or several, and may say more."""
    text = (
        '[[formats]]\nname = "acme"\nline = "{time} [{rank}] {text}"\nkind = "rank"\narrival = true\n'
        'example = "2026-11-30 10:04:10 [3] x"\n[[formats]]\nname = "rack"\nline = ["{host}: {text}", "{pid}: {text}"]\n'
    )
    (tmp_path / "rulecheck.toml").write_text(text, encoding="utf-8")
    project = find_project(tmp_path)
    assert project is not None
    assert project.formats == (
        LineFormat("acme", ("{time} [{rank}] {text}",), "rank", arrival=True, example="2026-11-30 10:04:10 [3] x"),
        LineFormat("rack", ("{host}: {text}", "{pid}: {text}")),
    )


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
        ('rule = ["rules"]\n', "unknown key rule; known: rules, cases, formats"),
        ('rules = "rules"\n', "`rules` must be a list of paths"),
        ("cases = [1]\n", "`cases` must be a list of paths"),
        ('cases = ["nowhere"]\n', "which does not exist"),
        ("rules = [\n", "rulecheck.toml: "),
        ("formats = 1\n", "`formats` must be tables: [[tool.rulecheck.formats]]"),
        ('[[formats]]\nname = "a"\nlines = "x"\n', "unknown key lines; known: name, line, kind, arrival, example"),
        ('[[formats]]\nname = 1\nline = "{time} {text}"\n', "`name` and `example` are texts"),
        ('[[formats]]\nname = "a"\nline = [1]\n', "`line` must be a text, or a list of texts"),
        ('[[formats]]\nname = "a"\nline = "{time} {text}"\nkind = "gpu"\n', "unknown kind 'gpu'; known: rank, "),
        ('[[formats]]\nname = "a"\nline = "{tim} {text}"\n', "rulecheck.toml: log format a: '{tim} {text}': unknown field {tim}"),
        ('[[formats]]\nline = "{time} {text}"\n', "a name has small letters"),
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
