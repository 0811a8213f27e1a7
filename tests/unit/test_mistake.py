"""Syntax mistakes in words."""

from __future__ import annotations

import re

import pytest
from writing import text_of

from denpex_rules.errors import Diagnostic, Source
from denpex_rules.mending import mend
from denpex_rules.mistake import MAX_WORD, WORDS, Mistakes, did_you_mean, listed, nearest
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


# ------------------------------------------------------------------ patches


@pytest.mark.parametrize(
    ("steps", "after"),
    [
        ("confirm timeout where rank = 3", "confirm timeout where rank == 3"),
        ("confirm timeout where rank == 3 && pid > 1", "confirm timeout where rank == 3 and pid > 1"),
        ("quiet 5min", "quiet 5m"),
        ('why: "a"', 'why "a"'),
        ("blame rank lost.rank;", "blame rank lost.rank"),
        ("victim lost.rank,", "victim lost.rank"),
    ],
)
def test_safe_patch(steps: str, after: str) -> None:
    """A slip that can mean one thing only has a safe patch, which leaves a text that parses."""
    text = text_of(f"  require lost\n  {steps}")
    found = parse(Source("a.rule", text)).diagnostics
    mended, taken = mend(text, found)
    assert taken == found
    assert mended == text_of(f"  require lost\n  {after}")
    assert parse(Source("a.rule", mended)).diagnostics == ()


def test_guess_is_not_safe() -> None:
    """A misspelt word is a guess: offered, and not taken by itself."""
    found = mistake("confirm timeout whre rank == 3")
    assert found.patch is not None
    assert not found.patch.safe


@pytest.mark.parametrize(
    ("text", "after"),
    [("tags a, b, a\n", "tags a, b\n"), ("tags a ,\n  a\n", "tags a\n"), ("tags a, # x,\n  a\n", None)],
)
def test_repeat(text: str, after: str | None) -> None:
    """A member that stands twice goes with the comma before it; where a comment is between them, a person decides."""
    mistakes = Mistakes(Source("a.rule", text))
    at = text.rindex("a")
    mistakes.repeat("`a` stands twice", mistakes.source.span(at, at + 1))
    (found,) = mistakes.found
    assert found.code == "E0202"
    assert (mend(text, [found])[0] if found.patch else None) == after
