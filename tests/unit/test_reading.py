"""Reading: the same scan from one process or several."""

from __future__ import annotations

import gzip
import importlib.util
import os
import signal
import threading
from pathlib import Path

import pytest
from attrs import evolve
from making import template

from denpex_rules import crew, reading, sources
from denpex_rules.compiler import compile_rules
from denpex_rules.errors import UsageError
from denpex_rules.judgement import DEFAULT
from denpex_rules.native import PURE
from denpex_rules.reading import Reading
from denpex_rules.recorder import Size
from denpex_rules.rule import Alternative, Event, Rule, RuleSet, Sequence, Step
from denpex_rules.scanner import SourceScanner

HYPERSCAN = importlib.util.find_spec("hyperscan") is not None
needs_hyperscan = pytest.mark.skipif(not HYPERSCAN, reason="the extra [hyperscan] is not installed")

STEP = Event("step", "step", (Alternative((Sequence((template("step {n:int} done"),)),)),))
RULE = Rule("r", "p", "t", "c", ("job",), 1, (Step("require", "step", "step"),))
PROGRAM = compile_rules(RuleSet((RULE,), (STEP,)))


def write(folder: Path, files: int = 6, lines: int = 400) -> Path:
    """Write some rank logs, one of them compressed, one damaged, and an archive's worth of one."""
    for rank in range(files):
        text = "".join(f"2026-11-30 10:{i // 60:02}:{i % 60:02},000 INFO step {i} done by {rank}\n" for i in range(lines))
        (folder / f"rank_{rank}.log").write_text(text)
    (folder / "rank_90.log.gz").write_bytes(gzip.compress((folder / "rank_0.log").read_bytes()))
    (folder / "rank_91.log.gz").write_bytes(gzip.compress((folder / "rank_0.log").read_bytes())[:-30])
    (folder / "model.pt").write_bytes(b"x")
    return folder


def test_several_processes_read_what_one_reads(tmp_path: Path) -> None:
    """Sightings, coverage, notes and parts are the same, and every byte is told of."""
    write(tmp_path)
    told: list[int] = []
    one = Reading(PROGRAM, DEFAULT).scan(sources.expand([tmp_path]))
    many = Reading(PROGRAM, DEFAULT, 3, lambda size, _: told.append(size)).scan(sources.expand([tmp_path]))
    assert one == many
    assert len(one.sightings) > 2_000
    assert sum(told) == sum(source.bytes for source in one.sources)


def test_the_bounds_hold_over_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all sources together keep too much, each keeps as little as in one process."""
    monkeypatch.setattr("denpex_rules.collection.ALL", Size(300, 20, 50))
    write(tmp_path)
    one = Reading(PROGRAM, DEFAULT).scan(sources.expand([tmp_path]))
    assert one == Reading(PROGRAM, DEFAULT, 2).scan(sources.expand([tmp_path]))
    assert len(one.sightings) <= 300


@pytest.mark.parametrize("backend", ["pyahocorasick", pytest.param("hyperscan", marks=needs_hyperscan)])
@pytest.mark.parametrize("chunk", [700, 1 << 20])
def test_what_is_read_ahead_is_read_the_same(backend: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sightings, coverage, notes and damage, whatever the chunks; without compiled code too."""
    write(tmp_path)
    (tmp_path / "rank_92.log").write_bytes(b"\r\n".join((tmp_path / "rank_1.log").read_bytes().split(b"\n")))
    (tmp_path / "wrapped.log").write_bytes((tmp_path / "rank_2.log").read_text().encode("utf-16"))
    program = evolve(PROGRAM, backend=backend)
    monkeypatch.setattr(reading, "_processors", lambda: 1)
    alone = Reading(program, DEFAULT).scan(sources.expand([tmp_path]))
    monkeypatch.setattr(reading, "_processors", lambda: 2)
    monkeypatch.setattr(reading, "AHEAD", 1)
    monkeypatch.setattr(sources, "CHUNK", chunk)
    assert Reading(program, DEFAULT).scan(sources.expand([tmp_path])) == alone
    monkeypatch.setenv(PURE, "1")
    assert Reading(program, DEFAULT).scan(sources.expand([tmp_path])) == alone


def test_an_interrupt_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who stops a scan gets the processor back."""
    monkeypatch.setattr(reading, "_processors", lambda: 2)
    monkeypatch.setattr(reading, "AHEAD", 1)
    monkeypatch.setattr(sources, "CHUNK", 700)
    write(tmp_path)

    def stop(size: int, total: int) -> None:
        raise KeyboardInterrupt(size, total)

    with pytest.raises(KeyboardInterrupt):
        Reading(PROGRAM, DEFAULT, 1, stop).scan(sources.expand([tmp_path]))
    assert threading.active_count() == 1


def test_small_logs_are_read_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further processes are started only where that is worth it, or where they are asked for."""
    write(tmp_path)
    found = sources.expand([tmp_path])
    assert reading._worthwhile(found) == 1
    monkeypatch.setattr(reading, "WORTH", 1_000)
    assert 1 <= reading._worthwhile(found) <= len(os.sched_getaffinity(0))


def test_a_killed_process_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that the kernel kills ends the scan with what to do."""
    write(tmp_path)
    here, end = os.getpid(), SourceScanner.end

    def fatal(scanner: SourceScanner) -> None:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        end(scanner)

    monkeypatch.setattr(SourceScanner, "end", fatal)
    with pytest.raises(UsageError, match="--jobs 1"):
        Reading(PROGRAM, DEFAULT, 2).scan(sources.expand([tmp_path]))


def test_a_helpers_error_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in another process ends the scan as if it had gone wrong in this one."""
    write(tmp_path)
    here, end = os.getpid(), SourceScanner.end

    def broken(scanner: SourceScanner) -> None:
        if os.getpid() != here:
            raise ValueError("no such emitter")
        end(scanner)

    monkeypatch.setattr(SourceScanner, "end", broken)
    with pytest.raises(ValueError, match="no such emitter"):
        Reading(PROGRAM, DEFAULT, 2).scan(sources.expand([tmp_path]))


@pytest.mark.parametrize("sizes", [[1] * 1000, [0] * 5, [10**6, *range(300)], [7], [*range(1, 70)] * 20])
@pytest.mark.parametrize("jobs", [2, 16, 500])
def test_batches_are_few_and_even(sizes: list[int], jobs: int) -> None:
    """All sources are dealt, large ones first; no batch but that of one source has more than its part."""
    dealt = [sources.Source(f"{n}.log", pieces=(sources.Source("x", mtime_ns=size),)) for n, size in enumerate(sizes)]
    size_of = {source: source.pieces[0].mtime_ns or 0 for source in dealt}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_size", size_of.__getitem__)
        batches = reading._dealt(dealt, jobs)
    assert sorted(s.name for batch in batches for s in batch) == sorted(s.name for s in dealt)
    assert len(batches) <= crew.MOST
    order = [size_of[source] for batch in batches for source in batch]
    assert order == sorted(order, reverse=True)
    parts = min(reading.BATCHES * jobs, crew.MOST // 3)
    assert all(len(batch) == 1 or sum(map(size_of.__getitem__, batch)) <= sum(sizes) / parts for batch in batches)
    assert max(map(len, batches)) <= -(-len(sizes) // parts)
