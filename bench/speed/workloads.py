"""The logs that speed is measured on: made from a seed, with what a scan of them must find.

Each workload yields files and says how many progress lines they hold and which incidents a scan must report. A scan that finds
anything else is wrong, however fast it was.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from attrs import field, frozen

MB: Final = 1_000_000
START: Final = 10 * 3600  # seconds of the day
WORDS: Final = b"shard cache fetched queue batch bucket saved resumed merged commit flush index warm reader token".split()


@frozen
class Made:
    """What was written: the bytes of the logs, unpacked, and what a scan must find in them."""

    bytes: int
    steps: int  # progress lines
    incidents: tuple[tuple[str, tuple[int, ...]], ...] = ()  # classes and the ranks that they blame


@frozen
class Workload:
    """One kind of log.

    Args:
        name: what results call it.
        about: what it is, in words.
        make: writes about so many bytes of it into a folder.
    """

    name: str
    about: str
    make: Callable[[Path, int, int], Made] = field(repr=False)


def clock(seconds: float) -> bytes:
    """Return a time of the day, with milliseconds."""
    whole = int(seconds)
    return b"%02d:%02d:%02d,%03d" % (whole // 3600 % 24, whole // 60 % 60, whole % 60, int(seconds * 1000) % 1000)


def filler(chance: random.Random) -> bytes:
    """Return a message in which nothing stands that any rule asks for."""
    return b"INFO data: %s %d %s in %d.%03d ms from %s" % (
        chance.choice(WORDS),
        chance.randrange(10_000),
        chance.choice(WORDS),
        chance.randrange(9),
        chance.randrange(1000),
        chance.choice(WORDS),
    )


def step(number: int, chance: random.Random) -> bytes:
    """Return a progress message."""
    return b"INFO train: step %d | loss 2.%04d | lr 1.0e-04" % (number, chance.randrange(10_000))


def crash(rank: int, at: float, tag: bytes) -> list[bytes]:
    """Return the lines of a rank that runs out of GPU memory."""
    head = b"%s2026-11-30 %s " % (tag, clock(at))
    return [
        head + b"ERROR train: step failed",
        tag + b"Traceback (most recent call last):",
        tag + b'  File "/opt/job/train.py", line 218, in <module>',
        tag + b"    loss.backward()",
        tag + b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU %d has a total capacity of 79.10 GiB of which "
        b"1.02 GiB is free." % (rank % 8),
    ]


def interleaved(size: int, seed: int, share: float, *, ranks: int = 256, failing: int | None = 37) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of one file of many ranks, each once a second, and whether each shows progress; at the end one rank fails."""
    chance = random.Random(seed)
    written = number = 0
    while written < size:
        rank, second = number % ranks, number // ranks
        progress = chance.random() < share
        at = START + second + rank / ranks
        message = step(second, chance) if progress else filler(chance)
        line = b"[default%d]:2026-11-30 %s %s" % (rank, clock(at), message)
        yield line, progress
        written += len(line) + 1
        number += 1
    if failing is not None:
        for line in crash(failing, START + number // ranks + 2, b"[default%d]:" % failing):
            yield line, False


def _file(path: Path, lines: Iterator[tuple[bytes, bool]], opener: Callable[[Path], object] | None = None) -> tuple[int, int]:
    """Write lines, and return how many bytes they are and how many show progress."""
    size = steps = 0
    with gzip.open(path, "wb", compresslevel=3) if opener else path.open("wb") as out:
        for line, progress in lines:
            out.write(line + b"\n")
            size += len(line) + 1
            steps += progress
    return size, steps


OOM: Final = (("cuda.oom", (37,)),)


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
    return Made(*_file(folder / "console.log.gz", interleaved(size, seed, 1 / 2000), gzip.open), OOM)


def files(folder: Path, size: int, seed: int, count: int = 1024) -> Made:
    """A file for each of 1,024 ranks, a progress line in 20."""
    chance = random.Random(seed)
    total = steps = 0
    each = size // count
    for rank in range(count):

        def lines(rank: int = rank) -> Iterator[tuple[bytes, bool]]:
            written = second = 0
            while written < each:
                progress = second % 20 == 0
                line = b"2026-11-30 %s %s" % (clock(START + second), step(second, chance) if progress else filler(chance))
                yield line, progress
                written += len(line) + 1
                second += 1
            if rank == 37:
                yield from ((line, False) for line in crash(rank, START + second, b""))

        more, shown = _file(folder / f"rank_{rank}.log", lines())
        total, steps = total + more, steps + shown
    return Made(total, steps, OOM)


def storm(folder: Path, size: int, seed: int, ranks: int = 4096) -> Made:
    """Every one of 4,096 ranks prints 40 error lines about a collective that one rank never joined."""
    del seed
    silent, limit = 37, 600_000
    total = 0
    rounds = max(1, size // (ranks * 40 * 250))
    with (folder / "console.log").open("wb") as out:
        for rank in range(ranks):
            head = b"[default%d]:2026-11-30 %s INFO train: step 1 | loss 2.0000 | lr 1.0e-04\n" % (rank, clock(START + rank / ranks))
            total += out.write(head)
        for turn in range(40 * rounds):
            for rank in range(ranks):
                if rank == silent:
                    continue
                late = START + limit // 1000 + 1 + turn / 10
                second = int(late)
                line = (
                    b"[default%d]:[rank%d]:[E1130 %02d:%02d:%02d.%09d ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation "
                    b"timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=%d) ran for %d "
                    b"milliseconds before timing out.\n"
                    % (rank, rank, second // 3600, second // 60 % 60, second % 60, rank, rank, limit, limit + 40 + turn)
                )
                total += out.write(line)
    return Made(total, ranks, (("collective.timeout", (silent,)),))


def hostile(folder: Path, size: int, seed: int) -> Made:
    """Every line has a text that some rule asks for, or is very long, or is nearly an event."""
    chance = random.Random(seed)
    total = 0
    with (folder / "console.log").open("wb") as out:
        number = 0
        while total < size:
            kind = number % 8
            head = b"[default%d]:2026-11-30 %s " % (number % 256, clock(START + number / 256))
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
    Workload("sparse", "256 ranks in one file, an event on a line in 2,000", sparse),
    Workload("dense", "256 ranks in one file, progress on three lines of ten", dense),
    Workload("quiet", "256 ranks in one file, nothing that a rule asks for", quiet),
    Workload("files", "1,024 files of a rank each", files),
    Workload("packed", "as sparse, compressed with gzip", packed),
    Workload("storm", "4,096 ranks print 40 error lines each", storm),
    Workload("hostile", "texts of rules on every line, long lines, near misses", hostile),
)
