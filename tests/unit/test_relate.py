"""Cause over symptom: which finding explains which."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from making import at, sighting
from scenes import LOST, STALL, findings, job, job_sightings, nodes, program

from denpex_rules.clock import MINUTE, SECOND, UNKNOWN, Order
from denpex_rules.relate import SLACK, relation
from denpex_rules.sighting import Actor, Sighting
from denpex_rules.timeline import Point, point_of


def shifted(ns: int) -> list[Sighting]:
    """Return the job with its timeouts moved."""
    return [evolve(s, instant=s.instant.shift(ns)) if s.event == "timeout" else s for s in job_sightings()]


def shape(found: list) -> list[tuple[str, list[str]]]:
    """Return root classes with the classes that they explain."""
    return [(n.finding.rule.cls, [c.finding.rule.cls for c in n.explains]) for n in found]


def test_cause_explains_the_symptom_that_began_after_it() -> None:
    """The lost GPU explains the timeouts whose stall began with it."""
    assert shape(nodes(program(LOST, STALL), job())) == [("gpu.fell_off_bus", ["collective.timeout"])]


def test_stall_that_began_before_is_not_explained() -> None:
    """A stall that started minutes before the fault has another cause."""
    assert shape(nodes(program(LOST, STALL), job(shifted(-10 * MINUTE)))) == [
        ("collective.timeout", []),
        ("gpu.fell_off_bus", []),
    ]


def test_progress_in_between_cancels() -> None:
    """A job that made progress after the fault was not stalled by it."""
    later = [sighting("progress", at("10:20:00"), source="r0.log", line=30, actor=Actor(rank=0, host="node-01"))]
    found = nodes(program(LOST, STALL), job([*shifted(30 * MINUTE), *later]))
    assert ("gpu.fell_off_bus", []) in shape(found)


def test_stall_a_moment_earlier_is_still_related_but_not_certain() -> None:
    """Peers enter a collective up to a step before the fault: the relation holds, as likely."""
    found = nodes(program(LOST, STALL), job(shifted(-20 * SECOND)))
    assert shape(found) == [("gpu.fell_off_bus", ["collective.timeout"])]
    assert not found[0].explains[0].certain


def test_symptom_beyond_the_span_is_not_related() -> None:
    """A stall that began later than the rule's span is another story."""
    assert len(nodes(program(LOST, STALL), job(shifted(150 * MINUTE)))) == 2


def test_symptom_of_another_job_is_not_related() -> None:
    """Findings that name different jobs are never related."""
    seen = [
        evolve(s, actor=evolve(s.actor, job="8")) if s.event == "timeout" else evolve(s, actor=evolve(s.actor, job="7"))
        for s in job_sightings()
    ]
    assert len(nodes(program(LOST, STALL), job(seen))) == 2


def test_relations_never_close_a_circle() -> None:
    """Two rules that name each other's class give one root, not none."""
    backwards = STALL.replace("per job", "causes gpu.fell_off_bus\n  per job")
    found = nodes(program(LOST, backwards), job())
    assert len(found) == 1
    assert len(found[0].explains) == 1


TWIN = """
  title "Lost, as its process sees it"
  class gpu.fell_off_bus
  per job within 1h
  require timeout where rank == {rank}
  blame rank timeout.rank, host timeout.host
"""


def near(rank: int) -> list[Sighting]:
    """Return the job, with a line of a rank a moment after the loss in place of the timeouts."""
    line = sighting(
        "timeout", at("10:03:20"), source=f"r{rank}.log", line=50, actor=Actor(rank=rank, host=f"node-0{rank // 2 + 1}"), ran=1
    )
    return [*(s for s in job_sightings() if s.event != "timeout"), line]


def test_one_fault_seen_from_two_sides_is_one_incident() -> None:
    """The kernel's line and the rank's own error are one fault; the finding that names more stands for both."""
    (found,) = nodes(program(LOST, TWIN.format(rank=3)), job(near(3)))
    assert found.finding.initiators[0].device == "0000:41:00"
    assert [n.finding.initiators[0].rank for n in found.explains] == [3]


def test_two_ranks_are_two_faults() -> None:
    """Findings of one class that name different ranks stay apart."""
    assert len(nodes(program(LOST, TWIN.format(rank=2)), job(near(2)))) == 2


ECHO = """
  title "The timeouts, blaming whom they can"
  class collective.timeout
  per job within 1h
  require timeout
  blame rank timeout.rank, host timeout.host
"""


def one_timeout() -> Sighting:
    """Return the first timeout of the job."""
    return next(s for s in job_sightings() if s.event == "timeout")


def test_an_echo_accuses_nobody_whom_its_root_does_not() -> None:
    """A symptom that would name another rank than its cause gives candidates, with the reason."""
    seen = [*(s for s in job_sightings() if s.event != "timeout"), one_timeout()]
    child = nodes(program(LOST, ECHO), job(seen))[0].explains[0].finding
    assert child.initiators == ()
    assert [s.reasons[-1] for s in child.candidates] == ["explained by test.r0"]


UNNAMED = """
  title "A fault whose lines name nobody"
  class gpu.fell_off_bus
  causes collective.timeout
  per job within 2h
  require lost
  blame rank lost.rank
"""


def test_a_root_that_names_nobody_takes_over_what_it_explains() -> None:
    """A cause without an actor has that of the symptom, as likely."""
    seen = [*(s for s in job_sightings() if s.event not in {"timeout", "lost"}), one_timeout()]
    cause = sighting("lost", at("10:03:10"), source="paste.log", kind="kernel")
    root = nodes(program(UNNAMED, ECHO), job([*seen, cause]))[0].finding
    assert [(s.rank, s.certainty) for s in root.initiators] == [(one_timeout().actor.rank, "likely")]


def test_symptom_of_another_attempt_is_not_related() -> None:
    """A restart starts everything anew: findings that name different attempts are never related."""
    seen = [evolve(s, actor=evolve(s.actor, attempt=1)) if s.event == "timeout" else s for s in job_sightings()]
    line, made = job(seen), program(LOST, STALL)
    stall, lost = sorted(findings(made, line), key=lambda f: f.rule.cls)
    first = evolve(lost, evidence=tuple((step, evolve(s, actor=evolve(s.actor, attempt=0))) for step, s in lost.evidence))
    said = relation(first, stall, line, frozenset(), frozenset({"collective.timeout"}))
    assert said == "it is of attempt 0, the other of attempt 1"


def test_why_two_findings_are_not_related() -> None:
    """Each refusal says in words what stands against the relation."""
    line, made = job(shifted(-10 * MINUTE)), program(LOST, STALL)
    stall, lost = sorted(findings(made, line), key=lambda f: f.rule.cls)
    symptoms = frozenset({"collective.timeout"})
    assert relation(stall, lost, line, frozenset(), symptoms) == "test.r1 is not known to cause gpu.fell_off_bus"
    assert relation(lost, stall, line, frozenset(), symptoms) == "it came later than what it would have to explain"
    line = job(shifted(150 * MINUTE))
    stall, lost = sorted(findings(made, line), key=lambda f: f.rule.cls)
    assert relation(lost, stall, line, frozenset(), symptoms) == "it came more than 2h earlier"


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(("r0.log", "r1.log", "x.log")), st.integers(1, 60)), max_size=5),
    st.integers(5, 35),
    st.booleans(),
)
def test_any_line_of_progress_in_between_is_found(lines: list[tuple[int, str, int]], minutes: int, onset: bool) -> None:
    """Progress counts where it is certainly after the cause and before the stall, by time, or by line in the symptom's own log."""
    steps = [
        sighting("progress", at(f"10:{minute:02}:00"), source=source, line=line, text=f"{minute} {source} {line}")
        for minute, source, line in lines
    ]
    made = program(LOST, STALL)
    line = job([*shifted(minutes * MINUTE), *steps])
    stall, lost = sorted(findings(made, line), key=lambda f: f.rule.cls)
    if not onset:
        stall = evolve(stall, onset=None)
    start = stall.began if not onset else Point(stall.onset or UNKNOWN, line.stamped(stall.began))
    after = lost.began.shift(SLACK)
    between = any(
        line.order(after, point_of(s)) is Order.BEFORE and line.order(point_of(s), start) is Order.BEFORE
        for s in line.of("progress")
    )
    said = relation(lost, stall, line, frozenset({"progress"}), frozenset({"collective.timeout"}))
    assert (said == "the job made progress in between") is between


MUTUAL = """
  title "What may as well be the cause as the effect"
  class gpu.fell_off_bus
  causes collective.timeout
  per job within 2h
  require lost
  blame none
"""


def test_of_two_that_may_explain_each_other_the_one_that_names_somebody_stands() -> None:
    """Where the order can't be told and each may cause the other, a finding that names a rank explains one that names nobody."""
    backwards = ECHO.replace("per job", "causes gpu.fell_off_bus\n  per job")
    seen = [s for s in job_sightings() if s.event not in {"timeout", "lost"}]
    seen += [evolve(one_timeout(), instant=at("10:03:12")), sighting("lost", at("10:03:10"), source="paste.log", kind="kernel")]
    (root,) = nodes(program(MUTUAL, backwards), job(seen))
    assert root.finding.rule.cls == "collective.timeout"
    assert [s.rank for s in root.finding.initiators] == [one_timeout().actor.rank]
