"""The same lines give the same report, however they are spread over files and pieces; renaming renames, shifting shifts."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from denpex_rules.cases import read_case
from denpex_rules.clock import SECOND, parse_time
from denpex_rules.compiler import compile_rules
from denpex_rules.engine import DEFAULT, Options, Session, scan, scan_bytes
from denpex_rules.finding import Incident, Report
from denpex_rules.library import load_pack
from denpex_rules.packed import zstd
from denpex_rules.program import Program
from layouts import Fault, Job, bare, merged, packed, pieces, rotated, split, tarred, together, zipped
from wrapping import EXCEPT, HOSTS, STRONG, WEAK, carries, fitted, may_stand, registry, wrapped

CASES: Final = Path(__file__).parents[1] / "rules"
SAMPLE: Final = (
    "hardware/gpu/fell_off_bus/two_hosts",
    "hardware/gpu/off_bus_without_xid/three_lines",
    "hardware/nvlink/fatal/peers_time_out",
    "hardware/gpu/memory/double_bit/peers_time_out",
    "host/oom_kill/a_rank",
    "host/process_killed/one_rank",
    "runtime/stalled_rank/stopped_process",
    "runtime/left_early/exit_code_3",
    "runtime/collective/gloo_timeout/one_rank_late",
    "launcher/told_to_stop/by_the_scheduler",
    "application/python_exception/one_rank",
    "storage/io_error/one_rank",
)
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NESTED = settings(FEW, max_examples=25)


@cache
def pack() -> Program:
    """Return the shipped pack; no fixture, because hypothesis would show it whole beside a failing example."""
    return compile_rules(load_pack())


def fed(logs: Mapping[str, bytes], chance: random.Random, options: Options = DEFAULT) -> Report:
    """Return the report of a session that gets the logs in pieces, the files interleaved at random."""

    def sizes() -> Iterator[int]:
        while True:
            yield chance.choice((1, 1, 7, 100, 4096, 65_536, 1 << 20))

    waiting = {name: pieces(data, sizes())[::-1] for name, data in logs.items()}
    session = Session(pack(), options)
    while waiting:
        name = chance.choice(sorted(waiting))
        session.feed(name, waiting[name].pop() if waiting[name] else b"")
        if not waiting[name]:
            del waiting[name]
    return session.close()


def accused(report: Report) -> list[tuple[Any, ...]]:
    """Return who is accused of what, worst first."""
    return [(i.rule, i.cls, [(s.rank, s.host, s.device, s.certainty) for s in i.initiators], i.onset) for i in report.incidents]


# ------------------------------------------------------------------ cases


@pytest.mark.parametrize("name", SAMPLE)
def test_a_case_reads_the_same_in_any_pieces(name: str, tmp_path: Path) -> None:
    """Chunks of any size in any interleaving, gzip, and files given in another order: the same report."""
    case = read_case(CASES / name)
    logs = {path.relative_to(case.folder).as_posix(): path.read_bytes() for path in case.logs}
    options = case.expected.options
    whole = scan_bytes(logs, pack(), options)
    chance = random.Random(name)
    assert fed(logs, chance, options) == whole
    packed = {f"{log}.gz": gzip.compress(data) for log, data in logs.items()}
    assert bare(scan_bytes(packed, pack(), options)) == bare(whole)
    for log, data in logs.items():
        (tmp_path / log).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / log).write_bytes(data)
    listed = [tmp_path / log for log in logs]
    chance.shuffle(listed)
    assert bare(scan(listed, pack(), options)) == bare(scan(sorted(listed), pack(), options))


# ------------------------------------------------------------------ jobs


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Draw a job of 2 to 6 ranks on 1 to 3 hosts, one of which fails."""
    ranks = draw(st.integers(2, 6))
    hosts = draw(st.integers(1, min(3, ranks)))
    return Job(
        ranks,
        tuple(f"node-{n:02}" for n in range(1, hosts + 1)),
        draw(st.integers(0, ranks - 1)),
        draw(st.sampled_from(["gpu lost", "out of memory"])),
        draw(st.sampled_from(["rank", "default"])),
    )


@FEW
@given(jobs(), st.integers(0, 9999))
def test_a_job_reads_the_same_split_and_merged(job: Job, seed: int) -> None:
    """One file a rank, one file of all, everything in one file, in pieces: the same report, references aside."""
    whole = scan_bytes(merged(job), pack())
    assert whole.incidents[0].initiators[0].rank == job.bad
    assert fed(merged(job), random.Random(seed)) == whole
    if job.prefix == "default":
        return
    shown = json.dumps(bare(whole), indent=1)
    assert json.dumps(bare(scan_bytes(split(job), pack())), indent=1) == shown
    assert json.dumps(bare(scan_bytes(together(job), pack())), indent=1) == shown


@FEW
@given(jobs(), st.integers(0, 9999))
def test_renumbered_ranks_renumber_the_answer(job: Job, seed: int) -> None:
    """The numbers of the ranks say nothing about who is to blame."""
    job = evolve(job, prefix="rank")
    numbers = tuple(random.Random(seed).sample(range(job.ranks), job.ranks))
    plain, renumbered = scan_bytes(split(job), pack()), scan_bytes(split(evolve(job, numbers=numbers)), pack())
    renamed = [
        (rule, cls, [(None if r is None else numbers[r], *rest) for r, *rest in who], onset)
        for rule, cls, who, onset in accused(plain)
    ]
    assert accused(renumbered) == renamed


@FEW
@given(jobs())
def test_renamed_hosts_rename_the_answer(job: Job) -> None:
    """The names of the hosts, and their order, say nothing about who is to blame."""
    names = {name: f"gpu-a{90 - n}" for n, name in enumerate(job.names)}
    plain, other = scan_bytes(merged(job), pack()), scan_bytes(merged(evolve(job, names=tuple(names.values()))), pack())
    renamed = [(rule, cls, [(r, names.get(h, h), *rest) for r, h, *rest in who], onset) for rule, cls, who, onset in accused(plain)]
    assert accused(other) == renamed


@FEW
@given(jobs(), st.sampled_from([1, 3600, 86_400, 40 * 86_400]))
def test_shifted_clocks_shift_all_times(job: Job, later: int) -> None:
    """When all clocks are later, the onset is later by the same time and nothing else changes."""
    plain, shifted = scan_bytes(merged(job), pack()), scan_bytes(merged(evolve(job, later=later)), pack())
    assert [i[:3] for i in accused(plain)] == [i[:3] for i in accused(shifted)]
    assert [_seconds(i) for i in shifted.incidents] == [
        None if (s := _seconds(i)) is None else (s[0] + later, s[1] + later) for i in plain.incidents
    ]


def _seconds(incident: Incident) -> tuple[float, float] | None:
    onset = incident.onset
    return None if onset is None else (parse_time(onset.lo) / SECOND, parse_time(onset.hi) / SECOND)


@FEW
@given(jobs(), st.floats(-4, 4), st.integers(0, 2))
def test_a_skewed_clock_never_makes_a_wrong_accusation(job: Job, ahead: float, node: int) -> None:
    """A clock that is off within the bound may cost certainty; who is named is still the one that failed."""
    skewed = evolve(job, ahead=tuple(ahead if n == node % len(job.names) else 0.0 for n in range(len(job.names))))
    for _, _, who, _ in accused(scan_bytes(merged(skewed), pack())):
        for rank, host, _, _ in who:
            assert rank in {None, job.bad}
            assert host in {None, job.names[job.node(job.bad)]}


@FEW
@given(jobs(), st.integers(-300, 300), st.floats(0, 4), st.integers(0, 2), st.integers(0, 2))
def test_a_wrong_clock_is_found_by_the_steps(job: Job, ahead: int, slow: float, node: int, straggler: int) -> None:
    """A clock that is off by minutes, and a host that is slow: the same is accused, whichever hosts they are."""
    places = range(len(job.names))
    wrong = tuple(float(ahead) if n == node % len(places) else 0.0 for n in places)
    late = tuple(slow if n == straggler % len(places) else 0.0 for n in places)
    found = accused(scan_bytes(merged(evolve(job, ahead=wrong, slow=late)), pack()))
    for _, _, who, _ in found:
        for rank, host, _, _ in who:
            assert rank in {None, job.bad}
            assert host in {None, job.names[job.node(job.bad)]}
    assert [(rank, host) for rank, host, _, _ in found[0][2]] == [(job.bad, job.names[job.node(job.bad)])]


# ------------------------------------------------------------------ wrappers and containers

CONTAINERS: Final[Mapping[str, Callable[[Mapping[str, bytes]], Mapping[str, bytes]]]] = {
    "files": dict,
    "gz": lambda logs: packed(logs, gzip.compress, "gz"),
    "xz": lambda logs: packed(logs, lzma.compress, "xz"),
    "bz2": lambda logs: packed(logs, bz2.compress, "bz2"),
    "zst": lambda logs: packed(logs, zstd.compress, "zst"),
    "tar": tarred,
    "tar.gz": lambda logs: tarred(logs, "w:gz"),
    "tar.xz": lambda logs: tarred(logs, "w:xz"),
    "zip": zipped,
    "UTF-16": lambda logs: {name: data.decode().encode("utf-16") for name, data in logs.items()},
}
STAMP: Final = b"2026-11-30"
LATER: Final = 0.2  # seconds after which a collector takes a line; a line without a stamp then has the collector's


def told(report: Report) -> list[tuple[Any, ...]]:
    """Return what incidents say of whom, with what evidence; without what a wrapper may add: stamps and pids."""
    return [
        (
            (i.rule, i.outcome),
            [(who.rank, who.host) for group in (i.reporters, i.victims) for who in group.actors],
            [(s.rank, s.host, s.device, s.certainty) for s in i.initiators],
            sorted((e.event, e.text) for e in i.evidence),
        )
        for i in report.incidents
    ]


def test_every_wrapper_has_a_writer() -> None:
    """No wrapper of the registry is left out but for a reason that is told."""
    assert set(STRONG) | set(EXCEPT) == registry("wrapper")
    assert set(WEAK) == registry("weak")
    assert not set(STRONG) & set(EXCEPT)


@cache
def nests() -> list[tuple[str, ...]]:
    """Return all wrappers alone, and two of which the second stands around the first."""
    names = sorted({**STRONG, **WEAK})
    return [(name,) for name in names] + [(a, b) for a in names for b in names if may_stand(a, b)]


def agree(report: Report, plain: Report) -> None:
    """Check that two reports tell the same incidents, with onsets that overlap."""
    assert told(report) == told(plain)
    for mine, theirs in zip(report.incidents, plain.incidents, strict=True):
        a, b = _seconds(mine), _seconds(theirs)
        assert a is not None
        assert b is not None
        assert a[0] <= b[1] + LATER
        assert b[0] <= a[1] + LATER


def inside(job: Job, names: tuple[str, ...], *, merge: bool = False) -> dict[str, bytes]:
    """Return the logs of a job inside of the wrappers of these names, the innermost first."""
    return wrapped(job, *({**STRONG, **WEAK}[name] for name in names), merge=merge)


@pytest.mark.parametrize("fault", ["gpu lost", "out of memory"])
def test_a_job_reads_the_same_in_every_wrapper(fault: Fault) -> None:
    """Each wrapper of the registry around each line of a job of two hosts: the same incidents."""
    for form in ("node-{}", *HOSTS.values()):
        job = Job(3, (form.format(1), form.format(2)), 1, fault)
        plain = scan_bytes(split(job), pack())
        for name in sorted({**STRONG, **WEAK}):
            if HOSTS.get(name, "node-{}") == form:
                agree(scan_bytes(inside(job, (name,)), pack()), plain)


@NESTED
@given(jobs(), st.sampled_from(nests()), st.sampled_from(sorted(CONTAINERS)), st.integers(0, 9999))
def test_a_job_reads_the_same_in_any_wrapper_and_container(job: Job, names: tuple[str, ...], container: str, seed: int) -> None:
    """Each line in one or two wrappers, files split or merged, in any container or in shuffled pieces: the same incidents."""
    job = fitted(job, *names)
    chance = random.Random(seed)
    logs = inside(job, names, merge=carries(job, *names) and chance.random() < 0.5)
    report = fed(logs, chance) if container == "files" else scan_bytes(CONTAINERS[container](logs), pack())
    agree(report, scan_bytes(split(job), pack()))


@FEW
@given(jobs(), st.integers(0, 9999))
def test_a_rotated_job_reads_the_same(job: Job, seed: int) -> None:
    """Logs cut into rotated parts, some of them packed, are one log each: the same incidents, and lines named by their part."""
    job = evolve(job, prefix="rank")
    parts = rotated(split(job), random.Random(seed), STAMP)
    found = scan_bytes(parts, pack())
    whole, cut = bare(scan_bytes(split(job), pack())), bare(found)
    assert cut["incidents"] == whole["incidents"]
    assert cut["coverage"]["actors"] == whole["coverage"]["actors"]
    for shown in (e for i in found.incidents for e in i.evidence):
        data = gzip.decompress(parts[shown.source]) if shown.source.endswith(".gz") else parts[shown.source]
        assert shown.text in data[slice(*shown.bytes)].decode()
        assert shown.text in data.splitlines()[shown.line - 1].decode()
