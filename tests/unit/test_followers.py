"""Whose the unlabelled lines behind a labelled record are."""

from __future__ import annotations

import pytest

from denpex_rules.followers import Followers
from denpex_rules.formats import peel

HEAD = "[2026-11-30 10:04:12 TP1] Scheduler hit an exception: Traceback (most recent call last):"
FRAMES = ['  File "a.py", line 1, in f', "    lost()", "ValueError: lost"]


def owners(text: str) -> list[str]:
    """Return the labels of the lines of a text that are not blank."""
    followers = Followers()
    found = []
    for row in filter(str.strip, text.split("\n")):
        line = peel(row.encode())
        found.append(followers.owner(line, line.label))
    return found


def test_frames_follow_what_announces_them() -> None:
    """The frames and the exception are of the process that the head names; the next record is its own."""
    text = "\n".join([HEAD, *FRAMES, "[2026-11-30 10:04:12 TP0] step 10", "plain text"])
    assert owners(text) == ["TP1"] * 4 + ["TP0", ""]


def test_chained_exceptions_go_on() -> None:
    """Blank lines between chained tracebacks end nothing."""
    again = ["", "During handling of the above exception, another exception occurred:", "", *FRAMES]
    assert owners("\n".join([HEAD, *FRAMES, *again])) == ["TP1"] * 8


def test_frames_of_c10d() -> None:
    """Frames of a C++ error follow it too."""
    head = "[rank3]:[E1130 10:04:10.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] lost at (most recent call first):"
    assert owners(f"{head}\nframe #0: c10::Error\nframe #1: main") == ["rank3"] * 3


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([HEAD, "ValueError: lost"], "an exception without a frame may be any process's"),
        ([HEAD, "[2026-11-30 10:04:12 TP0] step 10", *FRAMES], "another record stands between"),
        ([HEAD, "plain text", *FRAMES], "so does a line of nobody"),
        (["[2026-11-30 10:04:12 TP1] lost", *FRAMES], "nothing is announced"),
        (["[rank3]: Traceback (most recent call last):", *FRAMES], "this prefix is in front of each line"),
        ([FRAMES[0]], "there is no record"),
    ],
)
def test_other_lines_stay_nobodys(rows: list[str], why: str) -> None:
    """Without an announcement right above them, unlabelled lines are no labelled process's."""
    assert owners("\n".join(rows))[-1] == "", why


def test_lines_that_were_not_handed_over_end_the_record() -> None:
    """Where others stood between, the frames may be theirs."""
    followers = Followers()
    head, frame = peel(HEAD.encode()), peel(FRAMES[0].encode())
    assert followers.owner(head, head.label) == "TP1"
    followers.end()
    assert followers.owner(frame, "") == ""
