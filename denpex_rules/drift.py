"""Clocks that disagree: how far the hosts' clocks are from each other, as lines of the job about the same steps tell.

The ranks of a job end a step together. So a rank's line about a step is older than any rank's line about the next one, whoever is
slow: two hosts' lines about two steps bound the difference of their clocks from both sides, and a straggler, which is late by
less than a step, stays inside of the bounds. So it is with a meeting, the set-up of a communicator or a round of the rendezvous:
all come before any leaves. Clocks are put right only where that holds for certain and where zero lies outside
of the bounds by more than the skew bound; what they may still be off by is added to the skew between those hosts. Where lines
contradict each other, or nothing shows that two hosts ran one job together, the skew bound is widened instead: one that is too
wide leaves something undecided, a wrong correction accuses an innocent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Final

from attrs import evolve, frozen

from denpex_rules.anchors import COMMUNICATOR, Host, following_steps, hosts_of, wait_of
from denpex_rules.calendar import ClockKey, Clocks
from denpex_rules.clock import MAX, MIN, MINUTE, SECOND, format_duration
from denpex_rules.timeline import Timeline

TIMEOUT: Final = "lib.c10d#timeout"  # the event of a collective that ran into its limit, with its number and how long it ran
FEW: Final = 3  # shared steps that tell a constant from chance
ENOUGH: Final = 5  # shared steps from which on a clock is put right
MEETINGS: Final = 2  # the same, of communicators
STEADY: Final = 2 * SECOND  # by how much a constant difference may vary
MOST: Final = 64  # clocks that are compared
MOST_AHEAD: Final = 10 * MINUTE  # a larger difference may be one of zones


@frozen
class _Pair:
    """By how much the second of two clocks is ahead of the first: between `lo` and `hi` where that is known (ns).

    `apart` is what the skew bound must cover if neither is put right, `step` the time from one shared step to the next;
    `shared` and `met` count the steps and the communicators that they have in common.
    """

    shared: int
    apart: int
    lo: int = MIN
    hi: int = MAX
    step: int = 0
    met: int = 0

    @property
    def bounded(self) -> bool:
        """Whether the lines bound the difference from both sides, and don't contradict each other."""
        return MIN < self.lo <= self.hi < MAX and (self.shared >= ENOUGH or self.met >= MEETINGS)

    def excludes(self, skew: int) -> bool:
        """Whether the two clocks certainly differ by more than `skew`."""
        return self.bounded and (self.lo > skew or self.hi < -skew)

    def middle(self) -> tuple[int, int]:
        """Return the difference to the second, and by how much it may be off: by no less than a step's time."""
        middle = (self.lo + self.hi + SECOND) // (2 * SECOND) * SECOND
        return middle, max(self.hi - middle, middle - self.lo, self.step)

    def turned(self) -> _Pair:
        """Return the same of the two clocks the other way round."""
        return evolve(self, lo=-self.hi, hi=-self.lo)


def compare(timeline: Timeline, progress: Iterable[str], told: Collection[str]) -> Clocks:
    """Return how far the clocks of a timeline's hosts are from each other.

    Args:
        timeline: what was read, with the clocks as they are.
        progress: ids of the events that show a job's progress, with the number of the `step`.
        told: hosts whose clocks the caller told about; they are taken as right.
    """
    hosts = sorted(hosts_of(timeline, progress), key=lambda h: h.key)[:MOST]
    pairs = {}
    for one, other in combinations(hosts, 2):
        pair = _between(one, other)
        if pair is not None:
            pairs[one.key, other.key] = pair
            pairs[other.key, one.key] = pair.turned()
    if not pairs:
        return Clocks()
    found = _put_right(timeline, hosts, pairs, told)
    return found if found.ahead else _widened(timeline.skew, pairs)


def _between(one: Host, other: Host) -> _Pair | None:
    """Return what the lines of two clocks about the same steps and meetings tell of their difference, None where they tell nothing.

    A second attempt on other hosts repeats the steps later: where the two spans don't touch, nothing shows that it isn't one,
    unless both got exactly as far.
    """
    bounds, met = _met(one, other)
    shared = sorted(one.steps.keys() & other.steps.keys())
    together = one.beside(other) or met > 0
    differences, steady, step = [0], 0, 0
    if len(shared) >= FEW:
        mine, theirs = [one.steps[k].first for k in shared], [other.steps[k].first for k in shared]
        differences = sorted(b - a for a, b in zip(mine, theirs, strict=True))
        steady = _steady(differences)
        following = following_steps(one.steps, other.steps)
        if max(mine) < min(theirs) or max(theirs) < min(mine):
            ended = together and len(shared) >= ENOUGH and max(one.steps) == max(other.steps)
            return _Pair(len(shared), steady) if ended else None
        if together and following:
            bounds += [
                (other.steps[a].latest - one.steps[b].earliest, other.steps[b].earliest - one.steps[a].latest) for a, b in following
            ]
            step = max(sum(h.steps[b].first - h.steps[a].first for a, b in following) // len(following) for h in (one, other))
    elif not bounds:
        return None
    if not bounds:
        return _Pair(len(shared), steady)
    lo, hi = max(lo for lo, _ in bounds), min(hi for _, hi in bounds)
    if lo > hi:  # a clock that ran away or was set, or no step that all ended together
        most = max(differences[-1], -differences[0], *(max(lo, -hi) for lo, hi in bounds))
        return _Pair(len(shared), most if most <= MOST_AHEAD else steady)
    nearest = max(lo, -hi)
    return _Pair(len(shared), max(steady, nearest if nearest <= MOST_AHEAD else 0), lo, hi, step, met)


def _met(one: Host, other: Host) -> tuple[list[tuple[int, int]], int]:
    """Return the bounds of the difference that each meeting of two hosts gives, and how many were set-ups of communicators.

    A round of the rendezvous has no name of its own, so that it may be mistaken: it narrows or contradicts, but proves nothing.
    """
    full = one.comes.keys() & one.leaves.keys() & other.comes.keys() & other.leaves.keys()
    full = {m for m in full if one.comes[m] <= one.leaves[m] and other.comes[m] <= other.leaves[m]}
    bounds = [(other.comes[m] - one.leaves[m], other.leaves[m] - one.comes[m]) for m in full]
    return bounds, sum(m[1] == COMMUNICATOR for m in full)


def _steady(differences: list[int]) -> int:
    """Return by how much clocks with these sorted differences are apart: 0 where that is no constant."""
    middle = differences[len(differences) // 2]
    usual = sorted(abs(d - middle) for d in differences)[len(differences) // 2]
    return abs(middle) if usual <= STEADY else 0


def _put_right(
    timeline: Timeline, hosts: list[Host], pairs: Mapping[tuple[ClockKey, ClockKey], _Pair], told: Collection[str]
) -> Clocks:
    """Return the clocks that are put right: those that certainly differ from the one that most others agree with."""

    def standing(host: Host) -> tuple[object, ...]:
        own = [p for (one, _), p in pairs.items() if one == host.key and p.bounded]
        agree = sum(p.lo <= timeline.skew and p.hi >= -timeline.skew for p in own)
        ranks = sorted(r for r in host.ranks if r is not None)
        return (host.key[0] not in told, -agree, -len(own), ranks, host.key)

    right = min(hosts, key=standing).key
    ahead: dict[ClockKey, int] = {}
    within: dict[ClockKey, int] = {right: 0}
    notes = []
    for host in hosts:
        pair = pairs.get((right, host.key))
        if pair is None or not pair.bounded:
            continue
        if not pair.excludes(timeline.skew):
            within[host.key] = 0
        elif host.key[0] not in told and abs(pair.lo + pair.hi) <= 2 * MOST_AHEAD:
            ahead[host.key], within[host.key] = pair.middle()
            notes.append(_note(host.key, ahead[host.key], within[host.key], pair))
    if not ahead or not _agree(timeline, pairs, ahead, within):
        return Clocks()
    wide = max(p.apart for p in pairs.values()) + STEADY + max(within.values())
    return Clocks(ahead, within, wide, tuple(notes))


def _agree(
    timeline: Timeline,
    pairs: Mapping[tuple[ClockKey, ClockKey], _Pair],
    ahead: Mapping[ClockKey, int],
    within: Mapping[ClockKey, int],
) -> bool:
    """Whether all else that the lines tell of the clocks is in accord with how they are put right.

    Two hosts that waited in the same collective until its limit began to wait at about one time; one that came late may make
    this fail, so that it never puts a clock right, but it keeps a wrong correction from being made.
    """

    def fits(one: ClockKey, other: ClockKey, lo: int, hi: int) -> bool:
        slack = timeline.skew + within[one] + within[other]
        moved = ahead.get(other, 0) - ahead.get(one, 0)
        return lo - slack <= moved <= hi + slack

    compared = ((keys, p) for keys, p in pairs.items() if keys[0] in within and keys[1] in within)
    if any(not (p.bounded and fits(*keys, p.lo, p.hi)) for keys, p in compared if p.bounded or p.apart > timeline.skew):
        return False
    starts: dict[object, dict[ClockKey, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for s in (s for event in timeline.events if event.endswith(TIMEOUT) for s in timeline.of(event)):
        begun = wait_of(s)
        if begun is not None and s.actor.host is not None and (key := (s.actor.host, s.instant.clock)) in within:
            starts[s.instant.frame, s.fields.get("seq"), s.fields.get("op")][key].append(begun)
    return all(
        fits(one, other, b[0] - a[1], b[1] - a[0])
        for found in starts.values()
        for one, other in combinations(found, 2)
        for a, b in ((min(found[one]), min(found[other])),)
    )


def _note(key: ClockKey, ahead: int, within: int, pair: _Pair) -> str:
    host, clock = key
    whose = f"clock of {host}" if clock != "arrival" else f"clock that stamps what arrives from {host}"
    way = "ahead" if ahead > 0 else "behind"
    counted = ((pair.shared, "shared steps"), (pair.met, "shared communicators"))
    anchors = " and ".join(f"{count} {what}" for count, what in counted if count)
    return f"{whose} taken as {abs(ahead) / SECOND:.1f} s {way}, from {anchors}, ±{within / SECOND:.1f} s"


def _widened(skew: int, pairs: Mapping[tuple[ClockKey, ClockKey], _Pair]) -> Clocks:
    """Return the clocks as they are, with a bound that covers what their lines show."""
    (one, other), worst = max(pairs.items(), key=lambda item: (item[1].apart, item[0][1], item[0][0]))
    if worst.apart <= skew:
        return Clocks()
    names = " and ".join(sorted((one[0], other[0])))
    shown = f"the clocks of {names} differ by {format_duration(worst.apart)}, as lines about the same steps show"
    return Clocks(wide=worst.apart + STEADY, notes=(f"{shown}: orders within that are not used",))
