"""The prefixes that launchers, containers, syslog and the kernel's log put in front of a line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from denpex_rules import stamps
from denpex_rules.prefix import (
    CLOCK,
    CTIME,
    DIGIT,
    HOST,
    ISO,
    LOWER,
    MONTH,
    UPPER,
    WORD,
    ZONE,
    Format,
    Match,
    Prefixes,
    host_of,
    text_of,
)
from denpex_rules.rule import Kind

# Programs whose lines in a host's log tell what they are. A program that is not here may be a rank.
PROGRAMS: Final[dict[bytes, Kind]] = {
    b"kernel": "kernel",
    b"slurmd": "scheduler",
    b"slurmctld": "scheduler",
    b"slurmstepd": "scheduler",
    b"srun": "scheduler",
    b"sbatch": "scheduler",
    b"nv-fabricmanager": "fabric",
    b"nvidia-fabricmanager": "fabric",
    b"fabricmanager": "fabric",
    b"opensm": "fabric",
    b"kubelet": "control",
    b"containerd": "control",
    b"dockerd": "control",
    b"crond": "control",
    b"CRON": "control",
    b"cron": "control",
    b"sshd": "control",
    b"sudo": "control",
    b"systemd": "control",
    b"systemd-logind": "control",
    b"systemd-networkd": "control",
    b"systemd-journald": "control",
    b"systemd-oomd": "control",
    b"nvidia-persistenced": "control",
    b"nv-hostengine": "control",
    b"rsyslogd": "control",
    b"gpud": "control",
}

_IDENT = rb"(" + HOST + rb") ([^\s:\[]{1,128})(?:\[(\d{1,10})\])?: ?"


@lru_cache(maxsize=4096)
def _named_program(host: bytes, ident: bytes, pid: bytes | None) -> tuple[str, str, Kind | None]:
    name = ident.removesuffix(b".service")
    short = host_of(host)
    return short, f"{short}/{text_of(name)}" + (f"[{int(pid)}]" if pid else ""), PROGRAMS.get(name)


def _program(into: Prefixes, host: bytes, ident: bytes, pid: bytes | None) -> None:
    into.host, into.ident, into.kind = _named_program(host, ident, pid)
    if pid:
        into.pid = int(pid)
    into.program = True


def _journal_bsd(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.priority(m[1])
    month = m[2].removesuffix(b"\xe6\x9c\x88")
    into.time(stamps.named(month, m[3], m[4], m[5]))
    _program(into, m[6], m[7], m[8])


def _journal_iso(m: Match, into: Prefixes) -> None:
    _program(into, m[1], m[2] or m[3], m[4])


def _journal_iso_bare(m: Match, into: Prefixes) -> None:
    _program(into, m[1], m[2], m[3])


def _journal_full(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1], None, m[2]))
    _program(into, m[3], m[4], m[5])


def _journal_unix(m: Match, into: Prefixes) -> None:
    into.time(stamps.epoch(m[1], m[2]))
    _program(into, m[3], m[4], m[5])


def _journal_mono(m: Match, into: Prefixes) -> None:
    into.time(stamps.uptime(m[1], m[2], into.hints.domain))
    _program(into, m[3], m[4], m[5])


def _rfc5424(m: Match, into: Prefixes) -> None:
    into.priority(m[1])
    stamp = _RFC3339.fullmatch(m[2])
    if stamp:
        into.time(stamps.iso(stamp[1], stamp[2], stamp[3]))
    if m[3] != b"-":
        pid = m[5] if m[5].isdigit() and len(m[5]) <= 10 else None
        _program(into, m[3], m[4], pid)


_RFC3339 = re.compile(ISO + ZONE)


def _dmesg(m: Match, into: Prefixes) -> None:
    if into.stamp is None:  # syslog's own stamp in front of it compares with more
        into.time(stamps.uptime(m["seconds"], m["micros"], into.hints.domain))
    into.kind = "kernel"


def _dmesg_level(m: Match, into: Prefixes) -> None:
    if m["pri"]:
        into.priority(m["pri"])
    else:
        into.level(m["level"])
    _dmesg(m, into)


def _dmesg_ctime(m: Match, into: Prefixes) -> None:
    into.time(stamps.named(m[1], m[2].strip(), m[3], None, m[4]))
    into.kind = "kernel"


def _dmesg_iso(_m: Match, into: Prefixes) -> None:
    into.kind = "kernel"


def _dmesg_minute(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.time(stamps.to_minute(m[1], m[2], m[3]))
    into.kind = "kernel"


def _kmsg(m: Match, into: Prefixes) -> None:
    into.priority(m[1])
    micros = m[2].rjust(7, b"0")
    into.time(stamps.uptime(micros[:-6], micros[-6:], into.hints.domain))
    into.kind = "kernel"


def _talos(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.level(m[3])
    into.time(stamps.iso(m[4], m[5], m[6]))
    into.kind = "kernel" if m[2] == b"kern" else "control"
    into.ident = f"{into.host}/{text_of(m[2])}"


def _tee(m: Match, into: Prefixes) -> None:
    into.local_rank = int(m[2])
    into.tee = text_of(m[1] + m[2])
    into.kind = "rank"


def _rank(m: Match, into: Prefixes) -> None:
    into.rank = int(m[1])
    into.tag = f"rank{into.rank}"
    into.kind = "rank"


def _ompi(m: Match, into: Prefixes) -> None:
    into.task = int(m["rank"])
    into.tag = f"task{into.task}"
    into.stream = text_of(m["stream"])


def _ompi_host(m: Match, into: Prefixes) -> None:
    _ompi(m, into)
    if m["month"]:
        into.arrival(stamps.named(m["month"], m["day"].strip(), m["clock"], None, m["year"]))
    if m["host"]:
        into.host = host_of(m["host"])
        into.pid = int(m["pid"])


def _sagemaker(m: Match, into: Prefixes) -> None:
    _ompi(m, into)
    into.host = host_of(m["host"])


def _task(m: Match, into: Prefixes) -> None:
    into.task = int(m[1])
    into.tag = f"task{into.task}"


def _pdsh(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.ident = into.host


def _named(m: Match, into: Prefixes) -> None:
    into.ident = text_of(m[1])


def _cri(m: Match, into: Prefixes) -> None:
    into.stamp = stamps.arrival(into.stamp)
    into.stream = text_of(m[1])


def _arrived(_m: Match, into: Prefixes) -> None:
    into.stamp = stamps.arrival(into.stamp)


def _kubectl(m: Match, into: Prefixes) -> None:
    into.ident = text_of(m[1])
    into.arrives = True


def _ray(m: Match, into: Prefixes) -> None:
    name = m[1] or b""
    into.process = f"{text_of(name)} pid={text_of(m[2])}".strip()
    into.pid = int(m[2])
    if m[3]:
        into.host = host_of(m[3])
        into.process += f" {into.host}"
    if b"orker" in name:
        into.kind = "rank"


def _vllm_worker(m: Match, into: Prefixes) -> None:
    into.local_rank = int(m[1])
    into.pid = int(m[2])
    into.process = f"VllmWorker pid={into.pid}"
    into.kind = "rank"


def _ray_system(m: Match, into: Prefixes) -> None:
    if m[2]:
        into.host = host_of(m[2])
    into.process = text_of(m[1]) + (f" {into.host}" if m[2] else "")
    into.kind = "control"


_OMPI = rb"<(?P<stream>std(?:out|err|diag))>:"
_ZONED = rb"(?:(?<=Z)|(?<=[+-]\d\d:\d\d)|(?<=[+-]\d{4}))"
_NANOS = rb"(?:(?<=\.\d{7}Z)|(?<=\.\d{8}Z)|(?<=\.\d{9}Z))"
_UPTIME = rb"(?P<seconds>\d{1,9})\.(?P<micros>\d{6})>?\](?:\[ *[TC]\d{1,10}\])? "
_W: Final = "wrapper"


def _of(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


WRAPPERS: Final[tuple[Format, ...]] = (
    # ------------------------------------------------------------------ launchers
    Format("torchrun_tee", _W, "[", WORD, _of(rb"\[(?!rank\d)([A-Za-z_]\w{0,63}?)(\d{1,4})\]:"), _tee,
           "[default3]:step 10", "local rank, role"),
    Format("rank", _W, "[", b"r", _of(rb"\[rank(\d{1,7})\]:? ?"), _rank,
           "[rank3]: RuntimeError: message", "global rank (torch's excepthook and c10d)"),
    Format("lightning", _W, "[", b"r", _of(rb"\[rank: (\d{1,7})\] "), _rank, "[rank: 3] Seed set to 42", "global rank"),
    Format("accelerate", _W, "[", b"R", _of(rb"\[R(?:ANK|ank) (\d{1,7})\] "), _rank, "[RANK 3] message", "global rank"),
    Format("ompi5", _W, "[", DIGIT + UPPER + LOWER,
           _of(rb"(?:\[[A-Z][a-z]{2} (?P<month>" + MONTH + rb") (?P<day>[ \d]\d) (?P<clock>" + CLOCK + rb") (?P<year>\d{4})\])?"
               rb"\[(?:[^\],\s]{1,128},)?(?P<rank>\d{1,7})\](?:\[(?P<host>[^\]:\s]{1,255}):(?P<pid>\d{1,10})\])?" + _OMPI + rb" "),
           _ompi_host, "[1,3][node-07:4242]<stderr>: message", "task, host, pid, stream; arrival time"),
    Format("ompi4", _W, "[", DIGIT, _of(rb"\[\d{1,10},(?P<rank>\d{1,7})\]" + _OMPI), _ompi, "[1,3]<stderr>:message", "task, stream"),
    Format("sagemaker_mpi", _W, "[", DIGIT, _of(rb"\[\d{1,10},mpirank:(?P<rank>\d{1,7}),(?P<host>[^\]\s]{1,255})\]" + _OMPI), _sagemaker,
           "[1,mpirank:3,algo-1]<stderr>:message", "task, host, stream"),
    Format("srun_label", "weak", "", b" " + DIGIT, _of(rb" {0,6}(\d{1,7}): ?"), _task, "03: step 10", "task"),
    Format("intel_mpi", "weak", "[", DIGIT, _of(rb"\[(\d{1,7})\] "), _task, "[3] step 10", "task"),
    Format("pdsh", "weak", "", LOWER + UPPER, _of(rb"(?!\w{1,40}(?:Error|Exception|Warning)\b)([A-Za-z][\w.-]{0,250}\d[\w.-]{0,64}): "), _pdsh,
           "node-07: step 10", "host"),
    # ------------------------------------------------------------------ containers and serving
    Format("k8s_cri", _W, "iso", b" ", _of(rb" (stdout|stderr) [FP](?::\S{0,64})? "), _cri,
           "2026-11-30T10:04:10.123456789Z stderr F step 10", "stream; arrival time"),
    Format("kubectl", _W, "[", b"p", _of(rb"\[pod/([^\]\s]{1,300})\] "), _kubectl, "[pod/train-3/trainer] step 10", "pod; what follows is arrival time"),
    Format("timestamped", _W, "iso", b" ", _of(_NANOS + rb" "), _arrived,
           "2026-11-30T10:04:10.123456789Z step 10", "arrival time (docker and kubectl --timestamps)"),
    Format("logcli", _W, "iso", b" ", _of(_ZONED + rb" \{[^}\n]{0,2000}\} +"), _arrived,
           '2026-11-30T10:04:10Z {pod="train-3"} step 10', "arrival time"),
    Format("compose", "weak", "", WORD, _of(rb"([A-Za-z0-9][\w.-]{0,250}) +\| "), _named, "trainer-1  | step 10", "service"),
    Format("ray", _W, "", b"(", _of(rb"\((?:([^()=\n]{1,200}?) )?pid=(\d{1,10})(?:, ip=([^)\s]{1,255}))?\) ?"), _ray,
           "(RayTrainWorker pid=4242, ip=10.0.0.7) step 10", "pid, host; vLLM's prefix has the same shape"),
    Format("vllm_worker", _W, "", b"(", _of(rb"\(VllmWorker rank=(\d{1,4}) pid=(\d{1,10})\) "), _vllm_worker,
           "(VllmWorker rank=1 pid=4242) INFO 11-30 10:04:10 [a.py:1] x", "local rank, pid"),
    Format("ray_system", _W, "", b"(", _of(rb"\((raylet|gcs_server|autoscaler[^()\n]{0,40}?)(?:, ip=([^)\s]{1,255}))?\) "), _ray_system,
           "(raylet, ip=10.0.0.7) A worker died", "host; control"),
    # ------------------------------------------------------------------ hosts
    Format("journal_bsd", _W, "", UPPER + b"<1",
           _of(rb"(?:<(\d{1,3})>)?(" + MONTH + rb"|1?\d\xe6\x9c\x88) {1,2}(\d{1,2}) (" + CLOCK + rb")(?:\.(\d{1,9}))? " + _IDENT),
           _journal_bsd, "Nov 30 10:04:10 node-07 kernel: message", "time without year, host, program, pid"),
    Format("journal_iso", _W, "iso", b" ",
           _of(_ZONED + rb" (" + HOST + rb") (?:(kernel)|([^\s:\[]{1,128})\[(\d{1,10})\]): ?"),
           _journal_iso, "2026-11-30T10:04:10+00:00 node-07 kernel: message", "time, host, program, pid"),
    Format("journal_iso_bare", "weak", "iso", b" ", _of(_ZONED + b" " + _IDENT), _journal_iso_bare,
           "2026-11-30T10:04:10+00:00 node-07 trainer: message", "time, host, program"),
    Format("journal_full", _W, "", UPPER,
           _of(rb"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d " + CLOCK + rb")(?:\.\d{1,6})? ([A-Z]{2,5}|[+-]\d\d(?::?\d\d)?) " + _IDENT),
           _journal_full, "Mon 2026-11-30 10:04:10 UTC node-07 kernel: message", "time, host, program, pid"),
    Format("journal_mono", _W, "[", DIGIT + b" ", _of(rb"\[ *(\d{1,9})\.(\d{6})[^\]\n]{0,40}\] " + _IDENT.replace(rb": ?", rb": ")),
           _journal_mono, "[12345.600000] node-07 systemd[1]: message", "uptime, host, program, pid"),
    Format("journal_unix", _W, "", DIGIT, _of(rb"(\d{9,10})\.(\d{6}) " + _IDENT), _journal_unix,
           "1796033050.122856 node-07 kernel: message", "time, host, program, pid"),
    Format("rfc5424", _W, "", b"<" + DIGIT,
           _of(rb"(?:\d{1,6} )?<(\d{1,3})>1 (\S{1,64}) (\S{1,255}) (\S{1,48}) (\S{1,128}) \S{1,32} "
               rb"(?:-|(?:\[(?:[^\]\\]|\\.){0,2000}\])++) ?(?:\xef\xbb\xbf)?"),
           _rfc5424, "<11>1 2026-11-30T10:04:10Z node-07 trainer 4242 - - message", "severity, time, host, program, pid"),
    Format("dmesg", _W, "[", DIGIT + b" <",
           _of(rb"\[ *<? *" + _UPTIME), _dmesg,
           "[12345.678901] message", "uptime; kernel"),
    Format("dmesg_level", _W, "", b"<" + LOWER,
           _of(rb"(?:<(?P<pri>\d{1,3})>|[a-z]{2,10} *:(?P<level>[a-z]{2,8}) *: )\[ *" + _UPTIME), _dmesg_level,
           "kern  :err   : [12345.678901] message", "severity, uptime; kernel"),
    Format("dmesg_ctime", _W, "[", UPPER, _of(rb"\[" + CTIME + rb"\] "), _dmesg_ctime,
           "[Mon Nov 30 10:04:10 2026] message", "time without zone; kernel"),
    Format("dmesg_iso", _W, "iso", b" ", _of(rb"(?<=,\d{6}[+-]\d\d:\d\d) "), _dmesg_iso,
           "2026-11-30T10:04:10,123456+00:00 message", "time; kernel"),
    Format("dmesg_human", _W, "[", UPPER + b" ", _of(rb"\[(?:(" + MONTH + rb")(\d\d?) (\d\d:\d\d)| *\+\d{1,10}\.\d{6})\] "), _dmesg_minute,
           "[Nov30 10:04] message", "time to the minute; kernel"),
    Format("kmsg", _W, "", DIGIT, _of(rb"(\d{1,3}),\d{1,12},(\d{1,16}),[^;\n]{0,100};"), _kmsg,
           "3,1234,12345678901,-;message", "severity, uptime; kernel"),
    Format("talos", _W, "", DIGIT + LOWER,
           _of(rb"(" + HOST + rb"): ([a-z]{3,10}): +([a-z]{3,10}): \[" + ISO + ZONE + rb"\]: "), _talos,
           "10.0.0.7: kern: warning: [2026-11-30T10:04:10.123456789Z]: message", "host, severity, time; kernel"),
)
