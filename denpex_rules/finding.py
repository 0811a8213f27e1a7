"""The report: what `rulecheck scan` prints as JSON. A contract: versioned (`SCHEMA`), documented, schema-tested.

Fields may be added; none is renamed or removed without a new version.
"""

from __future__ import annotations

from typing import Final, Literal

from attrs import field, frozen

from denpex_rules.rule import Level

SCHEMA: Final = "denpex-report/1"

Verdict = Literal["failed", "stopped", "warning", "undecided", "healthy", "no_data"]
Truth = Literal["true", "false", "undetermined"]


@frozen
class Moment:
    """A closed interval as ISO 8601 UTC texts; both None where no time (or no year) is known."""

    lo: str | None
    hi: str | None
    clock: str


@frozen
class Interval:
    """A closed interval as ISO 8601 UTC texts."""

    lo: str
    hi: str


@frozen
class Who:
    """An actor in the report; each part known or None."""

    rank: int | None = None
    host: str | None = None
    device: str | None = None
    local_rank: int | None = None
    pid: int | None = None


@frozen
class Suspect:
    """An accusation (`initiators`, certain or likely) or a remaining possibility (`candidates`, undecided)."""

    rank: int | None
    host: str | None
    device: str | None
    certainty: Literal["certain", "likely", "undecided"]
    reasons: tuple[str, ...] = ()


@frozen
class Evidence:
    """One record that speaks for the incident. `bytes` is half-open; `moments` gives named instants of the event, in seconds
    relative to the record ("stalled": -1800.0).
    """

    event: str
    step: str
    source: str
    line: int
    bytes: tuple[int, int]
    instant: Moment
    actor: Who
    text: str
    moments: dict[str, float] = field(factory=dict)


@frozen
class ClauseResult:
    """How one clause came out: its words, truth, and why. `miss_s` is the nearest miss in seconds, where there is one."""

    verb: str
    step: str
    text: str
    truth: Truth
    reason: str = ""
    miss_s: float | None = None


@frozen
class Group:
    """Actors of one role: how many in all, and the first 32."""

    count: int = 0
    actors: tuple[Who, ...] = ()


@frozen
class MissingFact:
    """A fact that would decide more, why it matters, and a command that fetches it."""

    fact: str
    why: str
    command: str


@frozen
class Check:
    """A command that checks the finding, and the host to run it on."""

    command: str
    host: str | None = None


@frozen
class Remedy:
    """What happened in the mechanism's terms and what to do, with values filled in."""

    why: str = ""
    do: tuple[str, ...] = ()
    verify: tuple[Check, ...] = ()
    references: tuple[str, ...] = ()


@frozen
class Incident:
    """One root finding with the findings that it explains."""

    id: str
    revision: int
    rule: str
    cls: str
    title: str
    level: Level
    outcome: Literal["confirmed", "inconclusive"]
    job: str | None
    initiators: tuple[Suspect, ...]
    candidates: tuple[Suspect, ...]
    onset: Interval | None
    evidence: tuple[Evidence, ...]
    against: tuple[ClauseResult, ...] = ()
    reporters: Group = Group()
    victims: Group = Group()
    explains: tuple[Incident, ...] = ()
    missing: tuple[MissingFact, ...] = ()
    remedy: Remedy = Remedy()
    impact: str = "major"
    clauses: tuple[ClauseResult, ...] = ()


@frozen
class Unexplained:
    """An error record that no rule explains; `count` records have the same shape."""

    source: str
    line: int
    bytes: tuple[int, int]
    instant: Moment
    actor: Who
    text: str
    count: int


@frozen
class ActorCoverage:
    """What was read of one actor in one kind of log."""

    actor: Who
    kind: str | None
    sources: tuple[str, ...]
    lines: int
    untimed: int
    first: str | None
    last: str | None
    gaps: tuple[Interval, ...] = ()


@frozen
class SourceSummary:
    """What was read of one source, and how."""

    source: str
    layout: str
    bytes: int
    lines: int
    truncated: bool
    merged: int
    evicted: int
    notes: tuple[str, ...] = ()


@frozen
class CoverageReport:
    """What was read, of whom, over which time; what was cut or merged; the ranks expected and seen."""

    actors: tuple[ActorCoverage, ...] = ()
    sources: tuple[SourceSummary, ...] = ()
    world_size: int | None = None
    ranks_seen: int = 0
    skew_s: float = 5.0
    notes: tuple[str, ...] = ()


@frozen
class Report:
    """The whole answer to one scan."""

    verdict: Verdict
    incidents: tuple[Incident, ...] = ()
    unexplained: tuple[Unexplained, ...] = ()
    coverage: CoverageReport = CoverageReport()
    schema: str = SCHEMA


@frozen
class Explanation:
    """How one rule came out for one key, clause by clause. `key` is in words ("job 4711", "" where nothing is known)."""

    rule: str
    key: str
    outcome: Literal["confirmed", "inconclusive", "quiet"]
    clauses: tuple[ClauseResult, ...]
    evidence: tuple[Evidence, ...] = ()
