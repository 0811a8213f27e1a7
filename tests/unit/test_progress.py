"""The progress bar: for a person, on a terminal, when it takes long."""

from __future__ import annotations

import io
import sys

import pytest

from denpex_rules import progress
from denpex_rules.progress import Meter


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float) -> str:
    """Return what a scan of three pieces shows."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with Meter() as meter:
        for _ in range(3):
            meter(1_000_000, 2_000_000)
    return stream.getvalue()


def test_a_long_scan_shows_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal; more bytes than the files hold (they were packed) are no error."""
    monkeypatch.setenv("TERM", "xterm")
    assert "MB" in shown(monkeypatch, Terminal(), 0.0)


@pytest.mark.parametrize(("stream", "patience"), [(io.StringIO(), 0.0), (Terminal(), 60.0)])
def test_a_short_scan_and_a_pipe_show_nothing(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float) -> None:
    """Nothing reaches a log file, and nothing flickers."""
    assert shown(monkeypatch, stream, patience) == ""
