"""Who is who: the joins between rank, host, process, device and local rank that lines of the logs prove.

Claims keep their source; two claims that contradict are a conflict that is reported, and neither is used. A global rank, a
group rank and a local rank are never mixed: a local rank becomes a global one only through lines that name both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attrs import Factory, define, evolve, frozen

from denpex_rules.rule import Kind
from denpex_rules.sighting import NOBODY, Activity, Actor, Emitter, Sighting, by_line
from denpex_rules.values import Value

Space = str  # the set of processes of one agent: within it a local rank names one process


@frozen
class Conflict:
    """Two claims that can't both hold, in words."""

    subject: str
    claims: tuple[str, ...]

    def text(self) -> str:
        """Return the conflict as one sentence."""
        return f"{self.subject} is claimed to be {' and '.join(self.claims)}; neither is used"


@define
class _Join:
    """A many-to-one table of claims, each key with every value ever claimed for it."""

    name: str
    claims: dict[tuple[object, ...], set[Value]] = Factory(lambda: defaultdict(set))

    def claim(self, key: tuple[object, ...], value: Value | None) -> None:
        if value is not None and None not in key:
            self.claims[key].add(value)

    def get(self, *key: object) -> Value | None:
        values = self.claims.get(key, set())
        return next(iter(values)) if len(values) == 1 else None

    def conflicts(self) -> Iterable[Conflict]:
        several = [(key, values) for key, values in self.claims.items() if len(values) > 1]
        for key, values in sorted(several, key=lambda item: str(item[0])):
            yield Conflict(f"{self.name} {' '.join(map(str, key))}", tuple(sorted(map(str, values))))


@define
class Topology:
    """The proven joins of one collection of logs.

    `world_size` is the number of global ranks, None when no line tells it; `ranks` are those that a line or a file speaks for.
    `communicators` gives for each NCCL communicator the global rank of each of its members, where both are known.
    """

    world_size: int | None = None
    ranks: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()
    communicators: tuple[Mapping[int, int], ...] = ()
    _host_of_rank: _Join = Factory(lambda: _Join("the host of rank"))
    _device_of_rank: _Join = Factory(lambda: _Join("the device of rank"))
    _rank_of_device: _Join = Factory(lambda: _Join("the rank on host, device"))
    _rank_of_pid: _Join = Factory(lambda: _Join("the rank of host, pid"))
    _rank_of_lone_pid: _Join = Factory(lambda: _Join("the rank of pid"))
    _rank_of_emitter: _Join = Factory(lambda: _Join("the rank of"))
    _host_of_space: _Join = Factory(lambda: _Join("the host of"))
    _offset_of_space: dict[Space, int] = Factory(dict)

    def host_of(self, rank: int) -> str | None:
        """Return the host that a rank ran on, None when no line proves it."""
        return _text(self._host_of_rank.get(rank))

    def device_of(self, rank: int) -> str | None:
        """Return the device that a rank used, None when no line proves it."""
        return _text(self._device_of_rank.get(rank))

    def rank_of_device(self, host: str, device: str) -> int | None:
        """Return the rank that used a device of a host, None when no line proves it."""
        return _number(self._rank_of_device.get(host, device))

    def rank_of_pid(self, host: str, pid: int) -> int | None:
        """Return the rank of a process of a host, None when no line proves it."""
        return _number(self._rank_of_pid.get(host, pid))

    def rank_of_local(self, host: str, local_rank: int) -> int | None:
        """Return the rank with a local rank on a host, None when no line proves it."""
        spaces = {key[0] for key, hosts in self._host_of_space.claims.items() if hosts == {host}}
        found = {self._offset_of_space[space] + local_rank for space in spaces if space in self._offset_of_space}
        return found.pop() if len(found) == 1 else None

    def resolve(self, actor: Actor, emitter: Emitter) -> Actor:
        """Return the actor with what the joins prove about it: its rank, then its host."""
        space = space_of(emitter)
        rank = actor.rank
        if rank is None and (actor.local_rank, actor.pid) == (None, None):
            rank = _number(self._rank_of_emitter.get(emitter.source, emitter.label))
        if rank is None and actor.local_rank is not None and space in self._offset_of_space:
            rank = self._offset_of_space[space] + actor.local_rank
        if rank is None and actor.pid is not None:
            rank = self._rank_by_pid(actor)
        host = actor.host
        if host is None and rank is not None:
            host = self.host_of(rank)
        if host is None and actor.local_rank is not None:
            host = _text(self._host_of_space.get(space))
        return actor if (rank, host) == (actor.rank, actor.host) else evolve(actor, rank=rank, host=host)

    def _rank_by_pid(self, actor: Actor) -> int | None:
        if actor.host is not None:
            return self.rank_of_pid(actor.host, actor.pid or 0)
        return _number(self._rank_of_lone_pid.get(actor.pid)) if len(self.hosts) <= 1 else None

    def conflicts(self) -> tuple[Conflict, ...]:
        """Return every contradiction between claims, in a stable order."""
        joins = (self._host_of_rank, self._device_of_rank, self._rank_of_device, self._rank_of_pid)
        return tuple(conflict for join in joins for conflict in join.conflicts())


def space_of(emitter: Emitter) -> Space:
    """Return the agent's space that an emitter belongs to: its torchrun log folder, or its source."""
    head, attempt, _ = emitter.source.replace("\\", "/").partition("/attempt_")
    return head if attempt else emitter.source


def build(sightings: Iterable[Sighting], activities: Iterable[Activity], identities: frozenset[str]) -> Topology:
    """Return the topology that sightings of the `identities` events and the emitters' own claims prove.

    An NCCL communicator smaller than the largest one numbers its own group, so only the largest one's ranks are global; and not
    even those when a member prints another rank as its own, or when several communicators of that size number different
    devices alike: the job then has groups only, and its size is unknown.
    """
    topology = Topology()
    sightings, activities = tuple(sightings), tuple(activities)
    telling = [s for s in sightings if s.event in identities]
    own = list(dict.fromkeys([(a.emitter, a.actor) for a in activities] + [(s.emitter, s.actor) for s, *_ in by_line(sightings)]))
    numbered = _numbered(own)
    worlds = {w for s in telling if isinstance(w := s.fields.get("world"), int) and 0 < w <= 10_000_000}
    groups = {w for w in worlds if w == max(worlds) and _only_groups([s for s in telling if s.fields.get("world") == w], numbered)}
    topology.world_size = max(worlds - groups, default=None) if not groups else None
    claims = [(s.emitter, claim_of(s)) for s in telling if s.fields.get("world", topology.world_size) == topology.world_size]
    if groups:
        claims += [(s.emitter, _printer(s, numbered)) for s in telling if s.fields.get("world") in groups]
    claims += own
    for _, actor in claims:
        _learn(topology, actor)
    for activity in activities:
        topology._rank_of_emitter.claim((activity.emitter.source, activity.emitter.label), activity.actor.rank)
    agents = _agents(sightings, own)
    _number_spaces(topology, claims, own, agents)
    _place_spaces(topology, claims, agents)
    resolved = [topology.resolve(actor, emitter) for emitter, actor in claims]
    topology.ranks = frozenset(a.rank for a in resolved if a.rank is not None)
    topology.hosts = frozenset(a.host for a in resolved if a.host is not None)
    topology.communicators = _communicators(topology, telling, numbered)
    return topology


def _numbered(own: Iterable[tuple[Emitter, Actor]]) -> dict[Emitter, int]:
    """Return the one rank that each emitter shows as its own."""
    found: dict[Emitter, set[int]] = defaultdict(set)
    for emitter, actor in own:
        if actor.rank is not None:
            found[emitter].add(actor.rank)
    return {emitter: next(iter(ranks)) for emitter, ranks in found.items() if len(ranks) == 1}


def _only_groups(largest: Iterable[Sighting], numbered: Mapping[Emitter, int]) -> bool:
    """Whether the largest communicators can't be the whole job."""
    places: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for s in largest:
        member = _number(s.fields.get("rank"))
        if member is None or "commid" not in s.fields:
            continue
        if numbered.get(s.emitter, member) != member:
            return True
        host, device = _text(s.fields.get("host")) or s.actor.host, _text(s.fields.get("device"))
        if host is not None and device is not None:
            places[member].add((host, device))
    # A restart may move a rank; one that moves all of them to other hosts can't be told from groups, and neither is used.
    return len(places) > 1 and all(len(found) > 1 for found in places.values())


def _printer(s: Sighting, numbered: Mapping[Emitter, int]) -> Actor:
    """Return what a line of a group's communicator proves about the process that printed it."""
    return evolve(s.actor, rank=numbered.get(s.emitter), device=_text(s.fields.get("device")))


def _communicators(
    topology: Topology, telling: Iterable[Sighting], numbered: Mapping[Emitter, int]
) -> tuple[Mapping[int, int], ...]:
    """Return the members of each communicator, by the rank that they have in it."""
    found: dict[tuple[Value, Value], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for s in telling:
        member, size, name = _number(s.fields.get("rank")), s.fields.get("world"), s.fields.get("commid")
        if member is None or size is None or name is None:
            continue
        rank = numbered.get(s.emitter)
        if rank is None:
            rank = topology.resolve(evolve(s.actor, rank=None), s.emitter).rank
        if rank is not None:
            found[name, size][member].add(rank)
    whole = {
        key: {m: min(r) for m, r in members.items()} for key, members in found.items() if all(len(r) == 1 for r in members.values())
    }
    return tuple(dict(sorted(members.items())) for (_, size), members in sorted(whole.items(), key=str) if len(members) == size)


def claim_of(sighting: Sighting) -> Actor:
    """Return who a sighting speaks about: its captures named like actor fields, else its record's actor."""
    return subject_of(sighting.actor, sighting.fields, sighting.kind)


def subject_of(printer: Actor, fields: Mapping[str, Value], kind: Kind | None) -> Actor:
    """Return who a line with these captures speaks about: the printer itself where they name nobody."""
    if _NAMING.isdisjoint(fields):
        return printer
    named = Actor(
        rank=_number(fields.get("rank")),
        local_rank=_number(fields.get("local_rank")),
        host=_text(fields.get("host")),
        device=_text(fields.get("device")),
        pid=_number(fields.get("pid")),
        job=_text(fields.get("job")),
    )
    if named == NOBODY:
        return printer
    return named.merge(_about(named, printer, kind))


_NAMING = frozenset({"rank", "local_rank", "host", "device", "pid", "job"})


def _about(named: Actor, printer: Actor, kind: Kind | None) -> Actor:
    """Return what holds of the printer and of the process that its line names.

    An agent shares only its host with its workers. A rank that names another rank shares nothing but the job with it.
    """
    if kind == "agent" and (named.rank, named.local_rank, named.pid) != (None, None, None):
        return evolve(printer, rank=None, local_rank=None, pid=None)
    pairs = (
        (named.rank, printer.rank),
        (named.local_rank, printer.local_rank),
        (named.pid, printer.pid),
        (named.host, printer.host),
    )
    if any(theirs is not None and own is not None and theirs != own for theirs, own in pairs):
        return Actor(job=printer.job, attempt=printer.attempt)
    return printer


def _learn(topology: Topology, actor: Actor) -> None:
    if actor.rank is None:
        return
    topology._host_of_rank.claim((actor.rank,), actor.host)
    topology._device_of_rank.claim((actor.rank,), actor.device)
    topology._rank_of_device.claim((actor.host, actor.device), actor.rank)
    topology._rank_of_pid.claim((actor.host, actor.pid), actor.rank)
    topology._rank_of_lone_pid.claim((actor.pid,), actor.rank)


def _agents(sightings: Sequence[Sighting], own: Iterable[tuple[Emitter, Actor]]) -> dict[Space, Space]:
    """Return for each space the one that stands for its agent.

    A launcher's console and its log folder are one agent's when the collection has exactly one of each and they show lines of one
    local rank that are the same to the letter: the console is tee'd from the folder. Nothing else joins two spaces: a local rank of
    one node must never be counted from the first rank of another.
    """
    spaces = sorted({space_of(emitter) for emitter, actor in own if actor.local_rank is not None})
    folders = {space for emitter, _ in own if (space := space_of(emitter)) != emitter.source}
    inside, outside = [s for s in spaces if s in folders], [s for s in spaces if s not in folders]
    agents = {space: space for space in spaces}
    if len(inside) == len(outside) == 1 and not _lines_of(inside[0], sightings).isdisjoint(_lines_of(outside[0], sightings)):
        agents[inside[0]] = outside[0]
    return agents


def _lines_of(space: Space, sightings: Iterable[Sighting]) -> set[object]:
    """Return what the local ranks of a space show, with whose it is."""
    own = (s for s in sightings if s.actor.local_rank is not None and space_of(s.emitter) == space)
    return {(s.actor.local_rank, s.event, s.instant, s.text) for s in own}


def _number_spaces(
    topology: Topology, claims: list[tuple[Emitter, Actor]], own: list[tuple[Emitter, Actor]], agents: Mapping[Space, Space]
) -> None:
    """Learn each space's first global rank from lines that name local and global rank of one process.

    The launcher numbers an agent's workers contiguously (torch elastic assigns global ranks per agent in local order), so one
    pair numbers the agent's whole space. A tag and a later prefix of one emitter are a pair too, when they are about the emitter
    itself (`own`). Pairs that disagree number nothing.
    """
    offsets: dict[Space, set[int]] = defaultdict(set)
    speakers: dict[Emitter, Actor] = {}
    for emitter, actor in own:
        speakers[emitter] = speakers.get(emitter, NOBODY).merge(actor)
    for emitter, actor in (*claims, *speakers.items()):
        if actor.rank is not None and actor.local_rank is not None:
            space = space_of(emitter)
            offsets[agents.get(space, space)].add(actor.rank - actor.local_rank)
    for space in {*agents, *offsets}:
        found = offsets.get(agents.get(space, space), set())
        if len(found) == 1:
            topology._offset_of_space[space] = next(iter(found))


def _place_spaces(topology: Topology, claims: Iterable[tuple[Emitter, Actor]], agents: Mapping[Space, Space]) -> None:
    """Learn each space's host: all workers of one agent run on its host."""
    spaces: dict[Space, set[Space]] = defaultdict(set)
    for space, agent in agents.items():
        spaces[agent].add(space)
    for emitter, actor in claims:
        if actor.host is not None and actor.local_rank is not None:
            space = space_of(emitter)
            agent = agents.get(space, space)
            for one in {agent, *spaces[agent]}:
                topology._host_of_space.claim((one,), actor.host)


def _number(value: Value | None) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: Value | None) -> str | None:
    return value if isinstance(value, str) else None
