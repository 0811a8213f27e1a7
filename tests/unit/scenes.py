"""One job of four ranks on two hosts whose GPU is lost, in rules and sightings: what tests of the correlate half share."""

from __future__ import annotations

from attrs import evolve
from making import activity, at, sighting, timeline

from denpex_rules.blame import Finding, attribute
from denpex_rules.clock import SECOND
from denpex_rules.correlator import Match, match_rule
from denpex_rules.library import load_text
from denpex_rules.program import Program, RootClass
from denpex_rules.relate import Node, relate
from denpex_rules.rule import RuleSet
from denpex_rules.sighting import Activity, Actor, Sighting
from denpex_rules.timeline import Timeline

EVENTS = """
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
  event timeout error in rank "timeout ran for {ran:ms} milliseconds"
    moment stalled = time - ran
  event init info in rank "comm rank {rank:rank} nranks {world:int} busId {device:busid} COMPLETE"
  event progress in rank "step {step:int} loss"
"""

LOST = """
  title "GPU lost"
  class gpu.fell_off_bus
  causes collective.timeout
  per job within 2h
  require lost
  let bad = rank_of(lost.host, lost.device)
  confirm init where rank == bad before lost
  confirm silence where rank == bad for 60s after lost + 5s
  confirm timeout where rank != bad distinct rank >= 1 stalled between lost - 1m and lost + 5m
  refute progress where rank == bad after lost + 1m
  blame device lost.device, host lost.host, rank bad
  onset last progress before lost else lost
  victim timeout.rank
  why "{lost.device} of {lost.host} is gone"
  do "drain {lost.host}"
  verify "dmesg -T | grep -i xid" on lost.host
"""

STALL = """
  title "Collective timeout"
  class collective.timeout
  per job within 1h
  require timeout distinct rank >= 1
  onset timeout.stalled
  reporter timeout.rank
"""


def ruleset(*bodies: str) -> RuleSet:
    """Return the rules with these bodies; each has all four events as its own under one shared name."""
    sets = [load_text(f"language 1\nrule test.r{i} {{\n{body}\n{EVENTS}\n}}\n") for i, body in enumerate(bodies)]
    return RuleSet(tuple(r for s in sets for r in s.rules), tuple(e for s in sets for e in s.events))


def program(*bodies: str) -> Program:
    """Return a program of these rules that shares the events, without literals: it correlates, it does not scan."""
    rules = ruleset(*bodies)
    renamed = {e.id: e.name for e in rules.events}
    events = {e.name: evolve(e, id=e.name, identity=e.name == "init") for e in rules.events}
    shared = tuple(
        evolve(
            r,
            steps=tuple(evolve(s, event=renamed.get(s.event, s.event)) for s in r.steps),
            onset=tuple(_shared(o, renamed) for o in r.onset),
        )
        for r in rules.rules
    )
    classes = (
        RootClass("gpu.fell_off_bus", "GPU fell off the bus", "cause", "hardware"),
        RootClass("collective.timeout", "Collective timeout", "symptom", "network"),
    )
    return Program(shared, tuple(events.values()), (), classes)


def _shared(onset: object, renamed: dict[str, str]) -> object:
    event = getattr(onset, "event", None)
    return evolve(onset, event=renamed.get(event, event)) if event is not None else onset  # type: ignore[type-var]


def job_sightings(*, timeouts: bool = True) -> list[Sighting]:
    """Return what four ranks and one kernel log show: init lines, steps until 10:03, the loss, timeouts half an hour later."""
    found = [
        sighting(
            "init",
            at(f"09:00:0{r}"),
            source=f"r{r}.log",
            actor=Actor(host=f"node-0{r // 2 + 1}", pid=10 + r, rank=r),
            rank=r,
            device=f"0000:4{r % 2}:00",
            world=4,
        )
        for r in range(4)
    ]
    found += [
        sighting("progress", at(f"10:0{m}:00"), source=f"r{r}.log", line=2 + m, actor=Actor(rank=r, host=f"node-0{r // 2 + 1}"))
        for r in range(4)
        for m in range(4)
    ]
    lost = sighting(
        "lost", at("10:03:10"), source="kern2.log", line=9, actor=Actor(host="node-02"), kind="kernel", device="0000:41:00"
    )
    found.append(lost)
    if timeouts:
        found += [
            sighting(
                "timeout",
                at("10:33:12"),
                source=f"r{r}.log",
                line=50,
                actor=Actor(rank=r, host=f"node-0{r // 2 + 1}"),
                ran=1800 * SECOND,
            )
            for r in range(3)
        ]
    return found


def job_activities() -> list[Activity]:
    """Return when they spoke: rank 3 falls silent at 10:03, the others at 10:03:11 until their timeouts."""
    spoken = []
    for r in range(4):
        runs = [("09:00:00", "10:03:00")] if r == 3 else [("09:00:00", "10:03:11"), ("10:33:12", "10:33:13")]
        spoken.append(activity(f"r{r}.log", runs, actor=Actor(rank=r, host=f"node-0{r // 2 + 1}"), lines=500))
    kernel = activity("kern2.log", [("08:00:00", "08:00:01"), ("10:03:10", "10:03:10")], actor=Actor(host="node-02"), kind="kernel")
    return [*spoken, kernel]


def job(sightings: list[Sighting] | None = None, activities: list[Activity] | None = None) -> Timeline:
    """Return the job's timeline, or one of these parts."""
    return timeline(
        job_sightings() if sightings is None else sightings,
        job_activities() if activities is None else activities,
        identities=frozenset({"init"}),
    )


def matches(made: Program, line: Timeline) -> list[Match]:
    """Return all matches of a program's rules."""
    events = {e.id: e for e in made.events}
    return [m for rule in made.rules for m in match_rule(rule, events, line)]


def findings(made: Program, line: Timeline) -> list[Finding]:
    """Return all findings of a program's rules."""
    return [f for m in matches(made, line) if (f := attribute(m, line)) is not None]


def nodes(made: Program, line: Timeline) -> list[Node]:
    """Return the related findings of a program's rules."""
    symptoms = frozenset(c.id for c in made.classes if c.role == "symptom")
    return relate(findings(made, line), line, frozenset({"progress"}), symptoms)
