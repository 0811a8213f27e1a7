"""Steps: windows, counts, silence, joins."""

from __future__ import annotations

import pytest
from writing import codes, step_of, text_of

from denpex_rules.clock import MINUTE, SECOND
from denpex_rules.rule import SILENCE, Anchor, Condition, Count, Path, Window

LOST = Anchor("lost")


def shifted(sign: int, ns: int) -> Anchor:
    """Return the trigger's time plus one signed duration."""
    return Anchor("lost", terms=((sign, ns),))


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        ("before lost", Window(hi=LOST)),
        ("after lost + 5s", Window(lo=shifted(1, 5 * SECOND))),
        ("between lost - 1m and lost", Window(shifted(-1, MINUTE), LOST)),
        ("within 5m after lost", Window(LOST, shifted(1, 5 * MINUTE))),
        ("within 1m..5m after lost", Window(shifted(1, MINUTE), shifted(1, 5 * MINUTE))),
        ("within 5m before lost", Window(shifted(-1, 5 * MINUTE), LOST)),
        ("within 1m..5m before lost", Window(shifted(-1, 5 * MINUTE), shifted(-1, MINUTE))),
        ("at lost give 30s", Window(shifted(-1, 30 * SECOND), shifted(1, 30 * SECOND))),
        ("at lost give 30s..2m", Window(shifted(-1, 30 * SECOND), shifted(1, 2 * MINUTE))),
        ("stalled after lost", Window(lo=LOST, moment="stalled")),
        ("time after lost", Window(lo=LOST)),
        ("within 0s..5m after lost", Window(LOST, shifted(1, 5 * MINUTE))),
    ],
)
def test_windows(clause: str, window: Window) -> None:
    """Each way of writing a window gives the interval that the specification says."""
    assert step_of(f"confirm timeout {clause}").window == window


def test_gap_read_from_a_capture() -> None:
    """An anchor's term may be a captured duration, and its instant a named moment."""
    window = step_of("confirm timeout after lost\n  confirm progress between timeout.stalled - 5s and lost + timeout.ran").window
    assert window == Window(Anchor("timeout", "stalled", ((-1, 5 * SECOND),)), Anchor("lost", terms=((1, Path("timeout", "ran")),)))


def test_alias_pick_and_counts() -> None:
    """A step keeps its own name, which candidate it takes, and its count."""
    step = step_of("confirm burst = last timeout count > 4 in 10m after lost")
    assert (step.name, step.event, step.pick) == ("burst", "denpex:hardware.gpu.lost#timeout", "last")
    assert step.count == Count(5, None, 10 * MINUTE)
    assert step_of("confirm timeout distinct rank >= 2 after lost").count == Count(2, "rank")


def test_silence() -> None:
    """Silence names one actor, a start and a length."""
    step = step_of("confirm silence where rank == lost.rank for 60s after lost + 5s")
    assert (step.event, step.duration) == (SILENCE, 60 * SECOND)
    assert step.where == (Condition(Path("rank"), "==", Path("lost", "rank")),)
    assert step.window == Window(lo=shifted(1, 5 * SECOND))


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("confirm timeout within 5m..1m after lost", "E0306"),
        ("confirm timeout between lost + 5m and lost + 1m", "E0306"),
        ("confirm timeout after lost + 5", "E0303"),
        ("confirm timeout after lost.stalled", "E0204"),
        ("confirm timeout staled after lost", "E0204"),
        ("confirm timeout after timeout", "E0206"),
        ("confirm timeout after lost + timeout.ran", "E0206"),
        ("confirm timeout after lost + ran", "E0204"),
        ("confirm timeout after lost + lost.device", "E0302"),
        ("confirm timeout after lost.a.b", "E0201"),
        ("confirm timeout count == 3 after lost", "E0408"),
        ("confirm timeout count >= 0 after lost", "E0408"),
        ("confirm timeout count >= 99999999999999999999 after lost", "E0408"),
        ("confirm timeout count >= 2 in 0s after lost", "E0408"),
        ("confirm timeout count >= 2 in 3h after lost", "E0407"),
        ("confirm timeout distinct nothing >= 2 after lost", "E0204"),
        ("confirm timeout after lost before lost", "E0405"),
        ("confirm timeout where rank == 1 where rank == 2 after lost", "E0405"),
        ("confirm silence for 60s after lost", "E0409"),
        ("confirm silence where rank != 3 for 60s after lost", "E0409"),
        ("confirm silence where rank == 3 and host == lost.host for 60s after lost", "E0409"),
        ("confirm silence where device == lost.device for 60s after lost", "E0409"),
        ("confirm silence where rank == 3 after lost", "E0409"),
        ("confirm silence where rank == 3 for 0s after lost", "E0409"),
        ("confirm silence where rank == 3 count >= 2 for 60s after lost", "E0409"),
        ("confirm timeout for 60s after lost", "E0409"),
        ("confirm silence where rank == 3 for 60s after lost\n confirm timeout after silence", "E0204"),
        ("confirm nothing after lost", "E0201"),
        ("confirm lost after lost", "E0202"),
        ("confirm within = timeout after lost", "E0207"),
    ],
)
def test_mistakes(step: str, code: str) -> None:
    """Each mistake in a step has its code, and only that."""
    assert codes(text_of(f"  require lost\n  {step}")) == [code]


@pytest.mark.parametrize(
    ("step", "scope", "joined"),
    [
        ("confirm timeout", "per job", False),
        ("unless timeout", "per job", False),
        ("refute timeout where rank == 3", "per job", False),
        ("let limit = 3\n confirm progress where step == limit", "per job", False),
        ("confirm timeout", "per job, host", True),
        ("confirm timeout", "per device", True),
        ("confirm timeout where host == lost.host", "per job", True),
        ("let bad = lost.rank\n confirm timeout where rank == bad", "per job", True),
        ("confirm timeout before lost", "per job", True),
    ],
)
def test_joins(step: str, scope: str, joined: bool) -> None:
    """A step is joined by a key other than the job, a condition on another step, or a window; else it is a mistake."""
    assert codes(text_of(f"  require lost\n  {step}", scope=f"{scope} within 2h")) == ([] if joined else ["E0404"])


def test_step_before_the_trigger_needs_a_join_too() -> None:
    """Only the trigger stands by itself, wherever it is written."""
    assert codes(text_of("  confirm timeout\n  require lost")) == ["E0404"]
