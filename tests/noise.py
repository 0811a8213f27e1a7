"""Damaged logs: what disks, terminals, truncation and attackers make of them."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Final

NAMES: Final = ("rank0.log", "kern_node-01.log", "slurm-4711.out", "notes.txt")
FOLDER: Final = Path(__file__).parent
ODD: Final = (
    b"\0",
    b"\0" * 500,
    b"\r",
    b"\r\r\n",
    b"\n\n\n",
    b"\x1b[31m",
    b"\x1b[0m",
    b"\x1b]8;;",
    b"\x9b",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x7f",
    b"\x85",
    "\u2028\u202e".encode(),
    b"[",
    b"]:",
    b"(" * 200,
    b"9" * 400,
    b"-",
    b"[rank0]:",
    b"[default1]:",
    b"Traceback (most recent call last):\n",
)


@cache
def lines() -> tuple[bytes, ...]:
    """Return the lines of the format samples and of the logs that must stay quiet, and some that faults print."""
    texts = [p.read_bytes() for folder in ("formats", "healthy") for p in sorted((FOLDER / folder).glob("*.log"))]
    texts += [p.read_bytes() for p in sorted((FOLDER / "rules" / "hardware" / "gpu").rglob("*.log"))[:40]]
    return tuple(line for text in texts for line in text.split(b"\n"))


def damaged(seed: int) -> list[bytes]:
    """Return lines, and odd bytes, to be put together at random."""
    chance = random.Random(seed)
    return [*chance.sample(lines(), 100), *ODD]


def noise(chance: random.Random) -> dict[str, bytes]:
    """Return up to four logs of lines in disorder, damaged in every way at once."""
    return {name: _log(chance) for name in chance.sample(NAMES, chance.randint(1, len(NAMES)))}


def _log(chance: random.Random) -> bytes:
    start = chance.randrange(len(lines()))
    rows = list(lines()[start : start + chance.choice((1, 30, 200))])
    if chance.random() < 0.5:
        chance.shuffle(rows)
    data = bytearray(chance.choice((b"\n", b"\n", b"\r\n", b"\r")).join(rows))
    for _ in range(chance.choice((0, 3, 40))):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                data[at : at + chance.choice((1, 10, 500))] = b""
            case 2:
                data[at:at] = chance.choice(ODD)
            case 3:
                data[at:at] = data[at : at + 300]
            case 4:
                data[at:at] = chance.randbytes(chance.choice((1, 20, 300)))
            case _:
                data[at:at] = chance.choice((b"a", b"\0", b"9", b" ", b"[")) * chance.choice((10, 5_000))
    whole = bytes(data)
    return b"\xff\xfe" + whole.decode("latin-1").encode("utf-16-le") if chance.random() < 0.05 else whole
