"""The prefixes that torch, the communication libraries, schedulers and daemons print themselves. They stay in the text."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from denpex_rules import stamps
from denpex_rules.prefix import CLOCK, DIGIT, HOST, MONTH, MONTHS, UPPER, WORD, Match, Prefixes, Registry, host_of, text_of

_FORMATS: Final = Registry()
leaf = partial(_FORMATS.add, "leaf")

_LETTERS = b"IWEFCDV"
_OWN_RANK = rb"(?:\[Rank (\d{1,7})\] |\[PG [^\]\n]{0,120}\(default_pg\) Rank (\d{1,7})\])"
_NCCL = rb"([^\s:\[\]]{1,255}):(\d{1,10}):\d{1,10} (?:\[\d{1,7}\] )?[^\n]{0,160}?NCCL (WARN|INFO|TRACE|CALL|ABORT)\b"

# The agent's own modules; `errors` runs in the workers too, and its handler prints there.
AGENT_MODULES: Final = re.compile(
    rb"torch[./]distributed[./](?:elastic|launcher|run\b|launch\b)(?![./]multiprocessing[./]errors)|"
    rb"\blaunch_utils\.py\b"  # Paddle's
)


def claim(rank: bytes | None, into: Prefixes) -> None:
    """Take a rank that the process says of itself; -1 is none."""
    if rank and rank.isdigit():
        into.rank = int(rank)
        into.tag = into.tag or f"rank{into.rank}"
        into.kind = into.kind or "rank"


def module(name: bytes, into: Prefixes) -> None:
    """Take the kind of a Python logger: the agent by its modules, unless a rank's prefix is in front; else a job's process."""
    if into.kind != "rank":
        agent = (name.find(b"torch") >= 0 or name.find(b"launch") >= 0) and AGENT_MODULES.search(name)
        into.kind = "agent" if agent else into.kind or "rank"


@leaf(
    "c10d",
    "[",
    _LETTERS,
    rb"\[([IWEFVCD])(?:(\d{3,4}) (" + CLOCK + rb")\.\d{9})? ([\w./-]{1,200}):\d{1,7}\] " + _OWN_RANK + rb"?",
    "[E1130 10:04:10.123456789 ProcessGroupNCCL.cpp:632] message",
    "severity, time to the second without year or zone; its fraction is false",
)
def _c10d(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    if m[2]:
        into.time(stamps.month_day(m[2], m[3]))
    if m[4].startswith(b"ProcessGroup"):
        into.kind = "rank"
    if into.rank is None:
        # torch before 2.2 prints no outer prefix: `[Rank r]` is the default group's rank, which is the global one. In a job that
        # makes sub-groups it can be a group's rank; there `[PG` (2.2 on) always comes with the outer prefix.
        claim(m[5] or m[6], into)


@leaf("what", "", b" ", rb" {1,4}what\(\): {1,40}" + _OWN_RANK + rb"?", "  what():  [Rank 3] message", "severity, rank")
def _what(m: Match, into: Prefixes) -> None:
    into.severity = "error"
    if into.rank is None:
        claim(m[1] or m[2], into)


@leaf(
    "glog",
    "",
    _LETTERS,
    rb"([IWEFCDV])((?:\d{4})?\d{4}) (" + CLOCK + rb")\.(\d{6}) {1,40}\d{1,20} ([^\s:\]]{1,300}):\d{1,7}\] ?",
    "E1130 10:04:10.123456 4242 torch/distributed/elastic/multiprocessing/api.py:12] message",
    "severity, time without zone, often without year",
)
def _glog(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    if m[2][-4:] != b"0000":
        into.time(stamps.glog(m[2], m[3], m[4]))
    if m[5].endswith(b".py"):
        module(m[5], into)


@leaf(
    "absl_early",
    "",
    _LETTERS,
    rb"([IWEF])0000 00:00:(\d{9,10})\.(\d{6}) {1,40}\d{1,20} [^\s\]]{1,300}\] ?",
    "E0000 00:00:1796033050.084614   25751 cuda_dnn.cc:10] message",
    "severity, time",
)
def _absl_early(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.epoch(m[2], m[3]))


@leaf("nccl", "", WORD, _NCCL, "node-07:4242:4300 [3] NCCL INFO message", "host, pid, severity; its [dev] is weak and not read")
@leaf(
    "nccl_stamped",
    "[iso",
    b"]",
    rb"\] ?" + _NCCL,
    "[2026-11-30 10:04:10] node-07:4242:4300 [3] misc/socket.cc:49 NCCL WARN message",
    "time without zone, host, pid, severity",
)
@leaf(
    "nccl_free",
    "[",
    DIGIT,
    rb"\[\d[\d :./_-]{3,40}\] ?" + _NCCL,
    "[10:04:10.789] node-07:4242:4300 [3] NCCL INFO message",
    "host, pid, severity; a stamp of the user's own form is not read",
)
def _nccl(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.pid = int(m[2])
    into.process = f"{into.host}:{into.pid}"
    into.level(m[3])
    into.kind = "rank"


@leaf("nccl_bare", "", b"N", rb"NCCL (WARN|INFO) ", "NCCL WARN message", "severity")
def _nccl_bare(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "rank"


@leaf(
    "ucx",
    "[",
    DIGIT,
    rb"\[(\d{10})\.(\d{6})\] \[(" + HOST + rb"):(\d{1,10}) {0,20}:\d{1,10}\] {1,40}\S{1,200} {1,40}UCX {1,40}([A-Z]{1,10}) {1,40}",
    "[1796033050.475958] [node-07:4242:0]  sock.c:325  UCX  ERROR message",
    "time, host, pid, severity",
)
def _ucx(m: Match, into: Prefixes) -> None:
    into.time(stamps.epoch(m[1], m[2]))
    into.host = host_of(m[3])
    into.pid = int(m[4])
    into.process = f"{into.host}:{into.pid}"
    into.level(m[5])
    into.kind = into.kind or "rank"


@leaf(
    "ucx_signal",
    "[",
    WORD,
    rb"\[(" + HOST + rb"):(\d{1,10}):\d{1,10}:\d{1,10}\] Caught signal \d+",
    "[node-07:4242:0:4300] Caught signal 11 (Segmentation fault)",
    "host, pid, severity",
)
def _ucx_signal(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.pid = int(m[2])
    into.process = f"{into.host}:{into.pid}"
    into.severity = "fatal"
    into.kind = into.kind or "rank"


@leaf(
    "crash_handler",
    "",
    b"*",
    rb"\*\*\* (?:SIG([A-Z]{2,8}) (?:\(@0x[0-9a-f]{1,16}\) )?received (?:at time=(\d{9,10})|by PID (\d{1,10}) )|"
    rb"Aborted at (\d{9,10}) \(unix time\))",
    "*** SIGSEGV received at time=1796033050 on cpu 7 ***",
    "time, pid, severity (the handlers of absl and glog)",
)
def _crash_handler(m: Match, into: Prefixes) -> None:
    stamp = m[2] or m[4]
    if stamp:
        into.time(stamps.epoch(stamp))
    if m[3]:
        into.pid = int(m[3])
    if m[1] != b"TERM":
        into.severity = "fatal"


@leaf(
    "ascend_code",
    "",
    b"E",
    rb"E[A-Z]\d{4}: (\d{4}-\d\d-\d\d-" + CLOCK + rb")\.(\d{3})\.(\d{3}) ",
    "EJ0001: 2026-11-30-10:04:10.123.456 message",
    "severity, time without zone",
)
def _ascend_code(m: Match, into: Prefixes) -> None:
    into.severity = "error"
    into.time(stamps.iso(m[1], m[2] + m[3]))
    into.kind = into.kind or "rank"


@leaf(
    "libfabric",
    "",
    b"l",
    rb"libfabric:(\d{1,10}):(\d{9,10})::[^\s<]{1,200}<([a-z]{1,10})> ",
    "libfabric:4242:1796033050::efa:cq:open():92<warn> message",
    "pid, time, severity",
)
def _libfabric(m: Match, into: Prefixes) -> None:
    into.pid = int(m[1])
    into.time(stamps.epoch(m[2]))
    into.level(m[3])
    into.kind = into.kind or "rank"


@leaf(
    "oneccl",
    "",
    DIGIT,
    rb"(\d{4}:\d\d:\d\d-" + CLOCK + rb"):\((\d{1,10})\) \|CCL_([A-Z]{1,10})\| ",
    "2026:11:30-10:04:10:(4242) |CCL_ERROR| message",
    "time without zone, pid, severity",
)
def _oneccl(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1]))
    into.pid = int(m[2])
    into.level(m[3])
    into.kind = into.kind or "rank"


@leaf(
    "ascend",
    "[",
    UPPER,
    rb"\[([A-Z]{4,8})\] (\d{4}-\d\d-\d\d-" + CLOCK + rb") \(PID:(\d{1,10}), Device:-?\d{1,6}, RankID:(-?\d{1,7})\) ",
    "[ERROR] 2026-11-30-10:04:10 (PID:4242, Device:3, RankID:3) ERR02200 message",
    "time without zone, pid, rank, severity",
)
def _ascend(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2]))
    into.pid = int(m[3])
    claim(m[4], into)


@leaf(
    "torch_failure",
    "",
    b" ",
    rb" {2}time {6}: (\d{4}-\d\d-\d\d)_(" + CLOCK + rb")$",
    "  time      : 2026-11-30_10:04:10",
    "time of a failure in the launcher's box, without zone",
)
def _failure(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1] + b" " + m[2]))
    into.kind = "agent"
    into.row = True


@leaf(
    "fabricmanager",
    "[",
    MONTHS,
    rb"\[(" + MONTH + rb") (\d\d) (\d{4}) (" + CLOCK + rb")\] \[([A-Z]{1,12})\] \[tid \d{1,20}\] ",
    "[Nov 30 2026 10:04:10] [ERROR] [tid 841] message",
    "time without zone, severity; fabric",
)
def _fabricmanager(m: Match, into: Prefixes) -> None:
    into.time(stamps.named(m[1], m[2], m[4], None, m[3]))
    into.level(m[5])
    into.kind = "fabric"


@leaf(
    "slurm",
    "",
    b"s",
    rb"(?:slurmstepd|slurmctld|slurmd|srun|sbatch|salloc)(?:-([\w.-]{1,255}))?: (?:(error|fatal|warning|info|debug\d?): )?"
    rb"(?:\*\*\* [^\n]{0,300}? ON (" + HOST + rb") CANCELLED AT (\d{4}-\d\d-\d\dT" + CLOCK + rb"))?",
    "slurmstepd: error: *** STEP 4711.0 ON node-07 CANCELLED AT 2026-11-30T10:04:10 ***",
    "severity, time without zone, host (where the message came from, not the cause); scheduler",
)
def _slurm(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.host = host_of(m[1])
        into.ident = into.host
    if m[2]:
        into.level(m[2])
    if m[4]:
        into.host = into.host or host_of(m[3])
        into.time(stamps.iso(m[4]))
    into.kind = "scheduler"


@leaf(
    "slurm_daemon",
    "[iso",
    b"]",
    rb"(?<=T\d\d:\d\d:\d\d\.\d{3})\] (?:\[[\w.]{1,40}\] )?(error|fatal|warning|info|verbose|debug\d?|sched): "
    rb"(?:\*\*\* [^\n]{0,300}? ON (" + HOST + rb") CANCELLED AT )?",
    "[2026-11-30T10:04:10.123] error: message",
    "time without zone, severity; scheduler",
)
def _slurm_daemon(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    if m[2]:
        into.host = into.host or host_of(m[2])
    into.kind = "scheduler"


@leaf(
    "ray_cpp",
    "[iso",
    b" ",
    rb" ([A-Z]) (\d{1,10}) \d{1,20}\] \(([^)\n]{1,100})\) (?:node_manager\.cc:\d{1,6}: [^\n(]{1,100}\([^\n(]{1,100}\)[^\n(]{1,200}"
    rb"\([^\n(]{1,100}\)[^\n(]{1,200} at node \(ID: \w{1,64}, IP: ([^\s,)]{1,64})\))?",
    "[2026-11-30 10:04:10,123 E 4242 4300] (raylet) node_manager.cc:3065: message",
    "time without zone, severity, pid; control for raylet and gcs_server",
)
def _ray_cpp(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.pid = int(m[2])
    into.process = f"{text_of(m[3])} pid={into.pid}"
    if m[3] in {b"raylet", b"gcs_server", b"autoscaler"}:
        into.kind = "control"
    if m[4]:
        into.host = host_of(m[4])


@leaf(
    "k8s_event",
    "",
    DIGIT,
    rb"(?:\d{1,6}[smhd])+ {2,20}(Normal|Warning) {2,20}\w{1,60} {2,40}[a-z]{1,40}/\S{1,300}",
    "4m11s       Warning   Evicted               pod/train-3    message",
    "severity; control",
)
def _event(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "control"


@leaf(
    "ft_launcher",
    "[iso",
    b"]",
    rb"\] \[([A-Z]{1,12})\] \[(?:ft_launcher(\d{1,10})@([^\]\s]{1,255})|RankMonitorServer:\d{1,6})\] ",
    "[2026-11-30 10:04:10,123] [INFO] [ft_launcher4242@node-07] message",
    "time without zone, severity, pid, host; agent",
)
def _ft_launcher(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "agent"
    if m[2]:
        into.pid = int(m[2])
        into.host = host_of(m[3])
        into.process = f"ft_launcher {into.host}"


LEAVES: Final = tuple(_FORMATS.formats)
