"""Safe, wrapped lines of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.page import WIDTH, Page, neutral
from samples import HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünï çode 漢字", "plain text, ünï çode 漢字"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("a\x07b\x00c\x7f", r"a\x07b\x00c\x7f"),
        ("a\tb\r\nc", r"a\tb\r\nc"),
        ("user\u202etxt.exe\u2066", r"user\u202etxt.exe\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\u2028break", r"line\u2028break"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("lone \udc80", r"lone \udc80"),
    ],
)
def test_neutral(text: str, shown: str) -> None:
    """What is not plainly visible is shown as its escape; all else stays."""
    assert neutral(text) == shown


@given(st.text(st.characters()))
def test_neutral_leaves_only_visible_text(text: str) -> None:
    """No text at all comes out with a control, format or separator character in it."""
    assert neutral(text).isprintable()


@given(st.text(st.characters(), max_size=400), st.text(max_size=20), st.integers(0, 20))
def test_page_has_no_forged_lines(text: str, lead: str, indent: int) -> None:
    """Every line break of a page is its own: a paragraph's lines all start at its indent, and none holds a control character."""
    page = Page()
    page.add(text, lead=lead, indent=indent)
    for line in page.plain().split("\n"):
        assert line.isprintable()
        assert not line or line.startswith(" " * indent)


def test_wrap_keeps_every_word() -> None:
    """A long paragraph wraps at the width, hangs below its first column, and loses nothing."""
    words = [f"word{n}" for n in range(60)]
    page = Page()
    page.add(" ".join(words), lead="why: ", indent=4)
    lines = page.plain().splitlines()
    assert len(lines) > 1
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith(" " * 9) for line in lines[1:])
    assert " ".join(line.strip() for line in lines).removeprefix("why: ").split() == words


def test_long_word_is_not_cut() -> None:
    """A word longer than the line stays whole, so that it can be searched for."""
    page = Page()
    page.add(f"see {'x' * 150} there")
    assert "x" * 150 in page.plain()


def test_commands_do_not_wrap() -> None:
    """What is copied by hand stays on one line."""
    page = Page()
    page.add("journalctl " * 20, lead="$ ", wrap=False)
    assert len(page.lines) == 1


def test_blank() -> None:
    """Empty lines neither start a page nor follow each other."""
    page = Page()
    page.blank()
    page.add("a")
    page.blank()
    page.blank()
    page.add("b")
    assert page.plain() == "a\n\nb\n"


def test_hostile_text_has_no_style() -> None:
    """Markup in a log is text: it is shown as it stands and styles nothing."""
    page = Page()
    page.add(HOSTILE)
    assert "[bold red]not markup[/]" in page.plain()
    assert all(not style for line in page.lines for _, style in line)


def test_items_and_labels() -> None:
    """Lists are numbered on demand, labels stand in one column."""
    page = Page()
    page.items(("a", "b"), indent=2, numbered=True)
    page.items(("c",), indent=0)
    page.label("since", "noon", indent=0)
    page.label("victims", "none", indent=0)
    assert page.plain().splitlines() == ["  1. a", "  2. b", "- c", "since         noon", "victims       none"]
