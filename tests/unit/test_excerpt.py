"""Parts of logs: where a person points, what is kept around it, and which line of a record tells what it is about."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from denpex_rules import excerpt
from denpex_rules.errors import UsageError
from denpex_rules.excerpt import Excerpt, Place, by_source, parse_place

LINES = [f"2026-11-30 10:{n // 60:02d}:{n % 60:02d},000 INFO [train.py:60] step {n}" for n in range(600)]


def read(*places: str, around: int = excerpt.AROUND) -> Excerpt:
    """Return the excerpt of places in one log."""
    ((source, inside),) = by_source(map(parse_place, places))
    return excerpt.read(source, inside, around=around)


def log(path: Path, lines: list[str]) -> str:
    """Write a log and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_places(tmp_path: Path) -> None:
    """A place is a log, a line or a range of one; an existing file of that whole name comes first."""
    odd = log(tmp_path / "run:7", ["x"])
    assert parse_place("a/b.log") == Place("a/b.log")
    assert parse_place("a/b.log:12") == Place("a/b.log", 12, 12)
    assert parse_place("-:3-5") == Place("-", 3, 5)
    assert parse_place(odd) == Place(odd)
    assert parse_place(f"{odd}:1") == Place(odd, 1, 1)


@pytest.mark.parametrize(("text", "said"), [("a:0", "count from 1"), ("a:5-3", "goes upwards"), ("a:1-900", "choose the few")])
def test_no_places(text: str, said: str) -> None:
    """A range that is none or is no choice is refused."""
    with pytest.raises(UsageError, match=said):
        parse_place(text)


def test_cut_around_the_lines(tmp_path: Path) -> None:
    """Of a long log the chosen lines and those around them are kept, and numbered anew."""
    name = log(tmp_path / "train.log", LINES)
    found = read(f"{name}:300", f"{name}:310")
    assert not found.whole
    assert found.lines[0].decode() == LINES[299 - 20]
    assert len(found.lines) == 20 + 1 + 9 + 1 + 20
    assert [found.lines[one.number - 1].decode() for one in found.chosen] == [LINES[299], LINES[309]]
    assert [one.message for one in found.chosen] == ["step 299", "step 309"]


def test_short_logs_stay_whole(tmp_path: Path) -> None:
    """A short log is kept as it is, blank lines too, so that its line numbers stay true."""
    name = log(tmp_path / "train.log", ["a first", "", "", "b second", ""])
    found = read(f"{name}:4")
    assert found.whole
    assert found.data == (tmp_path / "train.log").read_bytes()
    assert found.chosen[0].number == 4


def test_nothing_around(tmp_path: Path) -> None:
    """On demand nothing but the chosen lines is kept."""
    name = log(tmp_path / "train.log", ["a first", "b second", "c third"])
    assert read(f"{name}:2", around=0).lines == (b"b second",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2026-11-30 10:04:12,455 ERROR [loader.py:31] shard 3 broken", "shard 3 broken"),
        ("[rank5]:[E1130 10:04:12.123456789 ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog", "Watchdog"),
        ("Nov 30 10:04:11 node-07 kernel: [  123.456789] acme_nic 0000:3b:00.0 wedged", "acme_nic 0000:3b:00.0 wedged"),
        ("node-07:1234:1250 [3] NCCL WARN Net: bad", "Net: bad"),
        ("2026-11-30 10:04:12 | ERROR | mod:func:12 - failed", "failed"),
        ("only words", "only words"),
    ],
)
def test_message(tmp_path: Path, line: str, message: str) -> None:
    """A message begins behind wrappers, stamps, levels and places in the source."""
    assert read(f"{log(tmp_path / 'x.log', [line])}:1").chosen[0].message == message


def test_actor_of_the_place(tmp_path: Path) -> None:
    """What the name of a log claims holds for the chosen lines, and the copy keeps as much of the path as claims it."""
    found = read(f"{log(tmp_path / 'node-07' / 'rank3.log', ['shard broken'])}:1")
    assert (found.chosen[0].line.actor.rank, found.chosen[0].line.actor.host) == (3, "node-07")
    assert found.name == "node-07/rank3.log"
    assert read(f"{log(tmp_path / 'some' / 'rank3.log', ['shard broken'])}:1").name == "rank3.log"


def test_traceback_is_one_record(tmp_path: Path) -> None:
    """A chosen traceback is one record, known by its last line; its frames are none of their own."""
    lines = [
        "2026-11-30 10:04:12,455 ERROR [x.py:1] step failed",
        "Traceback (most recent call last):",
        '  File "x.py", line 3',
        "    f()",
    ]
    name = log(tmp_path / "x.log", [*lines, "RuntimeError: capacity exceeded", "2026-11-30 10:04:13,455 ERROR [x.py:1] leaving"])
    assert [one.message for one in read(f"{name}:2-6").chosen] == ["RuntimeError: capacity exceeded", "leaving"]
    assert [one.alone for one in read(f"{name}:2-5", f"{name}:6").chosen] == [False, True]


def test_compressed(tmp_path: Path) -> None:
    """A compressed log is read as what it holds, and its copy is plain."""
    path = tmp_path / "rank3.log.gz"
    path.write_bytes(gzip.compress(b"first\nshard broken\n"))
    found = read(f"{path}:2")
    assert (found.name, found.data) == ("rank3.log", b"first\nshard broken\n")


def test_mistakes(tmp_path: Path) -> None:
    """A line that is not there, a blank one, a log that is not there, and lines of a folder are refused in a sentence."""
    name = log(tmp_path / "logs" / "a.log", ["a first", "", "b"])
    log(tmp_path / "logs" / "b.log", ["x"])
    with pytest.raises(UsageError, match="there is no line 4, the log has 3"):
        read(f"{name}:4")
    with pytest.raises(UsageError, match="hold no text"):
        read(f"{name}:2")
    with pytest.raises(UsageError, match="no such file"):
        by_source([Place("nowhere.log", 1, 1)])
    with pytest.raises(UsageError, match="holds 2 logs"):
        by_source([Place(str(tmp_path / "logs"), 1, 1)])
    many = log(tmp_path / "many.log", LINES)
    with pytest.raises(UsageError, match="choose at most"):
        read(f"{many}:1-150", f"{many}:200-300")


def test_folder_names_its_logs(tmp_path: Path) -> None:
    """The logs of two folders keep apart."""
    for folder in ("a", "b"):
        log(tmp_path / folder / "rank0.log", ["x"])
    found = by_source([Place(str(tmp_path / "a")), Place(str(tmp_path / "b"))])
    assert len({source.name for source, _ in found}) == 2


def test_head(tmp_path: Path) -> None:
    """The head of a log is its first lines."""
    ((source, _),) = by_source([Place(log(tmp_path / "x.log", ["a", "b", "c"]))])
    assert excerpt.head(source, 2) == b"a\nb\n"
