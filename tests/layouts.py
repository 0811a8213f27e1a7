"""Jobs written as logs in many layouts, and what a report says once it is freed of where the lines stand."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final, Literal

from attrs import frozen

from denpex_rules.finding import Report
from denpex_rules.schema import to_dict

START: Final = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
STALLED_S: Final = 290  # when the fault happens
TIMEOUT_S: Final = 600  # how long the peers wait
Fault = Literal["gpu lost", "out of memory"]
Prefix = Literal["rank", "default"]
Line = tuple[float, str]  # seconds after START, and the text

REFERENCES: Final = frozenset({"source", "line", "bytes", "sources"})


def bare(report: Report) -> dict[str, Any]:
    """Return a report's JSON without its references to files, lines and bytes; the only list of sources is in coverage."""
    stripped: dict[str, Any] = _bare(to_dict(report))
    return stripped


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key not in REFERENCES}
    return [_bare(item) for item in value] if isinstance(value, list) else value


@frozen
class Job:
    """A job whose `bad` rank fails: ranks are placed on hosts in blocks; `names` are the hosts, `numbers` the ranks' numbers.

    `ahead` is by how many seconds each host's clock is ahead of true time, `later` by how many all of them are, `slow` by how many
    each host ends its steps after the others.
    """

    ranks: int
    names: tuple[str, ...]
    bad: int
    fault: Fault = "gpu lost"
    prefix: Prefix = "rank"
    numbers: tuple[int, ...] = ()
    ahead: tuple[float, ...] = ()
    later: int = 0
    slow: tuple[float, ...] = ()

    def number(self, index: int) -> int:
        """Return the global rank of the process at this index."""
        return self.numbers[index] if self.numbers else index

    def node(self, index: int) -> int:
        """Return the index of a process's host."""
        return index * len(self.names) // self.ranks

    def local(self, index: int) -> int:
        """Return the local rank of a process."""
        return sum(self.node(other) == self.node(index) for other in range(index))

    def stamp(self, second: float, node: int, layout: str) -> str:
        """Return a printed time as the clock of a host shows it."""
        ahead = self.ahead[node] if self.ahead else 0
        return (START + timedelta(seconds=second + ahead + self.later)).strftime(layout)

    def process(self, index: int) -> list[Line]:
        """Return the lines of one process, in order, each with the prefix that tells whose it is."""
        rank, host, local, node = self.number(index), self.names[self.node(index)], self.local(index), self.node(index)
        tag = f"[rank{rank}]:" if self.prefix == "rank" else f"[default{local}]:"
        bus = f"{0x41 + local:02x}000"
        comm = f"comm 0x55d0c8a3b6f0 rank {rank} nranks {self.ranks} cudaDev {local} nvmlDev {local} busId {bus}"
        nccl = f"{host}:{4200 + rank}:{4300 + rank} [{local}] NCCL INFO ncclCommInitRankConfig {comm} commId 0x8f2a5c1190d3e7b1"
        lines: list[Line] = [(1, f"{nccl} - Init START"), (4, f"{nccl} - Init COMPLETE")]

        def say(second: float, text: str) -> None:
            lines.append((second, f"{self.stamp(second, node, '%Y-%m-%d %H:%M:%S')},{index:03} {text}"))

        end = STALLED_S if index == self.bad else STALLED_S + 1
        for step in range(5, end, 5):
            say(step + (self.slow[node] if self.slow else 0), f"INFO [train.py:60] step {step // 5} loss 2.{step:03}")
        if index == self.bad:
            lines += self.death(index)
        else:
            second = STALLED_S + TIMEOUT_S
            place = self.stamp(second, node, "%m%d %H:%M:%S")
            glog = f"[rank{rank}]:[E{place}.{500 + index:03}123456 ProcessGroupNCCL.cpp:632] [Rank {rank}]"
            work = f"WorkNCCL(SeqNum={STALLED_S // 5}, OpType=ALLREDUCE, NumelIn=6553600, NumelOut=6553600, Timeout(ms)=600000)"
            text = f"Watchdog caught collective operation timeout: {work} ran for 600042 milliseconds before timing out."
            lines.append((second, f"{glog} {text}"))
        return [(second, f"{tag} {text}") for second, text in lines]

    def death(self, index: int) -> list[Line]:
        """Return the failing process's last words: none when its GPU is lost."""
        if self.fault == "gpu lost":
            return []
        stamp = self.stamp(STALLED_S, self.node(index), "%Y-%m-%d %H:%M:%S")
        local = self.local(index)
        memory = f"Tried to allocate 2.50 GiB. GPU {local} has a total capacity of 79.15 GiB of which 1.81 GiB is free."
        return [
            (STALLED_S, f"{stamp},000 ERROR [train.py:71] step {STALLED_S // 5} failed"),
            (STALLED_S, "Traceback (most recent call last):"),
            (STALLED_S, '  File "/app/train.py", line 71, in step'),
            (STALLED_S, f"torch.OutOfMemoryError: CUDA out of memory. {memory}"),
        ]

    def kernel(self, node: int) -> list[Line]:
        """Return the kernel log of a host."""
        name = self.names[node]

        def line(second: float, text: str) -> Line:
            return second, f"{self.stamp(second, node, '%Y-%m-%dT%H:%M:%S')}.482113+00:00 {name} kernel: {text}"

        lines = [line(s, "nvidia-uvm: Loaded the UVM driver, major device number 510.") for s in range(-600, 2000, 300)]
        if self.fault == "gpu lost" and self.node(self.bad) == node:
            device = f"0000:{0x41 + self.local(self.bad):02x}:00"
            pid = 4200 + self.number(self.bad)
            lines.append(line(STALLED_S, f"NVRM: Xid (PCI:{device}): 79, pid={pid}, GPU has fallen off the bus."))
        return sorted(lines)

    def streams(self) -> dict[str, list[Line]]:
        """Return all streams: one a rank, named by it, and one a host's kernel."""
        ranks = {f"rank{self.number(i)}.log": self.process(i) for i in range(self.ranks)}
        return ranks | {f"kern_{name}.log": self.kernel(node) for node, name in enumerate(self.names)}


def written(lines: list[Line]) -> bytes:
    """Return lines as the bytes of a file."""
    return "".join(f"{text}\n" for _, text in lines).encode()


def split(job: Job) -> dict[str, bytes]:
    """Return one file a rank and one a host's kernel."""
    return {name: written(lines) for name, lines in job.streams().items()}


def by_time(streams: Mapping[str, list[Line]]) -> list[Line]:
    """Return the lines of several streams as one, by time; the order within each stays."""
    return sorted((line for _, lines in sorted(streams.items()) for line in lines), key=lambda line: line[0])


def merged(job: Job) -> dict[str, bytes]:
    """Return one file of all ranks (one a host, where local ranks are all that the prefix tells) and one a host's kernel."""
    streams = job.streams()
    kernel = {name: written(lines) for name, lines in streams.items() if name.startswith("kern")}
    if job.prefix == "rank":
        return {"train.log": written(by_time({n: s for n, s in streams.items() if n not in kernel})), **kernel}
    groups: dict[str, dict[str, list[Line]]] = {}
    for index in range(job.ranks):
        name = f"rank{job.number(index)}.log"
        groups.setdefault(f"{job.names[job.node(index)]}.log", {})[name] = streams[name]
    return {**{name: written(by_time(group)) for name, group in groups.items()}, **kernel}


def together(job: Job) -> dict[str, bytes]:
    """Return one file of everything."""
    return {"all.log": written(by_time(job.streams()))}


def pieces(data: bytes, sizes: Iterator[int]) -> list[bytes]:
    """Return data cut into pieces of these sizes."""
    found, start = [], 0
    while start < len(data):
        size = next(sizes)
        found.append(data[start : start + size])
        start += size
    return found


# ------------------------------------------------------------------ containers


def rotated(logs: Mapping[str, bytes], chance: random.Random, stamp: bytes) -> dict[str, bytes]:
    """Return logs cut into two or three parts each, as rotation names them; a part begins with a line that holds `stamp`."""
    found: dict[str, bytes] = {}
    for name, data in logs.items():
        lines = data.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if number and stamp in line]
        cuts = sorted(chance.sample(places, min(len(places), chance.randrange(1, 3))))
        parts = [b"".join(lines[a:b]) for a, b in pairwise((0, *cuts, len(lines)))]
        for age, part in enumerate(reversed(parts)):
            packed = age > 1 and chance.random() < 0.5
            found[f"{name}.{age}{'.gz' if packed else ''}" if age else name] = gzip.compress(part) if packed else part
    return found


def tarred(logs: Mapping[str, bytes], mode: Literal["w", "w:gz", "w:xz", "w:bz2"] = "w") -> dict[str, bytes]:
    """Return logs as one tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in logs.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return {"logs.tar": out.getvalue()}


def zipped(logs: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return logs as one zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in logs.items():
            archive.writestr(name, data)
    return {"logs.zip": out.getvalue()}


def packed(logs: Mapping[str, bytes], pack: Callable[[bytes], bytes], suffix: str) -> dict[str, bytes]:
    """Return each log compressed."""
    return {f"{name}.{suffix}": pack(data) for name, data in logs.items()}
