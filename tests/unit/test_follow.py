"""Files that grow, rotate, appear and go: everything is read once, in order."""

from __future__ import annotations

import gzip
import random
import shutil
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from denpex_rules import compile_rules, load_pack
from denpex_rules.engine import scan
from denpex_rules.errors import UsageError
from denpex_rules.finding import Report
from denpex_rules.follow import Follower
from denpex_rules.program import Program
from denpex_rules.session import Session
from following import Writer
from layouts import Job, split


@cache
def pack() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


def line(minute: int, text: str = "step") -> bytes:
    return b"2026-11-30T10:%02d:00Z %s %d\n" % (minute, text.encode(), minute)


def settled(follower: Follower) -> None:
    """Look until nothing is new."""
    calm = 0
    while calm < 3:
        calm = 0 if follower.poll(last=True) else calm + 1


def sources(report: Report) -> dict[str, tuple[int, bool]]:
    """Return how many lines of each source were read, and whether bytes are missing."""
    return {s.source: (s.lines, s.truncated) for s in report.coverage.sources}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one log of two lines."""
    path = tmp_path / "logs"
    path.mkdir()
    (path / "a.log").write_bytes(line(0) + line(1))
    return path


def test_growth_and_new_files(folder: Path) -> None:
    """Appended lines and new files are read, and nothing twice."""
    session = Session(pack())
    follower = Follower([folder], session)
    assert follower.poll() > 0
    assert follower.poll() == 0
    with (folder / "a.log").open("ab") as file:
        file.write(line(2))
    (folder / "b.log").write_bytes(line(2))
    assert follower.poll() == 2 * len(line(2))
    assert sources(session.close()) == {"a.log": (3, False), "b.log": (1, False)}


@pytest.mark.parametrize("kind", ["rename", "copy"])
@pytest.mark.parametrize("seen", [True, False])
def test_rotation(folder: Path, kind: str, seen: bool) -> None:
    """A renamed log and one that was copied and truncated go on in the new file, with what was written unseen before."""
    session, base = Session(pack()), folder / "a.log"
    follower = Follower([folder], session)
    follower.poll()
    with base.open("ab") as file:
        file.write(line(2))
    if seen:
        follower.poll()
    if kind == "rename":
        base.rename(folder / "a.log.1")
    else:
        shutil.copyfile(base, folder / "a.log.1")
    base.write_bytes(line(3))
    settled(follower)
    (folder / "a.log.1.gz").write_bytes(gzip.compress((folder / "a.log.1").read_bytes()))
    (folder / "a.log.1").unlink()
    with base.open("ab") as file:
        file.write(line(4))
    settled(follower)
    report = session.close()
    assert sources(report) == {"a.log": (5, False)}
    (actor,) = report.coverage.actors
    assert (actor.first, actor.last, actor.lines) == ("2026-11-30T10:00:00Z", "2026-11-30T10:04:01Z", 5)


def test_two_rotations_between_two_looks(folder: Path) -> None:
    """The part that was never seen under the log's own name is read between the others."""
    session, base = Session(pack()), folder / "a.log"
    follower = Follower([folder], session)
    follower.poll()
    base.rename(folder / "a.log.2")
    (folder / "a.log.1").write_bytes(line(2))
    base.write_bytes(line(3))
    settled(follower)
    assert [segment.name for segment in follower.marks()[0].parts] == ["a.log.2", "a.log.1", "a.log"]
    assert sources(session.close()) == {"a.log": (4, False)}


def test_truncated_without_a_copy(folder: Path) -> None:
    """Where what was written before a truncation may be lost, the log counts as cut."""
    session = Session(pack())
    follower = Follower([folder], session)
    follower.poll()
    (folder / "a.log").write_bytes(line(5))
    settled(follower)
    report = session.close()
    assert sources(report) == {"a.log": (3, True)}
    assert "is gone after" in report.coverage.sources[0].notes[0]


def test_deleted_file_keeps_what_was_read(folder: Path) -> None:
    """A file that goes takes nothing with it."""
    session = Session(pack())
    follower = Follower([folder], session)
    follower.poll()
    (folder / "a.log").unlink()
    settled(follower)
    assert sources(session.close())["a.log"][0] == 2


def test_packed_file_is_read_when_it_is_whole(folder: Path) -> None:
    """A compressed file waits until its size stays, and is then read once."""
    session = Session(pack())
    follower = Follower([folder], session)
    data = gzip.compress(line(0) * 50)
    (folder / "old.log.gz").write_bytes(data[:20])
    follower.poll()
    (folder / "old.log.gz").write_bytes(data)
    follower.poll()
    assert follower.poll() > 0
    assert follower.poll() == 0
    assert sources(session.close())["old.log.gz"] == (50, False)


def test_rotated_set_that_was_there_is_one_log(folder: Path) -> None:
    """Parts whose stamps follow each other are read first, oldest first."""
    (folder / "a.log.1.gz").write_bytes(gzip.compress(b"2026-11-30T09:00:00Z step 0\n"))
    session = Session(pack())
    settled(Follower([folder], session))
    report = session.close()
    assert sources(report) == {"a.log": (3, False)}
    assert report.coverage.actors[0].first == "2026-11-30T09:00:00Z"


def test_ranks_that_look_like_parts_stay_apart(folder: Path) -> None:
    """Files of one time are no parts of each other, and each grows on its own."""
    (folder / "a.log.1").write_bytes(line(0) + line(1))
    session = Session(pack())
    follower = Follower([folder], session)
    follower.poll()
    with (folder / "a.log.1").open("ab") as file:
        file.write(line(2))
    follower.poll()
    assert sources(session.close()) == {"a.log": (2, False), "a.log.1": (3, False)}


def test_single_file(folder: Path) -> None:
    """A log that is given by its path is followed over its rotation; other files beside it are not read."""
    session = Session(pack())
    follower = Follower([folder / "a.log"], session)
    (folder / "a.log.txt").write_bytes(line(9))
    follower.poll()
    (folder / "a.log").rename(folder / "a.log.1")
    follower.poll()
    (folder / "a.log").write_bytes(line(2))
    settled(follower)
    assert [lines for lines, _ in sources(session.close()).values()] == [3]


def test_what_is_gone_after_a_restart_is_kept(folder: Path) -> None:
    """What an earlier run sighted in a file that went while nobody looked stays, under a name that says so."""
    (folder / "kern_node-07.log").write_bytes(b"2026-11-30T10:00:00Z node-07 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1, x\n")
    first = Session(pack())
    follower = Follower([folder], first)
    follower.poll()
    (folder / "kern_node-07.log").unlink()
    second = Session(pack())
    resumed = Follower([folder], second, follower.marks())
    resumed.poll()
    second.earlier = resumed.missing(first.snapshot())
    report = second.close()
    assert set(sources(report)) == {"a.log", "kern_node-07.log (gone)"}
    assert [i.cls for i in report.incidents] == ["gpu.fell_off_bus"]


@pytest.mark.parametrize("seed", range(6))
def test_restarts_and_rotations_lose_nothing(tmp_path: Path, seed: int) -> None:
    """A job whose logs rotate at random, followed with restarts at random, gives the incidents of one whole scan."""
    chance = random.Random(seed)
    job = Job(4, ("node-01", "node-02"), chance.randrange(4), chance.choice(("gpu lost", "out of memory")))
    writer = Writer(tmp_path, split(job), random.Random(seed + 1), 60)
    session = Session(pack())
    follower = Follower([tmp_path], session)
    for step in range(1, writer.steps + 1):
        writer.step(step)
        if chance.random() < 0.5:
            follower.poll()
        if chance.random() < 0.1:
            marks, sighted = follower.marks(), session.snapshot()
            session = Session(pack())
            follower = Follower([tmp_path], session, marks)
            follower.poll()
            session.earlier = follower.missing(sighted)
    settled(follower)
    report, whole = session.close(), scan([tmp_path], pack())
    assert tuple(evolve(i, revision=1) for i in report.incidents) == whole.incidents
    assert writer.rotations
    assert not any(truncated for _, truncated in sources(report).values())


def test_usage(tmp_path: Path) -> None:
    """A path that is not there and standard input are refused."""
    with pytest.raises(UsageError, match="no such file"):
        Follower([tmp_path / "none.log"], Session(pack()))
    with pytest.raises(UsageError, match="standard input"):
        Follower(["-"], Session(pack()))
