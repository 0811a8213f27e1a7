"""Every mistake in a rule is a coded diagnostic in an author's words: goldens of malformed and of good files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from denpex_rules.errors import CODES, Source
from denpex_rules.parser import parse
from goldens import BAD, GOOD, HERE, diagnostics, documented, expected, golden_text, token_names


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.name)
def test_malformed(path: Path) -> None:
    """A malformed file gives exactly its golden's diagnostics."""
    actual = diagnostics(path)
    assert actual == expected(path.with_suffix(".diag"), actual)
    assert actual.count("error[") >= 1


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.name)
def test_tree(path: Path) -> None:
    """A good file parses to exactly its golden's tree."""
    tree = parse(Source(path.name, path.read_text(encoding="utf-8")))
    assert tree.diagnostics == ()
    assert tree.pretty() == expected(path.with_suffix(".tree"), tree.pretty())


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.name)
def test_good_is_good(path: Path) -> None:
    """A good file has no mistake in names, types and bounds either."""
    assert diagnostics(path) == "\n"


@pytest.mark.parametrize("code", CODES)
def test_code(code: str, tmp_path: Path) -> None:
    """The documented bad example of each code gives exactly its golden's diagnostics."""
    actual = documented(code, tmp_path)
    assert actual == expected(HERE / "codes" / f"{code}.diag", actual)
    assert set(re.findall(r"^(?:error|warning)\[(\w+)\]", actual, re.MULTILINE)) == {code}


def test_every_code_has_a_golden() -> None:
    """There is one golden for each code, and goldens use no other codes."""
    assert sorted(p.stem for p in (HERE / "codes").glob("*.diag")) == sorted(CODES)
    assert set(re.findall(r"^(?:error|warning)\[(\w+)\]", golden_text(), re.MULTILINE)) == set(CODES)


def test_no_golden_without_its_rule() -> None:
    """Every golden stands beside the file that it describes."""
    stems = {p.stem for p in BAD}
    assert {p.stem for p in (HERE / "bad").glob("*.diag")} == stems
    assert len(stems) >= 45


def test_no_token_names() -> None:
    """No message names a symbol of the grammar: those are for the parser, not for authors."""
    assert golden_text().count("error[") > 100
    assert token_names(golden_text()) == []


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("error[E0101]: `x` can't stand here", []),
        ("error[E0101]: `NAME` can't stand here", []),
        ("  = expected: NAME or STRING", ["NAME", "STRING"]),
        ("  = expected: __ANON_0", ["__ANON_0"]),
        ("  = hint: did you mean $END?", ["$END"]),
        (" 3 |   title STRING", []),
    ],
)
def test_token_names_are_found(line: str, names: list[str]) -> None:
    """What the author wrote is quoted, and no symbol; all else in a message is looked through."""
    assert token_names(line) == names
