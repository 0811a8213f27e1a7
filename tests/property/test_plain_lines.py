"""Reading plain lines many at once gives what reading them one by one gives, for any lines and any chunks."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import bulk, native, recorder, scanner, school
from denpex_rules.compiler import compile_rules
from denpex_rules.gather import compile_named
from denpex_rules.library import load_text
from denpex_rules.program import Program
from denpex_rules.record import Hints
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Scan

PREFIXES = [
    "[default{r}]:2026-11-30 10:{m:02}:{s:02},{f:03} INFO ",
    "[rank{r}]: 2026-11-30 10:{m:02}:{s:02},{f:03} INFO ",
    "2026-11-30T10:{m:02}:{s:02}.{f:03}Z node-0{r} trainer[4{r}]: ",
    "2026-11-30 10:{m:02}:{s:02} ",
    "2026-11-30T10:{m:02}:{s:02}.{f:03}Z step ",
    "2026-12-01 10:{m:02}:{s:02},{f:03} INFO ",
    "2026-11-3{r} 2{r}:5{m}:{s:02},{f:03} INFO ",
    "I113{r} 2{m}:59:{s:02}.000{f:03} 4242 worker.cc:88] ",
    "Nov 2{r} 2{m}:59:{s:02} node-07 trainer[42]: ",
    "[2026-11-30 10:{m:02}:{s:02},{f:03}] [INFO] [logging.py:96:log_dist] [Rank {r}] ",
    "[rank{r}]:[I1130 10:{m:02}:{s:02}.000000{f:03} ProcessGroupNCCL.cpp:616] ",
    "E1130 10:{m:02}:{s:02}.000000{f:03} {r} torch/distributed/elastic/multiprocessing/api.py:984] ",
    "2026-11-30T10:{m:02}:{s:02}.{f:03}000000Z stdout F [rank{r}]: ",
    "2026-11-30T10:{m:02}:{s:02}.000000000Z ",
    " [2026-11-30 10:{m:02}:{s:02}] iteration {f:8}/    1000 | ",
    "submitit INFO (2026-11-30 10:{m:02}:{s:02},{f:03}) - ",
    "[rank{r}]: ",
    "[default{r}]:",
    "(RayTrainWorker pid=4{r}, ip=10.0.0.{r}) ",
    "node-0{r}:4{r}:4{r} [{r}] NCCL INFO ",
    "[    {r}.{f:03}000] ",
    "INFO 11-30 10:{m:02}:{s:02} [engine.py:96] ",
    "",
    "",
]
MESSAGES = [
    "step {r} | loss 2.{f} | lr 1e-4",
    "step {f} loss nan",
    "shard {f} read in {r} ms",
    "{{'loss': 2.{f}, 'epoch': 0.{r}}}",
    "worker:4{r}:4{r} [{r}] NCCL INFO x",
    "worker:{r} items",
    "ERROR: bad {f}",
    "[Rank {r}] shard {f} read",
    "Traceback (most recent call last):",
    '  File "train.py", line {r}, in step',
    "RuntimeError: CUDA error: out of memory",
    (
        "[Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={f}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
        "Timeout(ms)=600000) ran for 600{f} milliseconds before timing out."
    ),
    "loss 1.{f}\rloss 2.{f}",
    " 50%|█████     | {r}/10 [00:01<00:01,  8.5it/s]",
    "\x1b[31mred\x1b[0m",
    '{{"message": "step {r}", "level": "error"}}',
    "time: {r} s",
    "last words [rank{r}]: boom",
    "Received Signals.SIGTERM death signal, shutting down workers",
    "WARNING: {f}",
    "{f} done",
    "kernel: done {r}",
    "ERROR peer {r} lost",
    "[{f}] done",
    "trainer[4{r}]: done {f}",
    "Caught signal SIGTERM on node-0{r}: step {f}",
    ":err   : [12345.{f:03}901] done",
    "",
]
LINE = st.tuples(
    st.sampled_from(PREFIXES),
    st.sampled_from(MESSAGES),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 59),
    st.integers(0, 999),
).map(lambda t: (t[0] + t[1]).format(r=t[2], m=t[3], s=t[4], f=t[5]).encode())


@cache
def pack() -> Program:
    return compile_named((), pack=True)


def scanned(data: bytes, chunks: int, *, skim: bool, compiled: bool = False, program: Program | None = None) -> Scan:
    program = program or pack()
    one = SourceScanner(program, "x.log", Hints(), skim=skim, compiled=compiled)
    for number, start in enumerate(range(0, len(data), chunks)):
        chunk = data[start : start + chunks]
        one.feed(chunk, looked_ahead(program, chunk) if compiled and number % 2 else None)
        if skim and start == 0:
            one.snapshot()
    return one.close()


def looked_ahead(program: Program, chunk: bytes) -> native.Found | None:
    """Return the hits in a chunk, as a thread that reads ahead finds them; None where there is no compiled code."""
    module = native.compiled_module()
    found = module and module.Found()
    if found is not None:
        program.matcher.tell(chunk, found)
    return found


@given(
    st.lists(LINE, min_size=1, max_size=12),
    st.lists(st.integers(0, 11), max_size=120),
    st.integers(1, 3_000),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([3, 9, 40]),
    st.sampled_from([2, 4, 5_000]),
    st.sampled_from([1, 3, 20_000]),
    st.sampled_from([8, 30, 20_000]),
    st.sampled_from([1, 3]),
)
def test_skimming_changes_nothing(
    lines: list[bytes],
    order: list[int],
    chunks: int,
    newline: str,
    sample: int,
    labels: int,
    table_size: int,
    per_source: int,
    often: int,
) -> None:
    """Sightings, instants, coverage, error records and what was dropped are the same for any chunks, sample and crowd."""
    data = newline.encode().join(lines[i % len(lines)] for i in [*range(len(lines)), *order])
    with pytest.MonkeyPatch.context() as patch:
        for module in (scanner, recorder, bulk, native):
            patch.setattr(module, "SAMPLE_LINES", sample)
        for module in (recorder, bulk):
            patch.setattr(module, "LABELS", labels)
        patch.setattr(scanner, "LEARN", 2)
        patch.setattr("denpex_rules.forms.OFTEN", often)
        for table in ("KNOWN", "SECONDS", "SHAPES"):
            patch.setattr(native, table, table_size)
        patch.setattr("denpex_rules.retain.PER_EMITTER", 6)
        patch.setattr("denpex_rules.retain.PER_SOURCE", per_source)
        one_by_one = scanned(data, 1 << 20, skim=False)
        assert scanned(data, chunks, skim=True) == one_by_one
        assert scanned(data, chunks, skim=True, compiled=True) == one_by_one


DIGITS = """language 1
rule test.told {
  title "An event of which digits decide what it tells."
  summary "A test."
  class storage.block_io_error
  per job within 1h
  require coded
  confirm lossy within 5m after coded
  confirm paired within 5m after coded
  confirm named within 5m after coded
  blame none

  event coded any("code 79 on {n:int}", "code")
  event lossy any("loss {x:float}", "loss")
  event paired any("rank {n:int} of 3", "rank")
  event named any("peer {r:rank} lost", "peer x {ranks:ranks} ", "peer")
}
"""
DECIDED = st.tuples(
    st.sampled_from([*PREFIXES[1:3], ""]),
    st.sampled_from(
        [
            "code 7{d} on {r}",
            "loss 1e{f:03} {d}",
            "rank {r} of {d}",
            "peer {r}{d} lost",
            "peer x {d}-{r} ",
            "peer x {r},{d} code 7{r} on {d}",
        ]
    ),
    st.integers(0, 3),
    st.sampled_from([0, 3, 9]),
    st.sampled_from([1, 308, 309, 999]),
).map(lambda t: (t[0] + t[1]).format(r=t[2], m=t[2], s=t[2], d=t[3], f=t[4]).encode())


@cache
def deciding() -> Program:
    return compile_rules(load_text(DIGITS))


@given(st.lists(DECIDED, min_size=1, max_size=12), st.lists(st.integers(0, 11), max_size=80))
def test_what_digits_decide_is_told_of_each_line(lines: list[bytes], order: list[int]) -> None:
    """Lines that differ only in digits show what they show, with what they tell."""
    data = b"\n".join(lines[i % len(lines)] for i in [*range(len(lines)), *order])
    with pytest.MonkeyPatch.context() as patch:
        for module in (scanner, recorder, bulk, native):
            patch.setattr(module, "SAMPLE_LINES", 4)
        patch.setattr(scanner, "LEARN", 2)
        patch.setattr("denpex_rules.forms.OFTEN", 1)
        one_by_one = scanned(data, 1 << 20, skim=False, program=deciding())
        assert scanned(data, 1 << 20, skim=True, program=deciding()) == one_by_one
        assert scanned(data, 1 << 20, skim=True, compiled=True, program=deciding()) == one_by_one


@given(
    st.lists(LINE, min_size=1, max_size=12), st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=60), min_size=2, max_size=3)
)
def test_what_other_sources_taught_changes_nothing(lines: list[bytes], orders: list[list[int]]) -> None:
    """A source whose forms others taught before it was read gives what it gives alone."""
    school._school.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for module in (scanner, recorder, bulk, native):
            patch.setattr(module, "SAMPLE_LINES", 4)
        patch.setattr(scanner, "LEARN", 2)
        patch.setattr("denpex_rules.forms.OFTEN", 1)
        for order in orders:
            data = b"\n".join(lines[i % len(lines)] for i in order)
            assert scanned(data, 1 << 20, skim=True) == scanned(data, 1 << 20, skim=False)
