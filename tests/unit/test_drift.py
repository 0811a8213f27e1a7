"""Clocks that disagree, as the steps of a job show."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from making import activity, at, sighting, timeline

from denpex_rules import anchors, drift
from denpex_rules.calendar import Clocks
from denpex_rules.clock import SECOND, Clock, Instant
from denpex_rules.sighting import Actor, Sighting
from denpex_rules.timeline import point_of

PROGRESS = ("step",)
TEN = at("10:00:00").lo
EVERY = [20.0 * n for n in range(10)]


def said(host: str, rank: int | None, number: int, second: float, clock: Clock = "wall") -> Sighting:
    """Return a line of a rank about a step, written `second` seconds after ten."""
    when = Instant(TEN + int(second * SECOND), TEN + int(second * SECOND), clock)
    actor = Actor(rank=rank, host=host)
    return sighting("step", when, actor=actor, source=f"{host}-{rank}.log", line=number + 1, step=number)


def late(host: str, rank: int, stamp: float, ran: float, seq: int = 8412) -> Sighting:
    """Return the line of a rank that waited `ran` seconds in a collective until its limit."""
    when = Instant(TEN + int(stamp * SECOND), TEN + int((stamp + 1) * SECOND))
    actor = Actor(rank=rank, host=host)
    fields = {"seq": seq, "op": "ALLREDUCE", "ran": int(ran * SECOND)}
    return sighting(f"pack:{drift.TIMEOUT}", when, actor=actor, source=f"{host}-{rank}.log", line=999, **fields)


def read(*lines: Sighting, told: Sequence[str] = ()) -> Clocks:
    """Return what lines tell of the clocks."""
    return drift.compare(timeline(list(lines), []), PROGRESS, told)


def host(number: int, stamps: Sequence[float], rank: int | None = None) -> list[Sighting]:
    """Return the lines of a host's rank about steps 0, 1, 2 …, with these stamps."""
    return [said(f"node-{number:02}", number if rank is None else rank, n, s) for n, s in enumerate(stamps)]


def moved(by: float, stamps: Sequence[float] = EVERY) -> list[float]:
    """Return stamps that are later by so many seconds."""
    return [s + by for s in stamps]


# ------------------------------------------------------------------ put right


def test_a_clock_that_is_a_minute_ahead_is_put_right() -> None:
    """Steps that always end a minute later on one host show by how much its clock is ahead, within a step's time."""
    found = read(*host(1, EVERY), *host(2, moved(61)))
    assert found.ahead == {("node-02", "wall"): 61 * SECOND}
    assert found.within == {("node-01", "wall"): 0, ("node-02", "wall"): 20 * SECOND}
    assert found.notes == ("clock of node-02 taken as 61.0 s ahead, from 10 shared steps, ±20.0 s",)


def test_most_clocks_are_right() -> None:
    """Of three hosts, the one that differs from both others is put right, whatever ranks it runs."""
    found = read(*host(1, moved(-90)), *host(2, EVERY), *host(3, moved(0.4)))
    assert found.ahead == {("node-01", "wall"): -90 * SECOND}
    assert "node-01 taken as 90.0 s behind" in found.notes[0]


def test_what_the_caller_told_goes_first() -> None:
    """A host whose offset was given is right: the other one is put right by it, and two of them never are."""
    lines = [*host(1, EVERY), *host(2, moved(61))]
    assert read(*lines, told=["node-02"]).ahead == {("node-01", "wall"): -61 * SECOND}
    both = read(*lines, told=["node-01", "node-02"])
    assert both.ahead == {}
    assert both.wide >= 61 * SECOND


def test_order_of_hosts_needs_more_than_what_is_left_open() -> None:
    """Between a host that was put right and another one, an order needs the skew bound and what the estimate leaves open."""
    clocks = read(*host(1, EVERY), *host(2, moved(61)))
    one, two, other = ("node-01", "wall"), ("node-02", "wall"), ("node-09", "wall")
    assert clocks.between(one, two, 5 * SECOND) == 25 * SECOND
    assert clocks.between(two, two, 5 * SECOND) == 0
    assert clocks.between(one, other, 5 * SECOND) >= 61 * SECOND
    assert clocks.between(two, ("node-02", "arrival"), 5 * SECOND) >= 61 * SECOND
    assert clocks.between(one, ("node-01", "arrival"), 5 * SECOND) == 0
    assert clocks.between(one, None, 5 * SECOND) == clocks.bound(5 * SECOND)


def meets(name: str, host: str, rank: int, came: float, left: float, clock: Clock = "arrival") -> list[Sighting]:
    """Return the lines of a rank that joins the set-up of a communicator and is through with it; a collector stamped them."""
    found = []
    for line, (event, second) in enumerate(((anchors.COMES, came), (anchors.LEAVES, left))):
        when = Instant(TEN + int((second - 5) * SECOND), TEN + int(second * SECOND), clock)
        actor = Actor(rank=rank, host=host)
        found.append(sighting(f"pack:{event}", when, actor=actor, source=f"{host}-{rank}.log", line=line, meeting=name))
    return found


def agent(host: str, turn: int, came: float, left: float) -> list[Sighting]:
    """Return the lines of a launcher's agent about a round of the rendezvous."""
    told = {"source": f"{host}/agent.log", "actor": Actor(host=host)}
    joins = sighting(f"pack:{anchors.JOINS}", said(host, None, 0, came).instant, line=2 * turn + 1, **told)  # type: ignore[arg-type]
    when = said(host, None, 0, left).instant
    fields = {"round": turn, "address": "node-01", "port": 29500}
    return [joins, sighting(f"pack:{anchors.JOINED}", when, line=2 * turn + 2, **told, **fields)]  # type: ignore[arg-type]


def test_communicators_put_a_clock_right() -> None:
    """All ranks join the set-up of a communicator before any is through: two of them tell of a clock without any step."""
    lines = [*meets("0xa", "node-01", 1, 1, 3), *meets("0xb", "node-01", 1, 31, 33)]
    found = read(*lines, *meets("0xa", "node-02", 2, 92, 94), *meets("0xb", "node-02", 2, 122, 124))
    assert found.ahead == {("node-02", "arrival"): 91 * SECOND}
    assert found.within["node-02", "arrival"] == 7 * SECOND
    assert "from 2 shared communicators" in found.notes[0]
    assert read(*lines, *meets("0xa", "node-02", 2, 92, 94)).ahead == {}
    assert read(*lines, *meets("0xa", "node-02", 2, 92, 94), *meets("0xb", "node-02", 2, 222, 224)).ahead == {}


def test_a_rank_that_joins_late_is_not_a_clock() -> None:
    """A host that joins each communicator a minute after the other one is slow: the other one leaves no sooner."""
    lines = [*meets("0xa", "node-01", 1, 1, 63), *meets("0xb", "node-01", 1, 101, 163)]
    assert read(*lines, *meets("0xa", "node-02", 2, 61, 63), *meets("0xb", "node-02", 2, 161, 163)).ahead == {}


def test_rounds_of_the_rendezvous_narrow_and_contradict() -> None:
    """A round that two agents saw narrows what steps tell; alone it proves nothing, and against them it only widens."""
    steps = [*host(1, EVERY), *host(2, moved(61))]
    wide, narrow = agent("node-01", 0, -5, -4), agent("node-02", 0, 56, 57)
    assert read(*wide, *narrow).ahead == {}
    found = read(*steps, *wide, *narrow)
    assert found.ahead == {("node-02", "wall"): 61 * SECOND}
    against = read(*steps, *agent("node-01", 0, -5, -4), *agent("node-02", 0, -5, -4))
    assert against.ahead == {}
    assert against.wide >= 61 * SECOND


# ------------------------------------------------------------------ never put right


def test_a_straggler_is_not_a_clock() -> None:
    """A host that ends each step most of a step's time later is slow: its clock stays as it is, only the bound is widened."""
    found = read(*host(1, EVERY), *host(2, moved(19)))
    assert found.ahead == {}
    assert found.wide == 21 * SECOND


def test_too_few_steps_only_widen() -> None:
    """A handful of lines puts no clock right."""
    found = read(*host(1, EVERY[:4]), *host(2, moved(50, EVERY[:4])))
    assert (found.ahead, found.wide) == ({}, 52 * SECOND)
    assert "node-01 and node-02 differ by 50s" in found.notes[0]


def test_two_runs_are_no_pair() -> None:
    """Hosts that both run rank 0, or whose ranks are unknown, may be two jobs: their difference only widens the bound."""
    lines = [*host(1, EVERY), *host(2, moved(61), rank=1)]
    assert read(*lines).ahead == {}
    unknown = [evolve(s, actor=evolve(s.actor, rank=None)) for s in lines]
    assert (read(*unknown).ahead, read(*unknown).wide) == ({}, 63 * SECOND)


def test_clocks_that_drift_apart_only_widen() -> None:
    """Where the difference grows beyond what a step allows, no constant is right: the bound covers the largest one."""
    found = read(*host(1, EVERY), *host(2, [1.5 * s for s in EVERY]))
    assert (found.ahead, found.wide) == ({}, (90 + 2) * SECOND)


def test_a_clock_that_is_set_in_the_middle_only_widens() -> None:
    """Anchors that contradict each other: the bound covers them all."""
    found = read(*host(1, EVERY), *host(2, [*moved(61)[:4], *EVERY[4:]]))
    assert found.ahead == {}
    assert found.wide >= 61 * SECOND


def test_a_collective_that_began_at_another_time_only_widens() -> None:
    """Two hosts that wait in one collective: where they began at other times than the steps tell, the clock was set since."""
    lines = [*host(1, EVERY), *host(2, moved(61))]
    assert read(*lines, late("node-01", 1, 805, 600), late("node-02", 2, 866, 600)).ahead
    found = read(*lines, late("node-01", 1, 805, 600), late("node-02", 2, 805, 600))
    assert found.ahead == {}
    assert found.wide >= 61 * SECOND
    assert read(*lines, late("node-01", 1, 805, 600), late("node-02", 2, 805, 600, seq=8413)).ahead


def test_half_an_hour_may_be_a_zone() -> None:
    """A difference that may be one of zones is no clock: a host's kernel log needn't share it."""
    steps = [20.0 * n for n in range(200)]
    assert read(*host(1, steps), *host(2, moved(1800, steps))).ahead == {}


def test_stamps_of_arrival_are_a_clock_of_their_own() -> None:
    """What puts a host's own stamps right says nothing of the collector's stamps on its lines."""
    own = [*host(1, EVERY), *host(2, moved(61))]
    arrived = [said("node-02", 3, n, s, "arrival") for n, s in enumerate(EVERY)]
    assert read(*own, *arrived).ahead == {("node-02", "wall"): 61 * SECOND}


def test_clocks_that_agree_leave_the_bound() -> None:
    """A difference within the bound says nothing."""
    assert read(*host(1, EVERY), *host(2, moved(2))) == Clocks()


def test_differences_that_vary_are_no_clock() -> None:
    """Hosts that end steps at unrelated times are not compared."""
    assert read(*host(1, [0, 60, 120]), *host(2, [10, 110, 300])) == Clocks()


def test_second_attempt_elsewhere_is_no_clock() -> None:
    """The same steps on another host after the first one ended are a second attempt, and those that a host repeats are two."""
    assert read(*host(1, EVERY), *host(2, moved(900, [*EVERY, 200, 220]))) == Clocks()
    again = [said("node-01", 1, n, s + 900) for n, s in enumerate(EVERY)]
    again = [evolve(s, emitter=evolve(s.emitter, source="again.log")) for s in again]
    assert read(*host(1, EVERY), *again, *host(2, moved(61))) == Clocks()


def test_steps_that_never_overlap_widen_where_both_got_as_far() -> None:
    """A clock that is off by more than the whole job is not told from a second attempt: nothing is put right."""
    found = read(*host(1, EVERY), *host(2, moved(300)))
    assert (found.ahead, found.wide) == ({}, 302 * SECOND)


# ------------------------------------------------------------------ whatever happens


@given(
    st.lists(st.integers(2, 30), min_size=6, max_size=20),
    st.integers(-300, 300),
    st.lists(st.lists(st.floats(0, 0.99), min_size=21, max_size=21), min_size=2, max_size=2),
)
def test_the_true_difference_lies_inside(lengths: list[int], ahead: int, lags: list[list[float]]) -> None:
    """Steps of any lengths, on hosts that are late by any part of the next step: the true difference is never ruled out."""
    ends = [float(sum(lengths[:n])) for n in range(len(lengths))]

    def stamps(lag: list[float], by: int) -> list[float]:
        return [end + by + lag[n] * lengths[n] for n, end in enumerate(ends)]

    clocks = read(*host(1, stamps(lags[0], 0)), *host(2, stamps(lags[1], ahead)))
    one, two = ("node-01", "wall"), ("node-02", "wall")
    taken = clocks.ahead.get(two, 0) - clocks.ahead.get(one, 0)
    if clocks.ahead:
        assert abs(taken - ahead * SECOND) <= clocks.within[one] + clocks.within[two]
        assert clocks.within[one] + clocks.within[two] >= sum(lengths[:-1]) // (len(lengths) - 1) * SECOND // 2
    assert clocks.ahead == {} or abs(ahead) > 5


def test_points_of_other_hosts_than_the_printer_stay_uncertain() -> None:
    """A line that tells of a host whose clock was put right, printed elsewhere, has an unknown clock."""
    lines = [*host(1, EVERY), *host(2, moved(61))]
    around = [activity(f"node-0{n}-{n}.log", [], actor=Actor(rank=n, host=f"node-0{n}")) for n in (1, 2)]
    made = timeline(lines, [*around, activity("console.log", [])])
    made.clocks = drift.compare(made, PROGRESS, ())
    own, foreign = lines[-1], sighting("gone", at("10:00:00"), actor=Actor(host="node-02"), source="console.log")
    assert made.skew_between(point_of(lines[0]), point_of(own)) == 25 * SECOND
    assert made.skew_between(point_of(own), point_of(foreign)) == made.bound > 61 * SECOND
    assert (made.stamped(point_of(own)), made.stamped(point_of(foreign))) == ("node-02", None)
