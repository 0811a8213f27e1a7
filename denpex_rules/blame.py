"""From a match to a finding: who failed first, with which certainty and proof, when, and which facts are missing.

Only a confirmed match accuses. What may have been first together, an inconclusive match, or a built-in that leaves several
ranks over gives candidates, never initiators.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, field, frozen

from denpex_rules.attribution import Known, Result, Unknown
from denpex_rules.clock import MAX, MIN, Instant, Order, format_about
from denpex_rules.correlator import Clause, Match
from denpex_rules.evaluate import Scope, Truth
from denpex_rules.finding import Suspect
from denpex_rules.rule import Anchor, Blame, LookUp, Path, Role, Rule
from denpex_rules.series import in_order
from denpex_rules.sighting import Actor, Sighting
from denpex_rules.timeline import Need, Point, Timeline, point_of
from denpex_rules.topology import claim_of
from denpex_rules.values import parse_pci


@frozen
class Lack:
    """A fact that is missing: what would have to be read, and why it matters."""

    need: Need
    why: str


@frozen
class Finding:
    """A match with its attribution. `began` is the earliest required sighting, `onset` when the failure really started.

    `anonymous`: the rule would name a rank, but no line tells which, nor its host or device.
    """

    match: Match = field(repr=False)
    initiators: tuple[Suspect, ...]
    candidates: tuple[Suspect, ...]
    onset: Instant | None
    began: Point
    evidence: tuple[tuple[str, Sighting], ...] = field(repr=False)
    against: tuple[Clause, ...] = ()
    reporters: tuple[Actor, ...] = ()
    victims: tuple[Actor, ...] = ()
    lacks: tuple[Lack, ...] = ()
    anonymous: bool = False
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """The rule that was matched."""
        return self.match.rule

    @property
    def job(self) -> str | None:
        """The job that the evidence names, None when none or several are named."""
        jobs = {s.actor.job for _, s in self.evidence if s.actor.job is not None}
        return jobs.pop() if len(jobs) == 1 else None

    @property
    def attempt(self) -> int | None:
        """The attempt of a restarted job that the evidence names, None when none or several are named."""
        attempts = {s.actor.attempt for _, s in self.evidence if s.actor.attempt is not None}
        return attempts.pop() if len(attempts) == 1 else None


def attribute(match: Match, timeline: Timeline) -> Finding | None:
    """Return the finding of a confirmed or inconclusive match, None for a quiet one."""
    if match.outcome == "quiet":
        return None
    blame, refused = _applicable(match)
    initiators, candidates = _suspects(match, blame, timeline)
    onset, notes = _onset(match)
    lacks = [*_lacks(match), *(Lack(need, why.reason) for why in refused for need in why.needs)]
    anonymous = _anonymous(match, blame)
    if anonymous and not timeline.present("agent"):
        lacks.append(Lack(Need("agent"), "no line tells which rank printed it; the launcher's own output does"))
    own = tuple(s for c in match.clauses if c.step.verb == "require" for s in c.sightings)
    return Finding(
        match,
        initiators,
        candidates or _unread(refused, timeline),
        onset,
        point_of(in_order(own)[0]),
        evidence(match),
        _against(match),
        _actors(match, match.rule.reporters),
        _actors(match, match.rule.victims),
        tuple(dict.fromkeys(lacks)),
        anonymous,
        notes,
    )


# ------------------------------------------------------------------ accusation


def _anonymous(match: Match, blame: Blame | None) -> bool:
    """Whether a confirmed match would name a rank, and no line tells which."""
    ranks = any(role.role == "rank" for b in match.rule.blame for role in b.roles)
    return match.outcome == "confirmed" and blame is None and ranks


def refusal(match: Match, blame: Blame) -> Unknown | None:
    """Return why an alternative of `blame` does not apply to a match, None when it applies."""
    absent = next((name for name in blame.when if not _holds(match, name)), None)
    if absent is not None:
        return Unknown(f"`{absent}` is not true")
    value = match.scope.value(blame.roles[0].value) if blame.roles else None
    return value if isinstance(value, Unknown) else None


def _applicable(match: Match) -> tuple[Blame | None, tuple[Unknown, ...]]:
    """Return the first alternative that applies; where it names nobody or there is none, why those before it do not apply."""
    refused: list[Unknown] = []
    for blame in match.rule.blame:
        why = refusal(match, blame)
        if why is None:
            return blame, () if blame.roles else tuple(refused)
        refused.append(why)
    return None, tuple(refused)


def _holds(match: Match, name: str) -> bool:
    clause = match.clause(name)
    return clause is not None and clause.truth is Truth.TRUE


def _suspects(match: Match, blame: Blame | None, timeline: Timeline) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
    """Return initiators and candidates."""
    if blame is None or not blame.roles:
        return (), ()
    own = _accused(match, blame, timeline)
    rivals = [_accused(rival, blame, timeline) for rival in match.rivals]
    everyone = _distinct([*own, *(s for found in rivals for s in found)])
    if match.outcome == "inconclusive":
        return (), tuple(evolve(s, certainty="undecided") for s in everyone)
    if len(own) > 1 and not blame.each:
        reason = f"{len(own)} remain, and nothing tells which of them was first"
        return (), tuple(evolve(s, certainty="undecided", reasons=(*s.reasons, reason)) for s in own)
    if len(everyone) == 1 or blame.each:
        return everyone, ()
    reason = "their order can't be told: the times overlap within clock precision and skew"
    return (), tuple(evolve(s, certainty="undecided", reasons=(*s.reasons, reason)) for s in everyone)


def _unread(refused: Iterable[Unknown], timeline: Timeline) -> tuple[Suspect, ...]:
    """Return the ranks that a built-in could neither name nor clear because their logs were not read."""
    found = ((need.rank, why.reason) for why in refused for need in why.needs if need.rank is not None)
    return _distinct(Suspect(rank, timeline.topology.host_of(rank), None, "undecided", (reason,)) for rank, reason in found)


def _distinct(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    found: dict[tuple[object, ...], Suspect] = {}
    for suspect in suspects:
        found.setdefault((suspect.rank, suspect.host, suspect.device), suspect)
    return tuple(found.values())


def _accused(match: Match, blame: Blame, timeline: Timeline) -> tuple[Suspect, ...]:
    """Return whom one alternative names in one match: one suspect, or one for each rank that a built-in leaves over."""
    values: dict[str, Result] = {role.role: _role_value(match.scope, role) for role in blame.roles}
    rank = values.get("rank")
    ranks: tuple[int | None, ...] = (None,)
    if isinstance(rank, Known):
        ranks = rank.value if isinstance(rank.value, tuple) else (rank.value if isinstance(rank.value, int) else None,)
    return tuple(_suspect(match, blame, values, number, timeline) for number in ranks)


def _role_value(scope: Scope, role: Role) -> Result:
    return scope.value(role.value)


def _suspect(match: Match, blame: Blame, values: dict[str, Result], rank: int | None, timeline: Timeline) -> Suspect:
    host, device = values.get("host"), values.get("device")
    known = [v for v in values.values() if isinstance(v, Known)]
    doubts = _doubts(match, timeline)
    sure = blame.certainty == "certain" and all(v.certainty == "certain" for v in known) and not doubts
    named_host = str(host.value) if isinstance(host, Known) else None
    if named_host is None and rank is not None:
        named_host = timeline.topology.host_of(rank)
    named_device = str(device.value) if isinstance(device, Known) else None
    unknown = [v.reason for v in values.values() if isinstance(v, Unknown)]
    reasons = [*_proofs(match), *(r for v in known for r in v.reasons), *doubts, *unknown]
    return Suspect(
        rank,
        named_host,
        parse_pci(named_device) or named_device if named_device else None,
        "certain" if sure else "likely",
        tuple(dict.fromkeys(reasons)),
    )


def _doubts(match: Match, timeline: Timeline) -> list[str]:
    """Return why an accusation that would be certain is only likely."""
    doubts = [f"`{c.step.name}` speaks against it" for c in match.clauses if c.step.verb == "refute" and c.truth is Truth.TRUE]
    sources = {s.source in timeline.assumed for c in match.clauses if c.step.verb == "require" for s in c.sightings}
    if len(sources) > 1:
        doubts.append("the order rests on stamps whose zone is assumed")
    return doubts


def _proofs(match: Match) -> list[str]:
    return [proof for c in match.clauses if c.truth is Truth.TRUE and c.step.verb != "refute" and (proof := _proof(c))]


def _proof(clause: Clause) -> str:
    """Return what a true clause shows, in words that name no file."""
    if not clause.sightings:
        return clause.reason if clause.step.verb != "unless" else ""
    first = clause.sightings[0]
    when = f" at {time_text(first.instant)}" if first.instant.known and first.instant.frame in _DATED else ""
    more = f" and {len(clause.sightings) - 1} more" if len(clause.sightings) > 1 else ""
    return f"`{clause.step.name}`: {claim_of(first).label()}{when}{more}"


_DATED = {("wall", "", True), ("local", "", True)}  # clocks whose times can be shown as dates


def time_text(instant: Instant) -> str:
    """Return an instant as one ISO time, to the millisecond; one that is bounded on one side only as before or after it."""
    if instant.lo == MIN:
        return f"before {format_about(instant.hi)}"
    if instant.hi == MAX:
        return f"after {format_about(instant.lo)}"
    return format_about(instant.lo)


# ------------------------------------------------------------------ time, evidence, actors, missing facts


def _onset(match: Match) -> tuple[Instant | None, tuple[str, ...]]:
    """Return the first instant that the rule's `onset` alternatives give, else the trigger's, and which could not be asked."""
    notes: list[str] = []
    for alternative in match.rule.onset:
        point = match.scope.anchor(alternative) if isinstance(alternative, Anchor) else _look_up(match, alternative)
        if point is not None and point.instant.known:
            if not (isinstance(alternative, LookUp) and _dropped_between(match, alternative, point)):
                return point.instant, tuple(notes)
            name = alternative.event.rpartition("#")[2]
            notes.append(f"the onset may lie elsewhere: lines of `{name}` around it were dropped to stay within bounds")
    if match.rule.onset:
        return None, tuple(notes)
    instant = match.scope.bindings[match.rule.trigger.name][0].instant
    return (instant if instant.known else None), ()


def _dropped_between(match: Match, look: LookUp, found: Point) -> bool:
    """Whether a sighting that was dropped may lie between an anchor and what a look-up found: then that is not the nearest."""
    anchor = match.scope.anchor(look.anchor) if look.anchor is not None else None
    if anchor is None or not anchor.instant.comparable(found.instant):
        return False
    earlier, later = sorted((anchor.instant, found.instant), key=lambda i: i.lo)
    timeline = match.scope.timeline
    return any(timeline.dropped(p, look.event, earlier.hi, later.lo, found.instant) for p in timeline.presences)


def _look_up(match: Match, look: LookUp) -> Point | None:
    """Return the sighting around an anchor that a look-up asks for: certainly on its side, and the nearest or first."""
    scope, timeline = match.scope, match.scope.timeline
    anchor = scope.anchor(look.anchor) if look.anchor is not None else None
    if look.anchor is not None and anchor is None:
        return None
    wanted = Order.BEFORE if look.relation == "before" else Order.AFTER
    found = [
        s
        for s in timeline.of(look.event)
        if s.instant.known
        and (anchor is None or timeline.order(point_of(s), anchor) is wanted)
        and all(scope.condition(c, s).truth is Truth.TRUE for c in look.where)
    ]
    if not found:
        return None
    return point_of(found[-1] if look.pick == "last" else found[0])


def evidence(match: Match) -> tuple[tuple[str, Sighting], ...]:
    """Return the sightings that speak for a match with the step that each fills, in canonical order, each once."""
    steps: dict[int, str] = {}
    found: dict[int, Sighting] = {}
    pairs = [(c.step.name, s) for c in match.clauses if c.truth is not Truth.FALSE and c.step.verb != "unless" for s in c.sightings]
    for name, sighting in (*pairs, *((match.rule.trigger.name, s) for s in match.triggers)):
        steps.setdefault(id(sighting), name)
        found[id(sighting)] = sighting
    return tuple((steps[id(s)], s) for s in in_order(found.values()))


def _against(match: Match) -> tuple[Clause, ...]:
    confirmed = [c for c in match.clauses if c.step.verb == "confirm" and c.truth is Truth.FALSE]
    return (*confirmed, *(c for c in match.clauses if c.step.verb == "refute" and c.truth is Truth.TRUE))


def _actors(match: Match, paths: tuple[Path, ...]) -> tuple[Actor, ...]:
    found: dict[Actor, None] = {}
    for path in paths:
        for sighting in match.scope.everything(path.name):
            found.setdefault(claim_of(sighting))
    return tuple(sorted(found, key=lambda a: (a.rank is None, a.rank or 0, a.host or "", a.device or "", a.pid or 0)))


def _lacks(match: Match) -> list[Lack]:
    lacks = []
    for clause in match.clauses:
        if clause.truth is Truth.UNDETERMINED:
            what = "decides the rule" if clause.step.verb in {"require", "unless"} else "would prove more"
            lacks += [Lack(need, f"`{clause.step.name}` {what}: {clause.reason}") for need in clause.needs[:_LISTED]]
    return lacks


_LISTED = 16
