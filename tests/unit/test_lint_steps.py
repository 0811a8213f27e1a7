"""Advice about steps."""

from __future__ import annotations

import pytest
from advising import LAST, advice_on, codes, text_of


@pytest.mark.parametrize(
    ("step", "close"),
    [
        ("confirm seen where job == lost.job within 500ms after lost", True),
        ("confirm seen where job == lost.job within 1s after lost", False),
        ("confirm seen where job == lost.job between lost - 200ms and lost + 300ms", True),
        ("confirm seen where job == lost.job between lost and lost", False),
        ("confirm seen where job == lost.job count >= 3 in 100ms", True),
        ("confirm seen where job == lost.job count >= 3 in 5s", False),
        ("confirm silence where host == lost.host for 900ms after lost", True),
        ("confirm silence where host == lost.host for 60s after lost", False),
        ("confirm seen where host != lost.host within 5s after lost", True),
        ("confirm seen where host != lost.host within 10s after lost", False),
        ("confirm seen where host == lost.host within 5s after lost", False),
        ("confirm seen where job == lost.job after lost", False),
    ],
)
def test_closer_than_the_clock(step: str, *, close: bool) -> None:
    """Less than a second can't be told from whole-second stamps, nor less than both clocks' error between two hosts."""
    assert codes(text_of(f"  require lost\n  {step}", events=LAST)).count("L0107") == close


def test_last_trigger() -> None:
    """A trigger keeps its first sighting; a later step may keep the last."""
    assert codes(text_of("  require last lost")) == ["L0120"]
    assert codes(text_of("  require lost\n  require last seen where job == lost.job before lost", events=LAST)) == []


def test_count_of_one() -> None:
    """A count of one says nothing, unless it is of distinct values; it can be taken out safely."""
    (found,) = advice_on(text_of("  require lost count >= 1"))
    assert (found.code, found.patch and found.patch.safe) == ("L0121", True)
    assert codes(text_of("  require lost count >= 2")) == []
    assert codes(text_of("  require lost distinct host >= 1")) == []


@pytest.mark.parametrize(
    ("where", "idle"),
    [
        ("job == lost.job and job == lost.job", True),
        ("host == host", True),
        ("job == lost.job", False),
        ("job == lost.job and host == lost.host", False),
        ("host != lost.host", False),
        ("pid > 1", False),
    ],
)
def test_idle_condition(where: str, *, idle: bool) -> None:
    """A condition asks something of the log, and asks it once."""
    steps = f"  require lost\n  confirm seen where {where} within 1m after lost"
    assert codes(text_of(steps, events=LAST)) == (["L0122"] if idle else [])


@pytest.mark.parametrize(
    ("steps", "unordered"),
    [
        ("  require lost\n  require seen where job == lost.job", 1),
        ("  require lost\n  require seen where job == lost.job after lost", 0),
        ("  require lost\n  require seen where job == lost.job before lost", 0),
        ("  require lost\n  confirm seen where job == lost.job", 0),
    ],
)
def test_required_steps_have_an_order(steps: str, unordered: int) -> None:
    """Required steps say which comes first; confirming ones need not."""
    assert codes(text_of(steps, events=LAST)) == ["L0128"] * unordered


def test_order_may_be_said_by_a_later_step() -> None:
    """A step that a later required one is anchored at has an order."""
    more = LAST + '  event third in rank "and the {file:path} after that"\n'
    steps = "  require lost\n  require seen where job == lost.job\n  require third where job == lost.job after seen"
    assert codes(text_of(steps, events=more)) == []
