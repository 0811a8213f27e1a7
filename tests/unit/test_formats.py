"""Lines of every format, beside what `peel` must make of them; the goldens stand in tests/formats."""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import formats
from denpex_rules.clock import SECOND, format_time, parse_time
from denpex_rules.envelopes import SHAPES
from denpex_rules.formats import decide, describe, peel
from denpex_rules.joiner import join
from denpex_rules.prefix import Format
from denpex_rules.record import Hints, Line
from denpex_rules.sighting import Actor
from denpex_rules.sources import from_bytes
from denpex_rules.tables import FORMATS

GOLDENS = Path(__file__).parent.parent / "formats"
_VISIBLE = {code: f"\\x{code:02x}" for code in (*range(9), *range(10, 32))}
LAYOUTS = sorted(GOLDENS.glob("*.log"))
SOURCES = sorted(p for p in (GOLDENS / "sources").rglob("*") if p.is_file() and p.suffix != ".peeled")


def render(line: Line) -> str:
    """Return a peeled line as one row: layout, emitter, actor, severity, kind, time, whether it starts a record, text."""
    instant = line.instant
    if not instant.known:
        time = "-"
    elif instant.clock == "monotonic":
        time = f"monotonic {instant.lo / SECOND:.6f}"
    else:
        time = f"{instant.clock} {format_time(instant.lo)}..{format_time(instant.hi)}{'' if instant.year else ' no year'}"
    names = ("rank", "local_rank", "host", "device", "pid", "job")
    actor = " ".join(f"{n}={v}" for n in names if (v := getattr(line.actor, n)) is not None)
    cells = (
        ">".join(line.layout),
        line.label,
        actor,
        line.severity,
        line.kind,
        time,
        "head" if line.head else "continues",
        f"x{line.repeats}" if line.repeats else "",
        line.text.decode("utf-8", "backslashreplace").translate(_VISIBLE),
    )
    return " | ".join(cell or "-" for cell in cells)


def rows(path: Path) -> list[str]:
    """Return the rendered lines of a golden's log."""
    return [render(peel(line)) for line in path.read_bytes().removesuffix(b"\n").split(b"\n")]


def records(path: Path) -> list[str]:
    """Return the rendered lines of a source as a scan reads them: by its name, put together, with what all its lines tell."""
    source = from_bytes(path.relative_to(GOLDENS / "sources").as_posix(), path.read_bytes())
    lines = [line for line in b"".join(join(source.open())).split(b"\n") if line.strip(b" \0")]
    hints = decide(lines, source.hints)
    return [render(peel(line.strip(b"\0"), hints)) for line in lines]


def golden_of(path: Path) -> Path:
    """Return where the records of a source stand."""
    return path.with_name(f"{path.name}.peeled")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(GOLDENS / "sources").as_posix())
def test_source(path: Path) -> None:
    """Every record of the source reads as the row that stands beside it."""
    assert records(path) == golden_of(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")


def test_every_format_has_a_golden() -> None:
    """Each format and each shape of JSON is in some golden."""
    goldens = (p.read_text(encoding="utf-8") for p in (GOLDENS).rglob("*.peeled"))
    seen = {name for text in goldens for row in text.splitlines() for name in row.partition(" | ")[0].split(">")}
    assert {name for name, _, _ in describe()} - seen == set()


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    """Every line of the file peels to the row that stands beside it."""
    assert rows(path) == path.with_suffix(".peeled").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_example_has_its_format(form: Format) -> None:
    """The example of every format is read as that format; of a weak one only where it is enabled."""
    weak = form.role == "weak"
    enabled = peel(form.example.encode(), Hints(wrappers=frozenset({form.name}) if weak else frozenset()))
    assert form.name in enabled.layout
    if weak:
        assert form.name not in peel(form.example.encode()).layout


def test_describe_lists_every_format_once() -> None:
    """The documentation's list has each format once, with an example and what it gives."""
    names = [name for name, _, _ in describe()]
    assert len(names) == len(set(names)) == len(FORMATS) + len(SHAPES)
    assert all(example and gives for _, example, gives in describe())


@given(st.binary(max_size=300))
def test_any_bytes_peel(line: bytes) -> None:
    """No bytes make peel fail, and what it calls text is the end of the line without colours."""
    peeled = peel(line)
    assert isinstance(peeled.text, bytes)
    assert len(peeled.text) <= len(line)


_PARTS = (
    [f.example.encode() for f in FORMATS]
    + [b"\r", b" ", b"\x1b[31m", b"Traceback (most recent call last):", b"2.0it/s]", b"{", b"\xff", b"9" * 30]
    + [b"[rank3]:", b"[E", b"00:00:60", b"9999-99-99 99:99:99,999 ", b"[99999999999.000000] ", b"*" * 90]
)


@given(st.lists(st.sampled_from(_PARTS), max_size=6), st.sampled_from([f.name for f in FORMATS if f.role == "weak"]))
def test_any_nesting_peels(parts: list[bytes], weak: str) -> None:
    """Formats put in front of each other in any order never fail, and an instant never ends before it starts."""
    peeled = peel(b"".join(parts), Hints(wrappers=frozenset({weak})))
    assert peeled.instant.lo <= peeled.instant.hi


@pytest.mark.parametrize(
    ("lead", "unit"),
    [(b"[", b" "), (b"", b"\r\t"), (b"2026-11-30 10:04:10", b"\r "), (b"ERROR", b" "), (b"", b"\rE")]
    + [
        (b"", unit)
        for unit in (
            b"[rank1]:",
            b"[",
            b"(",
            b"1.0it/s]",
            b"\r",
            b"a.",
            b"a:",
            b"[a]",
            b"2026-11-30 10:04:10 ",
            b"a - ",
            b"\x1b]",
            b"- ",
            b"<3>",
            b" ",
        )
    ],
)
def test_long_lines_take_linear_time(lead: bytes, unit: bytes) -> None:
    """Sixteen times the line takes no more than some hundred times the time (a quadratic peel would take 256 times)."""

    def cost(size: int) -> float:
        line = lead + unit * (size // len(unit))
        best = 1e9
        for _ in range(3):
            start = process_time()
            peel(line)
            best = min(best, process_time() - start)
        return best

    assert cost(1 << 18) < 100 * max(cost(1 << 14), 1e-4)


# ------------------------------------------------------------------ what the place of a source adds


def test_line_goes_before_place() -> None:
    """A rank in the line wins over the file's; what the line lacks comes from the file."""
    hints = Hints(Actor(rank=3, host="node-07"), "rank", process=True)
    line = peel(b"[rank5]: RuntimeError: lost", hints)
    assert (line.actor.rank, line.actor.host, line.label) == (5, "node-07", "")


def test_rank_file_does_not_lend_its_rank_to_the_scheduler() -> None:
    """A slurmstepd or agent line in a rank's file is not that rank's word."""
    hints = Hints(Actor(rank=3), "rank", process=True)
    assert peel(b"slurmstepd: error: Detected 1 oom_kill event", hints).actor.rank is None
    assert peel(b"step 10", hints).actor.rank == 3


def test_seconds_in_a_rank_file_are_no_kernel() -> None:
    """`[12.345678]` in a file that a rank wrote is a logger's clock, not the kernel's."""
    line = b"[   12.345678] step 10"
    assert peel(line).kind == "kernel"
    assert peel(line, Hints(Actor(rank=3), "rank", process=True)).kind == "rank"


def test_other_programs_in_a_kernel_file_are_no_kernel() -> None:
    """In /var/log/messages only the kernel's own lines are of kind kernel."""
    hints = Hints(kind="kernel")
    assert peel(b"Nov 30 10:04:10 node-07 monitor[12]: NVRM: Xid quoted", hints).kind is None
    assert peel(b"Nov 30 10:04:10 node-07 kernel: NVRM: Xid", hints).kind == "kernel"


def test_uptime_belongs_to_its_source() -> None:
    """Uptime stamps of two sources don't compare."""
    one, two = (peel(b"[1.000001] x", Hints(domain=d)).instant for d in ("a/dmesg", "b/dmesg"))
    assert not one.comparable(two)


def test_innermost_time_wins() -> None:
    """A logger's own stamp goes before the journal's; the journal's goes before the kernel's uptime."""
    inner = peel(b"2026-11-30T10:04:12+00:00 node-07 trainer[7]: 2026-11-30T10:04:10+00:00 ERROR mod x").instant
    assert inner.lo == parse_time("2026-11-30T10:04:10Z")
    kernel = peel(b"2026-11-30T10:04:12+00:00 node-07 kernel: [12.000001] x").instant
    assert (kernel.clock, kernel.lo) == ("wall", parse_time("2026-11-30T10:04:12Z"))


# ------------------------------------------------------------------ what only many lines tell


def test_decide_enables_srun_label() -> None:
    """Task labels in front of nearly every line are the launcher's, and number the ranks."""
    lines = [b"%d: step %d" % (n % 4, n) for n in range(40)]
    hints = decide(lines)
    assert hints.wrappers == {"srun_label"}
    assert peel(lines[3], hints).actor.rank == 3
    assert peel(lines[3]).actor.rank is None


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([b"%d: item" % n for n in range(40)], "numbers that never repeat are a list"),
        ([b"0: a", b"1: b", b"0: c"], "too few lines"),
        ([b"0: a", b"plain"] * 20, "half of the lines have no label"),
        ([b"step %d" % n for n in range(40)], "no label at all"),
        ([b"epoch1: loss %d" % n for n in range(10)], "one label on few lines"),
        ([b"[default%d]:%d: item" % (n % 8, n % 4) for n in range(40)], "the launcher's tag tells processes apart already"),
    ],
)
def test_decide_leaves_text_alone(lines: list[bytes], why: str) -> None:
    """Weak wrappers stay off without evidence from the whole sample."""
    assert decide(lines).wrappers == frozenset(), why


def test_decide_tells_a_console_with_tagged_workers() -> None:
    """Where a launcher tags its workers' lines, the untagged ones are its own; so it is inside JSON records too."""
    tagged = b"[default1]:2026-11-30 10:04:12,101 INFO [train.py:60] step 12 loss 0.4882"
    assert decide([tagged, b"Traceback (most recent call last):"]).tagged
    assert decide([b'{"log": "' + tagged + b'\\n", "stream": "stderr", "time": "2026-11-30T10:04:12.101Z"}']).tagged
    assert not decide([tagged.partition(b":")[2]]).tagged


def test_decide_enables_hosts_of_pdsh() -> None:
    """Two hosts that alternate in front of all lines are pdsh's."""
    hints = decide([b"node-0%d: step %d" % (1 + n % 2, n) for n in range(10)])
    assert peel(b"node-02: step 3", hints).actor.host == "node-02"


def test_tasks_that_are_nodes_number_no_ranks() -> None:
    """Where a launcher's task runs torchrun, its number is not a rank."""
    lines = [b"%d: [default%d]:step %d" % (n % 2, n % 8, n) for n in range(40)]
    hints = decide(lines)
    assert not hints.task_rank
    line = peel(b"1: step without a tag", hints)
    assert (line.actor.rank, line.label) == (None, "task1")
    assert peel(lines[1], hints).label == "task1 default1"


def test_decide_enables_stern() -> None:
    """Pods and containers in front of all lines are stern's and tell emitters apart; two words that never repeat are text."""
    lines = [b"train-worker-%d trainer step %d" % (n % 3, n) for n in range(30)]
    hints = decide(lines)
    assert hints.wrappers == {"stern"}
    assert peel(lines[1], hints).label == "train-worker-1/trainer"
    assert decide([b"item-%d was read" % n for n in range(30)]).wrappers == frozenset()


def test_decide_looks_behind_a_container_runtime() -> None:
    """A launcher's labels behind what a container runtime puts in front are found too."""
    lines = [b"2026-11-30T10:04:10.%09dZ stdout F %d: step %d" % (n + 1, n % 4, n) for n in range(40)]
    hints = decide(lines)
    assert hints.wrappers == {"srun_label"}
    assert peel(lines[3], hints).actor.rank == 3


@pytest.mark.parametrize(
    ("labelled", "others", "used"), [(18, 2, True), (17, 3, False), (180, 20, True), (179, 21, False), (4, 0, False)]
)
def test_decide_counts_all_lines(labelled: int, others: int, used: bool) -> None:
    """Nine lines of ten must have a weak wrapper, wherever the others stand; blank ones say neither."""
    lines = [b"%d: step %d" % (n % 3, n) for n in range(labelled)]
    rest = [b"loading shard", b"2026-11-30 10:04:10,123 INFO loading"] * others
    blank = [b"2026-11-30T10:04:10.123456789Z stdout F ", b""] * 30
    for sample in (
        [*lines, *rest[:others], *blank],
        [*rest[:others], *blank, *lines],
        [*blank, *lines[:9], *rest[:others], *lines[9:]],
    ):
        assert decide(sample).wrappers == (frozenset({"srun_label"}) if used else frozenset())


@pytest.mark.parametrize(
    "last",
    [
        b"[default3]:step",
        b"\x1b[31m[default3]:step",
        b'{"log": "[default3]:step\\n", "stream": "stdout", "time": "2026-11-30T10:04:10Z"}',
    ],
)
def test_decide_looks_at_every_line_for_a_tag(last: bytes) -> None:
    """One tagged line among many of a logger shows that the launcher tags, and that an earlier belief was wrong is shown too."""
    lines = [b"2026-11-30 10:04:10,%03d INFO step" % n for n in range(199)]
    assert decide([*lines, last]).tagged
    assert not decide([*lines, b"2026-11-30 10:04:10,123 INFO [default3]:step"]).tagged
    assert not decide(lines, Hints(tagged=True)).tagged


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_a_tag_or_a_task_is_seen_by_its_text(form: Format) -> None:
    """A line whose wrappers give a launcher's tag or task has a text by which it is seen without reading, or a weak wrapper."""
    line = form.example.encode()
    said = formats._read(line, Hints(wrappers=frozenset({form.name})))
    if said.into.tee or said.into.task is not None:
        assert form.role == "weak" or any(text in line for text in formats._TELLING)


def test_decide_looks_into_json() -> None:
    """A launcher's labels inside docker's records are found like bare ones."""
    lines = [b'{"log":"%d: step %d\\n","stream":"stdout","time":"2026-11-30T10:04:10.5Z"}' % (n % 4, n) for n in range(40)]
    hints = decide(lines)
    assert hints.wrappers == {"srun_label"}
    assert peel(lines[3], hints).actor.rank == 3


def test_pieces_of_cut_lines_say_so() -> None:
    """What a container runtime cut is marked: docker's piece has no newline, the last one has."""
    piece, last = (peel(b'{"log":"x%s","stream":"stdout","time":"2026-11-30T10:04:10.5Z"}' % end) for end in (b"", b"\\n"))
    assert (piece.partial, last.partial) == (True, False)
    assert peel(b"2026-11-30T10:04:10.5Z stdout P x").partial


def test_own_words_name_the_printer() -> None:
    """A message that is known to name its printer gives rank and host, unless a prefix already gave them; the label stays."""
    said = b"AssertionError: Rank 5: found NaN in local grad norm in backward pass. Device: 5, node: node-07"
    line = peel(said)
    assert (line.actor.rank, line.actor.host, line.label, line.head) == (5, "node-07", "", False)
    assert peel(b"[rank3]: " + said).actor.rank == 3


def test_kernel_line_inside_an_alert() -> None:
    """A kernel's line that an alert quotes gives host, time and kind."""
    said = b"Xid errors on instance: node-07, Error: Nov 30 10:04:10 node-07 kernel: [12.345678] NVRM: Xid (PCI:0000:41:00): 79"
    line = peel(said)
    assert (line.actor.host, line.kind, line.text) == ("node-07", "kernel", said)
    assert line.instant.known
    assert peel(b"see Nov 30 10:04:10 node-07 for more").actor.host is None


def test_time_row_of_the_launchers_box() -> None:
    """The time of a failure is its row's, which stays a row of the box and of the box's emitter."""
    line = peel(b"  time      : 2026-11-30_10:04:10")
    assert (line.instant.lo, line.head, line.label, line.kind) == (parse_time("2026-11-30T10:04:10Z"), False, "", "agent")


def test_host_in_a_message_without_a_level() -> None:
    """ONNX Runtime names its host behind the error, which has no level."""
    line = peel(b"CUDA failure 35: driver version is insufficient ; GPU=0 ; hostname=node-07 ; file=a.cc ; line=236 ;")
    assert (line.actor.host, line.severity) == ("node-07", None)


def test_same_tag_on_two_hosts_is_two_emitters() -> None:
    """A local rank's tag behind a host's prefix names the host too."""
    hints = Hints(wrappers=frozenset({"pdsh"}))
    labels = {peel(b"node-0%d: [default3]:step" % n, hints).label for n in (1, 2)}
    assert labels == {"node-01 default3", "node-02 default3"}


if __name__ == "__main__":  # rewrite the goldens; read the difference before keeping it
    for golden in LAYOUTS if "--write" in sys.argv else ():
        golden.with_suffix(".peeled").write_text("".join(f"{row}\n" for row in rows(golden)), encoding="utf-8")
    for path in SOURCES if "--write" in sys.argv else ():
        golden_of(path).write_text("".join(f"{row}\n" for row in records(path)), encoding="utf-8")
