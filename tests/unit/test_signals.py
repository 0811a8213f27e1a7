"""Chosen records as events: what is of one shape, which starts the rule, which the pack knows, and what keeps healthy lines out."""

from __future__ import annotations

from pathlib import Path

import pytest
from drafting import AGAIN, LOGS, logs, marks, shipped

from denpex_rules import generalise
from denpex_rules.errors import UsageError
from denpex_rules.signals import Mark, Signal, probe, sharpened, signals, template


def chosen(folder: Path, *lines: str) -> list[Mark]:
    """Return marks on lines of one log of a rank."""
    (folder / "rank5.log").write_text("".join(f"2026-11-30 10:04:12,455 ERROR [x.py:1] {line}\n" for line in lines))
    return marks(folder, *(f"rank5.log:{n}" for n in range(1, len(lines) + 1)))


def written(signal: Signal) -> str:
    """Return a signal's pattern as a rule has it."""
    return generalise.source(template(signal))


def test_one_shape_is_one_signal(tmp_path: Path) -> None:
    """Lines of one shape become one event, found by comparing them; others events of their own."""
    found = signals(chosen(tmp_path, "lane 3 dropped: code 12", "fuse of rack 7 blew", "lane 4 dropped: code 12"), shipped())
    assert [(s.name, written(s)) for s in found] == [
        ("lane_dropped", '"lane {lane:int} dropped: code 12"'),
        ("fuse_rack", '"fuse of rack {rack:int} blew"'),
    ]


def test_first_error_starts(tmp_path: Path) -> None:
    """The earliest error starts the rule, whatever the order in which lines are named; what is less than an error only confirms."""
    logs(tmp_path)
    found = signals(marks(tmp_path, "logs/rank5.log:3", "logs/rank0.log:2", "logs/rank5.log:2"), shipped())
    assert [s.name for s in found] == ["shard_checksum", "cache_dropped", "timeout"]


def test_symptom_that_the_pack_knows(tmp_path: Path) -> None:
    """A line that shows a symptom of the shipped pack is its shared event, the one that tells when the wait began."""
    logs(tmp_path)
    _, timeout = signals(marks(tmp_path, "logs/rank0.log:2", "logs/rank5.log:2"), shipped())
    assert timeout.shared is not None
    assert timeout.shared.id == "denpex:lib.c10d#timeout"
    assert timeout.effect == "collective.timeout"
    assert timeout.actor.rank == 0


def test_symptoms_alone(tmp_path: Path) -> None:
    """Where all lines are symptoms, the rule is about the first of them."""
    (only,) = signals(marks(logs(tmp_path), "logs/rank0.log:2"), shipped())
    assert only.shared is None
    assert written(only).startswith('"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq:seq}, ')


def test_actor_that_differs_is_unknown(tmp_path: Path) -> None:
    """Who printed is known where all records of a signal agree."""
    for rank in (3, 4):
        (tmp_path / f"rank{rank}.log").write_text("2026-11-30 10:04:12,455 ERROR [x.py:1] lane of rack 7 dropped\n")
    (both,) = signals(marks(tmp_path, "rank3.log:1", "rank4.log:1"), shipped())
    assert both.actor.rank is None
    assert len(both.marks) == 2


def test_healthy_lines_stay_out(tmp_path: Path) -> None:
    """A healthy line that the pattern would match makes it say more: the fewest holes are filled that keep it out."""
    (lane,) = signals(chosen(tmp_path, "lane 3 dropped: reason 44, part 9"), shipped())
    sharp, unlike = sharpened(lane, ["lane 4 dropped: reason 0, part 9", "all is well"])
    assert written(sharp) == '"lane 3 dropped: reason {reason:int}, part {part:int}"'
    assert unlike == ("lane 4 dropped: reason 0, part 9",)
    sharp, _ = sharpened(lane, ["lane 3 dropped: reason 0, part 9"])
    assert written(sharp) == '"lane {lane:int} dropped: reason 44, part {part:int}"'


def test_healthy_lines_that_are_out_already(tmp_path: Path) -> None:
    """A healthy line that is not matched changes nothing; where it is like the chosen ones it is kept as an example."""
    first = signals(marks(logs(tmp_path), "logs/rank5.log:2"), shipped())[0]
    assert sharpened(first, [AGAIN]) == (first, (AGAIN,))


def test_long_line_is_told_by_its_end(tmp_path: Path) -> None:
    """Where only the end of a long message tells it from a healthy one, the template goes that far."""
    long = " ".join(f"word{'x' * n}" for n in range(20))
    (signal,) = signals(chosen(tmp_path, f"{long} and failed"), shipped())
    assert not written(signal).endswith('failed"')
    sharp, _ = sharpened(signal, [f"{long} and went on"])
    assert written(sharp).endswith('failed"')


def test_nothing_tells_them_apart(tmp_path: Path) -> None:
    """A healthy line equal to a chosen one is an error that shows it."""
    (signal,) = signals(chosen(tmp_path, "lane 3 dropped: code 12"), shipped())
    with pytest.raises(UsageError, match="nothing tells this healthy line from the chosen ones: lane 3 dropped"):
        sharpened(signal, ["lane 3 dropped: code 12"])


def test_too_many_shapes(tmp_path: Path) -> None:
    """A fingerprint of many different lines is not drafted."""
    words = [
        "alpha ran out",
        "beta has burst",
        "gamma cannot see",
        "delta went away",
        "epsilon is hot",
        "zeta lost count",
        "eta sleeps",
    ]
    with pytest.raises(UsageError, match="of 7 shapes"):
        signals(chosen(tmp_path, *words), shipped())


def test_line_without_words(tmp_path: Path) -> None:
    """A line that holds nothing but values can't be known again."""
    with pytest.raises(UsageError, match="no word to know it by: 12 34"):
        signals(chosen(tmp_path, "12 34"), shipped())


def test_probe() -> None:
    """A declaration is tried on an example as `check` would: "" when it matches, else why not."""
    assert probe(['event probed error "lane {n:int} dropped"'], "lane 3 dropped") == ""
    assert probe(['event probed error "lane {n:int} dropped"'], "port 3 dropped") == "the pattern is not in it"
    with pytest.raises(UsageError, match="make no pattern"):
        probe(['event probed "{a:int}{b:int} dropped"'], "12 dropped")


def test_samples_are_what_the_tests_say() -> None:
    """The shared failure has its broken shard in line 2 of rank 5 and its timeout in line 2 of rank 0."""
    assert "giving up" in LOGS["rank5.log"].splitlines()[1]
    assert "Watchdog" in LOGS["rank0.log"].splitlines()[1]
