"""Something to do on one rank at one step, read from the environment variable STEP_HOOK."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class StepHook:
    """Run `action` at step `step`, after noting this process and the instant in the file `note`."""

    step: int | None = None
    action: str = "none"
    seconds: float = 0.0
    note: str = ""

    @classmethod
    def from_environment(cls, rank: int) -> StepHook:
        """Read the hook; one that is meant for another rank does nothing."""
        options = json.loads(os.environ.get("STEP_HOOK", "{}"))
        return cls(**options) if options.pop("rank", None) == rank else cls()

    def __call__(self, step: int) -> None:
        """Act if this is the step."""
        if step == self.step:
            self._write_note()
            ACTIONS[self.action](self)

    def _write_note(self) -> None:
        note = {"pid": os.getpid(), "instant": datetime.now(UTC).isoformat()}
        partial = Path(self.note).with_suffix(".partial")
        partial.write_text(json.dumps(note))
        partial.rename(self.note)


def check_columns(hook: StepHook) -> None:
    """Fail as user code does."""
    raise ValueError(f"batch {hook.step} has 7 columns, expected 8")


ACTIONS: dict[str, Callable[[StepHook], object]] = {
    "none": lambda hook: None,
    "raise": check_columns,
    "sleep": lambda hook: time.sleep(hook.seconds),
    "leave": lambda hook: os._exit(0),
    "exit": lambda hook: sys.exit(3),
    "read_null": lambda hook: ctypes.string_at(0),
    "abort": lambda hook: os.abort(),
}
