"""Plain lines taken many at once without compiled code: the same result as one by one."""

from __future__ import annotations

from typing import Any

import pytest
from test_native import MESSAGES, PROGRAM, line

from denpex_rules.recorder import Recorder
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Scan

DATA = b"".join(line(i % 8, i // 8, MESSAGES[i % 5]) for i in range(3_000))


def scanned(*, skim: bool) -> Scan:
    one = SourceScanner(PROGRAM, "x.log", skim=skim, compiled=False)
    for start in range(0, len(DATA), 30_000):
        one.feed(DATA[start : start + 30_000])
    return one.close()


def test_most_lines_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first lines are, and those that blocks cut."""
    read: list[Any] = []
    take = Recorder.take
    monkeypatch.setattr(Recorder, "take", lambda self, lines: (read.extend(lines), take(self, lines)))
    assert scanned(skim=True).sources[0].lines == 3_000
    assert len(read) < 1_000


def test_the_result_is_that_of_reading_one_by_one() -> None:
    """Sightings, errors, coverage and what was dropped."""
    found = scanned(skim=True)
    assert found == scanned(skim=False)
    assert {s.event for s in found.sightings} == {"step", "lost", "xid"}
