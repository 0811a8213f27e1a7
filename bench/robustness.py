"""Measures `rulecheck scan` with the whole shipped pack on what no log should be: noise, one endless line, nothing at all.

    python bench/robustness.py [--folder FOLDER] [PART]

PART chooses the inputs whose name holds it. Speed is counted in seconds of processor time, start-up included. Each case runs in
a process of its own and must end with exit code 0 or 1, a report that is valid JSON, no traceback, and less than 300 MB of peak
memory. FOLDER (default: a temporary one) takes the inputs, some 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[1]
LIMIT_MB = 300
MB = 1 << 20


@frozen
class Measured:
    """How one scan ended: seconds, those of them on a processor, peak memory, bytes read, and what is wrong, "" when nothing is."""

    seconds: float
    busy: float
    peak_mb: float
    read: int
    verdict: str
    wrong: str


def measure(folder: Path) -> Measured:
    """Scan a folder with the real command in a process of its own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-m", "denpex_rules", "scan", str(folder), "--format", "json"], stdout=out, stderr=err, cwd=ROOT
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begun
        out.seek(0)
        err.seek(0)
        report, complaint = out.read(), err.read().decode("utf-8", "replace")
    peak = usage.ru_maxrss / (MB if sys.platform == "darwin" else 1024)
    read = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    verdict, wrong = _judge(child.returncode, report, complaint, peak)
    return Measured(seconds, usage.ru_utime + usage.ru_stime, peak, read, verdict, wrong)


def _judge(code: int, report: bytes, complaint: str, peak: float) -> tuple[str, str]:
    if "Traceback" in complaint:
        return "", complaint.strip().splitlines()[-1]
    if code not in {0, 1}:
        return "", f"exit code {code}: {complaint.strip()[:200]}"
    try:
        verdict = json.loads(report)["verdict"]
    except (ValueError, LookupError, TypeError) as error:
        return "", f"no report: {error}"
    return verdict, "" if peak < LIMIT_MB else f"more than {LIMIT_MB} MB"


# ------------------------------------------------------------------ inputs


def noise(folder: Path) -> None:
    """Write 40 files of 10 MB of random bytes."""
    for number in range(40):
        (folder / f"rank{number}.log").write_bytes(random.Random(number).randbytes(10 * MB))


def one_line(folder: Path) -> None:
    """Write a line of 100 MB that no newline ends."""
    with (folder / "rank0.log").open("wb") as file:
        for _ in range(100):
            file.write(b"loss=0.5 NCCL WARN timeout | " * (MB // 29))


def nothing(folder: Path) -> None:
    """Leave the folder empty."""
    assert not any(folder.iterdir())


def newlines(folder: Path) -> None:
    """Write 50 MB of line ends."""
    (folder / "rank0.log").write_bytes(b"\n" * (50 * MB))


def errors_only(folder: Path) -> None:
    """Write 50 MB of error records of ever new shapes."""
    with (folder / "rank0.log").open("w") as file:
        for number in range(500_000):
            word = "".join(chr(97 + (number // 26**i) % 26) for i in range(5))
            file.write(f"2026-11-30 10:04:10,123 - mod - ERROR - RuntimeError: {word} failed in the step, nothing else is known\n")


def ordinary(folder: Path) -> None:
    """Write 100 MB of an ordinary training log, as a launcher merges the lines of 8 ranks."""
    with (folder / "train.log").open("w") as file:
        file.writelines(training(100 * MB, ranks=8))


def many_files(folder: Path) -> None:
    """Write 1,000 files of one rank each, 3,000 progress lines in each."""
    for rank in range(1_000):
        with (folder / f"rank{rank}.log").open("w") as file:
            file.writelines(steps(rank, 3_000))


def steps(rank: int, count: int) -> Iterator[str]:
    """Yield progress lines of one rank, one a second."""
    start = datetime(2026, 11, 30, tzinfo=UTC)
    for step in range(count):
        yield f"{start + timedelta(seconds=step):%Y-%m-%dT%H:%M:%SZ} [rank{rank}] INFO train: step {step} loss=2.{step % 97:02}\n"


def training(size: int, ranks: int) -> Iterator[str]:
    """Yield the lines of a healthy job until they are `size` bytes: progress, metrics, warnings, library chatter."""
    chance = random.Random(1)
    start, written, step = datetime(2026, 11, 30, tzinfo=UTC), 0, 0
    while written < size:
        at = start + timedelta(milliseconds=700 * step)
        for rank in range(ranks):
            stamp = (at + timedelta(milliseconds=chance.randrange(300))).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
            lines = [f"{stamp} - train - INFO - step {step}/200000 loss={chance.random():.4f} grad_norm={chance.random():.3f}"]
            if step % 10 == 0:
                lines.append(f"{stamp} - train.data - DEBUG - shard {chance.randrange(9999):05} read in {chance.randrange(90)} ms")
                lines.append(f"{stamp} - train.mem - INFO - allocated {chance.randrange(80)}.1 GiB on cuda:{rank}")
            if step % 50 == 0:
                lines.append(f"{stamp} - tokenizer - WARNING - sequence of {chance.randrange(4096, 9999)} tokens was cut to 4096")
                lines.append("  warnings.warn('the default of this argument changes in a later release')")
            if step % 500 == 0:
                link = f"Channel 00/08 : {rank}[{rank}] -> {(rank + 1) % ranks}[0]"
                lines.append(f"node-07:{4000 + rank}:{4100 + rank} [{rank}] NCCL INFO {link}")
            for line in lines:
                text = f"[default{rank}]:{line}\n"
                written += len(text)
                yield text
        step += 1


CASES: dict[str, Callable[[Path], None]] = {
    "an empty folder": nothing,
    "40 files of 10 MB of random bytes": noise,
    "a single line of 100 MB": one_line,
    "50 MB of newlines": newlines,
    "500,000 errors of different shapes": errors_only,
    "100 MB of a training log, 8 ranks": ordinary,
    "1,000 files of 3,000 progress lines": many_files,
}


def main() -> int:
    """Run all cases and print the table; the exit code says whether all are well."""
    parser = argparse.ArgumentParser(description="Scan what no log should be, and measure it.")
    parser.add_argument("part", nargs="?", default="", help="only the inputs whose name holds this")
    parser.add_argument("--folder", type=Path, help="where the inputs are kept (default: a temporary folder)")
    options = parser.parse_args()
    chosen = [name for name in CASES if options.part in name]
    failed = False
    print(f"{'input':38} {'verdict':10} {'MB/s':>7} {'seconds':>8} {'busy':>8} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        root = options.folder or Path(temporary)
        for name in chosen:
            folder = root / name.replace(" ", "_").replace(",", "")
            if not folder.exists():
                folder.mkdir(parents=True)
                CASES[name](folder)
            found = measure(folder)
            failed |= bool(found.wrong)
            speed = found.read / MB / found.busy
            row = f"{name:38} {found.verdict or '-':10} {speed:7.1f} {found.seconds:8.1f} {found.busy:8.1f} {found.peak_mb:8.0f}"
            print(f"{row}  {found.wrong}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
