"""Three-valued conditions and windows."""

from __future__ import annotations

from making import at, sighting, timeline

from denpex_rules.attribution import Known, Unknown
from denpex_rules.clock import MINUTE, SECOND, Instant
from denpex_rules.evaluate import FALSE, TRUE, Ruling, Scope, Truth, all_of, field_of, not_before
from denpex_rules.rule import Anchor, Condition, Constant, Event, Moment, Path, Window
from denpex_rules.sighting import Actor, Sighting
from denpex_rules.timeline import Point

EVENTS = {"e": Event("e", "e", (), captures=(("ran", "ms"),), moments=(Moment("stalled", ((-1, "ran"),)),))}
OPEN = Ruling(Truth.UNDETERMINED, "why")


def scope(*bound: Sighting) -> Scope:
    """Return a scope in which step `a` is bound."""
    return Scope(timeline(list(bound), []), EVENTS, {}, {"a": bound}, {"a": "e"}, lambda _, __: bound)


def test_conjunction_keeps_the_first_reason() -> None:
    """False wins over undetermined, undetermined over true."""
    assert all_of([TRUE, OPEN, FALSE]) is FALSE
    assert all_of([TRUE, OPEN]) is OPEN
    assert all_of([TRUE]) is TRUE


def test_field_is_the_capture_then_the_actor() -> None:
    """A capture hides the actor's field of the same name; what neither tells is unknown."""
    line = sighting("e", actor=Actor(rank=3, host="node-01"), rank=5)
    assert field_of(line, "rank") == Known(5)
    assert field_of(line, "host") == Known("node-01")
    assert isinstance(field_of(line, "device"), Unknown)


def test_unknown_side_is_undetermined() -> None:
    """A condition on a field that the line does not tell is neither true nor false."""
    own = sighting("e")
    assert scope(own).condition(Condition(Path("rank"), "==", Constant(3, "rank")), own).truth is Truth.UNDETERMINED


def test_unknown_rank_is_its_own_within_one_emitter() -> None:
    """Two lines of one process have the same rank, whichever it is; lines of two files may not."""
    first, second = sighting("e", line=1), sighting("e", line=2)
    other = sighting("e", source="b.log")
    same = Condition(Path("rank"), "==", Path("a", "rank"))
    differs = Condition(Path("rank"), "!=", Path("a", "rank"))
    assert scope(first).condition(same, second).truth is Truth.TRUE
    assert scope(first).condition(differs, second).truth is Truth.FALSE
    assert scope(first).condition(same, other).truth is Truth.UNDETERMINED


def test_unmarked_lines_of_a_mixed_file_are_not_one_process() -> None:
    """In a file that shows several ranks an unmarked line may be anybody's."""
    first, second = sighting("e", line=1), sighting("e", line=2)
    marked = [sighting("e", line=3 + r, label=f"rank{r}", actor=Actor(rank=r)) for r in (0, 1)]
    mixed = Scope(timeline([first, second, *marked], []), EVENTS, {}, {"a": (first,)}, {"a": "e"}, lambda _, __: (first,))
    assert mixed.condition(Condition(Path("rank"), "==", Path("a", "rank")), second).truth is Truth.UNDETERMINED


def test_boundaries_are_closed() -> None:
    """A point on the boundary is inside."""
    made = timeline([], [])
    a, b = Point(at("10:00:00"), "node-01"), Point(at("10:00:00"), "node-01")
    assert not_before(made, a, b).truth is Truth.TRUE
    assert not_before(made, b, a).truth is Truth.TRUE


def test_overlap_within_the_skew_is_undetermined() -> None:
    """Four seconds between two hosts are less than their clocks may differ."""
    made = timeline([], [])
    a, b = Point(at("10:00:04"), "node-01"), Point(at("10:00:00"), "node-02")
    ruling = not_before(made, a, b, "lost")
    assert ruling.truth is Truth.UNDETERMINED
    assert ruling.reason == "the order against `lost` can't be told: the times overlap within 5s of clock skew"


def test_clocks_without_a_common_origin_are_not_compared() -> None:
    """Uptime against wall time is undetermined, and the reason says so."""
    uptime = Point(Instant(5 * SECOND, 5 * SECOND, "monotonic", "k"))
    assert "uptime" in not_before(timeline([], []), uptime, Point(at("10:00:00")), "lost").reason


def test_anchor_with_a_captured_duration() -> None:
    """A term may be what the line itself says; without it the anchor is unknown."""
    bound = sighting("e", at("10:30:00"), ran=30 * MINUTE)
    anchor = Anchor("a", "time", ((-1, Path("a", "ran")),))
    found = scope(bound).anchor(anchor)
    assert found is not None
    assert found.instant == at("10:00:00")
    assert scope(sighting("e", at("10:30:00"))).anchor(anchor) is None


def test_moment_is_time_minus_capture() -> None:
    """The stall began when the timeout line says that it had waited since."""
    line = sighting("e", at("10:30:00"), ran=30 * MINUTE)
    found = scope(line).moment(line, "stalled")
    assert found is not None
    assert found.instant == at("10:00:00")


def test_nearest_miss_in_seconds() -> None:
    """A line ten seconds after its window misses it by ten seconds; one inside misses it by none."""
    bound = sighting("e", at("10:00:00"), actor=Actor(host="node-01"))
    window = Window(Anchor("a"), Anchor("a", "time", ((1, MINUTE),)))
    late = sighting("e", at("10:01:10"), source="b.log", actor=Actor(host="node-01"))
    assert scope(bound).miss(window, late) == 10.0
    assert scope(bound).miss(window, sighting("e", at("10:00:30"), source="b.log")) == 0
