"""How far a long scan has come, on standard error, where that is a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeElapsedColumn, TransferSpeedColumn

PATIENCE: Final = 1.0  # seconds; a scan that is over by then shows nothing


class Meter:
    """A bar with bytes and rate that appears when a scan takes long. Call it with what was read, and the bytes of all files."""

    def __init__(self) -> None:
        """Begin to wait."""
        self._begun = time.monotonic()
        self._read = 0
        self._stack = ExitStack()
        self._bar: Progress | None = None
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
            columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
            self._bar = self._stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            self._bar.add_task("reading", total=total)
        self._bar.update(self._bar.task_ids[0], completed=self._read, total=max(total, self._read))
