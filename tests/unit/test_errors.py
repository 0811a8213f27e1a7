"""Diagnostics as text, the places that they point at, and the exception tree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.errors import (
    CODES,
    DenpexError,
    Diagnostic,
    Edit,
    Patch,
    PluginError,
    ProgramError,
    RuleError,
    Source,
    Span,
    UsageError,
)


def test_render() -> None:
    """A diagnostic shows code, message, place, the line with the span underlined, what was expected, and a hint."""
    text = "language 1\n  per job within 5\n"
    source = Source("a.rule", text)
    start = text.index("5")
    span = source.span(start, start + 1)
    diagnostic = source.diagnostic("E0303", "a number without a unit", span, "a duration", "did you mean 5s?")
    assert diagnostic.render().splitlines() == [
        "error[E0303]: a number without a unit",
        "  --> a.rule:2:18",
        "   |",
        " 2 |   per job within 5",
        "   |                  ^",
        "  = expected: a duration",
        "  = hint: did you mean 5s?",
    ]


def test_render_tabs() -> None:
    """The underline stands under its text when the line is indented by tabs."""
    lines = Diagnostic("E0201", "unknown name", Span("a.rule", 1, 2, 1, 4), "\tbad").render().splitlines()
    assert lines[-1].endswith("| \t^^^")


def test_render_long_span() -> None:
    """The underline of a span over several lines ends with its first line."""
    lines = Diagnostic("E0102", "never closed", Span("a.rule", 1, 1, 0, 500), 'title "x').render().splitlines()
    assert lines[-1].endswith("| ^^^^^^^^")


def test_render_without_source() -> None:
    """A diagnostic about a whole file has no excerpt."""
    assert Diagnostic("E0105", "not UTF-8", Span("a.rule", 1, 1, 0, 0)).render().count("\n") == 1


@given(st.text(alphabet="ab\n\r", max_size=40), st.data())
def test_span_is_where_it_says(text: str, data: st.DataObject) -> None:
    """Line and column of a span lead to its first character, and its line is what is quoted."""
    start = data.draw(st.integers(0, len(text)))
    source = Source("a.rule", text)
    span = source.span(start, start)
    before = text[:start]
    assert span.line == before.count("\n") + 1
    assert span.column == start - (before.rfind("\n") + 1) + 1
    assert source.line(span.line) == text.split("\n")[span.line - 1].rstrip("\r")


def test_no_such_line() -> None:
    """A line that a file does not have is empty."""
    source = Source("a.rule", "one\ntwo")
    assert (source.line(0), source.line(2), source.line(3)) == ("", "two", "")


def test_rule_error_carries_all() -> None:
    """A RuleError holds every diagnostic and shows every one."""
    span = Span("a.rule", 1, 1, 0, 1)
    error = RuleError([Diagnostic("E0201", "first", span), Diagnostic("E0202", "second", span)])
    assert [d.code for d in error.diagnostics] == ["E0201", "E0202"]
    assert "first" in str(error)
    assert "second" in str(error)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [(UsageError, ValueError), (RuleError, ValueError), (ProgramError, ValueError), (PluginError, ImportError)],
)
def test_tree(kind: type[Exception], builtin: type[Exception]) -> None:
    """Every exception is a DenpexError and the built-in one that a caller would expect."""
    assert issubclass(kind, DenpexError)
    assert issubclass(kind, builtin)


def test_codes() -> None:
    """Codes are E or L with four digits, in order, each with a sentence of its own that is no sentence of a compiler."""
    assert all(re.fullmatch(r"[EL]\d{4}", code) for code in CODES)
    assert list(CODES) == sorted(CODES)
    assert len(set(CODES.values())) == len(CODES)
    assert not any(meaning.endswith(".") for meaning in CODES.values())


# ------------------------------------------------------------------ what a hint proposes


@pytest.mark.parametrize(
    ("old", "hint", "after", "safe"),
    [
        ("whre", "did you mean where?", "where", False),
        ("5min", "did you mean 5m?", "5m", True),
        ("=", "did you mean ==?", "==", True),
        ("==", "did you mean =?", "=", True),
        ("&&", "conditions are joined by `and`", "and", True),
        (";", "remove the `;`: statements and clauses need no separator", "", True),
        (":", "no colon is needed here", "", True),
        ("2", "did you mean 2h?", "2h", False),
        ("lost.devise", "did you mean device?", "lost.device", False),
        ("{lost.devise}", "did you mean device?", "{lost.device}", False),
        ("{device:pcie}", "did you mean pci?", "{device:pci}", False),
        ("{lost}", "did you mean {lost.rank}?", "{lost.rank}", False),
        ('"3"', "did you mean 3?", "3", False),
    ],
)
def test_proposal(old: str, hint: str, after: str, *, safe: bool) -> None:
    """A hint that says what was meant becomes a patch of exactly that; it is safe where nothing else can be meant."""
    source = Source("a.rule", f"x {old} y")
    found = source.diagnostic("E0101", "m", source.span(2, 2 + len(old)), "", hint)
    assert found.patch is not None
    (edit,) = found.patch.edits
    assert source.text[: edit.span.start] + edit.text + source.text[edit.span.end :] == f"x {after} y"
    assert found.patch.safe is safe


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("hours", "did you mean 2h?"),
        ("5m", "did you mean `within 5m after lost`?"),
        ("{lots.device}", "did you mean lost?"),
        ("{rank}", "did you mean {rank:rank}? Otherwise give it another name."),
        ("x", "write `language 1` on the first line"),
        ("x", ""),
        ("two words", "did you mean words?"),
        ("w" * 5000, "did you mean where?"),
    ],
)
def test_no_proposal(old: str, hint: str) -> None:
    """A hint that takes a person to follow becomes no patch."""
    source = Source("a.rule", f"x {old} y")
    assert source.diagnostic("E0101", "m", source.span(2, 2 + len(old)), "", hint).patch is None


def test_given_patch_comes_first() -> None:
    """A patch that is given is kept, whatever the hint proposes."""
    source = Source("a.rule", "whre")
    patch = Patch("p", (Edit(source.span(0, 4), "w"),))
    assert source.diagnostic("E0101", "m", source.span(0, 4), "", "did you mean where?", patch=patch).patch is patch
