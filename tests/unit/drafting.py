"""A failure in two logs and a log that only looks like it, that the tests of drafts share, and marks on their lines."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from denpex_rules import excerpt, gather, library, survey
from denpex_rules.excerpt import by_source, parse_place
from denpex_rules.likeness import Vocabulary
from denpex_rules.signals import Mark, Shipped
from denpex_rules.taxonomy import shipped_taxonomy

LOGS = {
    "rank0.log": (
        "2026-11-30 10:04:10,120 INFO [train.py:60] step 812 loss 2.1029\n"
        "2026-11-30 10:14:12,310 ERROR [train.py:88] [rank0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=8412, OpType=ALLREDUCE) ran for 600000 milliseconds before timing out\n"
    ),
    "rank5.log": (
        "2026-11-30 10:04:10,101 INFO [train.py:60] step 812 loss 2.1029\n"
        "2026-11-30 10:04:12,455 ERROR [loader.py:31] shard /data/shard-0042.bin: checksum mismatch, giving up\n"
        "2026-11-30 10:04:42,455 WARNING [loader.py:31] cache of /data/shard-0042.bin dropped\n"
    ),
}
HEALTHY = (
    "2026-11-30 10:04:10,101 INFO [train.py:60] step 812 loss 2.1029\n"
    "2026-11-30 10:04:12,455 ERROR [loader.py:31] shard /data/shard-0042.bin: checksum mismatch, reading it again\n"
    "2026-11-30 10:04:20,133 INFO [train.py:60] step 813 loss 2.1021\n"
)
BROKEN = "shard /data/shard-0042.bin: checksum mismatch, giving up"
AGAIN = "shard /data/shard-0042.bin: checksum mismatch, reading it again"


@cache
def shipped() -> Shipped:
    """Return what the shipped pack knows."""
    program = compile_named((), pack=True)
    return Shipped(program, shipped_taxonomy(), Vocabulary(shipped_taxonomy(), program))


load_pack = cache(library.load_pack)
compile_named = gather.compile_named


def load_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the shipped pack be read once for all tests, and compiled once where nothing stands beside it."""

    def compiled(rules: Any, *, pack: bool) -> Any:
        return shipped().program if pack and not rules else compile_named(rules, pack=pack)

    monkeypatch.setattr(library, "load_pack", load_pack)
    monkeypatch.setattr(gather, "compile_named", compiled)


def logs(folder: Path) -> Path:
    """Write the failure to `logs` and the healthy log beside it, and return the folder."""
    for name, text in {**{f"logs/{name}": text for name, text in LOGS.items()}, "again.log": HEALTHY}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def marks(folder: Path, *places: str) -> list[Mark]:
    """Return the marks of places in the logs of a folder."""
    excerpts = [excerpt.read(source, inside) for source, inside in by_source(parse_place(str(folder / place)) for place in places)]
    seen = survey.events_by_line(survey.survey_bytes({one.name: one.data for one in excerpts}, shipped().program))
    return [Mark(e.name, one, seen.get((e.name, one.number), frozenset())) for e in excerpts for one in e.chosen]
