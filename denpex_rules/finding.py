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
    """How one clause came out: its words, truth, and why. `miss_s` is the nearest miss in seconds, where there is one; `nearest`
    the `file:line` of it, or of what a guard saw: explanations say it, reports do not.
    """

    verb: str
    step: str
    text: str
    truth: Truth
    reason: str = ""
    miss_s: float | None = None
    nearest: str | None = None


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
    attempt: int | None = None
    notes: tuple[str, ...] = ()


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
    """What was read of one actor in one kind of log.

    `truncated`: bytes of it are missing; `merged`: a line may stand for lines of others. `silent_since` is its last line, where
    the logs of the job go on for several times its longest gap.
    """

    actor: Who
    kind: str | None
    sources: tuple[str, ...]
    lines: int
    untimed: int
    first: str | None
    last: str | None
    gaps: tuple[Interval, ...] = ()
    truncated: bool = False
    merged: bool = False
    silent_since: str | None = None


@frozen
class Unread:
    """An actor that other lines tell of, and the kind of log of it that was not read."""

    actor: Who
    kind: str


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
    """What was read, of whom, over which time; what was cut or merged; the ranks expected and seen.

    `unread` are the first of those whose log is not there, `unread_count` tells how many there are.
    """

    actors: tuple[ActorCoverage, ...] = ()
    sources: tuple[SourceSummary, ...] = ()
    world_size: int | None = None
    ranks_seen: int = 0
    skew_s: float = 5.0
    notes: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    unread_count: int = 0


@frozen
class Ending:
    """How the logs of a job end in which nothing failed. `last` is the last time in them.

    `ended`: a line says that the work is done. `open`: no line does; a job that runs and one that was killed as a whole look alike.
    `cut_off`: the ranks `stopped` stopped in the middle of their work while others went on. None of it is an accusation.
    """

    state: Literal["ended", "open", "cut_off"]
    last: str | None
    stopped: Group = Group()
    reasons: tuple[str, ...] = ()
    missing: tuple[MissingFact, ...] = ()


@frozen
class Recurrence:
    """A device, host or rank that failed first in several incidents of different attempts or times."""

    who: Who
    incidents: tuple[str, ...]
    attempts: tuple[int, ...] = ()


@frozen
class Report:
    """The whole answer to one scan. `ending` is None where something failed, or where no log of a job was read."""

    verdict: Verdict
    incidents: tuple[Incident, ...] = ()
    unexplained: tuple[Unexplained, ...] = ()
    coverage: CoverageReport = CoverageReport()
    schema: str = SCHEMA
    ending: Ending | None = None
    recurrences: tuple[Recurrence, ...] = ()


@frozen
class Explanation:
    """How one rule came out for one key, clause by clause. `key` is in words ("job 4711", "" where nothing is known)."""

    rule: str
    key: str
    outcome: Literal["confirmed", "inconclusive", "quiet"]
    clauses: tuple[ClauseResult, ...]
    evidence: tuple[Evidence, ...] = ()


@frozen
class Decisive:
    """One record that an incident's answer rests on. `part`: `evidence` of its own rule, `explained` (of a finding that it
    explains) or `witness` (of no rule: it proves order, such as the last progress before the onset).
    """

    part: Literal["evidence", "explained", "witness"]
    rule: str
    evidence: Evidence


@frozen
class Alternative:
    """One alternative of a rule's `blame`: its words, whether it applied, and why not."""

    text: str
    applied: bool
    why: str = ""


@frozen
class Weighed:
    """A rule that was weighed for an incident, and what became of it: its `root`, `explained` by it, `apart` from it, or `quiet`.

    `count` is how many findings or keys of the rule came out so; `clauses` are those of the first.
    """

    rule: str
    title: str
    stands: Literal["root", "explained", "apart", "quiet"]
    outcome: Literal["confirmed", "inconclusive", "quiet"]
    why: str
    clauses: tuple[ClauseResult, ...] = ()
    count: int = 1


@frozen
class Considered:
    """Actors that could have failed first, and what became of that, with what speaks for and against them."""

    actors: Group
    stands: Literal["initiator", "possible", "rejected"]
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()


@frozen
class Reasoning:
    """The whole reasoning of one incident: its decisive records in order of time, rules, alternatives of blame and candidates."""

    incident: Incident
    timeline: tuple[Decisive, ...]
    rules: tuple[Weighed, ...]
    alternatives: tuple[Alternative, ...]
    considered: tuple[Considered, ...]
    missing: tuple[MissingFact, ...] = ()
