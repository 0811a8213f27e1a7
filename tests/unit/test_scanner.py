"""The scanner: records, sightings, instants, coverage and bounds; the same for any chunks."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterable

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from making import template

from denpex_rules import recorder, retain
from denpex_rules.assembly import shape, shown
from denpex_rules.clock import MAX, MIN, SECOND, UNKNOWN, Instant, first_second
from denpex_rules.compiler import compile_rules
from denpex_rules.program import Program
from denpex_rules.record import NO_HINTS, Hints, Line
from denpex_rules.rule import Alternative, Event, Regex, Rule, RuleSet, Sequence, Step
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Actor, Scan, Sighting


def event(name: str, *parts: str | Regex, **more: object) -> Event:
    sequence = Sequence(tuple(p if isinstance(p, Regex) else template(p) for p in parts))
    return Event(name, name, (Alternative((sequence,)),), **more)  # type: ignore[arg-type]


DIED = event("died", "rank {r:rank} died", severity="error")
STEP = event("step", "step {n:int}")
BLOCK = event("block", "Traceback", "Error: {what:text}")
DIGITS = event("digits", Regex(r"\b\d{5,9}\b"), expensive=True)
KERNEL = event("kernel", "NVRM: Xid {code:int}", kinds=("kernel",))
RULE = Rule("r", "p", "t", "c", ("job",), SECOND, (Step("require", "died", "died"), Step("confirm", "step", "step")))
PROGRAM = compile_rules(RuleSet((RULE,), (DIED, STEP, BLOCK, DIGITS, KERNEL)))


def stamp(seconds: int, clock: str = "wall") -> Instant:
    return Instant(seconds * SECOND, (seconds + 1) * SECOND - 1, clock)  # type: ignore[arg-type]


def peel(line: bytes, hints: Hints) -> Line:
    """Read `@SECONDS <label> E:text`: all parts optional; a `+` in front makes a continuation line."""
    head = not line.startswith(b"+")
    line = line.removeprefix(b"+")
    instant, label, severity = UNKNOWN, "", None
    if line[:1] == b"@":
        number, _, line = line[1:].partition(b" ")
        instant = stamp(int(number)) if number.isdigit() else UNKNOWN
    if line[:1] == b"<":
        name, _, line = line[1:].partition(b"> ")
        label = name.decode("latin-1")
    if line[:2] in {b"E:", b"W:", b"I:"}:
        severity = {b"E": "error", b"W": "warning", b"I": "info"}[line[:1]]
    kind = "kernel" if line.startswith(b"NVRM") else hints.kind
    actor = Actor(rank=int(label)) if label.isdigit() else hints.actor
    return Line(line, label, actor, instant, severity, kind, head, line.count(b"repeated"), ("fake",))  # type: ignore[arg-type]


def scan(data: bytes, cuts: Iterable[int] = (), program: Program = PROGRAM, hints: Hints = NO_HINTS) -> Scan:
    reader = SourceScanner(program, "a.log", hints, peel=peel)
    last = 0
    for cut in [*sorted(cuts), len(data)]:
        reader.feed(data[last:cut])
        last = max(last, cut)
    return reader.close()


def of(found: Scan, name: str) -> list[Sighting]:
    return [s for s in found.sightings if s.event == name]


# ------------------------------------------------------------------ records


def test_a_sighting_says_where_it_was_seen() -> None:
    """A sighting has the line, its byte range, its emitter, its actor, and the text as patterns saw it."""
    data = "é\n@7 <3> E:rank 3 died\n".encode()
    (died,) = of(scan(data), "died")
    assert (died.line, data[died.start : died.end]) == (2, b"@7 <3> E:rank 3 died")
    assert (died.emitter.label, died.actor.rank, died.fields, died.severity) == ("3", 3, {"r": 3}, "error")
    assert (died.instant, died.text, died.source) == (stamp(7), "E:rank 3 died", "a.log")


def test_a_record_joins_its_lines_per_emitter() -> None:
    """Continuation lines go to the record of their own emitter, however emitters are mixed; the match gives the line."""
    data = b"<1> Traceback\n<2> Traceback\n+<1>   File\n+<2> Error: two\n+<1> Error: one\n"
    blocks = of(scan(data), "block")
    assert [(s.emitter.label, s.fields["what"], s.line) for s in blocks] == [("1", "one", 1), ("2", "two", 2)]


def test_a_head_ends_a_record() -> None:
    """Parts that stand in two records of one emitter are no match."""
    assert of(scan(b"Traceback\nError: x\n"), "block") == []
    assert len(of(scan(b"Traceback\n+Error: x"), "block")) == 1


def test_severity_is_that_of_the_worst_line_and_unknown_passes() -> None:
    """A record is as severe as its worst line; below the floor it is not the event; of unknown severity it is."""
    assert of(scan(b"W:rank 1 died\n"), "died") == []
    assert len(of(scan(b"rank 1 died\n"), "died")) == 1
    assert of(scan(b"I:rank 1 died\n+E:because\n"), "died")[0].severity == "error"


def test_kind_is_a_filter_and_unknown_passes() -> None:
    """A record of another kind is not the event; the line's own kind goes before the source's."""
    program = compile_rules(RuleSet((), (KERNEL, event("r", "died", kinds=("rank",)))))
    rank_log = Hints(kind="rank")
    assert [s.kind for s in of(scan(b"NVRM: Xid 79\n", program=program, hints=rank_log), "kernel")] == ["kernel"]
    assert of(scan(b"x NVRM: Xid 79\n", program=program, hints=rank_log), "kernel") == []
    assert [s.kind for s in of(scan(b"x NVRM: Xid 79\n", program=program), "kernel")] == [None]


def test_an_exception_is_not_part_of_a_host_record() -> None:
    """An exception's last line behind a kernel line is a record of its own, so the kernel's kind is not its kind."""
    for hints in (NO_HINTS, Hints(process=True)):
        (step,) = of(scan(b"NVRM: Xid 79\n+E:step 3\n", hints=hints), "step")
        assert step.kind is None


def test_a_host_line_is_no_process_line() -> None:
    """Among lines of a process a kernel line has an emitter of its own, so that line order proves nothing between them."""
    data = b"step 1\nNVRM: Xid 79\nstep 2\n"
    assert [s.emitter.label for s in scan(data).sightings] == ["", "kernel", ""]
    assert [s.emitter.label for s in scan(data, hints=Hints(kind="kernel")).sightings] == ["", "", ""]


def test_every_occurrence_in_a_record_is_seen() -> None:
    """Each entry of a block is a sighting on its own line; all have the record's ordinal, as line order proves nothing there."""
    found = of(scan(b"first\nbox\n+rank 3 died\n+rank 1 died\nrank 2 died\n"), "died")
    assert [(s.fields["r"], s.line, s.ordinal) for s in found] == [(3, 3, 2), (1, 4, 2), (2, 5, 5)]


def test_long_records_are_cut_and_nothing_is_lost() -> None:
    """Lines beyond a record's bounds make the next record."""
    lines = b"head\n" + b"".join(b"+step %d\n" % i for i in range(1000))
    assert [s.fields["n"] for s in of(scan(lines), "step")] == list(range(1000))
    wide = b"head\n" + b"".join(b"+step %d%s\n" % (i, b" x" * 20_000) for i in range(20))
    assert len(of(scan(wide), "step")) == 20


def test_redrawn_lines_are_lines() -> None:
    """A carriage return inside a line separates what was drawn: texts don't run over it."""
    (block,) = of(scan(b"10%\r20%\rTraceback Error: a\rb\n"), "block")
    assert (block.fields["what"], block.text, block.line) == ("a", "Traceback Error: a", 1)


# ------------------------------------------------------------------ instants


def test_a_record_without_a_stamp_lies_between_stamps_of_its_emitter() -> None:
    """It spans from the emitter's previous stamp to its next; a side without one is open; without any it is unknown."""
    data = b"<1> step 0\n@10 <1> a\n@11 <2> b\n<1> step 1\n<3> step 3\n@12 <2> c\n@20 <1> d\n<1> step 2\n"
    found = {s.fields["n"]: s.instant for s in of(scan(data), "step")}
    assert found == {
        0: Instant(MIN, 11 * SECOND - 1),
        1: Instant(10 * SECOND, 21 * SECOND - 1),
        2: Instant(20 * SECOND, MAX),
        3: UNKNOWN,
    }


def test_a_gap_waits_for_a_stamp_of_its_clock() -> None:
    """A stamp of another clock between two comparable ones does not bound the record."""
    other = Instant(5, 6, "monotonic", "boot")

    def mixed(line: bytes, hints: Hints) -> Line:
        return evolve(peel(line, hints), instant=other) if line == b"up" else peel(line, hints)

    reader = SourceScanner(PROGRAM, "a", peel=mixed)
    reader.feed(b"@10 a\nstep 1\nup\nstep 2\n@20 b\n")
    first, second = of(reader.close(), "step")
    assert first.instant == Instant(10 * SECOND, 21 * SECOND - 1)
    assert second.instant == Instant(5, MAX, "monotonic", "boot")


def test_stamps_that_run_backwards_span_both() -> None:
    """When the next stamp is earlier, the record may lie anywhere between the two."""
    (step,) = of(scan(b"@20 a\nstep 1\n@10 b\n"), "step")
    assert step.instant == Instant(10 * SECOND, 21 * SECOND - 1)


def test_a_continuation_has_the_stamp_of_its_record() -> None:
    """A line without a stamp below a stamped head was written with it."""
    (step,) = of(scan(b"@10 head\n+step 1\n@20 b\n"), "step")
    assert step.instant == stamp(10)


# ------------------------------------------------------------------ coverage


def test_activity_tells_when_each_emitter_spoke() -> None:
    """Runs of an emitter are in time order, close lines in one run, whatever the order of the stamps."""
    data = b"@10 <1> a\n@11 <1> b\n@100 <1> c\n@50 <1> d\n<1> e\n@10 <2> a\n"
    one, two = scan(data).sources[0].activities
    assert one.runs == ((10 * SECOND, 12 * SECOND), (50 * SECOND, 51 * SECOND), (100 * SECOND, 101 * SECOND))
    assert (one.lines, one.untimed, one.floor, one.frame, one.actor.rank) == (5, 1, SECOND, first_second(stamp(10)), 1)
    assert (two.emitter.label, two.lines) == ("2", 1)


def test_coverage_counts_what_was_read() -> None:
    """Bytes, lines (the last one without a newline too), merged repeats, layout and the caller's notes are kept."""
    reader = SourceScanner(PROGRAM, "a", mtime=5, peel=peel)
    reader.feed(b"a\nrepeated\n\nb")
    reader.note("the stream was cut", truncated=True)
    reader.note("the stream was cut")
    (source,) = reader.close().sources
    assert (source.bytes, source.lines, source.merged, source.layout) == (13, 4, 1, "fake")
    assert (source.truncated, source.notes, source.mtime) == (True, ("the stream was cut",), 5)


def test_blank_lines_are_nobodys() -> None:
    """A blank line makes no emitter and ends no record; with a stamp it shows that its emitter spoke."""
    (one,) = scan(b"<1> Traceback\n\n  \n+<1> Error: x\n\n").sources[0].activities
    assert (one.emitter.label, one.lines) == ("1", 2)
    assert len(of(scan(b"<1> Traceback\n\n+<1> Error: x\n"), "block")) == 1
    assert [a.lines for a in scan(b"@5 <1> \n").sources[0].activities] == [1]


def test_an_empty_source_is_a_source() -> None:
    """Nothing fed gives coverage of nothing."""
    found = scan(b"")
    assert (found.sightings, found.errors, found.sources[0].lines, found.sources[0].activities) == ((), (), 0, ())


def test_error_records_count_by_shape() -> None:
    """Records of severity error or worse are kept once a shape, numbers and paths aside, with the worst line shown."""
    data = b"@5 I:ok\n@6 E:node 3 lost /a/b.py\n@7 E:node 44 lost /c/d/e.py\nTraceback\n+E:boom\n"
    first, second = scan(data).errors
    assert (first.text, first.count, first.line, first.instant) == ("E:node 3 lost /a/b.py", 2, 2, stamp(6))
    assert (second.text, second.line, second.instant) == ("E:boom", 5, Instant(7 * SECOND, MAX))


# ------------------------------------------------------------------ any chunks

_MARKS = (b"@5 ", b"@60 ", b"<1> ", b"<2> ", b"+", b"E:", b"I:", b"\n", b"\n", b"\n", b"\r", b"\0", b"\xff")
_WORDS = st.sampled_from((*_MARKS, b"rank 3 died", b"step 7", b"Traceback", b"Error: x", b"12345 ", b"NVRM: Xid 79"))
_LOGS = st.lists(_WORDS, max_size=60).map(b"".join)


@settings(max_examples=200, deadline=None)
@given(_LOGS, st.lists(st.integers(0, 400), max_size=8))
def test_chunks_make_no_difference(data: bytes, cuts: list[int]) -> None:
    """Any split of the same bytes gives an equal scan."""
    assert scan(data, [c for c in cuts if c < len(data)]) == scan(data) == scan(data, range(len(data)))


@settings(max_examples=100, deadline=None)
@given(_LOGS, st.integers(0, 400))
def test_a_snapshot_is_a_scan_of_what_was_fed(data: bytes, cut: int) -> None:
    """A snapshot equals closing at that point, and changes nothing of what comes after."""
    reader = SourceScanner(PROGRAM, "a.log", peel=peel)
    reader.feed(data[:cut])
    assert reader.snapshot() == scan(data[:cut])
    reader.feed(data[cut:])
    assert reader.snapshot() == reader.close() == scan(data)


@settings(max_examples=200, deadline=None)
@given(_LOGS)
def test_literals_lose_nothing(data: bytes) -> None:
    """Trying every event on every record finds what the literals announce, no more."""
    naive = compile_rules(RuleSet((RULE,), tuple(evolve(e, expensive=True) for e in PROGRAM.events)))
    assert scan(data, program=naive) == scan(data)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 400))
def test_real_formats_on_any_bytes(data: bytes, cut: int) -> None:
    """Arbitrary bytes through the real formats never raise, and chunks make no difference."""
    whole, split = SourceScanner(PROGRAM, "a"), SourceScanner(PROGRAM, "a")
    whole.feed(data)
    split.feed(data[:cut])
    split.feed(data[cut:])
    assert whole.close() == split.close()


# ------------------------------------------------------------------ bounds


def test_a_long_line_keeps_head_and_tail() -> None:
    """Of a line beyond the limit both ends are searched, the middle is lost, and the source is truncated."""
    data = b"rank 1 died " + b"x" * (3 << 20) + b" rank 2 died\nrank 3 died\n"
    found = scan(data, range(10, len(data), 100_003))
    assert [s.fields["r"] for s in of(found, "died")] == [1, 2, 3]
    assert [(s.line, s.start) for s in of(found, "died")] == [(1, 0), (1, 0), (2, len(data) - 12)]
    assert found.sources[0].truncated
    assert "longer than" in found.sources[0].notes[0]
    assert scan(data) == found


def test_holes_are_skipped() -> None:
    """NUL bytes that a truncated log leaves are skipped and noted; offsets stay those of the source."""
    data = b"step 1\n" + b"\0" * (3 << 20) + b"step 2\nstep 3\0\0\n"
    found = scan(data, range(0, len(data), 70_001))
    assert [(s.fields["n"], s.line, data[s.start : s.start + 6]) for s in of(found, "step")] == [
        (1, 1, b"step 1"),
        (2, 2, b"step 2"),
        (3, 3, b"step 3"),
    ]
    assert not found.sources[0].truncated
    assert found.sources[0].notes == (f"{(3 << 20) + 2} NUL bytes were skipped: the log was truncated while its writer went on",)


def test_lookups_keep_the_first_and_the_newest_of_each_emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event of look-ups keeps few of each emitter, and says that some were dropped."""
    monkeypatch.setattr(retain, "PER_EMITTER", 4)
    data = b"".join(b"<%d> step %d\n" % (i % 2, i) for i in range(20)) + b"<2> step 99\n"
    found = scan(data)
    assert [s.fields["n"] for s in of(found, "step")] == [0, 1, 14, 15, 16, 17, 18, 19, 99]
    assert (found.sources[0].evicted, found.sources[0].notes) == (12, ("evicted: step",))


def test_many_emitters_share_the_bound_of_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the emitters of a source have too many together, each keeps fewer: the newest stay."""
    monkeypatch.setattr(retain, "PER_SOURCE", 40)
    data = b"".join(b"<%d> step %d\n" % (i % 8, i) for i in range(800))
    found = of(scan(data), "step")
    assert len(found) <= 40
    assert {s.emitter.label for s in found} == {str(i) for i in range(8)}
    assert found[-1].fields["n"] == 799


def test_decisive_events_keep_the_oldest_and_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that a rule requires keeps as many of the oldest as of the newest."""
    monkeypatch.setattr(retain, "PER_EMITTER", 6)
    found = scan(b"".join(b"rank %d died\n" % i for i in range(100)))
    assert [s.fields["r"] for s in of(found, "died")] == [0, 1, 2, 97, 98, 99]
    assert found.sources[0].evicted == 94
    assert [(d.event, d.label, d.count) for d in found.sources[0].dropped] == [("died", "", 94)]


def test_error_shapes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound new shapes are counted, not kept."""
    monkeypatch.setattr(retain, "SHAPES", 2)
    found = scan(b"E:a\nE:b\nE:c\nE:a\n")
    assert [(e.text, e.count) for e in found.errors] == [("E:a", 2), ("E:b", 1)]
    assert found.sources[0].notes == ("1 error records of further shapes were not kept",)


def test_emitters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of emitters beyond the bound are a crowd: no line order, no records, no times from neighbours."""
    monkeypatch.setattr(recorder, "LABELS", 2)
    found = scan(b"<1> a\n<2> b\n@5 <3> step 3\n<4> step 4\n+<5> step 5\n@9 <3> c\n<1> step 1\n")
    steps = of(found, "step")
    assert [(s.fields["n"], s.emitter.label, s.instant) for s in steps] == [
        (3, "…3", stamp(5)),
        (4, "…4", UNKNOWN),
        (5, "…5", UNKNOWN),
        (1, "1", UNKNOWN),
    ]
    assert [(a.emitter.label, a.lines, a.actor.rank) for a in found.sources[0].activities] == [
        ("1", 2, 1),
        ("2", 1, 2),
        ("…", 4, None),
    ]
    assert "emitters" in found.sources[0].notes[0]


def test_unfinished_records_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all unfinished records together are too large, the oldest counts as finished; nothing is lost."""
    monkeypatch.setattr(recorder, "OPEN_BYTES", 100)
    data = b"".join(b"<%d> step %d and more words\n" % (i, i) for i in range(50))
    assert [s.fields["n"] for s in of(scan(data), "step")] == list(range(50))


def test_runs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more runs than the bound, the floor doubles until they fit; nothing that was spoken is lost."""
    monkeypatch.setattr(recorder, "MAX_RUNS", 16)
    order = list(range(0, 5000, 10))
    random.Random(7).shuffle(order)
    (activity,) = scan(b"".join(b"@%d x\n" % s for s in order)).sources[0].activities
    assert len(activity.runs) <= 16
    assert activity.floor > SECOND
    assert all(any(lo <= s * SECOND <= hi for lo, hi in activity.runs) for s in order)
    assert all(b[0] - a[1] > activity.floor for a, b in zip(activity.runs, activity.runs[1:], strict=False))


def test_memory_stays_bounded_on_a_huge_line() -> None:
    """A line of 100 MB takes a few MB."""
    reader = SourceScanner(PROGRAM, "a")
    chunk = b"x" * (1 << 20)
    tracemalloc.start()
    for _ in range(100):
        reader.feed(chunk)
    found = reader.close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20
    assert found.sources[0].bytes == 100 << 20


# ------------------------------------------------------------------ texts


def test_shown_text_is_short_and_valid() -> None:
    """A line for display shows the match, escapes invalid bytes, and is cut."""
    assert shown(b"a\nb\xff\nc", 2) == "b\\xff"
    long = shown(b"x" * 5000 + b"HERE" + b"y" * 5000, 5000)
    assert len(long) == 1000
    assert "HERE" in long


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("rank 3 lost 0x7f", "rank 12 lost 0xFFe0", True),
        ("in /a/b.py:3", "in /c/d/e.py:77", True),
        ("id 9f86d081884c7d65", "id 60303ae22b998861", True),
        ("deadbeef", "feedface", False),
        ("disk full", "disk lost", False),
    ],
)
def test_shapes(one: str, other: str, *, same: bool) -> None:
    """Numbers, addresses, hashes and paths don't make another shape; words do."""
    assert (shape(one) == shape(other)) is same


def test_a_snapshot_before_the_wrappers_are_known_changes_nothing_later() -> None:
    """It decides for itself what the first lines tell; what is read later is read as if it had not been taken."""
    lines = [b"%d: 2026-11-30 10:%02d:%02d,000 INFO step %d" % (i % 4, i // 60, i % 60, i) for i in range(400)]
    one, other = SourceScanner(PROGRAM, "a.log"), SourceScanner(PROGRAM, "a.log")
    for line in lines[:50]:
        one.feed(line + b"\n")
        other.feed(line + b"\n")
    early = one.snapshot()
    assert {s.emitter.label for s in early.sightings} == {"task0", "task1", "task2", "task3"}
    for line in lines[50:]:
        one.feed(line + b"\n")
        other.feed(line + b"\n")
        if line is lines[250]:
            one.snapshot()
    assert one.close() == other.close()


def test_the_first_bytes_of_a_line_go_on_elsewhere() -> None:
    """A scanner that goes on from the state of another has the line that was begun there."""
    data = b"".join(b"[rank%d]: 2026-11-30 10:00:%02d,125 INFO shard %d read\n" % (i % 4, i % 60, i) for i in range(400))
    program = compile_rules(RuleSet((RULE,), (DIED, STEP)))
    for cut in (len(data) - 40, len(data) - 1):
        first, second, whole = (SourceScanner(program, "x.log") for _ in range(3))
        first.feed(data[:cut])
        second.resume(first.state)
        second.feed(data[cut:])
        whole.feed(data)
        found, wanted = second.close(), whole.close()
        assert found.sources[0].lines == wanted.sources[0].lines == 400
        assert found.sources[0].bytes == len(data)
