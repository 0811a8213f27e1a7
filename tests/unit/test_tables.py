"""Which format stands at a place: what is seen fast is what reading finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.prefix import Prefixes
from denpex_rules.record import NO_HINTS, LineFormat
from denpex_rules.tables import BARE, FORMATS, leads, read_next, read_own, tables_for

TABLES = tables_for(frozenset())
WEAK = tables_for(frozenset(f.name for f in FORMATS if f.role == "weak"))
GOLDENS = sorted((Path(__file__).parent.parent / "formats").glob("*.log"))


def first(line: bytes) -> tuple[str, str, int] | None:
    """Return name and role of the format that reading finds at the start of a line, and where it ends."""
    found = read_next(line, 0, Prefixes(NO_HINTS), TABLES)
    return found and (found[0].name, found[0].role, found[1])


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
@pytest.mark.parametrize("tables", [TABLES, WEAK], ids=["sure", "with weak wrappers"])
def test_a_line_that_leads_is_read_as_a_leaf(path: Path, tables: object) -> None:
    """Where a leaf is said to lead a line, reading finds it at the start, and no launcher, in all lines and in all their ends."""
    assert tables in (TABLES, WEAK)
    used = TABLES if tables is TABLES else WEAK
    for whole in path.read_bytes().split(b"\n"):
        for line in (whole, whole[:40], b" " + whole, b"[" + whole, whole.partition(b" ")[2]):
            into = Prefixes(NO_HINTS)
            found = read_next(line, 0, into, used)
            if leads(line, used):
                assert found is not None
                assert found[0].role == "leaf"
                assert found[0].name not in BARE | {"json"}
                assert not into.tee
                assert into.task is None


@pytest.mark.parametrize("form", [f for f in FORMATS if f.role == "leaf" and f.name not in BARE], ids=lambda f: f.name)
def test_leaves_lead(form: object) -> None:
    """A line that begins with a leaf is seen to, but for JSON, whose message may be a line of its own."""
    line = form.example.encode()  # type: ignore[attr-defined]
    found = first(line)
    assert found is not None
    assert leads(line, TABLES) == (found[1] == "leaf" and found[0] not in BARE | {"json"})


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[",
        b"step 10 done",
        b"2026-11-30 10:04:10 step 10",
        b"2026-11-30T10:04:10Z",
        b"[2026-11-30 10:04:10] step 10",
        b"[default3]:2026-11-30 10:04:10,123 INFO step 10",
        b"[1,3]<stderr>:2026-11-30 10:04:10,123 INFO step 10",
        b'{"level": "info", "msg": "[default3]:step"}',
    ],
)
def test_what_may_say_more_does_not_lead(line: bytes) -> None:
    """A bare stamp, a wrapper, JSON and text tell more once they are read."""
    assert not leads(line, TABLES)


def test_own_formats_come_first() -> None:
    """A user's format may begin as a leaf does: then only reading tells."""
    own = LineFormat("mine", ("{time} INFO <{task}> {text}",))
    tables = tables_for(frozenset(), (own,))
    line = b"2026-11-30 10:04:10,123 INFO <3> step 10"
    assert leads(line, TABLES)
    assert not leads(line, tables)
    into = Prefixes(NO_HINTS)
    found = read_own(line, 0, into, tables)
    assert found is not None
    assert (found[0].name, into.task) == ("mine", 3)
    assert read_own(b"step 10", 0, Prefixes(NO_HINTS), tables) is None


def test_long_lines_are_tried_without_a_look_for_bytes() -> None:
    """Tables for long lines find the same."""
    long = tables_for(frozenset(), short=False)
    for form in FORMATS:
        line = form.example.encode()
        one, other = Prefixes(NO_HINTS), Prefixes(NO_HINTS)
        assert read_next(line, 0, one, TABLES) == read_next(line, 0, other, long)
        assert vars(one) == vars(other)
    assert read_next(b"step", 4, Prefixes(NO_HINTS), long) is None
