"""Markdown that shows untrusted text as it is written."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.markup import block, code, link, prose, table, words
from samples import HOSTILE

ACTIVE = re.compile(r"[<>\\`*_\[\]{}|~^]")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "**bold** _it_ `code`",
        "[a](javascript:x)",
        "![a](b)",
        "a | b",
        "# head",
        "{: onclick=x }",
        "~~x~~",
        HOSTILE,
    ],
)
def test_words_neutralise(text: str) -> None:
    """Nothing in a text stays markup; read back, it is the same text with its invisible characters escaped."""
    shown = words(text)
    assert not ACTIVE.search(shown)
    assert "\n" not in shown
    assert shown.isprintable()
    if text is not HOSTILE:
        assert html.unescape(shown) == text


@pytest.mark.parametrize(
    ("text", "start"), [("- x", "&#45;"), ("1. x", "&#49;"), ("+ x", "&#43;"), ("> x", "&#62;"), ("=== x", "&#61;")]
)
def test_words_start_no_block(text: str, start: str) -> None:
    """A text that begins like a list, a quotation or a heading is a plain sentence."""
    assert words(text).startswith(start)


def test_words_leave_sentences_alone() -> None:
    """An ordinary sentence stays readable in the source."""
    said = "GPU 0000:41:00 of host node-02 fell off the bus (Xid 79), 3.5 s later."
    assert words(said) == said


def test_prose() -> None:
    """Backquotes of an author become code; a lone one is a character."""
    assert prose("see `a_b` and <b>") == "see <code>a&#95;b</code> and &#60;b&#62;"
    assert prose("a ` b") == "a &#96; b"


@pytest.mark.parametrize("line", ["```", "````", "~~~~", "a ``` b"])
def test_block_can_not_be_left(line: str) -> None:
    """A fence in a log line does not end the block."""
    opening, *body, closing = block([line, "<b>"]).split("\n")
    assert body == [line, "<b>"]
    assert opening == f"{closing}text"
    assert closing not in body


def test_block_neutralises_and_cuts() -> None:
    """Control characters are escaped, one record is one line, and a long line is cut."""
    shown = block([HOSTILE, "x" * 9_000]).split("\n")
    assert len(shown) == 4
    assert all(line.isprintable() for line in shown)
    assert len(shown[2]) == 400


@pytest.mark.parametrize("target", ["javascript:alert(1)", "data:text/html,x", "a b", "x)(y", "https://a/<b>", 'a"b'])
def test_link_refuses(target: str) -> None:
    """A target that is neither a web address nor a path gives no link."""
    assert link("text", target) == "text"


def test_link_and_table() -> None:
    """Web addresses and paths are linked; a table without rows is nothing."""
    assert link("a", "https://example.org/x?y=1#z") == "[a](https://example.org/x?y=1#z)"
    assert link("a", "../b.md#c-d") == "[a](../b.md#c-d)"
    assert table(("x",), []) == ""
    assert table(("x", "y"), [("1", code("a|b"))]) == "| x | y |\n|---|---|\n| 1 | <code>a&#124;b</code> |"


@given(st.text())
def test_any_text(text: str) -> None:
    """Whatever a log holds, no active character is left."""
    assert not ACTIVE.search(words(text))
    assert not ACTIVE.search(prose(text).replace("<code>", "").replace("</code>", ""))
