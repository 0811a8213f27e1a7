"""From a match to an accusation: initiators, candidates, onset, and what is missing."""

from __future__ import annotations

from attrs import evolve
from making import at, sighting
from scenes import LOST, findings, job, job_activities, job_sightings, program

from denpex_rules.sighting import Actor, Dropped

EACH = """
  title "Out of memory"
  class gpu.memory.out_of_memory
  per job within 1h
  require timeout
  blame {blame}
"""


def test_confirmed_match_names_the_initiator_with_proof() -> None:
    """Device, host and rank are named as certain, with the lines that prove them."""
    (found,) = findings(program(LOST), job())
    (initiator,) = found.initiators
    assert (initiator.rank, initiator.host, initiator.device, initiator.certainty) == (3, "node-02", "0000:41:00", "certain")
    assert any("rank 3 on host node-02" in reason for reason in initiator.reasons)


def test_onset_is_the_last_progress_not_the_error() -> None:
    """The failure began after the last step line, a moment before the kernel's line."""
    (found,) = findings(program(LOST), job())
    assert found.onset == at("10:03:00")


def test_unmapped_device_is_accused_without_a_rank() -> None:
    """Without an init line the device and host stay certain, and the rank is missing, not guessed."""
    seen = [s for s in job_sightings() if s.event != "init"]
    (found,) = findings(program(LOST), job(seen))
    assert (found.initiators[0].rank, found.initiators[0].device) == (None, "0000:41:00")
    assert any(lack.need.host == "node-02" for lack in found.lacks)


def test_refuting_step_lowers_the_certainty() -> None:
    """Progress of the accused rank after the fault speaks against it: the accusation is only likely."""
    seen = [*job_sightings(), sighting("progress", at("10:10:00"), source="r3.log", line=99, actor=Actor(rank=3, host="node-02"))]
    (found,) = findings(program(LOST), job(seen))
    assert found.initiators[0].certainty == "likely"
    assert [c.step.name for c in found.against if c.step.verb == "refute"] == ["progress"]


def test_triggers_that_may_all_be_first_leave_candidates() -> None:
    """Two ranks that report in one second: neither is accused."""
    (found,) = findings(program(EACH.format(blame="rank timeout.rank")), job())
    assert found.initiators == ()
    assert [c.rank for c in found.candidates] == [0, 1, 2]
    assert {c.certainty for c in found.candidates} == {"undecided"}


def test_blame_each_names_every_trigger_that_may_be_first() -> None:
    """With `each` the actors of all of them are initiators."""
    (found,) = findings(program(EACH.format(blame="each rank timeout.rank")), job())
    assert [s.rank for s in found.initiators] == [0, 1, 2]


def test_blame_else_is_tried_in_order() -> None:
    """The first alternative whose first role has a value applies."""
    body = EACH.format(blame='rank rank_of(timeout.host, "0000:99:00") else host timeout.host likely').replace(
        "require timeout", "require timeout where rank == 2"
    )
    (found,) = findings(program(body), job())
    assert (found.initiators[0].host, found.initiators[0].certainty) == ("node-02", "likely")


def test_blame_none_accuses_nobody() -> None:
    """The job's own end has no initiator."""
    (found,) = findings(program(EACH.format(blame="none")), job())
    assert (found.initiators, found.candidates) == ((), ())


def test_inconclusive_match_has_candidates_only() -> None:
    """What is not confirmed accuses nobody: here a guard's log was not read."""
    body = EACH.format(blame="rank timeout.rank").replace(
        "require timeout", "require timeout where rank == 2\n  unless lost before timeout"
    )
    seen = [s for s in job_sightings() if s.event != "lost"]
    (found,) = findings(program(body), job(seen, [a for a in job_activities() if a.kind != "kernel"]))
    assert found.match.outcome == "inconclusive"
    assert found.initiators == ()
    assert [(c.rank, c.certainty) for c in found.candidates] == [(2, "undecided")]
    assert [lack.need.kind for lack in found.lacks] == ["kernel"]


def test_victims_are_all_of_a_step() -> None:
    """Every sighting for which the step is true makes a victim, not only the first."""
    (found,) = findings(program(LOST), job())
    assert [v.rank for v in found.victims] == [0, 1, 2]


def test_unread_ranks_are_candidates_where_nobody_is_named() -> None:
    """A built-in that can't name a rank because a log was not read leaves that rank as a candidate, with the log as missing."""
    body = EACH.format(blame="rank missing_from(timeout) likely else none").replace("each ", "")
    read = [a for a in job_activities() if a.actor.rank != 3]
    (found,) = findings(program(body), job(activities=read))
    assert found.initiators == ()
    assert [(s.rank, s.host, s.certainty) for s in found.candidates] == [(3, "node-02", "undecided")]
    assert 3 in {lack.need.rank for lack in found.lacks}


def test_dropped_progress_leaves_the_onset_to_the_next_alternative() -> None:
    """Where lines between the last progress that was kept and the fault were dropped, the onset is another, and a note says so."""
    whole = job()
    lost = evolve(at("10:03:01"), hi=at("10:03:08").hi)
    gone = Dropped("progress", "", 40, lost)
    sources = {name: evolve(s, evicted=40, dropped=(gone,)) if name == "r3.log" else s for name, s in whole.sources.items()}
    (found,) = findings(program(LOST), evolve(whole, sources=sources))
    assert found.onset == at("10:03:10")
    assert found.notes == ("the onset may lie elsewhere: lines of `progress` around it were dropped to stay within bounds",)
    (kept,) = findings(program(LOST), whole)
    assert (kept.onset, kept.notes) == (at("10:03:00"), ())


def test_a_line_without_a_rank_asks_for_the_launchers_log() -> None:
    """Where a rank would be named and no line tells which, the launcher's output is the missing fact."""
    seen = [evolve(s, actor=Actor()) if s.event == "timeout" else s for s in job_sightings()]
    (found,) = findings(program(EACH.format(blame="rank timeout.rank")), job(seen))
    assert found.initiators == ()
    assert "agent" in {lack.need.kind for lack in found.lacks}
