"""What a missing line proves."""

from __future__ import annotations

from making import activity, at
from scenes import LOST, job, job_activities, job_sightings, matches, program

from denpex_rules.correlator import Clause
from denpex_rules.evaluate import Truth
from denpex_rules.sighting import Activity, Actor


def silence(rank3: Activity, *, sure: bool = True) -> Clause:
    """Return the silence clause of the lost GPU with another log of rank 3."""
    logs = [a for a in job_activities() if a.actor.rank != 3]
    (match,) = matches(program(LOST), job(job_sightings(timeouts=sure), [*logs, rank3]))
    clause = match.clause("silence")
    assert clause is not None
    return clause


def spoken(*runs: tuple[str, str], lines: int = 500) -> Activity:
    """Return the activity of rank 3."""
    return activity("r3.log", list(runs), actor=Actor(rank=3, host="node-02"), lines=lines)


def test_silence_is_proven_by_siblings_that_go_on() -> None:
    """Rank 3's log ends; the others collected with it go on for half an hour."""
    clause = silence(spoken(("09:00:00", "10:03:00")))
    assert clause.truth is Truth.TRUE
    assert clause.reason == "rank 3 said nothing from 2026-11-30T10:03:00Z for 30m13s"


def test_speaking_actor_is_not_silent() -> None:
    """A line inside the interval makes it false."""
    assert silence(spoken(("09:00:00", "10:03:00"), ("10:03:40", "10:03:40"))).truth is Truth.FALSE


def test_actor_that_never_spoke_is_not_silent() -> None:
    """Lines only after the interval: it never fell silent."""
    assert silence(spoken(("10:20:00", "10:21:00"))).truth is Truth.FALSE


def test_rare_speaker_proves_nothing() -> None:
    """An actor with a gap of twenty minutes before must be silent three times as long."""
    clause = silence(spoken(("09:40:00", "09:40:01"), ("10:00:01", "10:03:00")))
    assert clause.truth is Truth.UNDETERMINED
    assert "its longest gap before is 20m" in clause.reason


def test_few_lines_prove_nothing() -> None:
    """Four lines do not tell silence from rarity."""
    assert silence(spoken(("09:59:59", "10:03:00"), lines=4)).truth is Truth.UNDETERMINED


def test_end_of_all_logs_is_not_silence() -> None:
    """When everybody's log ends seconds after the fault nothing shows that rank 3 would not have spoken again."""
    logs = [activity(f"r{r}.log", [("09:00:00", "10:03:20")], actor=Actor(rank=r), lines=500) for r in range(3)]
    kernel = job_activities()[-1]
    (match,) = matches(program(LOST), job(job_sightings(timeouts=False), [*logs, spoken(("09:00:00", "10:03:00")), kernel]))
    clause = match.clause("silence")
    assert clause is not None
    assert clause.truth is Truth.UNDETERMINED
    assert "too early to prove silence" in clause.reason


def test_missing_log_is_named() -> None:
    """Without rank 3's log the silence is undetermined and that log is what is needed."""
    (match,) = matches(program(LOST), job(None, [a for a in job_activities() if a.actor.rank != 3]))
    clause = match.clause("silence")
    assert clause is not None
    assert clause.reason == "no log of rank 3 was read"
    assert clause.needs[0].rank == 3
    assert clause.needs[0].lo == at("10:03:15").lo
