"""What people would use instead, on the same bytes with the same literals."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

Answer = dict[str, Any]

SEC_BYTES = 5_000_000  # more would take it too long
SEC_RULES = r"""
type=Single
ptype=RegExp
pattern=CUDA out of memory\. Tried to allocate
desc=out of memory
action=none

type=Single
ptype=RegExp
pattern=NVRM: Xid \(PCI:[0-9a-f:.]+\): (\d+)
desc=Xid $1
action=none

type=Single
ptype=RegExp
pattern=Watchdog caught collective operation timeout
desc=timeout
action=none
"""


class Peers:
    """The commands that are installed, over one set of literals."""

    def __init__(self, literals: list[str], folder: Path) -> None:
        """Write the literals, one a line, and SEC's rules, into a folder."""
        self._literals = folder / "literals.txt"
        self._literals.write_bytes(b"".join(text.encode() + b"\n" for text in literals if "\n" not in text))
        self._rules = folder / "sec.conf"
        self._rules.write_text(SEC_RULES)
        self._slice = folder / "slice.log"

    def names(self) -> list[str]:
        """Return those that are installed."""
        return [name for name in ("grep", "rg", "sec") if shutil.which(name)]

    def missing(self) -> list[str]:
        """Return those that are not."""
        return [name for name in ("grep", "rg", "sec") if not shutil.which(name)]

    def run(self, name: str, logs: Path, size: int) -> Answer:
        """Run one over a folder of logs that hold so many bytes, unpacked; return its processor time."""
        packed = any(path.suffix == ".gz" for path in logs.iterdir())
        if name == "sec":
            size = min(size, SEC_BYTES)
            self._cut(logs, size)
            command = ["sec", f"--conf={self._rules}", f"--input={self._slice}", "--notail", "--quiet"]
        elif name == "rg":
            command = ["rg", "--count", "--fixed-strings", "--no-ignore", "--text", "--threads", "1", "--file", str(self._literals)]
            command += ["--search-zip"] if packed else []
            command += [str(logs)]
        elif packed:
            command = ["sh", "-c", f"gzip -dc '{logs}'/* | grep -a -c -F -f '{self._literals}'"]
        else:
            command = ["grep", "-r", "-a", "-c", "-F", "-f", str(self._literals), str(logs)]
        return {**measured(command), "bytes": size}

    def _cut(self, logs: Path, size: int) -> None:
        """Put the first bytes of logs into one file: SEC reads no compressed ones."""
        unpacked = "gzip -dcf" if any(path.suffix == ".gz" for path in logs.iterdir()) else "cat"
        subprocess.run(["sh", "-c", f"{unpacked} '{logs}'/* | head -c {size} > '{self._slice}'"], check=True)


def measured(command: list[str]) -> Answer:
    """Run a command and return the processor time, user and system, of it and of what it started, and the wall time."""
    environment = {**os.environ, "LC_ALL": "C"}
    with tempfile.TemporaryFile() as said:  # no /dev/null: grep would see it, and stop at the first match
        begun = time.perf_counter()
        started = subprocess.Popen(command, env=environment, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(started.pid, 0)
        wall = time.perf_counter() - begun
        started.returncode = os.waitstatus_to_exitcode(status)
        if started.returncode not in {0, 1}:  # 1: nothing was found
            said.seek(0)
            raise SystemExit(f"{' '.join(command)} failed: {said.read(300).decode(errors='replace')}")
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall}
