"""Something to do on one rank, or on all, at one step of a job: read from the environment variable STEP_HOOK."""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import torch
import torch.distributed as dist

log = logging.getLogger("train")
MEBI = 2**20


def attempt() -> int:
    """How often torchrun has restarted the workers."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


@dataclass
class StepHook:
    """Run `action` at step `step` (0: before the process group exists), after noting this process and the instant in `folder`."""

    rank: int = -1
    step: int = -1
    action: str = "none"
    seconds: float = 0.0
    folder: str = ""
    victim: int | None = None
    attempts: int = 99
    workers: int = 0
    stacks: float = 0.0
    barrier: float = 0.0
    replaced: str | None = field(default=None, init=False)

    @classmethod
    def from_environment(cls, rank: int) -> StepHook:
        """Read the hook of this process, and note its pid."""
        options = json.loads(os.environ.get("STEP_HOOK", "{}"))
        hook = cls(rank=rank, **options)
        hook._write("pid")
        if hook.step == 0:
            hook(0)
        return hook

    @property
    def mine(self) -> bool:
        """Whether this process is the victim, or one of all, in an attempt that counts."""
        return self.victim in (None, self.rank) and attempt() < self.attempts

    def __call__(self, step: int) -> None:
        """Act if this is the step."""
        self.replaced = None
        if self.stacks and step > 0:
            faulthandler.dump_traceback_later(self.stacks)
        if step == self.step and self.mine and self.action not in ITEM_ACTIONS:
            self._write("note")
            if self.action in COLLECTIVE_ACTIONS:
                self.replaced = self.action
            else:
                ACTIONS[self.action](self)
        if self.barrier and step == self.step:
            dist.monitored_barrier(timeout=timedelta(seconds=self.barrier))

    def item(self, step: int) -> None:
        """Act in the loading of the batch of a step."""
        if step == self.step and self.mine and self.action in ITEM_ACTIONS:
            self._write("note")
            ITEM_ACTIONS[self.action](self)

    def reduce(self, tensor: torch.Tensor) -> None:
        """Average a gradient over all ranks, or do what this step has in its place."""
        replaced, self.replaced = self.replaced, None
        if replaced is None:
            dist.all_reduce(tensor)
        else:
            COLLECTIVE_ACTIONS[replaced](tensor)

    def _write(self, kind: str) -> None:
        if not self.folder:
            return
        note = {
            "rank": self.rank,
            "pid": os.getpid(),
            "parent": os.getppid(),
            "node": int(os.environ.get("NODE", "0")),
            "attempt": attempt(),
            "instant": datetime.now(UTC).isoformat(),
        }
        target = Path(self.folder) / f"{kind}-{self.rank}-{attempt()}.json"
        partial = target.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(note))
        partial.rename(target)


# ------------------------------------------------------------------ what a program does wrong


def check_columns(hook: StepHook) -> None:
    """Find a batch that is not as expected."""
    raise ValueError(f"batch {hook.step} has 7 columns, expected 8")


def check_range(hook: StepHook) -> None:
    """Assert what does not hold."""
    low, high = 3, 2
    assert low < high, f"empty range [{low}, {high})"


def check_loss(hook: StepHook) -> None:
    """Stop at a loss that is no number."""
    loss = torch.tensor(float("inf")) * 0
    if not torch.isfinite(loss):
        raise FloatingPointError(f"loss is {loss.item()} at step {hook.step}")


def walk(node: dict[str, object]) -> object:
    """Follow a cycle."""
    return walk(node["next"])  # type: ignore[arg-type]


def walk_cycle(hook: StepHook) -> None:
    """Recurse without end."""
    node: dict[str, object] = {}
    node["next"] = node
    walk(node)


def project(hook: StepHook) -> None:
    """Feed a layer what does not fit."""
    torch.nn.Linear(8, 2)(torch.randn(32, 7))


def allocate(hook: StepHook) -> None:
    """Ask for more memory than the process may have."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 256 * MEBI, resource.RLIM_INFINITY))
    torch.zeros(64, 1024, 1024, 4)


def open_shards(hook: StepHook) -> None:
    """Open more files than the process may have."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    opened = [Path("/dev/null").open() for _ in range(100)]  # noqa: SIM115 - they stay open on purpose
    log.info("%d shards open", len(opened))


def save_state(hook: StepHook) -> None:
    """Write a checkpoint to a file system that is too small for it."""
    target = Path(os.environ["CHECKPOINTS"]) / f"rank_{hook.rank}.pt"
    with target.open("wb") as file:
        file.write(torch.randn(MEBI).numpy().tobytes())


def save_torch(hook: StepHook) -> None:
    """Write a checkpoint with torch.save to a file system that is too small for it."""
    torch.save({"weight": torch.randn(MEBI)}, Path(os.environ["CHECKPOINTS"]) / f"rank_{hook.rank}.pt")


def load_state(hook: StepHook) -> None:
    """Resume from a checkpoint."""
    path = Path(os.environ["CHECKPOINTS"]) / f"rank_{hook.rank}.pt"
    log.info("resuming from %s", path)
    torch.load(path)


def load_damaged(hook: StepHook) -> None:
    """Resume from a checkpoint that was cut off."""
    path = Path(os.environ["CHECKPOINTS"]) / f"rank_{hook.rank}.pt"
    torch.save({"weight": torch.randn(4096)}, path)
    with path.open("r+b") as file:
        file.truncate(9000)
    load_state(hook)


def load_extension(hook: StepHook) -> None:
    """Import what is not installed."""
    importlib.import_module("fused_ops")


def use_device(hook: StepHook) -> None:
    """Use a device that is not there."""
    torch.zeros(1, device="cuda")


def take_lock_twice(hook: StepHook) -> None:
    """Wait for oneself."""
    lock = threading.Lock()
    with lock, lock:
        log.info("never")


def stop_in_worker_thread(hook: StepHook) -> None:
    """Let a helper thread fail; nobody waits for it."""
    thread = threading.Thread(target=check_columns, args=(hook,))
    thread.start()
    thread.join()


def retry(hook: StepHook) -> None:
    """Fail twice, log both with their traceback, and succeed."""
    for turn in range(2):
        try:
            check_columns(hook)
        except ValueError:
            log.exception("could not read shard %d, attempt %d of 3, trying again", hook.step, turn + 1)
    log.info("shard %d read", hook.step)


def warn(hook: StepHook) -> None:
    """Print warnings with frightening words."""
    warnings.warn("Error rate of cache lookups is high: 12 failed, 0 fatal", stacklevel=2)
    log.warning("connection to metrics server lost: [Errno 111] Connection refused; metrics are kept and sent later")
    log.warning("gradient norm is nan or inf in 1 of 40 steps, step left out")
    log.error("could not upload profile (HTTP 503), giving up on the profile; training goes on")


def mismatched_gather(hook: StepHook) -> None:
    """Join the others' next collective with one of another kind and size."""
    dist.all_reduce(torch.zeros(3))


def parse(hook: StepHook) -> None:
    """Meet an option that does not exist."""
    sys.stderr.write("usage: train.py [-h] [--steps STEPS]\ntrain.py: error: unrecognized arguments: --warmup 100\n")
    sys.exit(2)


def broadcast(tensor: torch.Tensor) -> None:
    dist.broadcast(tensor, src=dist.get_rank())


def reduce_more(tensor: torch.Tensor) -> None:
    dist.all_reduce(torch.zeros(4 * tensor.numel()))


COLLECTIVE_ACTIONS: dict[str, Callable[[torch.Tensor], None]] = {
    "broadcast": broadcast,
    "reduce_more": reduce_more,
    "skip": lambda tensor: None,
}
ITEM_ACTIONS: dict[str, Callable[[StepHook], object]] = {
    "item_kill": lambda hook: os.kill(os.getpid(), signal.SIGKILL),
    "item_raise": check_columns,
    "item_wait": lambda hook: time.sleep(hook.seconds),
}
ACTIONS: dict[str, Callable[[StepHook], object]] = {
    "none": lambda hook: None,
    "raise": check_columns,
    "assert": check_range,
    "nan": check_loss,
    "recurse": walk_cycle,
    "shape": project,
    "allocate": allocate,
    "files": open_shards,
    "fill": save_state,
    "fill_torch": save_torch,
    "load": load_state,
    "load_damaged": load_damaged,
    "import": load_extension,
    "device": use_device,
    "options": parse,
    "lock": take_lock_twice,
    "thread": stop_in_worker_thread,
    "retry": retry,
    "warn": warn,
    "extra": mismatched_gather,
    "sleep": lambda hook: time.sleep(hook.seconds),
    "leave": lambda hook: os._exit(0),
    "leave_7": lambda hook: os._exit(7),
    "exit": lambda hook: sys.exit(3),
    "exit_0": lambda hook: sys.exit(0),
    "read_null": lambda hook: ctypes.string_at(0),
    "bus": lambda hook: signal.raise_signal(signal.SIGBUS),
    "abort": lambda hook: os.abort(),
}
