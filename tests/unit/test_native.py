"""Plain lines taken by compiled code: the same result as one by one, whatever is asked for in between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from making import template

from denpex_rules import native
from denpex_rules.care import FIRST, GLUED, NEVER, OWN
from denpex_rules.compiler import compile_rules
from denpex_rules.program import Program
from denpex_rules.recorder import Recorder, Size
from denpex_rules.rule import Alternative, Event, Rule, RuleSet, Sequence, Step
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Scan

pytestmark = pytest.mark.skipif(not native.available(), reason="there is no compiled code")


def event(name: str, text: str) -> Event:
    return Event(name, name, (Alternative((Sequence((template(text),)),)),))


STEP, LOST, XID = event("step", "step {n:int} done"), event("lost", "peer {r:rank} lost"), event("xid", "Xid 79")
RULE = Rule("r", "p", "t", "c", ("job",), 1, (Step("require", "lost", "lost"), Step("confirm", "step", "step")))
PROGRAM = compile_rules(RuleSet((RULE,), (STEP, LOST, XID)))

MESSAGES = (
    "INFO step {n} done",
    "INFO shard {n} read",
    "ERROR peer {n} lost",
    "ERROR read of shard {n} failed",
    "INFO Xid {n}",
    "",
)


def line(rank: int, second: int, message: str) -> bytes:
    clock = f"{10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"[rank{rank}]: 2026-11-30 {clock},{second % 1000:03} {message.format(n=70 + second % 12)}\n".encode()


def scanner(*, compiled: bool, program: Program = PROGRAM) -> SourceScanner:
    return SourceScanner(program, "x.log", skim=compiled, compiled=compiled)


def both(data: bytes, chunk: int = 1 << 16) -> tuple[Scan, Scan]:
    """Return what compiled code finds, and what reading one by one finds."""
    found = []
    for compiled in (True, False):
        one = scanner(compiled=compiled)
        for start in range(0, len(data), chunk):
            one.feed(data[start : start + chunk])
        found.append(one.close())
    return found[0], found[1]


def test_most_lines_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first lines are; all are counted, and their events found."""
    read: list[Any] = []
    take = Recorder.take
    monkeypatch.setattr(Recorder, "take", lambda self, lines: (read.extend(lines), take(self, lines)))
    one = scanner(compiled=True)
    one.feed(b"".join(line(i % 8, i // 8, MESSAGES[i % 2]) for i in range(4_000)))
    scan = one.close()
    assert len(read) < 100
    assert scan.sources[0].lines == 4_000
    assert sum(s.event == "step" for s in scan.sightings) == 2_000


def test_times_that_go_back() -> None:
    """A clock that was set back: its emitter's runs are put in order."""
    seconds = [*range(0, 900, 3), *range(450, 600), *range(2_000, 2_300), *range(100)]
    fast, slow = both(b"".join(line(0, second, MESSAGES[1]) for second in seconds))
    assert fast == slow
    assert len(fast.sources[0].activities[0].runs) > 100


def test_an_emitter_that_speaks_now_and_then() -> None:
    """Thousands of runs are handed over in turns, and joined where there are too many."""
    data = b"".join(line(0, second * 3, MESSAGES[1]) for second in range(6_000))
    fast, slow = both(data)
    assert fast == slow
    assert fast.sources[0].activities[0].floor > 1_000_000_000


def test_all_marks_are_counted_where_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows keep fewer and fewer; what they drop is counted, with when it was."""
    monkeypatch.setattr("denpex_rules.retain.PER_SOURCE", 60)
    fast, slow = both(b"".join(line(i % 5, i // 5, MESSAGES[i % 3]) for i in range(6_000)), 7_000)
    assert fast == slow
    assert sum(d.count for d in fast.sources[0].dropped) + len(fast.sightings) == 4_000


def test_errors_of_one_shape_are_counted() -> None:
    """Plain lines that are errors count by their shape, and the first of each is kept."""
    fast, slow = both(b"".join(line(i % 3, i, MESSAGES[3]) for i in range(900)))
    assert fast == slow
    assert [(error.line, error.count) for error in fast.errors] == [(1, 900)]


def test_more_emitters_than_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of further ones are read one by one."""
    monkeypatch.setattr("denpex_rules.recorder.LABELS", 40)
    fast, slow = both(b"".join(line(i % 60, i // 60, MESSAGES[i % 5]) for i in range(3_000)))
    assert fast == slow
    assert any("more than 40 emitters" in note for note in fast.sources[0].notes)


ACTION = st.one_of(
    st.tuples(st.just("lines"), st.integers(0, 3), st.integers(0, 40), st.sampled_from(MESSAGES), st.integers(1, 60)),
    st.tuples(st.just("other"), st.integers(0, 3), st.sampled_from([b"  File x", b"[rank1]: Traceback:", b"", b"x" * 9_000])),
    st.tuples(st.just("snapshot")),
    st.tuples(st.just("shrink"), st.integers(2, 40), st.integers(1, 3), st.integers(2, 40)),
)


STEP_DONE = ("lines", 0, 0, MESSAGES[0])


@settings(max_examples=60)
@given(st.lists(ACTION, min_size=3, max_size=14), st.integers(1, 5_000))
@example([(*STEP_DONE, 1), (*STEP_DONE, 1), (*STEP_DONE, 9), ("lines", 0, 1, MESSAGES[0], 1), ("shrink", 2, 1, 2)], 1)
def test_whatever_is_asked_for_in_between(actions: list[tuple[Any, ...]], chunk: int) -> None:
    """Snapshots and bounds at any time give what they give where lines are read one by one."""
    fast, slow = scanner(compiled=True), scanner(compiled=False)
    start = b"".join(line(i % 4, i // 4, MESSAGES[i % 4]) for i in range(240))
    for one in (fast, slow):
        one.feed(start)
    for action in actions:
        if action[0] == "snapshot":
            assert fast.snapshot() == slow.snapshot()
        elif action[0] == "shrink":
            fast.shrink(Size(*action[1:]))
            slow.shrink(Size(*action[1:]))
        else:
            data = _data(action)
            for at in range(0, len(data), chunk):
                fast.feed(data[at : at + chunk])
            slow.feed(data)
    assert fast.close() == slow.close()


def _data(action: tuple[Any, ...]) -> bytes:
    if action[0] == "other":
        return bytes(action[2]) + b"\n"
    _, rank, second, message, count = action
    return b"".join(line((rank + i) % 4, 60 + second + i, message) for i in range(count))


def test_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment can ask to do without; where none was built, there is none."""
    monkeypatch.setenv(native.PURE, "1")
    assert not native.available()
    monkeypatch.delenv(native.PURE)
    assert native.available()
    monkeypatch.setattr(native, "_MODULE", "denpex_rules.no_such_module")
    assert not native.available()


def test_the_compiled_code_refuses_what_would_mislead_it() -> None:
    """Blocks that end inside a line, hits outside of the tables, emitters and clocks that there are not: errors, never a crash."""
    plain = native.compiled_module().Plain(1, 4_000, FIRST, NEVER, OWN, GLUED, bytes(3))
    with pytest.raises(ValueError, match="whole lines"):
        plain.begin(b"half a line", 0, 11, 1, 0)
    with pytest.raises(ValueError, match="whole lines"):
        plain.begin(b"x\n", 0, 3, 1, 0)
    plain.begin(b"x\n", 0, 2, 1, 0)
    with pytest.raises(ValueError, match="unknown literal"):
        plain.hits([(0, 3)])
    with pytest.raises(ValueError, match="unknown literal"):
        plain.hit(-1, 0, 1, 0, None)
    with pytest.raises(ValueError, match="no such speaker"):
        plain.answer_who(0, 0, False)
    with pytest.raises(ValueError, match="no such clock"):
        plain.set_clock(0)
    with pytest.raises(IndexError):
        plain.settle(5)
    assert plain.run(10) == native.READ


@pytest.mark.parametrize(
    ("first", "then", "messages"),
    [
        ("code 79 on {n:int}", "code", ("code 78 on 11", "code 79 on 11", "code 79 on 12", "code 70 on 99")),
        ("loss {x:float}", "loss", ("loss 1e999", "loss 1e001", "loss 2e002", "loss 9e998")),
        ("peer {r:rank} lost", "peer", ("peer x1 lost", "peer 11 lost", "peer 12 lost", "peer x2 lost")),
    ],
)
def test_an_event_that_tells_less_of_some_lines(first: str, then: str, messages: tuple[str, ...]) -> None:
    """Lines that differ only in digits may be told apart by them: what one shows without a capture, another shows with it."""
    told = Event("told", "told", tuple(Alternative((Sequence((template(text),)),)) for text in (first, then)))
    rule = Rule("r", "p", "t", "c", ("job",), 1, (Step("require", "told", "told"),))
    program = compile_rules(RuleSet((rule,), (told,)))
    data = b"".join(line(i % 4, i, f"INFO {messages[i // 4 % 4]}") for i in range(2_000))
    scans = []
    for compiled in (True, False):
        one = scanner(compiled=compiled, program=program)
        one.feed(data)
        scans.append(one.close())
    assert scans[0] == scans[1]
    assert {bool(s.fields) for s in scans[0].sightings} == {True, False}


def test_last_lines_are_finished_together() -> None:
    """What the last lines of emitters show is kept as if each had been followed by another, first errors and new events too."""
    data = b"".join(line(i % 300, i // 300, MESSAGES[i // 300 % 3]) for i in range(300 * 40 + 150))
    compiled, one_by_one = both(data + line(7, 41, "ERROR read of a new shard failed") + line(8, 41, "ERROR peer 3 lost"))
    assert compiled == one_by_one
    assert compiled.errors[-1].text.endswith("a new shard failed")


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-30T{h:02}:{m:02}:{s:02}Z ",
        "[rank3]: 2026-11-30 {h:02}:{m:02}:{s:02},000 ",
        "[rank3]:[I1130 {h:02}:{m:02}:{s:02}.000000001 x.cpp:6] ",
        "Nov 30 {h:02}:{m:02}:{s:02} node-07 trainer[42]: ",
    ],
)
def test_an_hour_tells_its_minutes_and_seconds(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a new hour one line is asked about; the times of the others follow, but of those that are none."""
    asked: list[Any] = []
    answer = native.Native._answer_when
    monkeypatch.setitem(native._ANSWERS, native.WHEN, lambda self: (asked.append(1), answer(self)))
    times = [(h, m, s) for h in (9, 10, 23) for m in range(0, 60, 7) for s in range(0, 60, 11)]
    odd = [(10, 5, 60), (10, 60, 3), (24, 0, 0), (25, 1, 1), (11, 0, 0)]
    data = b"".join(
        f"{prefix}INFO step {n} done\n".format(h=h, m=m, s=s, n=7).encode() for n, (h, m, s) in enumerate(times * 5 + odd)
    )
    fast, slow = both(data)
    assert fast == slow
    assert len(asked) <= 8 + len(odd)


def test_a_message_that_tells_whose_it_is_is_no_message() -> None:
    """What a logger's prefix may go on with is read with it: the first line of an emitter has it, or a later one."""
    plain = b"submitit INFO (2026-11-30 10:00:%02d,123) - step %d done\n"
    told = b"submitit INFO (2026-11-30 10:00:%02d,123) - Caught signal SIGTERM on node-07: step %d done\n"
    for order in ("pppptp", "tpppt", "pptptp"):
        lines = [(plain if letter == "p" else told) % (n, n) for n, letter in enumerate(order * 60)]
        compiled, one_by_one = both(b"".join(lines))
        assert compiled == one_by_one
        assert {s.actor.host for s in compiled.sightings} == {None, "node-07"}


UNTIMED = ("step {n} done", "shard {n} read", "peer {n} lost", "ERROR peer {n} lost", "  indented {n}", "Xid {n}")


@given(
    st.lists(st.tuples(st.sampled_from((*UNTIMED, *MESSAGES)), st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=60),
    st.sampled_from([b"", b"[rank%d]: ", b"node-0%d:42:42 [0] NCCL INFO "]),
    st.integers(40, 4_000),
)
def test_lines_without_a_time_lie_between_those_with_one(told: list[tuple[str, int, int]], prefix: bytes, chunk: int) -> None:
    """What they show, how many there are, and between which stamps they stand, as read one by one."""
    data = b""
    for message, rank, second in told * 3:
        own = prefix % rank if b"%" in prefix else prefix
        data += line(rank, second, message) if message in MESSAGES else own + message.format(n=second).encode() + b"\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("denpex_rules.forms.OFTEN", 2)
        patch.setattr("denpex_rules.retain.PER_EMITTER", 6)
        patch.setattr(native, "SECONDS", 4)
        for module in ("native", "scanner", "recorder"):
            patch.setattr(f"denpex_rules.{module}.SAMPLE_LINES", 5)
        patch.setattr("denpex_rules.scanner.LEARN", 2)
        compiled, one_by_one = both(data, chunk)
    assert compiled == one_by_one


def test_lines_without_a_time_are_taken_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once their form is known none of them is read in full."""
    plain = scanner(compiled=True)
    lines = [b"[rank%d]: step %d done\n" % (n % 4, n) for n in range(4_000)]
    plain.feed(b"".join(lines[:2_000]))
    monkeypatch.setattr(plain, "_read", pytest.fail)
    plain.feed(b"".join(lines[2_000:]))
    monkeypatch.undo()
    found = plain.close()
    assert [(a.emitter.label, a.lines, a.untimed) for a in found.sources[0].activities] == [
        (f"rank{rank}", 1_000, 1_000) for rank in range(4)
    ]
    assert {s.instant.known for s in found.sightings} == {False}
