"""Activity: runs of timed lines, and who an emitter is as a whole."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.activity import FRAMES, Presence, Runs
from denpex_rules.clock import MAX, SECOND, UNKNOWN, Clock, Instant
from denpex_rules.record import Line
from denpex_rules.rule import Kind
from denpex_rules.sighting import MAX_RUNS, Activity, Actor, Emitter


def at(seconds: int, width: int = 0, clock: Clock = "wall", domain: str = "") -> Instant:
    return Instant(seconds * SECOND, (seconds + width) * SECOND, clock, domain)


def line(instant: Instant = UNKNOWN, actor: Actor | None = None, kind: Kind | None = None) -> Line:
    return Line(b"", instant=instant, actor=actor or Actor(), kind=kind)


def activities(*seen: Line) -> tuple[Activity, ...]:
    presence = Presence()
    for one in seen:
        presence.add(one)
    return presence.activities(Emitter("a"))


_TIMES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), min_size=1, max_size=40)


@given(_TIMES, st.randoms(use_true_random=False))
def test_runs_are_those_of_the_sorted_lines(times: list[tuple[int, int]], random: object) -> None:
    """Runs join what is at most the floor apart, and don't depend on the order in which the lines come."""
    runs = Runs(at(0))
    for seconds, width in times:
        runs.add(seconds * SECOND, (seconds + width) * SECOND, MAX_RUNS)
    plain: list[list[int]] = []
    for seconds, width in sorted(times):
        lo, hi = seconds * SECOND, (seconds + width) * SECOND
        if plain and lo <= plain[-1][1] + SECOND:
            plain[-1][1] = max(plain[-1][1], hi)
        else:
            plain.append([lo, hi])
    assert [list(run) for run in runs.intervals()] == plain


@given(_TIMES)
def test_few_runs_are_coarse_runs(times: list[tuple[int, int]]) -> None:
    """With a bound on runs the floor doubles, runs stay disjoint, and every line lies in one."""
    runs = Runs(at(0))
    for seconds, width in times:
        runs.add(seconds * SECOND, (seconds + width) * SECOND, 3)
    found = runs.intervals()
    assert len(found) <= 3
    assert all(b[0] - a[1] > runs.floor for a, b in pairwise(found))
    assert all(any(lo <= s * SECOND and (s + w) * SECOND <= hi for lo, hi in found) for s, w in times)


def test_lines_without_a_bounded_time_are_untimed() -> None:
    """Unknown and half-known instants are counted, not placed."""
    (found,) = activities(line(), line(at(5)), line(Instant(5, MAX)))
    assert (found.lines, found.untimed, found.runs, found.frame) == (3, 2, ((5 * SECOND, 6 * SECOND),), at(5, 1))
    (none,) = activities(line())
    assert (none.lines, none.untimed, none.runs, none.frame) == (1, 1, (), UNKNOWN)


def test_clocks_are_told_apart() -> None:
    """An emitter with stamps of two clocks has two activities: the one of most lines first, with the untimed lines."""
    boot = at(3, clock="monotonic", domain="boot")
    first, second = activities(line(boot), line(at(1)), line(at(1, clock="arrival")), line())
    assert (first.lines, first.untimed, first.frame.frame) == (3, 1, at(1).frame)
    assert (second.lines, second.untimed, second.frame) == (1, 0, at(3, 1, "monotonic", "boot"))
    many = activities(*(line(at(1, clock="monotonic", domain=str(i))) for i in range(FRAMES + 5)))
    assert len(many) == FRAMES
    assert sum(a.untimed for a in many) == 5


def test_an_emitter_is_what_its_lines_agree_on() -> None:
    """A part of the actor that one line states holds for all; a part that lines dispute is unknown."""
    rank = Actor(rank=3)
    (found,) = activities(line(actor=rank), line(actor=Actor(rank=3, host="node-07", pid=4)), line(actor=Actor(pid=5)), line())
    assert found.actor == Actor(rank=3, host="node-07")


def test_the_commonest_kind_is_the_kind() -> None:
    """Lines of unknown kind don't vote."""
    assert activities(line(kind="agent"), line(), line(), line(kind="rank"), line(kind="rank"))[0].kind == "rank"
    assert activities(line())[0].kind is None


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), min_size=1, max_size=60), st.integers(2, 12), st.integers(0, 60))
def test_runs_that_were_joined_elsewhere(times: list[tuple[int, int]], limit: int, cut: int) -> None:
    """Runs that are handed over together are what adding each interval by itself gives, also where there are too many."""
    ordered = [(lo * SECOND, (lo + width) * SECOND) for lo, width in sorted(times)]
    one_by_one, together = Runs(at(0)), Runs(at(0))
    for lo, hi in ordered:
        one_by_one.add(lo, hi, limit)
    for lo, hi in ordered[:cut]:
        together.add(lo, hi, limit)
    rest = Runs(at(0))
    rest.floor = together.floor
    last = len(together) - 1
    end = together.his[-1] if len(together) else 0
    for lo, hi in ordered[cut:]:
        if last >= 0 and not len(rest) and lo <= end + together.floor:
            end = max(end, hi)
        else:
            rest.add(lo, hi, 10**9)
    together.extend(last, end, rest.intervals(), limit)
    assert together.intervals() == one_by_one.intervals()
    assert together.floor == one_by_one.floor


def test_the_run_of_an_interval() -> None:
    """The run that an interval was added to is found by where the interval begins."""
    runs = Runs(at(0))
    for second in (0, 10, 20, 21):
        runs.add(second * SECOND, (second + 1) * SECOND, MAX_RUNS)
    assert [runs.around(second * SECOND) for second in (-1, 0, 10, 12, 21, 90)] == [-1, 0, 1, 1, 2, 2]
