"""Texts that make a line more than a prefix and a message: another record inside of it, JSON, control characters."""

from __future__ import annotations

import re
import string
from typing import Final

# What makes a line more than its prefix and a message, wherever it stands behind the prefix.
CARE: Final[tuple[bytes, ...]] = (
    b"\x1b",
    b"\r",
    b"\0",
    b'{"',
    b"it/s",
    b"s/it",
    b"[repeated ",
    b"(most recent call ",
    b"*ERROR*",
    b"kernel: [",
    b" ; hostname=",
    b"Caught signal ",
    *(b"[%c%c" % pair for letter in b"IWEFC" for pair in ((letter, second) for second in b" 0123456789")),
)

# The same, but not at the start of a line: there it is a prefix. No literal: with any byte before it, it would slow an automaton.
GLUED: Final = b"[rank"

# What `marks` can know a message by, other than by its first character: of no matter behind a logger that tells kind and severity.
MARKS: Final[tuple[bytes, ...]] = (
    b"During handling of the above",
    b"The above exception was",
    b"frame #",
    b"Exception",
    b"Root Cause (first observed",
    b"Failures:",
    b" FAILED",
    b"hread 0x",
    b" kernel errors might",
    b"For debugging consider passing",
    b"Compile with `",
    b"Device-side assert",
    b"Search for `cuda",
    b"^^",
    b"The actor is dead because its ",
    b"Memory on the node (IP: ",
    b"FAILED ",
    b"rror: ",
    b"Error",
    b"Interrupt",
    b"Exit",
    b"StackTrace",
    b"arning: ",
    b"Fatal Python error",
    b"Segmentation fault",
    b"Bus error",
    b"Aborted (core",
    b"terminate called",
    b"Kernel panic",
    b"Traceback (most recent",
    b"traceback",
    b"Parameters which did not receive grad for rank",
    b" error: ",
    b"NVRM: ",
    b"nvidia-nvswitch",
    b"nvidia-nvlink: ",
    b"nvidia-modeset: ",
    b"nvidia-uvm: ",
    b"[drm",
    b"amdgpu",
    b"kfd kfd",
    b"Out of memory: Kill",
    b"Memory cgroup out of memory: Kill",
    b"oom-kill:constraint=",
    b"oom_reaper: ",
    b" invoked oom-killer: ",
    b" blocked for more than ",
    b"watchdog: BUG: ",
    b"rcu: ",
    b"mce: ",
    b"EDAC ",
    b"BUG: ",
    b"Watchdog detected hard LOCKUP",
    b"pcieport ",
    b"nvme nvme",
    b"i915 ",
    b"NETDEV WATCHDOG: ",
    b"Memory failure: 0x",
    b"MCE: Killing ",
    b"}[Hardware Error]",
    b"EXT4-fs ",
    b"XFS (",
    b"Buffer I/O error",
    b"blk_update_request: ",
    b"LustreError: ",
    b"bnxt_en ",
    b"infiniband mlx",
    b"traps: ",
    b"VFS: file-max",
    b"]: segfault at ",
    b"torch.distributed.elastic.",
    b"torch/distributed/elastic/",
    b"failed (exitcode: ",
    b"Sending process ",
    b"<NO_OTHER_FAILURES>",
    b"mpirun",
    b"mpiexec",
    b"prterun",
    b"orterun",
    b"Primary job  terminated",
    b"=   BAD TERMINATION",
    b"MPI_ABORT was invoked",
    b"*** STEP ",
    b"*** JOB ",
    b"/var/spool/slurm",
    b"fabricmanager",
    b"Watchdog caught collective operation timeout",
    b"ProcessGroup",
    b"NET/",
)

# What a message may begin with; and an opening bracket, with no digit behind it. `marks` knows others by their first character.
FIRST: Final = (string.ascii_letters + string.digits + "_\"'(<>*/.|$@+&:,;!?%").encode() + bytes({*range(0x80, 0x100)} - {0xE2})

# What it must not begin with: words that are too common to look for everywhere.
NEVER: Final = (b"time", b"host", b"rank", b"exitcode", b"error_file", b"traceback", b"xe ", b"mlx4_", b"mlx5_")

# Both as a regex.
BEGINS: Final = b"(?=[%s]|\\[(?!\\d))(?!%s)" % (re.escape(FIRST), b"|".join(NEVER))

# By what a message of an error may tell whose it is.
OWN: Final = (b"on rank", b"for rank", b" node", b" ; GPU=")
