"""Strings: escapes, captures, literal braces."""

from __future__ import annotations

import pytest

from denpex_rules.errors import Source
from denpex_rules.mistake import Mistakes
from denpex_rules.recovery import Leaf
from denpex_rules.rule import Capture
from denpex_rules.template import Hole, pieces, plain, template
from denpex_rules.values import BUILTIN


def made(raw: str) -> tuple[Leaf, Mistakes]:
    """Return a string's leaf and a place for mistakes."""
    source = Source("a.rule", raw)
    return Leaf("STRING", raw, source.span(0, len(raw))), Mistakes(source)


@pytest.mark.parametrize(
    ("raw", "text"),
    [(r'"a \"b\" \\ c"', 'a "b" \\ c'), (r'"a\nb\tc"', "a\nb\tc"), ('""', ""), ('"{{x}}"', "{{x}}")],
)
def test_plain_text(raw: str, text: str) -> None:
    """A plain text resolves escapes and nothing else."""
    leaf, mistakes = made(raw)
    assert plain(leaf, mistakes) == text
    assert mistakes.found == []


def test_captures_and_literals_in_order() -> None:
    """A template keeps its pieces in order; a capture without a type is text, one without a name is not kept."""
    leaf, mistakes = made('"Xid (PCI:{device:pci}): {{{code:int}}} {msg} {:word}"')
    assert template(leaf, BUILTIN, mistakes).pieces == (
        "Xid (PCI:",
        Capture("device", "pci"),
        "): {",
        Capture("code", "int"),
        "} ",
        Capture("msg", "text"),
        " ",
        Capture("", "word"),
    )
    assert mistakes.found == []


def test_spans_of_holes_count_escapes() -> None:
    """A mistake behind an escape is underlined where it is written."""
    leaf, mistakes = made(r'"\"\\{x:nope}"')
    template(leaf, BUILTIN, mistakes)
    (found,) = mistakes.found
    assert found.code == "E0301"
    assert mistakes.source.text[found.span.start : found.span.end] == "{x:nope}"


@pytest.mark.parametrize("raw", ['"{"', '"}"', '"a { b"', '"{a{b}"', '"{a}}"', '"{}"', '"{1x}"', '"{x:}"', r'"\d"', r'"\{x\}"'])
def test_mistakes(raw: str) -> None:
    """An unbalanced brace, an unsound capture and an unknown escape are E0106, and nothing is raised."""
    leaf, mistakes = made(raw)
    template(leaf, BUILTIN, mistakes)
    assert {d.code for d in mistakes.found} == {"E0106"}


def test_empty_and_adjacent() -> None:
    """A template needs something in it, and something between two captures."""
    leaf, mistakes = made('""')
    template(leaf, BUILTIN, mistakes)
    leaf, other = made('"{a:int}{b:int}"')
    template(leaf, BUILTIN, other)
    assert [d.code for d in mistakes.found + other.found] == ["E0505", "E0506"]


def test_holes_of_a_text() -> None:
    """A text's placeholders are found with their spans."""
    leaf, mistakes = made('"a {lost.rank} b"')
    first, hole, last = pieces(leaf, mistakes)
    assert (first, last) == ("a ", " b")
    assert isinstance(hole, Hole)
    assert hole.text == "lost.rank"
