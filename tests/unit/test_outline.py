"""Outlines: what each name of a rule file stands for, in sound files and in broken ones."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from desks import OTHER, RULE, SHARED, at

from denpex_rules.errors import Source
from denpex_rules.library import SHIPPED, lower_blocks
from denpex_rules.outline import Outline, captures_in, read
from denpex_rules.parser import parse
from denpex_rules.rule import Event

BLOCKS: Mapping[str, Event | None] = lower_blocks(parse(Source("lib/calls.rule", SHARED)), SHIPPED, "lib.calls")[0]


def outline(text: str, place: str = "") -> Outline:
    """Return the outline of a text."""
    return read(parse(Source("a.rule", text)), place, BLOCKS)


@pytest.mark.parametrize(
    ("mark", "kind", "name"),
    [
        ("lib.ca¦lls.timeout, ", "event", "lib.calls.timeout"),
        ("as prog¦ress", "alias", "progress"),
        ("rule gpu.l¦ost {", "rule", "gpu.lost"),
        ("class  gpu.fell_off_¦bus", "class", "gpu.fell_off_bus"),
        ("causes collective.¦timeout", "class", "collective.timeout"),
        ("event lo¦st error", "event", "lost"),
        ("{dev¦ice:pci}", "capture", "device"),
        ("{device:pc¦i}", "type", "pci"),
        ("require lo¦st", "event", "lost"),
        ("let b¦ad", "let", "bad"),
        ("= rank¦_of(", "function", "rank_of"),
        ("rank_of(lost.host, lost.dev¦ice)", "capture", "device"),
        ("rank_of(lost.ho¦st", "field", "host"),
        ("confirm time¦out where", "event", "lib.calls.timeout"),
        ("where ra¦nk != bad", "capture", "rank"),
        ("where rank != b¦ad", "let", "bad"),
        ("bad stal¦led between", "moment", "stalled"),
        ("and lo¦st + 5m", "event", "lost"),
        ("refute ali¦ve", "step", "alive"),
        ("alive = pro¦gress", "alias", "progress"),
        ("when time¦out", "event", "lib.calls.timeout"),
        ("last pro¦gress before", "alias", "progress"),
        ("victim timeout.ra¦nk", "capture", "rank"),
        ("Drain {lo¦st.host}", "event", "lost"),
        ("reset {lost.dev¦ice}", "capture", "device"),
        ("of rank {b¦ad}", "let", "bad"),
        ('see    "gpu.oth¦er"', "rule", "gpu.other"),
    ],
)
def test_every_name_is_known(mark: str, kind: str, name: str) -> None:
    """A name stands for what the compiler would take it for, in texts too."""
    found = outline(RULE).at(at(RULE, mark))
    assert found is not None
    assert (found.symbol.kind, found.symbol.name) == (kind, name)


@pytest.mark.parametrize("mark", ["¦language 1", 'title  "A G¦PU', "per job wit¦hin", '"dmesg ¦-T"'])
def test_other_places_hold_no_name(mark: str) -> None:
    """Keywords and plain texts are no names."""
    assert outline(RULE).at(at(RULE, mark)) is None


def test_a_capture_of_a_building_block_is_one_symbol_in_all_files() -> None:
    """The capture in the library, in a rule and in another rule is the same symbol; so is the block itself."""
    shared = outline(SHARED, "lib.calls").at(at(SHARED, "{ra¦nk:rank}"))
    one = outline(RULE).at(at(RULE, "victim timeout.ra¦nk"))
    other = outline(OTHER).at(at(OTHER, "reporter timeout.ra¦nk"))
    assert shared is not None
    assert one is not None
    assert other is not None
    assert shared.symbol == one.symbol == other.symbol
    assert shared.defines
    assert not one.defines


def test_names_of_one_rule_are_not_those_of_another() -> None:
    """Two rules of one file may use one name for different things."""
    text = RULE + RULE.partition("\n\n")[2].replace("gpu.lost", "gpu.lost_again")
    found = outline(text)
    first, second = (m for m in found.mentions if m.symbol.kind == "let" and m.defines)
    assert first.symbol != second.symbol
    assert len(list(found.of(first.symbol))) == len(list(found.of(second.symbol))) == 4


def test_a_broken_statement_hides_no_other() -> None:
    """While one statement is written, the names of the others are known."""
    text = RULE.replace("rank != bad stalled between lost - 1m and lost + 5m", "rank !=")
    names = outline(text).names(at(text, "where rank !=¦"))
    assert (names.rule, list(names.lets)) == ("gpu.lost", ["bad"])
    assert list(names.steps) == ["lost", "alive"]


def test_table_of_contents() -> None:
    """A rule holds its events, steps and values in written order."""
    (entry,) = outline(RULE).entries
    assert (entry.kind, entry.name, entry.detail) == ("rule", "gpu.lost", "A GPU was lost")
    assert [(e.kind, e.name) for e in entry.inner] == [
        ("event", "lost"),
        ("step", "lost"),
        ("let", "bad"),
        ("step", "timeout"),
        ("step", "alive"),
    ]
    assert [e.name for e in outline(SHARED, "lib.calls").entries] == ["timeout", "loss"]


def test_a_name_that_stands_for_nothing_is_no_mention() -> None:
    """An unknown field, step or event is not guessed at."""
    text = RULE.replace("lost.device)", "lost.colour)").replace("confirm timeout", "confirm timeuot")
    found = outline(text)
    assert found.at(at(text, "lost.col¦our")) is None
    assert found.at(at(text, "confirm timeu¦ot")) is None


def test_captures_of_a_pattern() -> None:
    """Templates and regexes say what they capture; doubled braces capture nothing."""
    assert captures_in('"a {b:int} {{c}} {d} {:hex}"') == ("b", "d")
    assert captures_in(r"/(?P<x>\d) (?<y>.)/") == ("x", "y")
