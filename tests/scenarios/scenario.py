"""What a scenario is, what is true in it, and how an answer is judged against that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from attrs import frozen

from denpex_rules import Program, Report, correlate
from denpex_rules.clock import SECOND
from denpex_rules.engine import Options
from denpex_rules.finding import Incident, Suspect
from denpex_rules.places import hints_for
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Scan
from scenarios.cluster import Cluster

Verdict = Literal["right", "undecided", "wrong", "unexplained"]
ANY: Final = "*"


@frozen
class Guilty:
    """Who failed first. A part that is None is not part of the truth: to name it is wrong; ANY leaves it open."""

    rank: int | str | None = None
    host: str | None = None
    device: str | None = None

    def admits(self, suspect: Suspect) -> bool:
        """Whether a suspect names something, and nothing that differs from the truth."""
        pairs = ((suspect.rank, self.rank), (suspect.host, self.host), (suspect.device, self.device))
        named = [(own, truth) for own, truth in pairs if own is not None]
        return bool(named) and all(truth in {own, ANY} for own, truth in named)


@frozen
class Truth:
    """What is true in a scenario.

    Args:
        classes: classes of which the first root incident may be.
        guilty: who failed first; each must be named for the answer to be right. Empty where nobody did (the job's own end).
        also: who may be named besides: a second fault of its own.
        undecided: words of which one must stand in the missing facts or reasons of an undecided answer; empty where the logs
            decide.
    """

    classes: tuple[str, ...]
    guilty: tuple[Guilty, ...] = ()
    also: tuple[Guilty, ...] = ()
    undecided: tuple[str, ...] = ()


@frozen
class Scenario:
    """A story with its truth. `build` writes the logs anew; `skew` is the bound given to the scan, in seconds."""

    name: str
    says: str
    build: Callable[[], tuple[Cluster, Truth]]
    family: str
    skew: float = 5.0
    merge: bool = True


@frozen
class Answer:
    """How one view of a scenario was judged: the verdict, what was said, and which accusations are wrong."""

    verdict: Verdict
    said: str
    wrong: tuple[str, ...] = ()


FOUND: list[Scenario] = []


def scenario(
    family: str, *, skew: float = 5.0, merge: bool = True
) -> Callable[[Callable[[], tuple[Cluster, Truth]]], Callable[[], tuple[Cluster, Truth]]]:
    """Register the function that builds a scenario, under its name and docstring."""

    def add(build: Callable[[], tuple[Cluster, Truth]]) -> Callable[[], tuple[Cluster, Truth]]:
        FOUND.append(Scenario(build.__name__, (build.__doc__ or "").strip(), build, family, skew, merge))
        return build

    return add


def views(case: Scenario) -> Iterator[tuple[str, Mapping[str, bytes], bool]]:
    """Yield the views of a scenario: its name, its files, and whether they are read last to first."""
    cluster, _ = case.build()
    files = cluster.logs()
    yield "files", files, False
    yield "reversed", files, True
    if case.merge:
        yield "merged", cluster.merged(), False


def read(files: Mapping[str, bytes], program: Program, skew: float, *, backwards: bool = False) -> Report:
    """Return the report of files, read in the order of their names or against it."""
    whole = Scan()
    for name in sorted(files, reverse=backwards):
        scanner = SourceScanner(program, name, hints_for(name))
        scanner.feed(files[name])
        whole = whole.merge(scanner.close())
    return correlate(whole, program, Options(skew_ns=int(skew * SECOND)))


def every(incidents: tuple[Incident, ...]) -> Iterator[Incident]:
    """Yield the incidents and all that they explain."""
    for incident in incidents:
        yield incident
        yield from every(incident.explains)


def judge(report: Report, truth: Truth) -> Answer:
    """Return the judgement of a report: any accusation of an innocent makes it wrong."""
    failures = [i for i in every(report.incidents) if i.level == "failure"]
    allowed = (*truth.guilty, *truth.also)
    wrong = tuple(
        f"{i.rule} accuses {name_of(s)} ({s.certainty})"
        for i in failures
        for s in i.initiators
        if not any(g.admits(s) for g in allowed)
    )
    root = next(iter(report.incidents), None)
    said = f"{root.cls}: {', '.join(name_of(s) for s in root.initiators) or 'nobody'}" if root else report.verdict
    if wrong:
        return Answer("wrong", said, wrong)
    named = [s for i in report.incidents if i.level in {"failure", "stop"} for s in i.initiators]
    if (
        root is not None
        and root.cls in truth.classes
        and not truth.undecided
        and all(any(g.admits(s) for s in named) for g in truth.guilty)
    ):
        return Answer("right", said)
    if any(s for i in failures for s in i.initiators) and truth.guilty and not truth.undecided:
        return Answer("unexplained", said)
    return Answer("undecided" if root is not None and explains(report, truth) else "unexplained", said)


def explains(report: Report, truth: Truth) -> bool:
    """Whether an undecided report gives a reason or missing fact, and the one that the truth asks for."""
    texts = [f"{m.fact} {m.why}" for i in report.incidents for m in i.missing]
    texts += [reason for i in report.incidents for s in i.candidates for reason in s.reasons]
    texts += [f"{i.cls} {i.title} {i.remedy.why}" for i in report.incidents]
    return (
        any(word in text for word in truth.undecided for text in texts)
        if truth.undecided
        else any(i.missing for i in report.incidents)
    )


def name_of(suspect: Suspect) -> str:
    """Return a suspect in words."""
    parts = (f"rank {suspect.rank}" if suspect.rank is not None else None, suspect.host, suspect.device)
    return " ".join(p for p in parts if p)
