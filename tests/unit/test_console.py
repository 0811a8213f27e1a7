"""What reaches the terminal."""

from __future__ import annotations

import io
import sys

import pytest

from denpex_rules import console
from denpex_rules.page import Page


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def page() -> Page:
    """Return a styled page with markup and a long line in its text."""
    made = Page()
    made.add("[red]boom[/red] :bomb: 42", lead="FAILED: ", lead_style="bold red")
    made.add("x" * 150, wrap=False)
    return made


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard output a terminal that knows colours, and return it."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_pipe_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    """Into a pipe a page goes without any style."""
    console.show(page())
    assert capsys.readouterr().out == page().plain()


def test_terminal_has_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the styles are there, markup in the text stays text, and no line is cut or broken."""
    stream = terminal(monkeypatch)
    console.show(page())
    assert "\x1b[1;31mFAILED: \x1b[0m" in stream.getvalue()
    assert "[red]boom[/red] :bomb: 42" in stream.getvalue()
    assert "x" * 150 in stream.getvalue()


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is honoured on a terminal."""
    stream = terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    console.show(page())
    assert stream.getvalue() == page().plain()


def test_complain(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors go to standard error, line by line, neutralised."""
    console.complain("first\nsecond \x1b[2J")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "first\nsecond \\x1b[2J\n"


def test_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a stream's encoding lacks is shown as an escape instead of an error."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    console.survive_any_encoding()
    console.write("node-07 ü\n")
    assert raw.getvalue() == b"node-07 \\xfc\n"
