"""The whole reasoning of an incident: its decisive records, every rule that was weighed, and who else could have been blamed.

Nothing is decided here. What the engine decided is laid open: each clause, each alternative of `blame`, each candidate with what
speaks for and against it, and each fact that is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from attrs import Factory, define, evolve, frozen

from denpex_rules import finding as out
from denpex_rules.attribution import expected_ranks
from denpex_rules.blame import Finding, refusal
from denpex_rules.clock import Order
from denpex_rules.correlator import Clause, Match, describe_miss
from denpex_rules.evaluate import Truth
from denpex_rules.missing import Context
from denpex_rules.notation import blame_text, clause_text
from denpex_rules.relate import Node, relation
from denpex_rules.report import LISTED, clause_result, evidence, identity
from denpex_rules.rule import PROGRESS
from denpex_rules.series import in_order
from denpex_rules.sighting import Sighting
from denpex_rules.timeline import Point, point_of

SHOWN: Final = 3  # records of one rule's step in the timeline; of the rest the incident's evidence holds more
WITNESSES: Final = 8  # ranks whose last progress is shown
QUIET: Final = 20  # quiet rules that are listed
EVERYONE: Final = 10_000  # ranks that are considered one by one


def reason(nodes: Sequence[Node], matches: Iterable[Match], context: Context, made: out.Report) -> tuple[out.Reasoning, ...]:
    """Return the reasoning of every incident of a report, in its order.

    Args:
        nodes: the root findings that the report was made of.
        matches: how every rule whose trigger was seen came out, quiet ones included.
        context: program and timeline.
        made: the report.
    """
    roots = {identity(node.finding): node for node in nodes}
    quiet = [match for match in matches if match.outcome == "quiet"]
    return tuple(_Case(roots[i.id], i, tuple(nodes), quiet, context).reasoning() for i in made.incidents)


@frozen
class _Case:
    """One root finding with all that it is weighed against."""

    node: Node
    incident: out.Incident
    roots: tuple[Node, ...]
    quiet: Sequence[Match]
    context: Context

    def reasoning(self) -> out.Reasoning:
        found = self.node.finding
        return out.Reasoning(
            self.incident,
            self._timeline(),
            (self._root(), *self._explained(), *self._apart(), *self._quiet()),
            _alternatives(found.match),
            _Candidates(self.node, self.incident.candidates, self.context).considered(),
            tuple(dict.fromkeys(fact for one in _all(self.incident) for fact in one.missing)),
        )

    # ---- decisive records

    def _timeline(self) -> tuple[out.Decisive, ...]:
        """Return the records in canonical order, each once: for the rule that stands highest."""
        scope = self.node.finding.match.scope
        kept: dict[tuple[str, int], tuple[Literal["evidence", "explained", "witness"], str, str, Sighting]] = {}
        for node in _walk(self.node):
            shown: dict[str, int] = defaultdict(int)
            for step, sighting in node.finding.evidence:
                place = (sighting.source, sighting.line)
                if shown[step] < SHOWN and place not in kept:
                    shown[step] += 1
                    kept[place] = ("evidence" if node is self.node else "explained", node.finding.rule.qualified, step, sighting)
        for sighting in self._witnesses():
            kept.setdefault((sighting.source, sighting.line), ("witness", "", "last progress", sighting))
        place_of = {id(s): i for i, s in enumerate(in_order(entry[3] for entry in kept.values()))}
        ordered = sorted(kept.values(), key=lambda entry: place_of[id(entry[3])])
        return tuple(out.Decisive(part, rule, evidence(step, s, scope)) for part, rule, step, s in ordered)

    def _witnesses(self) -> Iterator[Sighting]:
        """Yield the last progress that certainly came before the first sighting: of each suspect's rank, and of the whole job."""
        timeline, found = self.context.timeline, self.node.finding
        events = (e.id for e in self.context.program.events if PROGRESS in e.id)
        progress = in_order(s for event in events for s in timeline.of(event) if s.instant.known)
        earlier = [s for s in progress if timeline.order(point_of(s), found.began) is Order.BEFORE]
        suspected = dict.fromkeys(s.rank for s in (*found.initiators, *found.candidates) if s.rank is not None)
        for rank in [*suspected][:WITNESSES]:
            yield from [s for s in earlier if s.actor.rank == rank][-1:]
        yield from earlier[-1:]

    # ---- rules

    def _root(self) -> out.Weighed:
        found = self.node.finding
        why = "no other finding explains it" if found.match.outcome == "confirmed" else _undecided(found.match)
        return _weighed(found.match, "root", why)

    def _explained(self) -> tuple[out.Weighed, ...]:
        found = [_weighed(child.finding.match, "explained", _link(parent, child)) for parent, child in _pairs(self.node)]
        return _counted(found)

    def _apart(self) -> tuple[out.Weighed, ...]:
        others = [root.finding for root in self.roots if root is not self.node]
        return _counted(_weighed(other.match, "apart", self._unrelated(other)) for other in others)

    def _unrelated(self, other: Finding) -> str:
        """Return why another root finding neither explains this one nor is explained by it."""
        own, context = self.node.finding, self.context
        symptoms = frozenset(c.id for c in context.program.classes if c.role == "symptom")
        progress = frozenset(e.id for e in context.program.events if PROGRESS in e.id)
        pairs = [(a, b) for a, b in ((other, own), (own, other)) if b.rule.cls in a.rule.causes]
        said = [relation(a, b, context.timeline, progress, symptoms) for a, b in pairs]
        refused = next((why for why in said if isinstance(why, str)), None)
        if refused is not None:
            return f"another incident: {refused}"
        return "another incident: neither rule names the class of the other among what it causes"

    def _quiet(self) -> tuple[out.Weighed, ...]:
        """Return the rules that could explain the incident and whose trigger was seen, but which are quiet."""
        classes = {one.cls for one in _all(self.incident)}
        standing = {one.rule for one in _all(self.incident)}
        able = [m for m in self.quiet if m.rule.cls in classes or classes & set(m.rule.causes)]
        found = [_weighed(m, "quiet", _refuted(m)) for m in able if m.rule.qualified not in standing]
        return _counted(found)[:QUIET]


def _weighed(match: Match, stands: Literal["root", "explained", "apart", "quiet"], why: str) -> out.Weighed:
    clauses = tuple(clause_result(c) for c in match.clauses)
    return out.Weighed(match.rule.qualified, match.rule.title, stands, match.outcome, why, clauses)


def _counted(found: Iterable[out.Weighed]) -> tuple[out.Weighed, ...]:
    """Return each rule that came out in one way once, with how often it did."""
    alike: dict[tuple[str, str, str], out.Weighed] = {}
    for one in found:
        key = (one.rule, one.outcome, one.why)
        alike[key] = evolve(alike[key], count=alike[key].count + 1) if key in alike else one
    return tuple(alike.values())


def _link(parent: Node, child: Node) -> str:
    cause, symptom = parent.finding.rule, child.finding.rule
    if cause.cls == symptom.cls:
        return f"the same fault as {cause.id} reports, seen from another side"
    order = "which came first" if child.certain else "which did not come later as far as the clocks tell"
    return f"explained by {cause.id}, {order}"


def _refuted(match: Match) -> str:
    """Return why a rule is quiet: its first required clause or guard that is false."""
    clause = next((c for c in match.clauses if c.truth is Truth.FALSE and c.step.verb in {"require", "unless"}), None)
    if clause is None:
        return "its required steps do not fit into its span"
    return f"`{clause_text(clause.step)}` is false{_because(clause)}"


def _undecided(match: Match) -> str:
    """Return why a finding is inconclusive: its first required clause or guard that is undetermined."""
    clause = next((c for c in match.clauses if c.truth is Truth.UNDETERMINED and c.step.verb in {"require", "unless"}), None)
    return "inconclusive" if clause is None else f"inconclusive: `{clause_text(clause.step)}` is undetermined{_because(clause)}"


def _because(clause: Clause) -> str:
    parts = [clause.reason, describe_miss(clause.miss) if clause.miss is not None else ""]
    text = "; ".join(filter(None, parts))
    return f" ({text})" if text else ""


def _alternatives(match: Match) -> tuple[out.Alternative, ...]:
    found: list[out.Alternative] = []
    for blame in match.rule.blame:
        if any(one.applied for one in found):
            found.append(out.Alternative(blame_text(blame), applied=False, why="not needed: one before it applies"))
            continue
        why = refusal(match, blame)
        found.append(out.Alternative(blame_text(blame), applied=why is None, why=why.reason if why is not None else ""))
    return tuple(found)


# ------------------------------------------------------------------ candidates


@define
class _View:
    """What is known of one actor: where it stands, and what speaks for and against it, each reason once."""

    stands: Literal["initiator", "possible", "rejected"] | None = None
    speaks_for: dict[str, None] = Factory(dict)
    speaks_against: dict[str, None] = Factory(dict)


@define
class _Candidates:
    """Everybody who could have failed first: the suspects of all findings of an incident, all ranks of the job, all its hosts."""

    node: Node
    open: tuple[out.Suspect, ...]  # the candidates of the incident
    context: Context
    views: dict[out.Who, _View] = Factory(lambda: defaultdict(_View))
    by_rank: dict[int, out.Who] = Factory(dict)

    def considered(self) -> tuple[out.Considered, ...]:
        """Return them, those of whom the same is known together: initiators, then what remains possible, then what is rejected."""
        self._suspects()
        self._echoes()
        self._ranks()
        self._hosts()
        groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[out.Who]] = defaultdict(list)
        for actor, view in self.views.items():
            groups[view.stands or "possible", tuple(view.speaks_for), tuple(view.speaks_against)].append(actor)
        order: tuple[Literal["initiator", "possible", "rejected"], ...] = ("initiator", "possible", "rejected")
        return tuple(
            out.Considered(out.Group(len(actors), tuple(actors[:LISTED])), stands, speaks_for, speaks_against)
            for stands in order
            for (stood, speaks_for, speaks_against), actors in groups.items()
            if stood == stands
        )

    @property
    def _decided(self) -> bool:
        return bool(self.node.finding.initiators)

    def _who(self, rank: int | None, host: str | None, device: str | None = None) -> out.Who:
        """Return a rank as one actor, whatever part of it a line names; else the host, with the device."""
        if rank is None:
            return out.Who(host=host, device=device)
        if rank not in self.by_rank:
            self.by_rank[rank] = out.Who(rank, host or self.context.timeline.topology.host_of(rank), device)
        return self.by_rank[rank]

    def _suspect(self, suspect: out.Suspect) -> out.Who:
        """Return whom a suspect names; a place that one initiator alone has stands for that initiator."""
        if suspect.rank is None:
            named = (suspect.host, suspect.device)
            same = [who for who, view in self.views.items() if view.stands == "initiator" and (who.host, who.device) == named]
            if len(same) == 1:
                return same[0]
        return self._who(suspect.rank, suspect.host, suspect.device)

    def _suspects(self) -> None:
        """Take the suspects of the root, then those of what it explains: they were rejected where the root names another."""
        for node in _walk(self.node):
            root, found = node is self.node, node.finding
            for suspect in (*found.initiators, *(self.open if root else found.candidates)):
                view = self.views[self._suspect(suspect)]
                if root:
                    view.stands = "initiator" if suspect in found.initiators else "possible"
                    view.speaks_for.update(dict.fromkeys(suspect.reasons))
                elif view.stands == "initiator":
                    view.speaks_for[f"{found.rule.id} names it too"] = None
                else:
                    view.stands = view.stands or ("rejected" if self._decided else "possible")
                    view.speaks_for[f"{found.rule.id} would name it"] = None
                    view.speaks_against[f"{found.rule.id} is explained by {self.node.finding.rule.id}"] = None

    def _echoes(self) -> None:
        """Take who merely reported or was hurt, with the rules that say so."""
        said: dict[tuple[out.Who, str], dict[str, None]] = defaultdict(dict)
        for node in _walk(self.node):
            for actors, what in ((node.finding.reporters, "it only reported"), (node.finding.victims, "it was hurt by it")):
                for actor in actors:
                    if actor.rank is not None or actor.host is not None:
                        said[self._who(actor.rank, actor.host), what][node.finding.rule.id] = None
        for (who, what), rules in said.items():
            self._against(who, f"{what} ({', '.join([*rules][:SHOWN])})")

    def _ranks(self) -> None:
        """Take every other rank of the job: what its log shows, or that it was not read."""
        timeline = self.context.timeline
        for rank in sorted(expected_ranks(timeline))[:EVERYONE]:
            who = self._who(rank, None)
            known = who in self.views
            if not timeline.present("rank", rank):
                self._unread(who, "its log was not read")
            elif not known:
                self._against(who, "its log was read and shows no cause")
            if self._spoke_on(rank):
                self._against(who, "its log goes on after the onset")

    def _hosts(self) -> None:
        """Take every host that no suspect or rank above stands on: what its kernel log shows, or that it was not read."""
        timeline, named = self.context.timeline, {who.host for who, view in self.views.items() if view.stands == "initiator"}
        for host in sorted(timeline.topology.hosts - named):
            who = self._who(None, host)
            if timeline.present("kernel", host=host):
                self._against(who, "its kernel log was read and shows nothing that explains this")
            else:
                self._unread(who, "its kernel log was not read")

    def _against(self, who: out.Who, why: str) -> None:
        view = self.views[who]
        if view.stands != "initiator":
            view.speaks_against[why] = None
            view.stands = view.stands or "rejected"

    def _unread(self, who: out.Who, why: str) -> None:
        """An actor whose log was not read stays possible, unless another one is certain."""
        view = self.views[who]
        if any(s.certainty == "certain" for s in self.node.finding.initiators):
            self._against(who, f"{why}, but another one is proven")
        elif view.stands is None:
            view.stands = "possible"
            view.speaks_for[f"{why}: it can't be cleared"] = None

    def _spoke_on(self, rank: int) -> bool:
        """Whether a rank certainly printed lines after the onset, while an initiator or candidate may have been gone."""
        timeline, found = self.context.timeline, self.node.finding
        onset = found.began if found.onset is None else Point(found.onset, timeline.stamped(found.began), rank=found.began.rank)
        for presence in timeline.present("rank", rank):
            frame = presence.activity.frame
            if presence.last is not None and frame.comparable(onset.instant):
                own = Point(evolve(frame, lo=presence.last, hi=presence.last), presence.activity.actor.host, rank=rank)
                if timeline.order(onset, own) is Order.BEFORE:
                    return True
        return False


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.explains:
        yield from _walk(child)


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    for child in node.explains:
        yield node, child
        yield from _pairs(child)


def _all(incident: out.Incident) -> Iterator[out.Incident]:
    yield incident
    for one in incident.explains:
        yield from _all(one)
