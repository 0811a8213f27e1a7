"""Measure how fast logs are scanned, beside what people would use instead.

    python bench/speed                       every workload, both backends, all peers that are installed
    python bench/speed --size 30 --only storm             the size is that of `packed`; others are larger or smaller
    python bench/speed --check               only whether what is found is right
    python bench/speed layouts               a log of each layout, 20 MB or what --size says
    python bench/speed curves [--full]       rules 10 to 5,000, size 10 MB to 1 GB (10 GB with --full), ranks 8 to 16,384
    python bench/speed … --write             also into bench/results and docs/explanation/speed.md

Exit status 1 when a scan finds anything but what the logs were made with. Times are of the processor, user and system, the least of
several interleaved rounds: what else runs on the machine changes them little. Ratios matter, not figures.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import curves
import layout_logs
import results
from peers import Peers
from workloads import MB, WORKLOADS, Made, Workload, wrong

from denpex_rules import compile_rules, load_pack, save_program

PROBE = Path(__file__).parent / "probe.py"
NAIVE_BYTES = 3 * MB
SESSION_BYTES = 2 * MB
Answer = dict[str, Any]


def probe(*, stdin: IO[bytes] | None = None, **asked: object) -> Answer:
    """Measure one thing in an interpreter of its own."""
    command = [sys.executable, str(PROBE), json.dumps(asked, default=str)]
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{asked}: {done.stderr}")
    answer: Answer = json.loads(done.stdout)
    return answer


def best(into: dict[str, Answer], name: str, answer: Answer) -> None:
    """Keep the answer with the least processor time, and the least wall time."""
    before = into.get(name, answer)
    into[name] = {**min(answer, before, key=lambda one: float(one["cpu"])), "wall": min(answer["wall"], before["wall"])}


class Bench:
    """One run over some workloads.

    Args:
        options: those of the command line.
        folder: for logs and programs.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.program = folder / "pack.program"
        compiled = compile_rules(load_pack())
        save_program(compiled, self.program)
        self.peers = Peers([entry.text for entry in compiled.literals], folder)
        self.facts = {"rules": len(compiled.rules), "literals": len(compiled.literals), "not installed": self.peers.missing()}
        self.backends = backends(options.backend)
        self.mistakes: list[str] = []

    def run(self) -> dict[str, Answer]:
        """Return the answers of each workload, by who was measured."""
        chosen = [w for w in WORKLOADS if not self.options.only or w.name in self.options.only]
        return {workload.name: self._workload(workload) for workload in chosen}

    def _workload(self, workload: Workload) -> Answer:
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            logs = Path(folder) / "logs"
            logs.mkdir()
            made = workload.make(logs, int((self.options.size or 100) * workload.share * MB), self.options.seed)
            print(f"{workload.name}: {workload.about}; {made.bytes:,} bytes", file=sys.stderr, flush=True)
            answers: dict[str, Answer] = {}
            for _ in range(1 if self.options.check else self.options.rounds):
                for name, answer in self._round(workload, logs, made):
                    best(answers, name, answer)
        return {"about": workload.about, "bytes": made.bytes, "steps": made.steps, "incidents": made.incidents, "found": answers}

    def _round(self, workload: Workload, logs: Path, made: Made) -> Iterator[tuple[str, Answer]]:
        for backend in self.backends:
            yield f"scan {backend}", self._scan(workload, logs, made, backend)
        if self.options.check:
            return
        if workload.name == "files":
            for backend in self.backends:
                yield f"scan, 2 jobs, {backend}", self._scan(workload, logs, made, backend, jobs=2)
        for backend in self.backends:
            yield f"raw {backend}", probe(task="raw", logs=logs, program=self.program, backend=backend)
        for name in self.peers.names():
            yield name, self.peers.run(name, logs, made.bytes)
        yield "naive", probe(task="naive", logs=logs, program=self.program, limit=NAIVE_BYTES)
        if workload.name in {"sparse", "dense"}:
            yield "session", probe(task="session", logs=logs, program=self.program, limit=SESSION_BYTES, backend=self.backends[-1])

    def _scan(self, workload: Workload, logs: Path, made: Made, backend: str, jobs: int = 1) -> Answer:
        found = probe(task="scan", logs=logs, program=self.program, backend=backend, jobs=jobs)
        for told in wrong(made, found):
            text = f"{workload.name}, {backend}, {jobs} jobs: {told}"
            print(f"WRONG {text}", file=sys.stderr, flush=True)
            self.mistakes.append(text)
        return found


def backends(asked: str) -> list[str]:
    """Return the backends to measure, the one that a scan chooses by itself last."""
    if asked != "auto":
        return [asked]
    return ["pyahocorasick", *(["hyperscan"] if importlib.util.find_spec("hyperscan") else [])]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("workloads", "layouts", "curves"), default="workloads")
    parser.add_argument("--size", type=float, metavar="MB", help="of each workload, about; 100 unless told, of a layout's log 20")
    parser.add_argument("--only", action="append", choices=[w.name for w in WORKLOADS], help="may be given more than once")
    parser.add_argument("--backend", choices=("auto", "pyahocorasick", "hyperscan"), default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="measure nothing, only check what is found")
    parser.add_argument("--full", action="store_true", help="curves: a log of 10 GB too")
    parser.add_argument("--write", action="store_true", help="keep the results, and show them in the documentation")
    return parser.parse_args()


def main() -> int:
    """Measure, print the tables, and return the exit code."""
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "curves":
            measured: Answer = {"curves": curves.run(probe, backends(options.backend), folder, full=options.full)}
            mistakes: list[str] = []
        elif options.what == "layouts":
            save_program(compile_rules(load_pack()), folder / "pack.program")
            size = int((options.size or 20) * MB)
            found, mistakes = layout_logs.run(probe, folder / "pack.program", backends(options.backend)[-1], folder, size)
            measured = {"layouts": found}
        else:
            bench = Bench(options, folder)
            measured = {"facts": bench.facts, "rounds": options.rounds, "workloads": bench.run()}
            mistakes = bench.mistakes
    for text in mistakes:
        print(f"WRONG {text}")
    if mistakes:
        return 1
    if options.check:
        print("all workloads: the progress lines and incidents that were expected")
        return 0
    print(results.page(measured))
    if options.write:
        for path in results.write(measured):
            print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
