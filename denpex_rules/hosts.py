"""The prefixes that syslog, journald and the kernel's log put in front of a line."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Final

from denpex_rules import stamps
from denpex_rules.prefix import (
    CLOCK,
    CTIME,
    DAYS,
    DIGIT,
    HOST,
    ISO,
    LOWER,
    MONTH,
    MONTHS,
    ZONE,
    ZONED,
    Match,
    Prefixes,
    Registry,
    host_of,
    text_of,
)
from denpex_rules.rule import Kind

_FORMATS: Final = Registry()
wrapper = partial(_FORMATS.add, "wrapper")
weak = partial(_FORMATS.add, "weak")

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
# Shapes that ordinary text has too count only with the kernel's name or a pid: `[1.000002] nvme nvme0: message` names no host.
_SURE = rb"(" + HOST + rb") (?:(kernel)|([^\s:\[]{1,128})\[(\d{1,10})\]): ?"
_UPTIME = rb"(?P<seconds>\d{1,9})\.(?P<micros>\d{6})>?\](?:\[ {0,20}[TC]\d{1,10}\])? "
_RFC3339 = re.compile(ISO + ZONE)


@lru_cache(maxsize=4096)
def _named_program(host: bytes, ident: bytes, pid: bytes | None) -> tuple[str, str, Kind | None]:
    name = ident.removesuffix(b".service")
    short = host_of(host)
    return short, f"{short}/{text_of(name)}" + (f"[{int(pid)}]" if pid else ""), PROGRAMS.get(name)


def take_program(into: Prefixes, host: bytes, ident: bytes, pid: bytes | None) -> None:
    """Take what syslog and journald name: the host, and the program whose line it is."""
    into.host, into.ident, into.kind = _named_program(host, ident, pid)
    if pid:
        into.pid = int(pid)
    into.program = True


@wrapper(
    "journal_bsd",
    "",
    MONTHS + DIGIT + b"<",
    rb"(?:<(\d{1,3})>)?(" + MONTH + rb"|1?\d\xe6\x9c\x88) {1,2}(\d{1,2}) (" + CLOCK + rb")(?:\.(\d{1,9}))? " + _IDENT,
    "Nov 30 10:04:10 node-07 kernel: message",
    "time without year, host, program, pid",
)
def _journal_bsd(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.priority(m[1])
    month = m[2].removesuffix(b"\xe6\x9c\x88")
    into.time(stamps.named(month, m[3], m[4], m[5]))
    take_program(into, m[6], m[7], m[8])


@wrapper(
    "journal_iso",
    "iso",
    b" ",
    ZONED + b" " + _SURE,
    "2026-11-30T10:04:10+00:00 node-07 kernel: message",
    "time, host, program, pid",
)
def _journal_iso(m: Match, into: Prefixes) -> None:
    take_program(into, m[1], m[2] or m[3], m[4])


@weak(
    "journal_iso_bare",
    "iso",
    b" ",
    ZONED + b" " + _IDENT,
    "2026-11-30T10:04:10+00:00 node-07 trainer: message",
    "time, host, program",
)
def _journal_iso_bare(m: Match, into: Prefixes) -> None:
    take_program(into, m[1], m[2], m[3])


@wrapper(
    "journal_full",
    "",
    DAYS,
    rb"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d " + CLOCK + rb")(?:\.\d{1,6})? ([A-Z]{2,5}|[+-]\d\d(?::?\d\d)?) " + _IDENT,
    "Mon 2026-11-30 10:04:10 UTC node-07 kernel: message",
    "time, host, program, pid",
)
def _journal_full(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1], None, m[2]))
    take_program(into, m[3], m[4], m[5])


@wrapper(
    "journal_unix",
    "",
    DIGIT,
    rb"(\d{9,10})\.(\d{6}) " + _IDENT,
    "1796033050.122856 node-07 kernel: message",
    "time, host, program, pid",
)
def _journal_unix(m: Match, into: Prefixes) -> None:
    into.time(stamps.epoch(m[1], m[2]))
    take_program(into, m[3], m[4], m[5])


@wrapper(
    "journal_mono",
    "[",
    DIGIT + b" ",
    rb"\[ {0,20}(\d{1,9})\.(\d{6})[^\]\n]{0,40}\] " + _SURE,
    "[12345.600000] node-07 systemd[1]: message",
    "uptime, host, program, pid",
)
def _journal_mono(m: Match, into: Prefixes) -> None:
    into.time(stamps.uptime(m[1], m[2], into.hints.domain))
    take_program(into, m[3], m[4] or m[5], m[6])


@wrapper(
    "rfc5424",
    "",
    b"<" + DIGIT,
    rb"(?:\d{1,6} )?<(\d{1,3})>1 (\S{1,64}) (\S{1,255}) (\S{1,48}) (\S{1,128}) \S{1,32} "
    rb"(?:-|(?:\[(?:[^\]\\]|\\.){0,2000}\])++) ?(?:\xef\xbb\xbf)?",
    "<11>1 2026-11-30T10:04:10Z node-07 trainer 4242 - - message",
    "severity, time, host, program, pid",
)
def _rfc5424(m: Match, into: Prefixes) -> None:
    into.priority(m[1])
    stamp = _RFC3339.fullmatch(m[2])
    if stamp:
        into.time(stamps.iso(stamp[1], stamp[2], stamp[3]))
    if m[3] != b"-":
        pid = m[5] if m[5].isdigit() and len(m[5]) <= 10 else None
        take_program(into, m[3], m[4], pid)


_RFC3339 = re.compile(ISO + ZONE)


def _kernel(into: Prefixes) -> None:
    """Take the kernel as emitter; in a file that a rank wrote, `[12.345678]` is some logger's own clock."""
    if into.hints.kind != "rank":
        into.kind = "kernel"


@wrapper("dmesg", "[", DIGIT + b" <", rb"\[ {0,20}<? {0,20}" + _UPTIME, "[12345.678901] message", "uptime; kernel")
def _dmesg(m: Match, into: Prefixes) -> None:
    if into.stamp is None:  # syslog's own stamp in front of it compares with more
        into.time(stamps.uptime(m["seconds"], m["micros"], into.hints.domain))
    _kernel(into)


@wrapper(
    "dmesg_level",
    "",
    b"<" + LOWER,
    rb"(?:<(?P<pri>\d{1,3})>|[a-z]{2,10} {0,20}:(?P<level>[a-z]{2,8}) {0,20}: )\[ {0,20}" + _UPTIME,
    "kern  :err   : [12345.678901] message",
    "severity, uptime; kernel",
)
def _dmesg_level(m: Match, into: Prefixes) -> None:
    if m["pri"]:
        into.priority(m["pri"])
    else:
        into.level(m["level"])
    _dmesg(m, into)


@wrapper("dmesg_ctime", "[", DAYS, rb"\[" + CTIME + rb"\] ", "[Mon Nov 30 10:04:10 2026] message", "time without zone; kernel")
def _dmesg_ctime(m: Match, into: Prefixes) -> None:
    into.time(stamps.named(m[1], m[2].strip(), m[3], None, m[4]))
    _kernel(into)


@wrapper("dmesg_iso", "iso", b" ", rb"(?<=,\d{6}[+-]\d\d:\d\d) ", "2026-11-30T10:04:10,123456+00:00 message", "time; kernel")
def _dmesg_iso(_m: Match, into: Prefixes) -> None:
    into.kind = "kernel"


@wrapper(
    "dmesg_human",
    "[",
    MONTHS + b" ",
    rb"\[(?:(" + MONTH + rb")(\d\d?) (\d\d:\d\d)| {0,20}\+\d{1,10}\.\d{6})\] ",
    "[Nov30 10:04] message",
    "time to the minute; kernel",
)
def _dmesg_minute(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.time(stamps.to_minute(m[1], m[2], m[3]))
    into.kind = "kernel"


@wrapper(
    "kmsg", "", DIGIT, rb"(\d{1,3}),\d{1,12},(\d{1,16}),[^;\n]{0,100};", "3,1234,12345678901,-;message", "severity, uptime; kernel"
)
def _kmsg(m: Match, into: Prefixes) -> None:
    into.priority(m[1])
    micros = m[2].rjust(7, b"0")
    into.time(stamps.uptime(micros[:-6], micros[-6:], into.hints.domain))
    into.kind = "kernel"


@wrapper(
    "talos",
    "",
    DIGIT + LOWER,
    rb"(" + HOST + rb"): ([a-z]{3,10}): {1,40}([a-z]{3,10}): \[" + ISO + ZONE + rb"\]: ",
    "10.0.0.7: kern: warning: [2026-11-30T10:04:10.123456789Z]: message",
    "host, severity, time; kernel",
)
def _talos(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.level(m[3])
    into.time(stamps.iso(m[4], m[5], m[6]))
    into.kind = "kernel" if m[2] == b"kern" else "control"
    into.ident = f"{into.host}/{text_of(m[2])}"


HOSTS: Final = tuple(_FORMATS.formats)
