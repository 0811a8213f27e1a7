"""What the start of a text tells beyond its prefixes: who printed it, how bad it is, whether it continues the line before."""

from __future__ import annotations

import re
from typing import Final

from denpex_rules.prefix import HOST
from denpex_rules.rule import Kind, LogSeverity

# Tokens that an emitter puts in front of its own messages. A logger's message that quotes one has its own prefix before it.
_KERNEL: Final = (
    rb"NVRM: |nvidia-nvswitch\d*: |nvidia-nvlink: |nvidia-modeset: |nvidia-uvm: |\[drm|amdgpu[ :]|kfd kfd|mlx[45]_(?:core|ib)[ :]|"
    rb"Out of memory: Kill|Memory cgroup out of memory: Kill|oom-kill:constraint=|oom_reaper: |[^\s:]{1,64} invoked oom-killer: |"
    rb"INFO: task [^\n]{1,80} blocked for more than |watchdog: BUG: |rcu: |mce: |EDAC |Kernel panic - |BUG: (?:unable|soft|kernel)|"
    rb"Watchdog detected hard LOCKUP|pcieport |nvme nvme\d|i915 |xe \d{4}:|NETDEV WATCHDOG: |Memory failure: 0x|MCE: Killing |"
    rb"\{\d+\}\[Hardware Error\]|EXT4-fs (?:error|warning)|XFS \(|Buffer I/O error|blk_update_request: |LustreError: |bnxt_en |"
    rb"infiniband mlx|traps: |VFS: file-max|[^\s\[]{1,32}\[\d{1,10}\]: segfault at "
)
_AGENT: Final = (
    rb"torch\.distributed\.elastic\.multiprocessing\.(?:errors\.ChildFailedError|api\.SignalException)|"
    rb"torch\.distributed\.elastic\.(?:agent|rendezvous)|torch\.distributed\.elastic\.[\w.]{1,80}: \[[A-Z]{4,8}\] |"
    rb"torch/distributed/elastic/[\w/]{1,80}\.py:\d{1,5}\] |failed \(exitcode: -?\d{1,5}\) local_rank: \d|"
    rb"Sending process \d{1,10} closing signal |Root Cause \(first observed failure\):|Failures:$|\S{1,200} FAILED$|"
    rb"(?<=[ \t])(?:(?:time|host|rank|exitcode|error_file|traceback) {0,8}: |<NO_OTHER_FAILURES>)|"
    rb"(?:mpirun|mpiexec|prterun|orterun) |Primary job  terminated|=   BAD TERMINATION|MPI_ABORT was invoked"
)
_SCHEDULER: Final = rb"\*\*\* (?:STEP|JOB) \d|/var/spool/slurm"
_FABRIC: Final = rb"(?:nv-|nvidia-)?fabricmanager\b"
_RANK: Final = (
    rb"Watchdog caught collective operation timeout|ProcessGroup(?:NCCL|Gloo|MPI|XCCL|HCCL)|NET/(?:IB|OFI|Socket|Plugin) "
)
_KINDS: Final = (
    rb"(?P<kernel>"
    + _KERNEL
    + rb")|(?P<agent>"
    + _AGENT
    + rb")|(?P<scheduler>"
    + _SCHEDULER
    + rb")|(?P<fabric>"
    + _FABRIC
    + rb")|(?P<rank>"
    + _RANK
    + rb")"
)
_TOKENS: Final = re.compile(rb"[ \t]{0,64}+(?:" + _KINDS + rb")")


def kind_at(text: bytes, position: int) -> Kind | None:
    """Return the kind of the emitter whose own token stands at `position`, None where none does."""
    match = _TOKENS.match(text, position)
    return match.lastgroup if match else None  # type: ignore[return-value]  # the groups are named after kinds


_EXCEPTION: Final = rb"(?:[A-Za-z_]\w{0,80}\.){0,12}+(?:[A-Z]\w{0,80})?(?:Error|Exception|Interrupt|Exit|StackTrace)(?::(?: |$)|$)"
_LEVELS: Final = (
    rb"(?P<fatal>Fatal Python error|Segmentation fault|Bus error|Aborted \(core|terminate called|Kernel panic)"
    rb"|(?P<error>Traceback \(most recent|[Ee]rror: |Error (?=[^\n:]{1,200} at line \d)|traceback {0,8}: Signal \d|"
    rb"[A-Z]{3,10}(?: \w{1,20})? error: (?=[A-Za-z])|FAILED (?:\[[\d.]{1,12}s\] )?[\w./-]{1,300}\.py::|"
    rb"Parameters which did not receive grad for rank|\xe2\x94\x82 \xe2\x9d\xb1 )"
    rb"|(?P<quoted>(?:# |\"message\": {0,4}\")" + _EXCEPTION + rb")|(?P<warning>[Ww]arning: )"
)
_SEVERE: Final = re.compile(rb"[ \t]{0,64}+(?:" + _LEVELS + rb"|(?P<exception>" + _EXCEPTION + rb"))")
_BLOCKS: Final = (
    rb"\s*+$|[ \t]++(?!\d{1,3}%\|)\S|During handling of the above|The above exception was|frame #\d|Exception raised from |"
    rb"Root Cause \(first observed|Failures:$|\S{1,200} FAILED$|\[\d{1,7}\]:$|={10,}$|-{10,}$|(?:Current t|T)hread 0x|"
    rb"(?:CUDA|HIP) kernel errors might|For debugging consider passing|Compile with `|Device-side assert|Search for `cuda|~*\^\^|"
    rb"The actor is dead because its |Memory on the node \(IP: |"  # behind the lines of Ray's exceptions
    rb"\xe2\x94\x82 |\xe2\x95\xb0"
)
_CONTINUES: Final = re.compile(_BLOCKS + rb"|" + _EXCEPTION)
SPECIAL: Final = re.compile(_BLOCKS + rb"|[ \t]{0,64}+(?:" + _LEVELS + rb"|" + _KINDS + rb"|" + _EXCEPTION + rb")")


def plain(text: bytes, position: int) -> bool:
    """Whether the text from `position` has none of this module's marks: kind, severity, continuation. Faster than all three."""
    return SPECIAL.match(text, position) is None


# Messages in which a process says where it runs. Most numbers in messages are about others; these are known to be the printer's.
_OWN: Final = re.compile(
    rb"(?:Timed out initializing process group in store based barrier on rank:? |Parameters which did not receive grad for rank )"
    rb"(\d{1,7})|"
    rb"\bRank (\d{1,7})(?:: found NaN in local grad norm[^\n]{0,120}? node: |, node )(" + HOST + rb")|"
    rb" ; GPU=-?\d{1,10} ; hostname=(" + HOST + rb") ; "
)
_OWN_WORDS: Final = (b"on rank", b"for rank", b" node", b" ; GPU=")  # a message that says so has one of these
_OWN_WITHIN: Final = 2_000  # bytes of a message that are searched for them


def own_words(text: bytes, position: int) -> tuple[bytes | None, bytes | None]:
    """Return the rank and the host that the message at `position` gives as its printer's own; None for what it doesn't give."""
    if not any(text.find(word) >= 0 for word in _OWN_WORDS):
        return None, None  # much faster than the search
    match = _OWN.search(text, position, position + _OWN_WITHIN)
    return (match[1] or match[2], match[3] or match[4]) if match else (None, None)


def severity_at(text: bytes, position: int) -> LogSeverity | None:
    """Return how bad the text from `position` says it is by its own form (a traceback, an exception's last line, a crash)."""
    match = _SEVERE.match(text, position)
    if match is None:
        return None
    group = match.lastgroup
    if group == "fatal":
        return "fatal"
    return "warning" if group == "warning" else "error"


def continues(text: bytes, position: int) -> bool:
    """Whether the text from `position` continues the record before it: indented, blank, an exception's last line, a block's row."""
    return _CONTINUES.match(text, position) is not None
