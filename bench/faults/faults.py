"""The faults that the benchmark injects: what happens, to whom, under which launchers, and what is true of it afterwards."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final

RANKS = 4
STEPS = 30
PACE = 0.12
TIMEOUT = 8.0

LAUNCHERS: Final = ("torchrun", "two_agents", "two_agents_static", "ddp", "trainer", "lightning", "lightning_alone")
"""One torchrun; two agents that meet by c10d or statically; DDP; two frameworks under torchrun; Lightning's own launcher."""

EVERY: Final = LAUNCHERS[:6]
PLAIN: Final = LAUNCHERS[:4]
LOOPS: Final = ("torchrun", "two_agents", "ddp")
BY_HAND: Final = ("torchrun", "two_agents")

PYTHON: Final = ("train.python_exception",)
HANG: Final = ("collective.missing_rank", "collective.straggler", "collective.timeout", "collective.host_stall")
STOPPED: Final = ("sched.*", "train.planned_exit", "launcher.sigterm_cascade")


@dataclass(frozen=True)
class Fault:
    """What is done, and what is true of it.

    `expect` is whom a reader of the logs should hold responsible: `rank` (the victim), `all` (every rank failed by itself),
    `nobody` (somebody ended the job), `agent` (a launcher was killed, and no rank failed), `recovered` (the victim, or nobody: the
    job went on), `healthy`.
    """

    launchers: tuple[str, ...]
    classes: tuple[str, ...] = ()
    action: str = "none"
    expect: str = "rank"
    signal: int | None = None
    target: str = "victim"
    seconds: float = 0.0
    at_start: bool = False
    record: bool = False
    restarts: int = 0
    attempts: int = 99
    workers: int = 0
    stacks: float = 0.0
    barrier: float = 0.0
    detail: bool = False
    disk: bool = False


LONG = 5 * TIMEOUT

FAULTS: Final = {
    # a process ends
    "kill": Fault((*EVERY, "lightning_alone"), ("host.process_killed",), signal=signal.SIGKILL),
    "term": Fault(LOOPS, ("launcher.*", "collective.missing_rank", "sched.*", "host.*"), signal=signal.SIGTERM),
    "segv": Fault(EVERY, ("host.native_crash",), "read_null"),
    "bus": Fault(BY_HAND, ("host.native_crash",), "bus"),
    "abort": Fault(EVERY, ("host.native_crash",), "abort"),
    "exit_0": Fault((*LOOPS, "trainer"), ("collective.missing_rank", "train.planned_exit"), "exit_0"),
    "exit_3": Fault((*EVERY, "lightning_alone"), ("collective.missing_rank", "launcher.worker_failed"), "exit"),
    "leave_0": Fault((*EVERY, "lightning_alone"), ("collective.missing_rank", "train.planned_exit"), "leave"),
    "leave_7": Fault(PLAIN, ("collective.missing_rank", "launcher.worker_failed"), "leave_7"),
    # the program is wrong
    "exception": Fault((*EVERY, "lightning_alone"), PYTHON, "raise"),
    "exception_recorded": Fault(BY_HAND, PYTHON, "raise", record=True),
    "assertion": Fault(BY_HAND, PYTHON, "assert"),
    "recursion": Fault(LOOPS, PYTHON, "recurse"),
    "shape": Fault((*LOOPS, "trainer", "lightning"), (*PYTHON, "train.graph_error"), "shape"),
    "import": Fault((*LOOPS, "trainer"), (*PYTHON, "train.*"), "import", at_start=True),
    "device": Fault(LOOPS, (*PYTHON, "gpu.*"), "device"),
    "interrupted_rank": Fault(BY_HAND, (*PYTHON, "train.planned_exit", "sched.cancelled", "launcher.*"), signal=signal.SIGINT),
    "nan_all": Fault((*EVERY[:2], *EVERY[3:]), ("train.nan_loss", *PYTHON), "nan", "all"),
    "options_all": Fault(("torchrun", "two_agents_static"), (*PYTHON, "launcher.worker_failed"), "options", "all", at_start=True),
    # the host runs out of something
    "memory": Fault((*LOOPS, "trainer", "lightning"), ("host.alloc_failure", "host.*"), "allocate"),
    "disk_full": Fault((*LOOPS, "trainer"), ("storage.full_or_quota",), "fill", disk=True),
    "disk_full_torch": Fault(BY_HAND, ("storage.*",), "fill_torch", disk=True),
    "files": Fault(BY_HAND, ("host.fd_limit",), "files"),
    # checkpoints
    "checkpoint_broken": Fault((*LOOPS, "lightning"), ("storage.checkpoint_corrupt",), "load_damaged"),
    "checkpoint_missing": Fault((*LOOPS, "trainer"), (*PYTHON, "storage.*"), "load"),
    "checkpoint_missing_all": Fault(("torchrun", "two_agents_static"), (*PYTHON, "storage.*"), "load", "all"),
    # a rank hangs
    "stop": Fault((*EVERY, "lightning_alone"), HANG, signal=signal.SIGSTOP),
    "sleep": Fault(EVERY, HANG, "sleep", seconds=LONG),
    "late": Fault(LOOPS, HANG, "sleep", seconds=1.5 * TIMEOUT),
    "lock": Fault(LOOPS, HANG, "lock"),
    "lock_stacks": Fault(BY_HAND, HANG, "lock", stacks=TIMEOUT - 3),
    "barrier": Fault(BY_HAND, HANG, "sleep", seconds=LONG, barrier=TIMEOUT / 2),
    # collectives
    # under DDP torch 2.13.0 itself crashes all ranks at this level of debugging, before any step
    "extra_collective": Fault(BY_HAND, ("collective.*",), "extra", detail=True),
    "other_collective": Fault(BY_HAND, ("collective.*",), "broadcast", detail=True),
    "other_size": Fault(BY_HAND, ("collective.*",), "reduce_more", detail=True),
    "other_size_plain": Fault(BY_HAND, ("collective.*",), "reduce_more"),
    "skip_collective": Fault(BY_HAND, ("collective.*",), "skip", detail=True),
    # data loading
    "loader_killed": Fault(LOOPS, ("data.worker_killed",), "item_kill", workers=1),
    "loader_raises": Fault(LOOPS, ("data.worker_exception",), "item_raise", workers=1),
    "loader_stuck": Fault(LOOPS, (*HANG, "data.loader_stall"), "item_wait", seconds=LONG, workers=1),
    # launchers
    "agent_term": Fault(EVERY, STOPPED, expect="nobody", signal=signal.SIGTERM, target="agents"),
    "agent_int": Fault(EVERY, STOPPED, expect="nobody", signal=signal.SIGINT, target="groups"),
    "one_agent_term": Fault(("two_agents", "two_agents_static"), STOPPED, expect="nobody", signal=signal.SIGTERM, target="agent"),
    "agent_kill": Fault(
        ("torchrun", "two_agents", "two_agents_static"),
        ("store.server_lost", "launcher.*", "net.*", "sched.node_failed"),
        expect="agent",
        signal=signal.SIGKILL,
        target="agent",
    ),
    "recurring": Fault(("torchrun", "two_agents", "ddp"), PYTHON, "raise", restarts=1),
    "recurring_kill": Fault(BY_HAND, ("host.native_crash",), "read_null", restarts=1),
    "recovered": Fault(("torchrun", "two_agents", "ddp"), PYTHON, "raise", "recovered", restarts=1, attempts=1),
    # nothing fails
    "healthy": Fault((*EVERY, "lightning_alone"), expect="healthy"),
    "slow": Fault(EVERY, action="sleep", expect="healthy", seconds=TIMEOUT / 2),
    "retried": Fault((*EVERY[:2], *EVERY[3:]), action="retry", expect="healthy"),
    "warnings": Fault(LOOPS, action="warn", expect="healthy"),
    "thread": Fault(BY_HAND, action="thread", expect="healthy"),
}
