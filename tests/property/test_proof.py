"""Nobody is accused without a line that proves it: hosts renamed in single files, init lines lost, lines moved between files."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import cache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from denpex_rules.compiler import compile_rules
from denpex_rules.engine import scan_bytes
from denpex_rules.finding import Incident, Suspect
from denpex_rules.library import load_pack
from denpex_rules.program import Program
from layouts import START, Job, split, written

FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
STRANGERS = ("node-77", "gpu-a05")


@cache
def pack() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Draw a job of 2 to 6 ranks on 1 to 3 hosts, one of which fails; every line of a rank tells its rank."""
    ranks = draw(st.integers(2, 6))
    hosts = draw(st.integers(1, min(3, ranks)))
    names = tuple(f"node-{n:02}" for n in range(1, hosts + 1))
    return Job(ranks, names, draw(st.integers(0, ranks - 1)), draw(st.sampled_from(["gpu lost", "out of memory"])))


def everybody(incidents: Iterable[Incident]) -> Iterator[Suspect]:
    """Yield everybody who is accused, by root incidents and by what they explain."""
    for incident in incidents:
        yield from incident.initiators
        yield from everybody(incident.explains)


def renamed(data: bytes, job: Job, chance: random.Random) -> bytes:
    """Return a file in which each host has a name drawn for this file alone, and some init lines are lost."""
    for number, host in enumerate(job.names):
        data = data.replace(host.encode(), f"<{number}>".encode())
    for number in range(len(job.names)):
        data = data.replace(f"<{number}>".encode(), chance.choice((*job.names, *STRANGERS)).encode())
    return b"".join(line + b"\n" for line in data.splitlines() if b"NCCL INFO" not in line or chance.random() < 0.7)


@FEW
@given(jobs(), st.integers(0, 9999))
def test_no_host_without_a_line_that_joins_it(job: Job, seed: int) -> None:
    """A rank is accused with a host only where a line names both, and a host alone only where its own kernel reports."""
    chance = random.Random(seed)
    logs = {f"{number}.log": renamed(data, job, chance) for number, data in enumerate(split(job).values())}
    whole = b"".join(logs.values()).decode()
    for suspect in everybody(scan_bytes(logs, pack()).incidents):
        if suspect.host is not None and suspect.rank is not None:
            joined = rf"^\[rank{suspect.rank}\]: {suspect.host}:\d+:\d+ .* rank {suspect.rank} nranks"
            assert re.search(joined, whole, re.MULTILINE), suspect
        elif suspect.host is not None:
            assert re.search(rf" {suspect.host} kernel: NVRM: ", whole), suspect


@FEW
@given(jobs(), st.integers(0, 9999))
def test_lines_in_files_of_other_ranks_accuse_nobody_else(job: Job, seed: int) -> None:
    """Lines that tell their rank may stand in any rank's file: who is accused is the one that failed, on its own host."""
    chance, streams = random.Random(seed), job.streams()
    ranks = [name for name in streams if name.startswith("rank")]
    for name in ranks:
        for line in [line for line in streams[name] if chance.random() < 0.1]:
            streams[name].remove(line)
            streams[chance.choice(ranks)].append(line)
    logs = {name: written(sorted(lines, key=lambda line: line[0])) for name, lines in streams.items()}
    for suspect in everybody(scan_bytes(logs, pack()).incidents):
        assert suspect.rank in {None, job.bad}, suspect
        assert suspect.host in {None, job.names[job.node(job.bad)]}, suspect


@FEW
@given(st.integers(0, 3), st.integers(0, 3), st.integers(30, 500))
def test_attempts_are_incidents_of_their_own(first: int, second: int, pause_s: int) -> None:
    """A rank fails in each of two attempts, however soon the restart: two incidents, and who failed in both recurs."""
    logs = {}
    for attempt, (bad, start) in enumerate(((first, 0), (second, pause_s))):
        for rank in range(4):
            stamps = (START + timedelta(seconds=start + step) for step in range(20))
            lines = [
                f"[rank{rank}]: {stamp:%Y-%m-%d %H:%M:%S},101 INFO [train.py:60] step {n} loss 0.4"
                for n, stamp in enumerate(stamps)
            ]
            if rank == bad:
                words = (
                    "Traceback (most recent call last):",
                    '  File "train.py", line 58, in train',
                    "ValueError: row 4411 is short",
                )
                lines += [f"[rank{rank}]: {word}" for word in words]
            logs[f"run_7f3a/attempt_{attempt}/{rank}/stderr.log"] = "".join(f"{line}\n" for line in lines).encode()
    report = scan_bytes(logs, pack())
    assert {(i.attempt, *(s.rank for s in i.initiators)) for i in report.incidents} == {(0, first), (1, second)}
    assert [(r.who.rank, r.attempts) for r in report.recurrences] == ([(first, (0, 1))] if first == second else [])
