"""From related findings to the report."""

from __future__ import annotations

from attrs import evolve
from scenes import LOST, STALL, job, job_activities, job_sightings, nodes, program

from denpex_rules.clock import parse_time
from denpex_rules.finding import Report
from denpex_rules.missing import Context
from denpex_rules.program import Program
from denpex_rules.report import build
from denpex_rules.sighting import Emitter, ErrorLine, Scan
from denpex_rules.timeline import Timeline


def report(made: Program, line: Timeline, errors: tuple[ErrorLine, ...] = ()) -> Report:
    """Return the report of a program's rules over a timeline."""
    told = evolve(line, errors=errors)
    return build(nodes(made, told), Context(made, told), Scan(tuple(line.sightings)), gaps=False)


def test_decided_failure() -> None:
    """A cause with an initiator is `failed`; the symptom stands inside it."""
    found = report(program(LOST, STALL), job())
    assert found.verdict == "failed"
    (incident,) = found.incidents
    assert [e.cls for e in incident.explains] == ["collective.timeout"]
    assert incident.victims.count == 3


def test_symptom_alone_is_undecided_and_says_which_kernel_logs_would_decide() -> None:
    """Without a kernel log the timeouts are a downstream report; the missing logs are named by host and interval."""
    made = program(LOST, STALL)
    found = report(made, job([s for s in job_sightings() if s.event != "lost"], job_activities()[:-1]))
    assert found.verdict == "undecided"
    (incident,) = found.incidents
    assert incident.initiators == ()
    assert [m.fact.split(" from")[0] for m in incident.missing] == [
        "the kernel log of host node-01",
        "the kernel log of host node-02",
    ]
    assert "2026-11-30T09:53:12Z to 2026-11-30T10:04:12Z" in incident.missing[1].fact
    assert incident.missing[1].command.startswith("ssh node-02 journalctl -k")
    assert "GPU lost" in incident.missing[1].why


def test_nothing_found_is_healthy_and_nothing_read_is_no_data() -> None:
    """A quiet log is healthy; an empty collection is not."""
    made = program(LOST, STALL)
    assert report(made, job([])).verdict == "healthy"
    assert report(made, job([], [])).verdict == "no_data"


def test_texts_are_filled_in() -> None:
    """Placeholders carry the captured values."""
    (incident,) = report(program(LOST), job()).incidents
    assert incident.remedy.why == "0000:41:00 of node-02 is gone"
    assert incident.remedy.do == ("drain node-02",)
    assert (incident.remedy.verify[0].command, incident.remedy.verify[0].host) == ("dmesg -T | grep -i xid", "node-02")


def test_evidence_tells_when_the_stall_began() -> None:
    """A timeout line shows its stall relative to itself."""
    found = report(program(STALL), job())
    assert found.incidents[0].evidence[0].moments == {"stalled": -1800.0}


def test_id_does_not_depend_on_the_layout() -> None:
    """Moving the same lines to other files keeps the incident's id."""
    made = program(LOST, STALL)
    moved = [evolve(s, emitter=Emitter("all.log", s.source), line=s.line + 1000) for s in job_sightings()]
    spoken = [evolve(a, emitter=Emitter("all.log", a.emitter.source)) for a in job_activities()]
    assert report(made, job(moved, spoken)).incidents[0].id == report(made, job()).incidents[0].id


def test_unexplained_errors_are_rarest_first_and_leave_out_evidence() -> None:
    """Errors of one shape count together; a record of the evidence is explained."""

    def error(line: int, template: str, count: int) -> ErrorLine:
        first = job_sightings()[0]
        return ErrorLine(
            template, Emitter("r0.log"), line, 0, 1, first.instant, first.actor, f"{template} {line}", count, ordinal=line
        )

    found = report(
        program(LOST, STALL), job(), (error(50, "timeout", 1), error(7, "often", 9), error(8, "rare", 1), error(9, "often", 2))
    )
    assert [(u.text, u.count) for u in found.unexplained] == [("rare 8", 1), ("often 7", 11)]


def test_coverage_lists_actors_with_first_and_last() -> None:
    """Each actor and kind is listed with the interval that was read."""
    found = report(program(LOST), job()).coverage
    assert found.world_size == 4
    assert found.ranks_seen == 4
    kernel = next(a for a in found.actors if a.kind == "kernel")
    assert (kernel.actor.host, kernel.first) == ("node-02", "2026-11-30T08:00:00Z")
    assert parse_time(kernel.last or "") == parse_time("2026-11-30T10:03:10Z")
