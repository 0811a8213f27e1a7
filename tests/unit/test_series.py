"""Canonical order, and copies of lines and of whole streams."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from making import at, sighting

from denpex_rules.series import in_order, once, originals, series
from denpex_rules.sighting import Actor, Sighting


def test_order_is_by_time_then_by_what_is_said() -> None:
    """The order of the input does not matter; unknown times come last."""
    lines = [
        sighting("e", at("10:00:02"), text="late"),
        sighting("e", at("10:00:01"), source="b.log", actor=Actor(rank=1)),
        sighting("e", at("10:00:01"), source="c.log", actor=Actor(rank=0)),
        sighting("e", source="d.log", text="untimed"),
    ]
    shuffled = lines[:]
    Random(3).shuffle(shuffled)
    assert [s.text for s in in_order(shuffled)] == ["e", "e", "late", "untimed"]
    assert [s.actor.rank for s in in_order(shuffled)][:2] == [0, 1]


def test_lines_of_one_emitter_keep_their_order() -> None:
    """Within one emitter and instant the place decides, whatever the texts are."""
    lines = [sighting("e", at("10:00:00"), line=n, text=text) for n, text in ((3, "a"), (1, "c"), (2, "b"))]
    assert [s.text for s in in_order(lines)] == ["c", "b", "a"]


def test_events_are_sorted_and_each_is_in_order() -> None:
    """All sightings come event by event; an event that was not seen has none."""
    lines = [sighting("z", at("10:00:00")), sighting("a", at("10:00:02"), line=2), sighting("a", at("10:00:01"))]
    found = series(lines)
    assert found.events == ("a", "z")
    assert [(s.event, s.line) for s in found] == [("a", 1), ("a", 2), ("z", 1)]
    assert found.of("other") == ()


def test_tables_hold_an_event_in_order() -> None:
    """By field, emitter and clock the sightings keep their order; an unknown field is None, and untimed ones have no clock."""
    lines = [
        sighting("e", at("10:00:01"), source="b.log", line=2, step=1),
        sighting("e", at("10:00:00"), source="b.log", line=1, step=1),
        sighting("e", source="a.log", line=3),
    ]
    found = series(lines)
    assert {value: [s.line for s in group] for value, group in found.by_field("e", "step").items()} == {1: [1, 2], None: [3]}
    assert {emitter.source: [s.line for s in group] for emitter, group in found.by_emitter("e").items()} == {
        "b.log": [1, 2],
        "a.log": [3],
    }
    assert {frame[0]: [s.line for s in group] for frame, group in found.by_clock("e").items()} == {"wall": [1, 2]}
    assert found.by_field("e", "step") is found.by_field("e", "step")


def test_line_in_two_files_is_one_record() -> None:
    """Of copies those in the file with most of them are kept; a line with another actor, time or capture is no copy."""
    one = [sighting("e", at("10:00:00"), source="a.log", line=1, text="x")]
    two = [sighting("e", at("10:00:00"), source="b.log", line=n, text="x") for n in (1, 2)]
    others = [
        sighting("e", at("10:00:00"), source="c.log", text="x", actor=Actor(rank=1)),
        sighting("e", at("10:00:01"), source="d.log", text="x"),
        sighting("e", at("10:00:00"), source="e.log", text="x", step=3),
    ]
    assert [s.source for s in in_order(once([*one, *two, *others]))] == ["c.log", "b.log", "b.log", "e.log", "d.log"]


def test_untimed_lines_are_no_copies_of_each_other() -> None:
    """Nothing proves that two lines without a time are one."""
    assert len(list(once([sighting("e", source=f"{name}.log", text="x") for name in "ab"]))) == 2


def test_stream_that_shows_more_is_no_copy() -> None:
    """A rank's second stream counts where it shows anything that the first one does not."""

    def stream(source: str, texts: str) -> list[Sighting]:
        return [sighting("e", source=source, line=n, actor=Actor(rank=1), text=text) for n, text in enumerate(texts)]

    assert len(list(originals([*stream("a.log", "xyz"), *stream("b.log", "xy")]))) == 3
    assert len(list(originals([*stream("a.log", "xyz"), *stream("b.log", "xw")]))) == 5
    assert len(list(originals([*stream("a.log", "xyz"), *stream("a.log", "xy")]))) == 5  # one emitter


LINES = st.lists(
    st.builds(
        lambda second, source, rank, text, line: sighting(
            "e",
            at(f"10:00:0{second}") if second else at("10:00:00", "10:00:05"),
            source=source,
            actor=Actor(rank=rank),
            text=text,
            line=line,
        ),
        st.integers(0, 2),
        st.sampled_from(("a.log", "b.log")),
        st.sampled_from((None, 0, 1)),
        st.sampled_from(("x", "y")),
        st.integers(1, 3),
    ),
    max_size=12,
    unique_by=lambda s: (s.source, s.line),
)


@given(LINES, st.randoms(use_true_random=False))
def test_order_of_the_input_does_not_matter(lines: list[Sighting], chance: Random) -> None:
    """The same lines in any order are the same series."""
    shuffled = chance.sample(lines, len(lines))
    assert series(lines).of("e") == series(shuffled).of("e")
