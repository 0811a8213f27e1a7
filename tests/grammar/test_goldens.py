"""Every mistake in a rule is a coded diagnostic in an author's words: goldens of malformed and of good files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from goldens import BAD, GOOD, HERE, diagnostics, expected

from denpex_rules.errors import CODES, Source
from denpex_rules.mistake import WORDS
from denpex_rules.parser import parse

# Decided when patterns are compiled, or about a taxonomy file.
ELSEWHERE = {"E0501", "E0502", "E0503", "E0504", "E0607"}


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


def _golden_text() -> str:
    return "\n".join(p.read_text(encoding="utf-8") for p in sorted((HERE / "bad").glob("*.diag")))


def test_every_code_has_a_golden() -> None:
    """Each code that the language decides appears in a golden, and goldens use no other codes."""
    shown = set(re.findall(r"error\[(\w+)\]", _golden_text()))
    wanted = {c for c in CODES if c.startswith("E")} - ELSEWHERE
    assert wanted - shown == set()
    assert shown - set(CODES) == set()


def test_no_golden_without_its_rule() -> None:
    """Every golden stands beside the file that it describes."""
    stems = {p.stem for p in BAD}
    assert {p.stem for p in (HERE / "bad").glob("*.diag")} == stems
    assert len(stems) >= 45


def test_no_token_names() -> None:
    """No message names a symbol of the grammar: those are for the parser, not for authors."""
    said = "\n".join(line for line in _golden_text().splitlines() if line.startswith(("error[", "  = ")))
    symbols = "|".join((*WORDS, r"__ANON_\d+", "[LR]BRACE", "[LR]PAR", "EQUAL", "COLON", "COMMA", "DOT", "AMPERSAND"))
    kinds = re.findall(rf"(?<![\w$])(?:{symbols.replace('$', '')})\b", said)
    assert kinds == []
    assert "$END" not in said
