"""A small cluster that writes logs: hosts, ranks, devices, and the emitters that speak about them, with the clocks they have.

All times are seconds after START, true time; a host whose clock is ahead stamps its lines later. Each emitter's own shape
(c10d, NCCL, kernel, torchrun, Slurm, vLLM, SGLang) is written here once; a scenario only says who said what when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from attrs import Factory, define, field

START = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)
BUSES = ("0000:1b:00", "0000:41:00", "0000:5e:00", "0000:97:00", "0000:a1:00", "0000:c3:00", "0000:d5:00", "0000:e7:00")
STEP = 20.0  # seconds between two step lines
LIMIT = 600.0  # seconds that c10d waits

KernelStyle = Literal["journald", "dmesg"]
Logs = Mapping[str, bytes]


@define
class Line:
    """One line, when its emitter stamped it, and the order in which it was written."""

    stamp: datetime
    order: int
    text: str


@define
class Cluster:
    """A job of `per_host` ranks on each of `hosts`, and the logs that it has written so far.

    Args:
        hosts: names of the hosts, in rank order.
        per_host: ranks (and GPUs) on each host.
        ahead: by how many seconds each host's clock is ahead of true time.
        kernel: how kernel logs are written.
    """

    hosts: tuple[str, ...] = ("gpu-a01", "gpu-a02")
    per_host: int = 4
    ahead: Mapping[str, float] = field(factory=dict)
    kernel_style: KernelStyle = "journald"
    files: dict[str, list[Line]] = Factory(dict)
    _written: int = 0

    # ------------------------------------------------------------------ who is where

    @property
    def ranks(self) -> range:
        """All global ranks."""
        return range(len(self.hosts) * self.per_host)

    def host(self, rank: int) -> str:
        """Return the host of a rank."""
        return self.hosts[rank // self.per_host]

    def local(self, rank: int) -> int:
        """Return the local rank of a rank."""
        return rank % self.per_host

    def on(self, host: str) -> range:
        """Return the ranks of a host."""
        first = self.hosts.index(host) * self.per_host
        return range(first, first + self.per_host)

    def but(self, *ranks: int) -> list[int]:
        """Return all ranks but these."""
        return [r for r in self.ranks if r not in ranks]

    def device(self, rank: int) -> str:
        """Return the PCI address of a rank's GPU, without its function."""
        return BUSES[self.local(rank)]

    def pid(self, rank: int) -> int:
        """Return the process id of a rank."""
        return 41200 + 100 * (rank // self.per_host) + self.local(rank)

    def address(self, host: str) -> str:
        """Return the address of a host."""
        return f"10.0.0.{11 + self.hosts.index(host)}"

    # ------------------------------------------------------------------ writing

    def write(self, file: str, host: str, at: float, shape: Callable[[datetime], str]) -> None:
        """Add a line to a file, stamped by the clock of a host."""
        stamp = START + timedelta(seconds=at + self.ahead.get(host, 0.0))
        self._written += 1
        self.files.setdefault(file, []).append(Line(stamp, self._written, shape(stamp)))

    def say(self, rank: int, at: float, text: str) -> None:
        """Let a rank print a line without a stamp of its own."""
        self.write(f"rank_{rank}.log", self.host(rank), at, lambda _: text)

    def log(self, rank: int, at: float, text: str, level: str = "INFO", where: str = "train.py:60") -> None:
        """Let a rank's Python logging print a line."""
        self.write(
            f"rank_{rank}.log", self.host(rank), at, lambda t: f"{_iso(t)},{t.microsecond // 1000:03d} {level} [{where}] {text}"
        )

    def c10(self, rank: int, at: float, text: str, level: str = "E", where: str = "ProcessGroupNCCL.cpp:688") -> None:
        """Let a rank's c10 logger print a line, as torch 2.4 and later do."""

        def shape(t: datetime) -> str:
            return (
                f"[rank{rank}]:[{level}{t.month}{t.day:02d} {t:%H:%M:%S}.{(rank * 7919 + int(at) * 31) % 10**9:09d} {where}] {text}"
            )

        self.write(f"rank_{rank}.log", self.host(rank), at, shape)

    def nccl(self, rank: int, at: float, text: str, level: str = "INFO") -> None:
        """Let a rank's NCCL print a line; WARN lines have a stamp since 2.26."""
        host, pid, local = self.host(rank), self.pid(rank), self.local(rank)

        def shape(t: datetime) -> str:
            printer = f"{host}:{pid}:{pid + 1000} [{local}]"
            if level == "INFO":
                return f"{printer} NCCL INFO {text}"
            place, _, words = text.partition(" | ")
            return f"[{_iso(t)}] {printer} {place} NCCL WARN {words}"

        self.write(f"rank_{rank}.log", host, at, shape)

    def kernel(self, host: str, at: float, text: str) -> None:
        """Let the kernel of a host log a line."""

        def shape(t: datetime) -> str:
            if self.kernel_style == "dmesg":
                return f"[{t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}] {text}"
            return f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}+00:00 {host} kernel: {text}"

        self.write(f"kern_{host}.log", host, at, shape)

    def agent(self, host: str, at: float, text: str, level: str = "E", where: str = "elastic/multiprocessing/api.py:882") -> None:
        """Let the torchrun agent of a host print a line."""
        pid = 41000 + self.hosts.index(host)

        def shape(t: datetime) -> str:
            return f"{level}{t.month}{t.day:02d} {t:%H:%M:%S}.{t.microsecond:06d} {pid} torch/distributed/{where}] {text}"

        self.write(f"{host}/torchrun.log", host, at, shape)

    def slurm(self, at: float, text: str) -> None:
        """Let srun or slurmstepd write to the job's output on the first host."""
        self.write("slurm-4711.out", self.hosts[0], at, lambda _: text)

    def block(self, write: Callable[[str], None], text: str) -> None:
        """Write a text line by line."""
        for line in text.splitlines():
            write(line)

    # ------------------------------------------------------------------ the usual

    def init(self, at: float = 0.0, *, group: Sequence[int] | None = None) -> None:
        """Print NCCL's init lines for the world, or for a group whose ranks are numbered within it."""
        members = list(group if group is not None else self.ranks)
        comm = f"0x{0x5A00 + members[0] * 17 + len(members):016x}"
        for place, rank in enumerate(members):
            bus = self.device(rank).split(":")[1] + "000"
            text = (
                f"ncclCommInitRankConfig comm 0x55d0{rank:04x}60 rank {place} nranks {len(members)} cudaDev {self.local(rank)} "
                f"nvmlDev {self.local(rank)} busId {bus} commId {comm}"
            )
            self.nccl(rank, at + 0.1 * place, f"{text} - Init START")
            self.nccl(rank, at + 2 + 0.01 * place, f"{text} - Init COMPLETE")

    def steps(self, until: float, ranks: Iterable[int] | None = None, since: float = 10.0, every: float = STEP) -> None:
        """Print step lines of the ranks (default: all) until a time."""
        for rank in self.ranks if ranks is None else ranks:
            for number in range(int(since // every), int((until - since) // every) + int(since // every) + 1):
                at = since + (number - int(since // every)) * every + 0.013 * rank
                if at <= until:
                    self.log(rank, at, f"step {number + 1} loss {2.5 / (1 + 0.01 * number):.4f}")

    def quiet_kernels(self, until: float, *hosts: str) -> None:
        """Let the kernels of hosts (default: all) log harmless lines now and then."""
        for host in hosts or self.hosts:
            for number in range(int(until // 300) + 2):
                self.kernel(
                    host,
                    number * 300.0 + 1.0,
                    f"perf: interrupt took too long ({2500 + number} > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
                )

    def timeout(
        self,
        ranks: Iterable[int],
        stalled: float,
        *,
        seq: int = 8412,
        enqueued: Mapping[int, int] | int = 8413,
        completed: int | None = None,
        group: str = "0",
        name: str = "default_pg",
        members: Sequence[int] | None = None,
        ran: float = LIMIT,
        op: str = "ALLREDUCE",
    ) -> None:
        """Let ranks print that they waited from `stalled` on until the limit, their group's state, and that they go down."""
        order = list(members if members is not None else self.ranks)
        for rank in ranks:
            at, place = stalled + ran + 0.05 * rank, order.index(rank)
            last = enqueued if isinstance(enqueued, int) else enqueued[rank]
            tag = f"[PG ID {group} PG GUID {group}({name}) Rank {place}]"
            caught = (
                f"[Rank {place}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=16777216, "
                f"NumelOut=16777216, Timeout(ms)={int(ran * 1000)}) ran for {int(ran * 1000) + 20 + rank} milliseconds before timing out."
            )
            self.c10(rank, at, caught, where="ProcessGroupNCCL.cpp:632")
            status = f"PG status: last enqueued work: {last}, last completed work: {seq - 1 if completed is None else completed}"
            self.c10(
                rank,
                at + 0.01,
                f"{tag}  failure detected by watchdog at work sequence id: {seq} {status}",
                where="ProcessGroupNCCL.cpp:2271",
            )
            self.c10(rank, at + 0.02, f"{tag} First PG on this rank to signal dumping.", where="ProcessGroupNCCL.cpp:1682")
            self.down(rank, at + 61, tag, caught)

    def down(self, rank: int, at: float, tag: str, caught: str) -> None:
        """Let a rank go down after its watchdog found a failure."""
        self.c10(
            rank,
            at,
            f"[Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
            where="ProcessGroupNCCL.cpp:684",
        )
        self.c10(
            rank,
            at,
            f"[Rank {rank}] To avoid data inconsistency, we are taking the entire process down.",
            where="ProcessGroupNCCL.cpp:695",
        )
        self.c10(
            rank,
            at + 0.1,
            f"{tag} Process group watchdog thread terminated with exception: {caught}",
            where="ProcessGroupNCCL.cpp:1895",
        )
        self.say(rank, at + 0.1, "terminate called after throwing an instance of 'c10::DistBackendError'")
        self.say(rank, at + 0.1, f"  what():  {tag} Process group watchdog thread terminated with exception: {caught}")

    def signalled(
        self,
        rank: int,
        at: float,
        observer: int,
        enqueued: int,
        group: str = "0",
        name: str = "default_pg",
        place: int | None = None,
    ) -> None:
        """Let a rank that never joined answer the dump signal of an observer: it had enqueued and completed the same."""
        text = (
            f"[PG ID {group} PG GUID {group}({name}) Rank {rank if place is None else place}] Received a dump signal due to a collective "
            f"timeout from  rank {observer} and we will try our best to dump the debug info. Last enqueued NCCL work: {enqueued}, "
            f"last completed NCCL work: {enqueued}.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used "
            "across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run."
        )
        self.c10(rank, at, text, where="ProcessGroupNCCL.cpp:1746")

    def xid(self, rank: int, at: float, code: int, text: str, pid: int | None = None) -> None:
        """Let the driver report an Xid of the GPU of a rank, with the process where one is given."""
        who = f" pid={pid}, name=pt_main_thread," if pid is not None else ""
        self.kernel(self.host(rank), at, f"NVRM: Xid (PCI:{self.device(rank)}): {code},{who} {text}")

    def raised(self, rank: int, at: float, error: str, where: str = "loss.backward()") -> None:
        """Let a rank end with a traceback."""
        lines = (
            "Traceback (most recent call last):",
            '  File "/srv/job/train.py", line 214, in <module>',
            "    main()",
            '  File "/srv/job/train.py", line 171, in main',
            f"    {where}",
            error,
        )
        for line in lines:
            self.say(rank, at, f"[rank{rank}]: {line}")

    def peer_gone(self, ranks: Iterable[int], at: float, host: str) -> None:
        """Let ranks report that a host closed its connections."""
        for rank in ranks:
            self.nccl(
                rank,
                at + 0.02 * rank,
                f"misc/socket.cc:484 | socketProgress: Connection closed by remote peer {host}<{50000 + rank}>",
                "WARN",
            )
            work = "WorkNCCL(SeqNum=8412, OpType=ALLREDUCE, NumelIn=16777216, NumelOut=16777216, Timeout(ms)=600000)"
            why = "NCCL error: remote process exited or there was a network error, NCCL version 2.26.2"
            self.c10(
                rank,
                at + 1 + 0.02 * rank,
                f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: Collective {work} raised the following async exception: {why}",
                where="ProcessGroupNCCL.cpp:1895",
            )

    def worker_failed(self, rank: int, at: float, code: int) -> None:
        """Let the agent of a rank's host find it ended, stop the others of the host, and print its box."""
        host, local, pid = self.host(rank), self.local(rank), self.pid(rank)
        for other in self.on(host):
            if other != rank:
                self.agent(
                    host, at, f"Sending process {self.pid(other)} closing signal SIGTERM", "W", "elastic/multiprocessing/api.py:900"
                )
        self.agent(host, at + 0.2, f"failed (exitcode: {code}) local_rank: {local} (pid: {pid}) of binary: /opt/venv/bin/python")
        names = {-6: "SIGABRT", -7: "SIGBUS", -9: "SIGKILL", -11: "SIGSEGV"}
        trace = (
            f"Signal {-code} ({names[code]}) received by PID {pid}"
            if code in names
            else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )

        def box(t: datetime) -> str:
            return "\n".join(
                (
                    "============================================================",
                    "train.py FAILED",
                    "------------------------------------------------------------",
                    "Failures:",
                    "  <NO_OTHER_FAILURES>",
                    "------------------------------------------------------------",
                    "Root Cause (first observed failure):",
                    "[0]:",
                    f"  time      : {t:%Y-%m-%d_%H:%M:%S}",
                    f"  host      : {host}",
                    f"  rank      : {rank} (local_rank: {local})",
                    f"  exitcode  : {code} (pid: {pid})",
                    "  error_file: <N/A>",
                    f"  traceback : {trace}",
                    "============================================================",
                )
            )

        self.write(f"{host}/torchrun.log", host, at + 0.3, box)

    def oom(self, rank: int) -> str:
        """Return PyTorch's words about a failed allocation on the GPU of a rank."""
        return (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU {self.local(rank)} has a total capacity of 79.15 GiB "
            "of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.12 GiB memory in use. Of the allocated memory "
            "75.11 GiB is allocated by PyTorch, and 1.40 GiB is reserved by PyTorch but unallocated."
        )

    # ------------------------------------------------------------------ views

    def drop(self, *files: str) -> None:
        """Lose files."""
        for file in files:
            del self.files[file]

    def logs(self) -> dict[str, bytes]:
        """Return the files, each in the order of its writer's stamps."""
        return {name: _join(lines) for name, lines in self.files.items()}

    def merged(self) -> dict[str, bytes]:
        """Return the ranks' lines as one file, each behind its task number as `srun -l` writes it, and one journal of all kernels."""
        ranks: list[Line] = []
        kernels: list[Line] = []
        rest: dict[str, list[Line]] = {}
        for name, lines in self.files.items():
            if name.startswith("rank_"):
                rank = name.removeprefix("rank_").removesuffix(".log")
                ranks += [Line(x.stamp, x.order, f"{rank}: {x.text}") for x in lines]
            elif name.startswith("kern_") and self.kernel_style == "journald":
                kernels += lines
            else:
                rest[name] = lines
        found = {name: _join(lines) for name, lines in rest.items()}
        found["steps.out"] = _join(ranks)
        if kernels:
            found["journal.log"] = _join(kernels)
        return found


def _join(lines: Iterable[Line]) -> bytes:
    return "".join(f"{line.text}\n" for line in sorted(lines, key=lambda x: (x.stamp, x.order))).encode()


def _iso(t: datetime) -> str:
    return f"{t:%Y-%m-%d %H:%M:%S}"
