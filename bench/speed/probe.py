"""One measurement in an interpreter of its own: what it finds, the processor time that it takes, and the memory at its peak.

`python bench/speed/probe.py '{"task": "scan", …}'` prints the answer as JSON. What is built once (the program, the automata) is
built before the clock starts.
"""

from __future__ import annotations

import gc
import gzip
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parents[2]))

import ahocorasick
from attrs import evolve

from denpex_rules import cli, engine, formats
from denpex_rules.backend import Hyperscan
from denpex_rules.program import Program, load_program
from denpex_rules.record import NO_HINTS
from denpex_rules.sighting import Scan

CHUNK = 1 << 20
STEP = "denpex:lib.progress#step"
Answer = dict[str, Any]


def scan(program: Program, asked: Answer) -> Answer:
    """Read logs and write the report, as `rulecheck scan` does: with its collector of garbage too."""
    gc.set_threshold(cli.GARBAGE)
    program.matcher.backend.hits(b"ready")
    with Clock() as clock:
        sighted = engine.sight([asked["logs"]], program, jobs=asked.get("jobs", 1))
        read = clock.used()
        report = engine.correlate(sighted, program)
    kept = sum(s.event == STEP for s in sighted.sightings)
    dropped = sum(d.count for s in sighted.sources for d in s.dropped if d.event == STEP)
    return {
        **clock.answer(),
        "read": read,
        "bytes": sum(s.bytes for s in sighted.sources),
        "lines": sum(s.lines for s in sighted.sources),
        "layouts": sorted({s.layout for s in sighted.sources}),
        "steps": kept + dropped,
        "incidents": [[i.cls, [s.rank for s in i.initiators]] for i in report.incidents],
        "state": state(sighted),
    }


def state(sighted: Scan) -> dict[str, int]:
    """Return how much a scan keeps."""
    return {
        "sightings": len(sighted.sightings),
        "errors": len(sighted.errors),
        "runs": sum(len(a.runs) for s in sighted.sources for a in s.activities),
    }


def raw(program: Program, asked: Answer) -> Answer:
    """Look for the same literals and do nothing with them: the loop that any use of the automaton is at least."""
    literals = [entry.text.encode() for entry in program.literals]
    hits = aho_loop(literals) if asked["backend"] == "pyahocorasick" else Hyperscan(literals).hits
    size = found = 0
    with Clock() as clock:
        for block in blocks(Path(asked["logs"])):
            size += len(block)
            found += len(hits(block))
    return {**clock.answer(), "bytes": size, "hits": found}


def aho_loop(literals: list[bytes]) -> Callable[[bytes], list[Any]]:
    """Return what finds literals in a block by pyahocorasick."""
    automaton = ahocorasick.Automaton()
    for number, literal in enumerate(literals):
        automaton.add_word(literal.decode("latin-1"), number)
    automaton.make_automaton()
    return lambda block: list(automaton.iter(block.decode("latin-1")))


def naive(program: Program, asked: Answer) -> Answer:
    """Go line by line: decode, look for literals, peel the prefixes."""
    literals = [entry.text.encode() for entry in program.literals]
    automaton = ahocorasick.Automaton()
    for number, literal in enumerate(literals):
        automaton.add_word(literal.decode("utf-8"), number)
    automaton.make_automaton()
    size = found = 0
    with Clock() as clock:
        for line in lines(Path(asked["logs"]), asked["limit"]):
            size += len(line)
            found += len(list(automaton.iter(line.decode("utf-8", "replace"))))
            formats.peel(line.rstrip(b"\n"), NO_HINTS)
    return {**clock.answer(), "bytes": size, "hits": found}


def session(program: Program, asked: Answer) -> Answer:
    """Feed a session line by line, as a log is written."""
    program.matcher.backend.hits(b"ready")
    given = list(lines(Path(asked["logs"]), asked["limit"]))
    open_session = engine.Session(program)
    with Clock() as clock:
        for line in given:
            open_session.feed("console.log", line)
    return {**clock.answer(), "bytes": sum(map(len, given)), "lines": len(given)}


def blocks(folder: Path) -> Iterator[bytes]:
    """Yield the files of a folder, unpacked, in blocks."""
    for path in sorted(folder.iterdir()):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb", buffering=0) as file:
            while block := file.read(CHUNK):
                yield block


def lines(folder: Path, limit: int) -> Iterator[bytes]:
    """Yield lines of the first files of a folder, unpacked, until they are so many bytes."""
    for path in sorted(folder.iterdir()):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                yield line
                limit -= len(line)
                if limit <= 0:
                    return


class Clock:
    """Processor and wall time of this process and of those that it started and saw end."""

    def __enter__(self) -> Self:
        """Start."""
        self._start, self._wall = cpu(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.cpu, self.wall = self.used(), time.perf_counter() - self._wall

    def used(self) -> float:
        """Return the processor time since the start."""
        return cpu() - self._start

    def answer(self) -> Answer:
        """Return what was measured."""
        return {"cpu": self.cpu, "wall": self.wall, "peak": peak()}


def cpu() -> float:
    """Return the processor time, user and system, of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def peak() -> int:
    """Return the bytes of memory at the peak of this process, or of the largest child."""
    status = Path("/proc/self/status")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if status.exists():  # ru_maxrss counts what the process was before it became this program, too
        own = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024


TASKS: dict[str, Callable[[Program, Answer], Answer]] = {"scan": scan, "raw": raw, "naive": naive, "session": session}


def main() -> None:
    """Do what the argument asks for and print the answer."""
    asked: Answer = json.loads(sys.argv[1])
    program = evolve(load_program(asked["program"]), backend=asked.get("backend", "auto"))
    print(json.dumps(TASKS[asked["task"]](program, asked)))


if __name__ == "__main__":
    main()
