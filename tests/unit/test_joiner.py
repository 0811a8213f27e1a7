"""Lines that were cut on the way and are put together again."""

from __future__ import annotations

import json
from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.formats import peel
from denpex_rules.joiner import ENOUGH, HELD, ROWS, Joiner, join, wrapped_at
from denpex_rules.lines import LineSplitter, PhysicalLine
from denpex_rules.record import Line

LONG = "RuntimeError: CUDA error: an illegal memory access was encountered while the kernel of layer 12 ran " * 3


def cri(content: str, tag: str = "F", stream: str = "stdout", second: int = 10) -> str:
    """Return a line as containerd writes it."""
    return f"2026-11-30T10:04:{second}.123456789Z {stream} {tag} {content}\n"


def docker(content: str, stream: str = "stdout") -> str:
    """Return a record as docker writes it."""
    return json.dumps({"log": content, "stream": stream, "time": "2026-11-30T10:04:10.5Z"}, separators=(",", ":")) + "\n"


def joined(text: str, size: int = 1 << 16) -> bytes:
    """Return what comes out for a text that goes in in chunks of a size."""
    data = text.encode()
    return b"".join(join(data[i : i + size] for i in range(0, len(data), size)))


def lines(data: bytes) -> list[PhysicalLine]:
    """Return the lines that a scan would read, blank ones left out."""
    splitter = LineSplitter()
    return [line for line in (*splitter.feed(data), *splitter.finish()) if line.data.strip()]


def read(text: str) -> list[Line]:
    """Return the lines of a text, put together and peeled."""
    return [peel(line.data) for line in lines(joined(text))]


# ------------------------------------------------------------------ container runtimes


def test_pieces_of_one_line() -> None:
    """A needle that straddles two pieces is whole again, on the line of the last piece."""
    text = cri("step 1") + cri("NVRM: X", "P") + cri("id (PCI:0000:41:00): ", "P") + cri("79, gone") + cri("step 2")
    found = read(text)
    assert [line.text for line in found] == [b"step 1", b"NVRM: Xid (PCI:0000:41:00): 79, gone", b"step 2"]
    assert not any(line.partial for line in found)
    assert [line.number for line in lines(joined(text))] == [1, 4, 5]


def test_streams_are_joined_apart() -> None:
    """What another stream writes between two pieces is no part of the line, and offsets behind it are those of the file."""
    text = (
        cri("a", "P")
        + cri("err", stream="stderr")
        + cri("b", "P:x")
        + cri("e", "P", "stderr")
        + cri("c")
        + cri("f", stream="stderr")
        + cri("z")
    )
    found = lines(joined(text))
    assert [peel(line.data).text for line in found] == [b"err", b"abc", b"ef", b"z"]
    assert found[-1].start == text.encode().index(cri("z").encode())
    assert len(joined(text)) == len(text)


def test_docker_pieces() -> None:
    """Docker's record of a piece does not end with a newline; one that ends with a printed backslash and n doesn't either."""
    text = docker("begin\n") + docker("NCCL W") + docker("ARN \\n") + docker(" lost\n") + docker("x\n", "stderr")
    assert [line.text for line in read(text)] == [b"begin", b"NCCL WARN \\n lost", b"x"]


@pytest.mark.parametrize("last", ["\n", ""])
def test_a_line_without_its_last_piece(last: str) -> None:
    """Where the log ends inside a line, what came of it is read."""
    text = cri("a", "P") + cri("b", "P").removesuffix("\n") + last
    assert [line.text for line in read(text)] == [b"ab"]


def test_a_line_that_never_ends_is_bounded() -> None:
    """Pieces of more than the limit are given as one line, and reading goes on."""
    piece = "x" * (16 << 10)
    text = "".join(cri(piece, "P") for _ in range(70)) + cri("end")
    found = [len(line.data) for line in lines(joined(text))]
    assert len(found) == 3
    assert HELD < found[0] < HELD + (32 << 10)


def test_note() -> None:
    """The coverage can say what was put together; nothing is said where nothing was."""
    joiner = Joiner()
    joiner.feed((cri("a", "P") + cri("b")).encode())
    joiner.finish()
    assert joiner.notes == ["1 pieces of lines that a container runtime cut were joined"]
    joiner = Joiner()
    joiner.feed(cri("a").encode())
    joiner.finish()
    assert joiner.notes == []


# ------------------------------------------------------------------ terminals and pastes


def wrapped(text: str, width: int) -> str:
    """Return a text as a terminal shows it."""
    rows = (row[i : i + width] for row in text.splitlines() for i in range(0, max(1, len(row)), width))
    return "".join(f"{row}\n" for row in rows)


def log(count: int = 8) -> str:
    """Return a log with long lines among short ones."""
    return "".join(
        f"[rank{n}]: step {n}\n2026-11-30 10:04:1{n % 10},000 - mod{n} - ERROR - {'w' * n} {LONG}\n" for n in range(count)
    )


@pytest.mark.parametrize("width", [80, 120, 191])
def test_wrapped_lines(width: int) -> None:
    """Rows of full width go on in the next row; each record stands where its first row was."""
    text = log()
    again = joined(wrapped(text, width))
    assert again.decode().split() == text.split()
    assert [line.data.decode() for line in lines(again)] == text.splitlines()
    assert len(again) == len(wrapped(text, width))
    assert [line.start for line in lines(again)] == [wrapped(text, width).index(row[:40]) for row in text.splitlines()]


def test_wrapped_paste_with_carriage_returns() -> None:
    """A paste from the web ends its lines with both."""
    assert [line.data.decode() for line in lines(joined(wrapped(log(), 100).replace("\n", "\r\n")))] == log().splitlines()


def test_a_record_that_just_fills_the_width_ends_there() -> None:
    """What follows with a prefix of its own begins a record."""
    full = "[rank0]: " + "y" * 111
    text = wrapped(log(), 120) + f"{full}\n[rank1]: z\n"
    assert [line.data.decode() for line in lines(joined(text))][-2:] == [full, "[rank1]: z"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (log(), "nothing is wrapped"),
        ("".join(f"| {n:>3} | {'N/A':>20} | {n * 7:>40} |\n" for n in range(40)), "a table"),
        (("=" * 80 + "\nstep 10\n") * 20, "rulers"),
        ("\n".join(wrap(LONG, 80)) * 8, "text that is broken between words"),
        ("".join(f"{'ab' * 38}{n:04}\n" for n in range(100)), "a dump: every line is full"),
        (wrapped("x" * 30 + "\n" + LONG, 30), "too narrow for a terminal"),
        (wrapped(LONG[:170] + "\n", 80), "too few lines"),
        (
            "".join(f"{f'2026-11-30 10:04:10 step {n} ':x<90}\n2026-11-30 10:04:11 ok\n" for n in range(30)),
            "lines with their own stamps",
        ),
    ],
)
def test_other_sources_are_left_alone(text: str, why: str) -> None:
    """Nothing is joined without evidence from the whole file."""
    assert wrapped_at(text.encode().split(b"\n")[:200]) == 0, why
    assert joined(text) == text.encode(), why


def test_wrapping_needs_several_lines() -> None:
    """A single long line proves nothing."""
    rows = [b"short"] * 20 + [b"w" * 80 + b"ord%d" % n for n in range(2) for _ in (0, 1)]
    assert ENOUGH > 2
    assert wrapped_at(rows) == 0


def test_rows_of_one_line_are_bounded() -> None:
    """A line of very many rows is cut into several."""
    text = wrapped(log(40) + "z" * 80 * (ROWS + 5) + "\n", 80)
    assert max(len(line.data) for line in lines(joined(text))) == 80 * ROWS


# ------------------------------------------------------------------ any source


_PARTS = [cri("a", "P"), cri("b"), cri("c", "P", "stderr"), docker("x"), docker("y\n"), "plain\n", "\n", "{}\n"]
_PARTS += ["z" * 80 + "\n", wrapped(log(6), 80)]


@given(st.lists(st.sampled_from(_PARTS), max_size=12), st.booleans(), st.integers(1, 200))
def test_chunks_make_no_difference(parts: list[str], ended: bool, size: int) -> None:
    """The same bytes come out however they come in, and no line is numbered anew but unfinished ones at the end."""
    text = "".join(parts).removesuffix("" if ended else "\n")
    whole = joined(text)
    assert joined(text, size) == whole
    assert whole.count(b"\n") - text.count("\n") in {0, 1, 2}


@given(st.binary(max_size=400), st.integers(1, 50))
def test_any_bytes(data: bytes, size: int) -> None:
    """Bytes that are no log pass through."""
    assert b"".join(join(data[i : i + size] for i in range(0, len(data), size))) == data
