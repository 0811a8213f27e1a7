"""How far a long scan has come, on standard error, where that is a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Self

PATIENCE: Final = 1.0  # seconds; a scan that is over by then shows nothing

_CONSOLE: Final = "rich.console"  # imported where a bar is shown
_PROGRESS: Final = "rich.progress"


class Meter:
    """A bar with bytes and rate that appears when a scan takes long. Call it with what was read, and the bytes of all files."""

    def __init__(self) -> None:
        """Begin to wait."""
        self._begun = time.monotonic()
        self._read = 0
        self._stack = ExitStack()
        self._bar: Any = None
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def __call__(self, size: int, total: int) -> None:
        """Take that so many more bytes were read, of files that hold `total`; unpacked there may be more."""
        self._read += size
        if not self._live or time.monotonic() - self._begun < PATIENCE:
            return
        if self._bar is None:
            rich = import_module(_PROGRESS)
            columns = (rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn(), rich.TimeElapsedColumn())
            console = import_module(_CONSOLE).Console(stderr=True)
            self._bar = self._stack.enter_context(rich.Progress(*columns, console=console, transient=True))
            self._bar.add_task("reading", total=total)
        self._bar.update(self._bar.task_ids[0], completed=self._read, total=max(total, self._read))
