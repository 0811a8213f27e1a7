"""The logs that speed is measured on: made from a seed, with what a scan of them must find.

Each workload writes files and says how many progress lines they hold and which incidents a scan must report. A scan that finds
anything else is wrong, however fast it was.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

MB: Final = 1_000_000
START: Final = 10 * 3600  # seconds of the day
FAILING: Final = 37  # the rank that fails
WORDS: Final = b"shard cache fetched queue batch bucket saved resumed merged commit flush index warm reader token".split()


@frozen
class Made:
    """What was written: the bytes of the logs, unpacked, and what a scan must find in them."""

    bytes: int
    steps: int  # progress lines
    incidents: tuple[tuple[str, tuple[int, ...]], ...] = ()  # classes and the ranks that they blame


def wrong(made: Made, found: Mapping[str, Any]) -> list[str]:
    """Say what a scan found that the logs do not hold, or did not find."""
    expected = [[cls, list(ranks)] for cls, ranks in made.incidents]
    told = []
    if found["bytes"] != made.bytes:
        told.append(f"read {found['bytes']} bytes, expected {made.bytes}")
    if found["steps"] != made.steps:
        told.append(f"saw {found['steps']} progress lines, expected {made.steps}")
    if found["incidents"] != expected:
        told.append(f"reported {found['incidents']}, expected {expected}")
    return told


@frozen
class Workload:
    """One kind of log.

    Args:
        name: what results call it.
        about: what it is, in words.
        make: writes about so many bytes of it into a folder.
        share: its size over the one that is asked for: what is fast needs more to be measured well.
    """

    name: str
    about: str
    make: Callable[[Path, int, int], Made] = field(repr=False)
    share: float = 1


def clock(seconds: float) -> bytes:
    """Return a time of the day, with milliseconds."""
    whole = int(seconds)
    return b"%02d:%02d:%02d,%03d" % (whole // 3600 % 24, whole // 60 % 60, whole % 60, int(seconds * 1000) % 1000)


@cache
def _date(days: int) -> bytes:
    return (date(2026, 11, 30) + timedelta(days=days)).isoformat().encode()


def stamp(seconds: float) -> bytes:
    """Return a date and a time of the day: a large log spans many days."""
    return _date(int(seconds) // 86_400) + b" " + clock(seconds)


def filler(chance: random.Random) -> bytes:
    """Return a message in which nothing stands that any rule asks for."""
    word, other, third = chance.choice(WORDS), chance.choice(WORDS), chance.choice(WORDS)
    number, whole, part = chance.randrange(10_000), chance.randrange(9), chance.randrange(1000)
    return b"INFO data: %s %d %s in %d.%03d ms from %s" % (word, number, other, whole, part, third)


def step(number: int, chance: random.Random) -> bytes:
    """Return a progress message."""
    return b"INFO train: step %d | loss 2.%04d | lr 1.0e-04" % (number, chance.randrange(10_000))


def pool(chance: random.Random, count: int = 5_000) -> Sequence[bytes]:
    """Return messages to draw from: drawing one is faster than making it."""
    return [filler(chance) for _ in range(count)]


def crash(rank: int, at: float, tag: bytes) -> list[bytes]:
    """Return the lines of a rank that runs out of GPU memory."""
    head = b"%s%s " % (tag, stamp(at))
    return [
        head + b"ERROR train: step failed",
        tag + b"Traceback (most recent call last):",
        tag + b'  File "/opt/job/train.py", line 218, in <module>',
        tag + b"    loss.backward()",
        tag + b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU %d has a total capacity of 79.10 GiB "
        b"of which 1.02 GiB is free." % (rank % 8),
    ]


def interleaved(
    size: int, seed: int, share: float, *, ranks: int = 256, failing: int | None = FAILING
) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of one file of many ranks, each once a second, and whether each shows progress; at the end one rank fails."""
    chance = random.Random(seed)
    messages = pool(chance)
    written = number = 0
    while written < size:
        rank, second = number % ranks, number // ranks
        progress = chance.random() < share
        message = step(second, chance) if progress else chance.choice(messages)
        line = b"[rank%d]: %s %s" % (rank, stamp(START + second + rank / ranks), message)
        yield line, progress
        written += len(line) + 1
        number += 1
    if failing is not None:
        for line in crash(failing, START + number // ranks + 2, b"[rank%d]: " % failing):
            yield line, False


def _file(path: Path, lines: Iterator[tuple[bytes, bool]]) -> tuple[int, int]:
    """Write lines, compressed where the name says so; return how many bytes they are and how many show progress."""
    size = steps = 0
    with gzip.open(path, "wb", compresslevel=3) if path.suffix == ".gz" else path.open("wb") as out:
        for line, progress in lines:
            out.write(line + b"\n")
            size += len(line) + 1
            steps += progress
    return size, steps


OOM: Final = (("gpu.memory.out_of_memory", (FAILING,)),)


def sparse(folder: Path, size: int, seed: int) -> Made:
    """One file, 256 ranks, a line with an event in 2,000."""
    return Made(*_file(folder / "console.log", interleaved(size, seed, 1 / 2000)), OOM)


def dense(folder: Path, size: int, seed: int) -> Made:
    """One file, 256 ranks, three lines of ten show progress."""
    return Made(*_file(folder / "console.log", interleaved(size, seed, 0.3)), OOM)


def quiet(folder: Path, size: int, seed: int) -> Made:
    """One file, nothing that any rule asks for."""
    return Made(*_file(folder / "console.log", interleaved(size, seed, 0.0, failing=None)))


def packed(folder: Path, size: int, seed: int) -> Made:
    """As sparse, compressed with gzip."""
    return Made(*_file(folder / "console.log.gz", interleaved(size, seed, 1 / 2000)), OOM)


def files(folder: Path, size: int, seed: int) -> Made:
    """A file for each of 1,024 ranks, fewer where they would be tiny; a progress line in 20."""
    chance = random.Random(seed)
    messages = pool(chance)
    count = min(1024, max(64, size // 10_000))
    total = steps = 0
    for rank in range(count):
        more, shown = _file(folder / f"rank_{rank}.log", _alone(rank, size // count, chance, messages))
        total, steps = total + more, steps + shown
    return Made(total, steps, OOM)


def _alone(rank: int, size: int, chance: random.Random, messages: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of one rank's own file, one a second, and whether each shows progress."""
    written = second = 0
    while written < size:
        progress = second % 20 == 0
        message = step(second, chance) if progress else chance.choice(messages)
        line = b"%s %s" % (stamp(START + second), message)
        yield line, progress
        written += len(line) + 1
        second += 1
    if rank == FAILING:
        yield from ((line, False) for line in crash(rank, START + second, b""))


def storm(folder: Path, size: int, seed: int) -> Made:
    """Every one of 4,096 ranks, fewer in a small log, prints 40 error lines or more about a collective that one never joined.

    NCCL's init lines say how many ranks there are, and every rank speaks before it: so the one that did not report can be named.
    """
    del seed
    ranks = 4096 if size >= 10 * MB else max(64, size // (40 * 250))
    turns = 40 * max(1, size // (ranks * 40 * 250))
    with (folder / "console.log").open("wb") as out:
        total = sum(out.write(_init(rank, ranks)) for rank in range(ranks))
        total += sum(out.write(b"[rank%d]: %s %s\n" % (rank, stamp(START), FIRST)) for rank in range(ranks))
        for turn in range(turns):
            total += sum(out.write(_timeout(rank, turn)) for rank in range(ranks) if rank != FAILING)
    return Made(total, ranks, (("collective.timeout", (FAILING,)),))


FIRST: Final = b"INFO train: step 1 | loss 2.0000 | lr 1.0e-04"


def _init(rank: int, ranks: int) -> bytes:
    """Return the line with which NCCL says that a rank has joined."""
    host, gpu = divmod(rank, 8)
    return (
        b"[rank%d]: node-%03d:%d:%d [%d] NCCL INFO ncclCommInitRankConfig comm 0x55d0c8a3b2f0 rank %d nranks %d cudaDev %d "
        b"nvmlDev %d busId %d1000 commId 0x8f2a5c1190d3e7b1 - Init COMPLETE\n"
        % (rank, host, 4200 + gpu, 4300 + gpu, gpu, rank, ranks, gpu, gpu, gpu + 1)
    )


def _timeout(rank: int, turn: int) -> bytes:
    """Return what the watchdog of a rank that waits prints, 100 ms later in each turn."""
    limit = 600_000
    late = START + limit // 1000 + 1 + turn // 10
    return (
        b"[rank%d]:[E1130 %s.%09d ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: "
        b"WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=%d) ran for %d milliseconds "
        b"before timing out.\n" % (rank, clock(late)[:8], turn % 10 * 100_000_000 + rank, rank, limit, limit + 40 + turn)
    )


def hostile(folder: Path, size: int, seed: int) -> Made:
    """Every line has a text that some rule asks for, or is very long, or is nearly an event."""
    chance = random.Random(seed)
    total = 0
    with (folder / "console.log").open("wb") as out:
        number = 0
        while total < size:
            kind = number % 8
            head = b"[rank%d]: %s " % (number % 256, stamp(START + number / 256))
            body = [
                b"INFO steps and losses: step of loss, epoch of iter",
                b"INFO NVRM: Xid without its number",
                b"INFO x" * chance.randrange(1, 2_000),
                b"INFO Watchdog caught nothing; collective operation in time",
                b"INFO rank 3 worker done, timeout none, access passed",
                b'INFO {"message": "step %d"}' % number,
                b"INFO CUDA memory: out of 80 GiB 3 GiB used",
                b"INFO [rank%d] finished its part" % (number % 256),
            ][kind]
            total += out.write(head + body + b"\n")
            number += 1
    return Made(total, 0)


WORKLOADS: Final = (
    Workload("sparse", "256 ranks in one file, an event on a line in 2,000", sparse, 10),
    Workload("dense", "256 ranks in one file, progress on three lines of ten", dense, 3),
    Workload("quiet", "256 ranks in one file, nothing that a rule asks for", quiet, 3),
    Workload("files", "1,024 files of a rank each", files, 10),
    Workload("packed", "as sparse, compressed with gzip", packed),
    Workload("storm", "4,096 ranks print 40 error lines each", storm, 0.4),
    Workload("hostile", "texts of rules on every line, long lines, near misses", hostile, 0.3),
)
