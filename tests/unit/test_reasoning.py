"""The whole reasoning of an incident."""

from __future__ import annotations

from attrs import evolve
from making import at, sighting
from scenes import LOST, STALL, job, job_activities, job_sightings, matches, nodes, program

from denpex_rules.finding import Considered, Reasoning
from denpex_rules.missing import Context
from denpex_rules.reasoning import reason
from denpex_rules.report import build
from denpex_rules.sighting import Actor, Scan
from denpex_rules.timeline import Timeline

LATE = LOST.replace("require lost", "require lost\n  require later = progress within 5m after lost")


def reasonings(line: Timeline, *bodies: str) -> tuple[Reasoning, ...]:
    """Return the reasoning of every incident that rules find on a timeline."""
    made = program(*bodies)
    context, found = Context(made, line), nodes(made, line)
    return reason(found, matches(made, line), context, build(found, context, Scan(), gaps=False))


def of_rank(one: Reasoning, rank: int) -> Considered:
    """Return what became of a rank."""
    return next(c for c in one.considered if any(who.rank == rank for who in c.actors.actors))


def test_records_stand_in_order_of_time() -> None:
    """The table holds each record once, for the rule that stands highest."""
    (one,) = reasonings(job(), LOST, STALL)
    assert [(r.part, r.evidence.step, r.evidence.actor.rank) for r in one.timeline] == [
        ("evidence", "init", 3),
        ("evidence", "lost", None),
        ("evidence", "timeout", 0),
        ("evidence", "timeout", 1),
        ("evidence", "timeout", 2),
    ]


def test_last_progress_is_a_witness() -> None:
    """The last progress before the first sighting stands in the table: of each suspect, and of the job."""
    seen = [evolve(s, event="lib.progress#step") if s.event == "progress" else s for s in job_sightings() if s.event != "lost"]
    made = program(STALL + "  blame rank missing_from(timeout) likely\n")
    made = evolve(made, events=tuple(evolve(e, id="lib.progress#step") if e.id == "progress" else e for e in made.events))
    line = job(seen)
    context, found = Context(made, line), nodes(made, line)
    (one,) = reason(found, matches(made, line), context, build(found, context, Scan(), gaps=False))
    shown = [(r.part, r.evidence.actor.rank, r.evidence.instant.lo) for r in one.timeline if r.part == "witness"]
    assert shown == [("witness", 3, "2026-11-30T10:03:00Z")]
    assert one.timeline[0].part == "witness"


def test_every_clause_of_the_root_is_shown() -> None:
    """The root comes first with all its clauses, then what it explains, with the order that relates them."""
    (one,) = reasonings(job(), LOST, STALL)
    root, explained = one.rules
    assert (root.stands, [c.truth for c in root.clauses]) == ("root", ["true", "true", "true", "true", "false"])
    assert (explained.stands, explained.rule) == ("explained", "denpex:test.r1")
    assert explained.why.startswith("explained by test.r0, which")


def test_reporters_are_rejected_and_the_initiator_stands() -> None:
    """A rank that reported is rejected, with the rules that say so; the initiator has the proof."""
    (one,) = reasonings(job(), LOST, STALL)
    guilty, reporter = of_rank(one, 3), of_rank(one, 0)
    assert (guilty.stands, guilty.actors.count) == ("initiator", 1)
    assert any(why.startswith("`lost`") for why in guilty.speaks_for)
    assert (reporter.stands, reporter.actors.count) == ("rejected", 3)
    assert "it only reported (test.r1)" in reporter.speaks_against
    assert "it was hurt by it (test.r0)" in reporter.speaks_against


def test_unread_logs_stay_possible_where_nobody_is_proven() -> None:
    """In an unexplained timeout the rank whose log was not read remains, and so does the host without a kernel log."""
    seen = [s for s in job_sightings() if s.event != "lost" and s.actor.rank != 3]
    world = [sighting("init", at("09:00:00"), source="r0.log", actor=Actor(rank=0), rank=0, device="0000:40:00", world=4)]
    read = [a for a in job_activities() if a.actor.rank != 3 and a.kind == "rank"]
    (one,) = reasonings(job([*seen, *world], read), STALL)
    assert of_rank(one, 3).stands == "possible"
    assert one.incident.candidates[0].rank == 3
    assert one.missing == one.incident.missing


def test_certain_proof_rejects_what_was_not_read() -> None:
    """Beside a certain initiator an unread rank is no longer possible."""
    read = [a for a in job_activities() if a.actor.rank != 1]
    (one,) = reasonings(job(activities=read), LOST, STALL)
    if one.incident.initiators[0].certainty == "certain":
        assert of_rank(one, 1).stands == "rejected"
    assert "its log was not read, but another one is proven" in of_rank(one, 1).speaks_against


def test_quiet_rules_say_which_clause_was_false() -> None:
    """A rule that could explain the incident and is quiet names the clause that refuted it."""
    (one,) = reasonings(job(), STALL, LATE)
    (quiet,) = [w for w in one.rules if w.stands == "quiet"]
    assert quiet.rule == "denpex:test.r1"
    assert quiet.why.startswith("`require later = progress between lost and lost + 5m` is false (nearest miss: 10s")


def test_incidents_apart_say_why_they_are_not_related() -> None:
    """Two roots name the reason: here the stall began long before the fault."""
    moved = [evolve(s, instant=s.instant.shift(-600_000_000_000)) if s.event == "timeout" else s for s in job_sightings()]
    found = reasonings(job(moved), LOST, STALL)
    whys = {w.why for one in found for w in one.rules if w.stands == "apart"}
    assert whys == {"another incident: it came later than what it would have to explain"}


def test_alternatives_of_blame() -> None:
    """Each alternative says whether it applied, and why not."""
    rule = (
        STALL + "  confirm lost before timeout\n  blame host lost.host when lost else rank missing_from(timeout) likely else none\n"
    )
    read = [a for a in job_activities() if a.kind == "rank"]
    seen = [s for s in job_sightings() if s.event != "lost"]
    (one,) = reasonings(job(seen, read), rule)
    first, second, third = one.alternatives
    assert (first.text, first.applied, first.why) == ("host lost.host when lost", False, "`lost` is not true")
    assert (second.text, second.applied) == ("rank missing_from(timeout) likely", True)
    assert (third.applied, third.why) == (False, "not needed: one before it applies")
