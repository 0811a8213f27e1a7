"""Hand-built reports, and a small pack with its logs, that the tests of the report's forms and of the commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from denpex_rules import cli
from denpex_rules.finding import (
    ActorCoverage,
    Check,
    ClauseResult,
    CoverageReport,
    Evidence,
    Group,
    Incident,
    Interval,
    MissingFact,
    Moment,
    Remedy,
    Report,
    SourceSummary,
    Suspect,
    Unexplained,
    Who,
)

XID = "NVRM: Xid (PCI:0000:41:00): 79, pid=4242, GPU has fallen off the bus."
TIMEOUT = (
    "[rank0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8412, OpType=ALLREDUCE) ran for 600000 milliseconds"
)
HOSTILE = "boom \x1b[2J\x1b]0;owned\x07 \u202egnp.exe [bold red]not markup[/] \r\nforged line \x9b31m \x7f"


def point(text: str) -> Moment:
    """Return a wall instant without width."""
    return Moment(text, text, "wall")


def evidence(text: str = XID, **changes: Any) -> Evidence:
    """Return one evidence line of a kernel log."""
    fields: dict[str, Any] = {
        "event": "hardware.gpu.fell_off_bus.lost",
        "step": "lost",
        "source": "kern_node-02.log",
        "line": 118,
        "bytes": (9_000, 9_070),
        "instant": Moment("2026-11-30T10:04:12Z", "2026-11-30T10:04:13Z", "wall"),
        "actor": Who(host="node-02", device="0000:41:00"),
        "text": text,
    }
    return Evidence(**{**fields, **changes})


def incident(**changes: Any) -> Incident:
    """Return a confirmed GPU loss of rank 5, as the engine would report it."""
    fields: dict[str, Any] = {
        "id": "4f1c",
        "revision": 0,
        "rule": "core:hardware.gpu.fell_off_bus",
        "cls": "gpu.fell_off_bus",
        "title": "GPU fell off the bus; its rank goes silent",
        "level": "failure",
        "outcome": "confirmed",
        "job": "4711",
        "initiators": (Suspect(5, "node-02", "0000:41:00", "certain", ("the kernel log of node-02 names the device",)),),
        "candidates": (),
        "onset": Interval("2026-11-30T10:04:10Z", "2026-11-30T10:04:12Z"),
        "evidence": (
            evidence(),
            evidence(TIMEOUT, step="timeout", source="rank0.log", line=77, actor=Who(rank=0), moments={"stalled": -600.0}),
        ),
        "reporters": Group(40, tuple(Who(rank=r, host="node-01") for r in range(32))),
        "victims": Group(1, (Who(rank=0),)),
        "explains": (nested(),),
        "remedy": Remedy(
            why="The driver can't reach the GPU over PCIe.",
            do=("drain node-02", "power-cycle node-02"),
            verify=(Check("dmesg -T | grep -i xid", "node-02"),),
            references=("https://example.org/xid",),
        ),
        "impact": "critical",
    }
    return Incident(**{**fields, **changes})


def nested() -> Incident:
    """Return the collective timeout that the GPU loss explains."""
    return Incident(
        id="77aa",
        revision=0,
        rule="core:framework.collective_timeout",
        cls="collective.timeout",
        title="A collective timed out",
        level="failure",
        outcome="confirmed",
        job="4711",
        initiators=(),
        candidates=(Suspect(5, None, None, "undecided", ("it is missing among the reporters",)),),
        onset=None,
        evidence=(evidence(TIMEOUT, step="timeout", source="rank0.log", line=77, actor=Who(rank=0)),),
        against=(ClauseResult("refute", "progress", "refute progress after timeout", "true", "rank 3 logged a step"),),
        missing=(MissingFact("kernel log of node-02, 10:00 to 10:10", "it would name the device", "journalctl -k -S 10:00"),),
    )


def report(**changes: Any) -> Report:
    """Return a whole report with the incident, an unexplained error and coverage."""
    fields: dict[str, Any] = {
        "verdict": "failed",
        "incidents": (incident(),),
        "unexplained": (Unexplained("rank3.log", 9, (10, 20), Moment(None, None, "none"), Who(rank=3), "ERROR: odd thing", 1_200),),
        "coverage": coverage(),
    }
    return Report(**{**fields, **changes})


def coverage() -> CoverageReport:
    """Return the coverage of one kernel log that was cut and one rank log."""
    return CoverageReport(
        actors=(
            ActorCoverage(
                Who(rank=0),
                "rank",
                ("rank0.log",),
                900,
                3,
                "2026-11-30T09:00:00Z",
                "2026-11-30T10:14:12Z",
                (Interval("2026-11-30T10:04:10Z", "2026-11-30T10:14:10Z"),),
            ),
            ActorCoverage(Who(host="node-02"), "kernel", ("kern_node-02.log",), 118, 0, None, None),
        ),
        sources=(
            SourceSummary("rank0.log", "c10d", 81_000, 903, truncated=False, merged=4, evicted=0, notes=("no zone: UTC assumed",)),
            SourceSummary("kern_node-02.log", "dmesg_t", 9_070, 118, truncated=True, merged=0, evicted=7),
        ),
        world_size=8,
        ranks_seen=7,
    )


RULE = """\
language 1

rule storage.broken_shard {
  title   "A rank gave up on a broken shard"
  class   storage.checkpoint_corrupt
  status  stable since "0.1"
  tags    shard
  event broken error in rank "shard {file:path}: checksum mismatch, giving up"
    like "shard /data/shard-0042.bin: checksum mismatch, giving up"
  event again in rank "shard {file:path}: read again"
    like "shard /data/shard-0042.bin: read again"
  per job within 1h
  require broken
  unless again where file == broken.file within 10m after broken
  blame rank broken.rank
  why "Rank {broken.rank} stopped reading {broken.file}."
  do  "Restore {broken.file} from its source."
  verify "dmesg -T | tail -n 50" on broken.host
  see "storage.full" because "a full disk says so"
  ref "https://example.org/shards"
}
"""
BROKEN = "shard /data/shard-0042.bin: checksum mismatch, giving up"
STEP = "2026-11-30T10:04:10.101Z INFO step 812 loss 2.1029\n"
END = "2026-11-30T10:24:10.101Z INFO step 990 loss 2.1021\n"
CASE = """\
says       = "rank 5 gives up on a broken shard"
rule       = "storage.broken_shard"
outcome    = "confirmed"
initiators = [{ rank = 5 }]
first      = "rank5.log:2"
"""


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Write files by their paths below `folder`, and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def workshop(folder: Path) -> Path:
    """Write a pack of one rule, the logs of a failed job, and a case that expects the right answer."""
    failed = f"{STEP}2026-11-30T10:04:12.455Z ERROR {BROKEN}\n{END}"
    logs = {"rank5.log": failed, "rank0.log": STEP + END}
    return write_files(
        folder,
        {
            "my/storage/broken_shard.rule": RULE,
            **{f"logs/{name}": text for name, text in logs.items()},
            **{f"cases/storage/broken_shard/two_ranks/{name}": text for name, text in logs.items()},
            "cases/storage/broken_shard/two_ranks/case.toml": CASE,
            "healthy/rank0.log": STEP + END,
        },
    )


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process, and return its exit code and what it wrote to both streams."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    captured = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, captured.out, captured.err


def run_quietly(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command, assert that it complains about nothing, and return its exit code and output."""
    code, out, err = run_command(capsys, *arguments)
    assert err == ""
    return code, out
