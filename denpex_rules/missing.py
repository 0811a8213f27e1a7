"""Missing facts: what would have to be read to decide more, why it matters, and the command that fetches it.

Whose log was not read can't be cleared: where nothing tells who failed first, these remain as candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from denpex_rules import finding as out
from denpex_rules.attribution import expected_ranks
from denpex_rules.blame import Finding, Lack
from denpex_rules.clock import MAX, MIN, MINUTE, Instant, format_time
from denpex_rules.program import Program
from denpex_rules.relate import Node
from denpex_rules.rule import Kind
from denpex_rules.timeline import Need, Presence, Timeline
from denpex_rules.topology import claim_of

LISTED = 32  # suspects that remain


@frozen
class Context:
    """What incidents are described with."""

    program: Program
    timeline: Timeline

    @property
    def roles(self) -> Mapping[str, str]:
        """Cause or symptom, by class."""
        return {c.id: c.role for c in self.program.classes}


def facts(node: Node, context: Context, *, root: bool) -> tuple[out.MissingFact, ...]:
    """Return the facts that are missing for a finding, each log once; for a symptom that is a root also what would explain it."""
    lacks = list(node.finding.lacks)
    rule = node.finding.rule
    if root and rule.level == "failure" and context.roles.get(rule.cls) == "symptom":  # a named rank is not yet a cause
        lacks += _of_causes(node.finding, context)
    if root and rule.level == "failure" and not lacks and not node.finding.initiators:
        lacks = [
            Lack(need, "nobody is named: it may show who failed first") for need in _unread("rank", context.timeline, None, None)
        ]
    unique: dict[tuple[object, ...], Lack] = {}
    for lack in lacks:
        log = (lack.need.kind or "rank", lack.need.rank, lack.need.host, lack.need.source)
        known = unique.setdefault(log, lack)
        unique[log] = evolve(known, need=_hull(known.need, lack.need))
    return tuple(missing_fact(lack) for lack in unique.values())


def _hull(a: Need, b: Need) -> Need:
    """Return one need for two of the same log; an interval that only one of them names is taken."""
    los, his = [n.lo for n in (a, b) if n.lo is not None], [n.hi for n in (a, b) if n.hi is not None]
    return evolve(a, lo=min(los, default=None), hi=max(his, default=None))


def uncleared(found: Finding, context: Context) -> tuple[out.Suspect, ...]:
    """Return who remains possible where a symptom has neither an explanation nor a suspect.

    Whom a launcher's or scheduler's line is about, and the ranks whose log was not read; where there is none of either, the hosts
    whose kernel log was not read.
    """
    timeline = context.timeline
    if context.roles.get(found.rule.cls) != "symptom" or found.rule.level != "failure" or found.initiators or found.candidates:
        return ()
    echoes = {actor.rank for actor in (*found.reporters, *found.victims)}
    named = _named(found)
    ranks = [r for r in sorted(expected_ranks(timeline) - echoes) if not timeline.present("rank", r)]
    if named or ranks:
        told = "a launcher's line names it; whether it failed or gave up waiting for another one no line tells"
        why = "it is not among those that reported, and its log was not read: it may have failed first"
        reasons = {**dict.fromkeys(ranks, why), **dict.fromkeys(named, told)}
        return tuple(
            out.Suspect(rank, timeline.topology.host_of(rank), None, "undecided", (reasons[rank],))
            for rank in [*named, *(r for r in ranks if r not in named)][:LISTED]
        )
    hosts = [host for host in sorted(timeline.topology.hosts) if not timeline.present("kernel", host=host)]
    why = "no rank stands out, and the kernel log of this host was not read: it may show what stopped them"
    return tuple(out.Suspect(None, host, None, "undecided", (why,)) for host in hosts[:LISTED])


def _named(found: Finding) -> list[int]:
    """Return the ranks that lines of another process are about: a launcher names the worker that it saw end."""
    lines = (s for c in found.match.clauses if c.step.verb == "require" for s in c.sightings if s.kind in _TELLING)
    return sorted({rank for s in lines if (rank := claim_of(s).rank) is not None})


_TELLING: Final[frozenset[Kind]] = frozenset({"agent", "scheduler", "control"})


def _of_causes(symptom: Finding, context: Context) -> list[Lack]:
    """Return the logs that would show the triggers of the rules that could explain a symptom, as far as they were not read."""
    timeline = context.timeline
    start = symptom.onset or symptom.began.instant
    events = {e.id: e for e in context.program.events}
    titles: dict[Kind, list[str]] = defaultdict(list)
    spans: dict[Kind, int] = defaultdict(int)
    for rule in context.program.rules:
        if symptom.rule.cls in rule.causes and rule.id != symptom.rule.id:
            for kind in events[rule.trigger.event].kinds:
                titles[kind].append(rule.title)
                spans[kind] = max(spans[kind], rule.span_ns)
    lacks = []
    for kind, names in sorted(titles.items()):
        why = f"it would show {_some(names)}"
        lo, hi = _around(start, spans[kind])
        lacks += [Lack(need, why) for need in _unread(kind, timeline, lo, hi)]
    suspected = {s.host for s in (*symptom.initiators, *symptom.candidates)} - {None}
    # What says most stands first: the suspect's own host, and there the kernel, which tells of devices.
    return sorted(lacks, key=lambda lack: (lack.need.host not in suspected, lack.need.kind != "kernel"))


def _around(start: Instant, span: int) -> tuple[int | None, int | None]:
    """Return the interval to look in: shortly before the stall started until shortly after it."""
    if start.lo == MIN or start.hi == MAX or not start.year or start.clock in {"monotonic", "none"}:
        return None, None
    return start.lo - min(span, 10 * MINUTE), start.hi + MINUTE


def _some(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    shown = "; ".join(f"“{n}”" for n in unique[:3])
    plural = f"{len(unique) - 3} other cause{'s' if len(unique) > 4 else ''}"
    return shown + (f" or {plural}" if len(unique) > 3 else "")


def _unread(kind: Kind, timeline: Timeline, lo: int | None, hi: int | None) -> list[Need]:
    topology = timeline.topology
    if kind == "rank":
        seen = {p.activity.actor.rank for p in timeline.present("rank")}
        expected = range(min(topology.world_size or 0, 100_000)) if topology.world_size else sorted(topology.ranks)
        absent = [r for r in expected if r not in seen]
        if absent:
            return [Need("rank", rank=r, lo=lo, hi=hi) for r in absent[:16]]
        return [] if topology.world_size else [Need("rank", lo=lo, hi=hi)]
    read = [p for p in timeline.present(kind) if lo is None or hi is None or _overlaps(p, timeline, lo, hi)]
    hosts = {p.activity.actor.host for p in read}
    if topology.hosts:
        return [Need(kind, host=h, lo=lo, hi=hi) for h in sorted(topology.hosts - hosts)[:16]]
    return [] if read else [Need(kind, lo=lo, hi=hi)]


def _overlaps(presence: Presence, timeline: Timeline, lo: int, hi: int) -> bool:
    reach = timeline.reach(presence)
    return reach is not None and reach[0] <= hi and lo <= reach[1]


def missing_fact(lack: Lack) -> out.MissingFact:
    """Return a missing fact with the command that fetches it."""
    need = lack.need
    lo = format_time(need.lo) if need.lo is not None and need.lo > MIN else "<start>"
    hi = format_time(need.hi) if need.hi is not None and need.hi < MAX else "<end>"
    host = need.host or "<host>"
    since = f"--since '{_journal(lo)}' --until '{_journal(hi)}'"
    commands = {
        "kernel": f"ssh {host} journalctl -k -o short-iso-precise --utc {since}",
        "fabric": f"ssh {host} cat /var/log/fabricmanager.log",
        "scheduler": "sacct -j <job> -o JobID,State,ExitCode,DerivedExitCode,NodeList,Start,End; "
        f"ssh {host} journalctl -u slurmd --utc {since}",
        "control": "kubectl get events -A --sort-by=.lastTimestamp",
        "agent": "collect the launcher's own output (stdout and stderr of torchrun or srun), and add it to the scan",
    }
    rank = "the ranks that are not in the scan" if need.rank is None else f"rank {need.rank}"
    command = commands.get(need.kind or "rank", f"collect stdout and stderr of {rank}, and add them to the scan")
    return out.MissingFact(need.text(), lack.why, command)


def _journal(iso: str) -> str:
    return iso.replace("T", " ").split(".")[0].rstrip("Z")
