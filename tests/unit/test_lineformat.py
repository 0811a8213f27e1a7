"""Log formats that a user writes as a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.clock import SECOND, parse_time
from denpex_rules.errors import UsageError
from denpex_rules.formats import decide, peel
from denpex_rules.lineformat import FIELDS, LONGEST, check, compiled
from denpex_rules.record import Hints, Line, LineFormat

ACME = LineFormat("acme", ("{time} {host} [{rank}] {level} {text}",), example="2026-11-30T10:04:10.5Z node-07 [3] ERROR lost")


def read(form: LineFormat, line: str) -> Line:
    """Return a line as it is read in a source of a format."""
    return peel(line.encode(), Hints(formats=(form,)))


def of(*lines: str) -> LineFormat:
    """Return a format of these lines."""
    return LineFormat("acme", lines)


def test_fields_are_taken_and_the_message_is_read_on() -> None:
    """The prefix is peeled, and what stands behind it is read like any line."""
    line = read(ACME, "2026-11-30T10:04:10.5Z node-07 [3]  WARN  [default1]:step 10")
    assert (line.text, line.layout, line.severity, line.kind) == (b"step 10", ("acme", "torchrun_tee"), "warning", "rank")
    assert (line.actor.rank, line.actor.local_rank, line.actor.host) == (3, 1, "node-07")
    assert line.instant.lo == parse_time("2026-11-30T10:04:10.5Z")


def test_other_lines_are_read_as_ever() -> None:
    """A line that the format does not fit is read by the formats that are known."""
    line = read(ACME, "[rank4]: RuntimeError: lost")
    assert (line.actor.rank, line.layout) == (4, ("rank",))


def test_behind_a_wrapper() -> None:
    """The format is found inside of what a container runtime passes on, and its time goes before the arrival."""
    line = read(ACME, "2026-11-30T10:04:12.123456789Z stderr F 2026-11-30T10:04:10Z node-07 [3] INFO x")
    assert line.layout == ("k8s_cri", "acme")
    assert line.instant.lo == parse_time("2026-11-30T10:04:10Z")


def test_a_level_begins_a_record() -> None:
    """Behind a prefix with a level only an indented line goes on; without one an exception ends the traceback above it."""
    assert read(ACME, "2026-11-30T10:04:10Z node-07 [3] ERROR RuntimeError: lost").head is True
    assert read(of("{time} {rank}: {text}"), "2026-11-30T10:04:10Z 3: RuntimeError: lost").head is False


def test_indentation_of_the_message_stays() -> None:
    """A frame of a traceback continues its record also where each line has the prefix."""
    form = of("{time} {rank}: {text}")
    assert read(form, '2026-11-30 10:04:10 3:   File "a.py", line 1').head is False
    assert read(form, "2026-11-30 10:04:10 3: step 10").head is True


@pytest.mark.parametrize(
    ("line", "printed", "instant"),
    [
        ("{time} {text}", "2026-11-30 10:04:10,123 x", ("2026-11-30T10:04:10.123Z", "local", True)),
        ("{time} {text}", "2026-11-30T12:04:10+02:00 x", ("2026-11-30T10:04:10Z", "wall", True)),
        ("{time} {text}", "1796033050.5 x", ("2026-11-30T10:04:10.5Z", "wall", True)),
        ("<{time:%d.%m.%Y %H:%M:%S,%f}> {text}", "<30.11.2026  10:04:10,123> x", ("2026-11-30T10:04:10.123Z", "local", True)),
        ("{time:%b %d %T} {text}", "Nov  3 10:04:10 x", ("2000-11-03T10:04:10Z", "local", False)),
        ("{time:%F %T %z} {text}", "2026-11-30 12:04:10 +0200 x", ("2026-11-30T10:04:10Z", "wall", True)),
        ("{time:%s.%f} {text}", "1796033050.25 x", ("2026-11-30T10:04:10.25Z", "wall", True)),
        ("{time:%m/%d %T 100%%} {text}", "11/30 10:04:10 100% x", ("2000-11-30T10:04:10Z", "local", False)),
    ],
)
def test_times(line: str, printed: str, instant: tuple[str, str, bool]) -> None:
    """A time is ISO, seconds since 1970, or of a form of its own; a year and a zone that it lacks are not made up."""
    found = read(of(line), printed)
    assert found.text == b"x"
    assert (found.instant.lo, found.instant.clock, found.instant.year) == (parse_time(instant[0]), *instant[1:])


def test_a_date_that_is_none_gives_no_time() -> None:
    """The thirteenth month is read over."""
    line = read(of("{time:%d.%m.%Y %T} {text}"), "30.13.2026 10:04:10 x")
    assert (line.text, line.instant.known) == (b"x", False)


def test_arrival_is_an_upper_bound() -> None:
    """The time of a format that stamps arrivals may be late."""
    form = LineFormat("acme", ("{time} {text}",), arrival=True)
    line = read(form, "2026-11-30T10:04:10Z x")
    assert (line.instant.clock, line.instant.hi - line.instant.lo) == ("arrival", 6 * SECOND - 1)


def test_several_lines_and_a_kind() -> None:
    """A format may have lines of several forms; all are of its kind."""
    form = LineFormat("acme", ("A {rank} {text}", "B {host} {emitter} {pid} {text}"), kind="control")
    first, second = read(form, "A 3 x"), read(form, "B node-07 tuner 4242 x")
    assert (first.actor.rank, first.kind, second.kind) == (3, "control", "control")
    assert (second.actor.host, second.actor.pid, second.label) == ("node-07", 4242, "node-07/tuner pid=4242")


def test_literal_braces_and_what_is_not_read() -> None:
    """A doubled brace is one; words and anything else can be passed over."""
    line = read(of("{{{word}}} {any} | {task} {local_rank} {stream} {text}"), "{a7} b c | 1 2 stderr x")
    assert (line.text, line.actor.local_rank, line.label) == (b"x", 2, "task1/stderr")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{time}", "must end with {text}"),
        ("{text} {rank} {text}", "must end with {text}"),
        ("{time} {txt} {text}", "unknown field {txt}; known: time, rank,"),
        ("{time:%H:%M} {text}", "no day, no month, no second"),
        ("{time:%q} {text}", "unknown directive %q"),
        ("{time:%m %m} {text}", "for the second time"),
        ("{rank:%d} {text}", "only {time} has a form"),
        ("{word} {text}", "it gives nothing"),
        ("{ {text}", "is doubled"),
        ("{rank} } {text}", "is doubled"),
        ("{rank} {rank} {text}", "{rank} stands there twice"),
        ("{any} " * 5 + "{rank} {text}", "more than 4 fields {any}"),
        ("x" * LONGEST + "{rank}{text}", f"{LONGEST} characters at most"),
    ],
)
def test_mistakes_are_named(line: str, words: str) -> None:
    """A line that can't be read is refused with the reason."""
    with pytest.raises(UsageError) as caught:
        check(of(line))
    assert words in str(caught.value)


def test_names_examples_and_number_of_lines() -> None:
    """A name is a word, the example must fit, and there is a line at least."""
    check(ACME)
    for form, words in (
        (LineFormat("Acme!", ACME.lines), "a name has small letters"),
        (LineFormat("acme", ()), "one line at least"),
        (LineFormat("acme", ACME.lines * 21), "20 at most"),
        (
            LineFormat("acme", ACME.lines, example="2026-11-30T10:04:10Z node-07 (3) ERROR x"),
            "does not fit from '(3) ERROR x' on",
        ),
    ):
        with pytest.raises(UsageError) as caught:
            check(form)
        assert words in str(caught.value)


def test_what_a_whole_source_tells_is_told_behind_the_format() -> None:
    """A launcher's labels are found behind the format too."""
    lines = [b"@node-07@ %d: step %d" % (n % 4, n) for n in range(40)]
    form = of("@{host}@ {text}")
    hints = decide(lines, Hints(formats=(form,)))
    assert hints.wrappers == {"srun_label"}
    assert peel(lines[3], hints).actor.rank == 3


_PARTS = [*(f"{{{name}}}" for name in FIELDS), "{time}", " ", "[", "]", "|", "x"]


@given(st.lists(st.sampled_from(_PARTS), max_size=8), st.binary(max_size=200))
def test_any_line_of_fields_is_refused_or_reads(parts: list[str], data: bytes) -> None:
    """Whatever a user writes, it is refused or reads any bytes without failing."""
    form = of("".join(parts) + "{text}")
    try:
        check(form)
    except UsageError:
        return
    assert compiled(form)
    assert isinstance(peel(data, Hints(formats=(form,))).text, bytes)
