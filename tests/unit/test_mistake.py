"""Syntax mistakes in words."""

from __future__ import annotations

import re

import pytest
from writing import text_of

from denpex_rules.errors import Diagnostic, Source
from denpex_rules.mistake import MAX_WORD, WORDS, did_you_mean, listed, nearest
from denpex_rules.parser import grammar, parse


def mistake(steps: str) -> Diagnostic:
    """Return the one syntax mistake of a rule."""
    (found,) = parse(Source("a.rule", text_of(f"  require lost\n  {steps}"))).diagnostics
    return found


def test_every_kind_of_symbol_has_words() -> None:
    """A terminal with many spellings can't reach a message: each has its words."""
    terminals = re.findall(r"^([A-Z]+)(?:\.\d+)?: (.*)$", grammar(), re.MULTILINE)
    single = {name for name, pattern in terminals if re.fullmatch(r'"\w+"', pattern)}
    assert {name for name, _ in terminals} - single - set(WORDS) == {"COMMENT"}


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        ("confirm timeout where rank = 3", "did you mean ==?"),
        ("let a == lost.rank", "did you mean =?"),
        ("confirm timeout after 5m lost", "did you mean `within 5m after lost`?"),
        ("quiet 5min", "did you mean 5m?"),
        ("quiet 30 seconds", "did you mean 30s?"),
        ("confirm timeout whre rank == 3", "did you mean where?"),
        ("confrim timeout after lost", "did you mean confirm?"),
        ("why GPU", "put the text in double quotes"),
        ('why "a "b" c"', 'write \\" for a quote inside a text'),
        ("why 'a'", "texts stand in double quotes"),
        ('why: "a"', "no colon is needed here"),
        ('impact "major"', "names are written without quotes"),
        ("blame rank lost.rank;", "remove the `;`: statements and clauses need no separator"),
        ("victim lost.rank,", "remove the comma at the end"),
        ("confirm gpu-lost after lost", "a name has letters, digits and _: did you mean gpu_lost?"),
        ("blame rank lost.rank && host lost.host", ""),
        ("confirm timeout where rank == 3 && host == lost.host", "conditions are joined by `and`"),
        ("blame host lost.host certian", "did you mean certain?"),
        ("onset lats progress before lost", "did you mean last?"),
    ],
)
def test_hints(steps: str, hint: str) -> None:
    """A frequent slip has a concrete way out."""
    found = mistake(steps)
    assert (found.code, found.hint) == ("E0101", hint)


def test_expected_says_what_follows() -> None:
    """What was expected is said for the word before the mistake."""
    assert mistake("confirm = timeout").expected == "the name of an event, or `silence`"
    assert mistake("victim = 3").expected == "a field such as timeout.rank"
    assert mistake("confirm timeout within after lost").expected == "a duration such as 30s, or a range such as 1m..5m"


def test_nearest() -> None:
    """A word resembles a candidate or none; a monster resembles none."""
    assert nearest("requir", {"require", "refute"}) == "require"
    assert nearest("zzz", {"require"}) == ""
    assert nearest("require" * MAX_WORD, {"require"}) == ""
    assert did_you_mean("tiemout", ["timeout"]) == "did you mean timeout?"


def test_listed() -> None:
    """Words are joined as prose."""
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], "and")] == ["a", "a or b", "a, b and c"]
