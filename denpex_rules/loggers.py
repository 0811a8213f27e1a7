"""The prefixes that trainers, serving engines and Python loggers print themselves. They stay in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from denpex_rules import stamps
from denpex_rules.clock import Instant
from denpex_rules.leaves import claim, module
from denpex_rules.prefix import (
    CLOCK,
    DIGIT,
    HOST,
    ISO,
    LEVEL,
    LEVELS,
    LOWER,
    MONTH,
    MONTHS,
    UPPER,
    WORD,
    ZONE,
    Match,
    Prefixes,
    Registry,
    host_of,
    text_of,
)

_FORMATS: Final = Registry()
leaf = partial(_FORMATS.add, "leaf")

_BOUND_RANK: Final = re.compile(rb"[ \t]rank=(\d{1,7})(?=\s|$)")
_COORDINATE: Final = re.compile(rb"([A-Z_]+)(\d+)")
_LEVEL = rb"(" + LEVEL + rb")"

# After an ISO stamp: a level directly, or behind up to four fields (`[mod]`, `(pid)`, `mod -`, `mod:`) and one bare word.
# Fields are possessive, so that a line is read once. None of them is a level: behind the first one stands the message.
_NO_LEVEL = (
    rb"(?![\[(<]?" + LEVEL + rb"(?![\w.]|-\w)|"
    rb"\[(?:debug|info|warning|error|critical|fatal)\s{0,20}\]|(?:debug|info|warning|error|fatal): )"
)
_FIELD = _NO_LEVEL + (
    rb"(?:\[[^\]\n]{1,120}\]|\([^)\n]{1,120}\)|[\w.<>/@:-]{1,120}+)"
    rb"(?:\s{0,20}+[-|,]\s{0,20}+|\s{0,20}+(?=\[)|(?<=[:\]\)])\s{0,20}+)"
)
_PYTHON = (
    rb"[\])]?[\s|:,-]{0,12}+(?:"
    + _FIELD
    + rb"){0,4}(?:"
    + _NO_LEVEL
    + rb"[\w.<>/@:-]{1,120}\s{1,20}+)?[\[(<]?(?:"
    + _LEVEL
    + rb"(?![\w.])|(?<=\[)(debug|info|warning|error|critical|fatal)(?=\s{0,20}\])|(?<= )(debug|info|warning|error|fatal)(?=: ))"
    rb"[\s|:\]-]{0,12}+(?:\[[Rr](?:ank|ANK)[ :=]{0,2}(\d{1,7})\])?"
)


@leaf(
    "deepspeed",
    "[iso",
    b"]",
    rb"\] \[([A-Z]{1,12})\] \[([^:\]\n]{1,200}):\d{1,7}:[^\]\n]{1,200}\] "
    rb"(?:\[Rank (-?\d{1,7})\] |\[deepspeed\] OVERFLOW! Rank (\d{1,7}) )?",
    "[2026-11-30 10:04:10,123] [INFO] [engine.py:96:log_dist] [Rank 0] message",
    "time without zone, severity, rank",
)
def _deepspeed(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    claim(m[3] or m[4], into)
    if m[2] in {b"launch.py", b"runner.py"}:
        into.kind = "agent"
    else:
        into.kind = into.kind or "rank"


@leaf(
    "megatron",
    "",
    b" ",
    rb" (?:\[" + ISO + rb"\] )?iteration {1,40}\d{1,10}/ {0,20}(?:\d{1,10}|infinity) \|",
    " [2026-11-30 10:04:10] iteration       60/    1000 | message",
    "time without zone",
)
def _megatron(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.time(stamps.iso(m[1], m[2]))
    into.kind = into.kind or "rank"


@leaf(
    "nemo",
    "[",
    b"N",
    rb"\[NeMo ([A-Z]) (\d{4}-\d\d-\d\d " + CLOCK + rb") [^\]\n]{1,200}\] ?",
    "[NeMo W 2026-11-30 10:04:10 nemo_logging:349] message",
    "severity, time without zone",
)
def _nemo(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2]))
    into.kind = into.kind or "rank"


@leaf(
    "sglang",
    "[iso",
    b" ",
    rb"((?: (?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d{1,4})+)(?: encode_\S{1,40})?\] ",
    "[2026-11-30 10:04:10 TP3] message",
    "time without zone, process; rank where tensor parallelism alone numbers the processes",
)
def _sglang(m: Match, into: Prefixes) -> None:
    into.process = text_of(m[1]).strip()
    into.kind = into.kind or "rank"
    # Parallel coordinates. Without pipeline stages a server's processes are numbered by TP alone; a DP tag beside it means
    # replicas that each count from 0, or attention groups inside TP: only where both agree the number is sure.
    at = dict(_COORDINATE.findall(m[1]))
    if b"TP" in at and b"PP" not in at and at.get(b"DP", at[b"TP"]) == at[b"TP"]:
        into.rank = int(at[b"TP"])


@leaf(
    "trtllm",
    "[",
    DIGIT,
    rb"\[(\d\d)/(\d\d)/(\d{4})-(" + CLOCK + rb")\] \[TRT-LLM\] (?:\[RANK (\d{1,7})\] )?\[([A-Z])\] ",
    "[11/30/2026-10:04:10] [TRT-LLM] [RANK 3] [E] message",
    "time without zone, rank, severity",
)
def _trtllm(m: Match, into: Prefixes) -> None:
    into.time(stamps.numbered(m[1], m[2], m[4], m[3]))
    claim(m[5], into)
    into.level(m[6])
    into.kind = into.kind or "rank"


@leaf(
    "vllm",
    "",
    LEVELS,
    _LEVEL + rb" (\d\d)-(\d\d) (" + CLOCK + rb") (?:\[[^\]\n]{1,200}\]|[\w./]{1,200}:\d{1,7}\]) ?",
    "ERROR 11-30 10:04:10 [core.py:710] message",
    "severity, time without year or zone",
)
def _vllm(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.numbered(m[2], m[3], m[4]))


@leaf(
    "tensorflow",
    "iso",
    b":",
    rb": ([IWEF])(?: {1,40}\d{1,20})? \S{1,300}:\d{1,7}\] ?",
    "2026-11-30 10:04:10.123456: E external/xla/client.cc:96] message",
    "time without zone, severity",
)
@leaf(
    "horovod",
    "[iso",
    b":",
    rb": ([IWEF]) [^\]\n]{1,300}\] ?",
    "[2026-11-30 10:04:10.123456: W horovod/common/operations.cc:588] message",
    "time without zone, severity",
)
@leaf(
    "tensorflow_short",
    "",
    b"IWEF",
    rb"([IWEF]) [\w./-]{1,300}\.(?:cc|cpp|cu|h):\d{1,7}\] ?",
    "F tensorflow/stream_executor/lib/statusor.cc:34] message",
    "severity",
)
@leaf(
    "ray_py",
    "iso",
    b"\t",
    rb"\t([A-Z]{1,12}) (?:\([^)\n]{1,100}\) )?[^\s:]{1,200}:\d{1,7} -- ",
    "2026-11-30 10:04:10,123\tERROR worker.py:1844 -- message",
    "time without zone, severity",
)
def _severity(m: Match, into: Prefixes) -> None:
    into.level(m[1])


@leaf(
    "logrus",
    "",
    LEVELS,
    rb"(DEBU|INFO|WARN|ERRO|FATA)\[(\d{4,8})\] ",
    "INFO[0289] message",
    "severity, seconds since the program's start",
)
def _logrus(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.uptime(m[2], b"", f"{into.hints.domain} since its start"))
    into.kind = into.kind or "control"  # a Go program's logger


@leaf(
    "zap",
    "",
    b"1",
    rb"(1)\.(\d{9})(\d{0,9})\d*e\+09\t([A-Za-z]{4,6})\t",
    "1.796033050123456e+09\tERROR\tevents\tmessage",
    "time, severity; control",
)
def _zap(m: Match, into: Prefixes) -> None:
    into.time(stamps.epoch(m[1] + m[2], m[3] or None))
    into.level(m[4])
    into.kind = into.kind or "control"  # a Go program's logger


@leaf(
    "loguru",
    "iso",
    b" ",
    rb" \| ([A-Z]{1,20}) {0,20}\| ",
    "2026-11-30 10:04:10.123 | ERROR    | loop:step:88 - message",
    "time without zone, severity",
)
@leaf("python_basic", "", LEVELS, _LEVEL + rb":([^\s:]{1,200}):", "ERROR:mod.sub:message", "severity")
def _logger(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    module(m[0], into)


@leaf(
    "python_hf",
    "[",
    LEVELS,
    rb"\[" + _LEVEL + rb"\|[^\]\n]{1,200}\] " + ISO + rb" >> ",
    "[INFO|trainer.py:2519] 2026-11-30 10:04:10,123 >> message",
    "severity, time without zone",
)
def _hf(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2], m[3]))
    into.kind = into.kind or "rank"


@leaf(
    "python_level_bracket",
    "[",
    LEVELS,
    rb"\[" + _LEVEL + rb"\] (?:\[[^\]\n]{1,200}\] ?)?\(?" + ISO + rb"(?:" + ZONE + rb")?",
    "[ERROR] 2026-11-30 10:04:10,123 error_handler: message",
    "severity, time",
)
@leaf(
    "python_level",
    "",
    LEVELS,
    _LEVEL + rb"[ \t|:]{1,12}(?:\[[^\]\n]{1,200}\] ?)?\(?" + ISO + rb"(?:" + ZONE + rb")?",
    "ERROR [mod.sub:123] 2026-11-30 10:04:10,123 message",
    "severity, time",
)
@leaf(
    "submitit",
    "",
    b"s",
    rb"submitit " + _LEVEL + rb" \(" + ISO + rb"(?:" + ZONE + rb")?\) - (?:Caught signal \w{1,20} on (?P<host>" + HOST + rb"): )?",
    "submitit WARNING (2026-11-30 10:04:10,123) - Caught signal SIGUSR2 on node-07: message",
    "severity, time without zone, host",
)
def _level_stamp(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2], m[3], m[4]))
    if m.re.groupindex and m["host"]:
        into.host = host_of(m["host"])
    module(m[0], into)


@leaf(
    "python_us_date",
    "",
    DIGIT,
    rb"(\d\d)/(\d\d)/(\d{4}) (" + CLOCK + rb")(?:,\d{3})? - " + _LEVEL + rb" - ",
    "11/30/2026 10:04:10 - WARNING - mod.sub - message",
    "time without zone, severity",
)
def _us_date(m: Match, into: Prefixes) -> None:
    into.time(stamps.numbered(m[1], m[2], m[4], m[3]))
    into.level(m[5])
    module(m[0], into)


@leaf("python", "iso", b" ,|-\t", _PYTHON, "2026-11-30 10:04:10,123 - mod.sub - ERROR - message", "time, severity")
@leaf("python_bracket", "[iso", b"]", _PYTHON, "[2026-11-30 10:04:10,123][mod.sub][ERROR] - message", "time, severity")
def _python(m: Match, into: Prefixes) -> None:
    into.level(m[1] or m[2] or m[3])
    module(m[0], into)
    claim(m[4], into)
    if m[2]:  # structlog's console puts what is bound behind the message
        bound = _BOUND_RANK.search(m.string, m.end(), m.end() + 2_000)
        if bound:
            claim(bound[1], into)


@leaf(
    "jittor",
    "[",
    b"iwef",
    rb"\[([iwef]) (\d{4}) (" + CLOCK + rb")(?:\.(\d{6}))? \d{1,4} [\w./-]{1,200}:\d{1,7}\] ?",
    "[e 1130 10:04:10.123456 00 log.cc:246] message",
    "severity, time without year or zone",
)
def _jittor(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.glog(m[2], m[3], m[4]))


@leaf(
    "detectron",
    "[",
    DIGIT,
    rb"\[(\d\d)/(\d\d) (" + CLOCK + rb")[^\]\n]{0,100}\]:? ",
    "[11/30 10:04:10 d2.engine]: message",
    "time without year or zone",
)
def _detectron(m: Match, into: Prefixes) -> None:
    into.time(stamps.numbered(m[1], m[2], m[3]))


@leaf(
    "json",
    "",
    b"{",
    rb'\{"(?:timestamp|time|ts|asctime)": ?"'
    + ISO
    + rb"(?:"
    + ZONE
    + rb')?", ?"(?:level|levelname|severity)": ?"([A-Za-z]{1,10})"',
    '{"timestamp":"2026-11-30T10:04:10.123Z","level":"ERROR","message":"mess',
    "time, severity (a record that was cut)",
)
def _cut_json(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1], m[2], m[3]))
    into.level(m[4])


_PAIR: Final = re.compile(rb'([\w.@-]{1,40})=(?:"((?:[^"\\\n]|\\.){0,1000})"|([^\s"]{0,1000})) ?')
_PAIRS: Final = 12  # so many pairs are read; what is told of the record itself stands in front
_HOST: Final = re.compile(HOST)
_ISO: Final = re.compile(ISO + rb" ?(?:" + ZONE + rb")?")
_SECONDS: Final = re.compile(rb"(\d{9,10})(?:\.(\d{1,9})\d*)?")


@leaf(
    "logfmt",
    "",
    LOWER + UPPER + b"@_",
    rb"(?=[\w.@-]{1,40}=)(?=(?:[^\r\n]{0,2000} )?(?:level|lvl|severity|loglevel)=\"?[A-Za-z]{1,10}\b)"
    rb"(?=(?:[^\r\n]{0,2000} )?(?:time|ts|timestamp|msg|message|event)=)",
    'time="2026-11-30T10:04:10Z" level=info msg="message"',
    "time, severity, rank, local rank, host, pid (keys in any order)",
)
def _logfmt(m: Match, into: Prefixes) -> None:
    said: dict[bytes, bytes] = {}
    position = m.end()
    for _ in range(_PAIRS):
        pair = _PAIR.match(m.string, position)
        if pair is None:
            break
        said.setdefault(pair[1].lower(), pair[2] if pair[2] is not None else pair[3])
        position = pair.end()
    into.time(next((_instant(said[key]) for key in (b"time", b"ts", b"timestamp", b"t", b"asctime") if key in said), None))
    into.level(next((said[key] for key in (b"level", b"lvl", b"severity", b"loglevel") if key in said), b""))
    if m.string.startswith(b"time=", m.start()):
        into.kind = into.kind or (None if into.hints.kind == "rank" else "control")  # as Go's loggers begin
    _named_fields(said, into)


def _instant(value: bytes) -> Instant | None:
    iso = _ISO.fullmatch(value)
    if iso:
        return stamps.iso(iso[1], iso[2], iso[3])
    seconds = _SECONDS.fullmatch(value)
    return stamps.epoch(seconds[1], seconds[2] or None) if seconds else None


def _named_fields(said: Mapping[bytes, bytes], into: Prefixes) -> None:
    """Take what keys say of the process that prints."""
    rank, local, pid = (said.get(key, b"") for key in (b"rank", b"local_rank", b"pid"))
    if len(rank) <= 7:
        claim(rank, into)
    if local.isdigit() and len(local) <= 7:
        into.local_rank = int(local)
    if pid.isdigit() and len(pid) <= 10:
        into.pid = int(pid)
    host = said.get(b"host") or said.get(b"hostname") or b""
    if _HOST.fullmatch(host):
        into.host = host_of(host)


# What is left: a bare level, a bare stamp. Everything that says more stands above.


@leaf("level", "", LEVELS + b"|", rb"(?:\| )?" + _LEVEL + rb"(?=[:\s\]]| -)", "ERROR: message", "severity")
@leaf("level_bracket", "[", WORD, rb"(?:\[[\w-]{1,40}\])?\[" + _LEVEL + rb"\]", "[ERROR] message", "severity")
def _bare_level(m: Match, into: Prefixes) -> None:
    into.level(m[1])


@leaf(
    "syslog_stamp",
    "",
    MONTHS,
    rb"(" + MONTH + rb") {1,2}(\d{1,2}) (" + CLOCK + rb")(?:\.(\d{1,9}))? ",
    "Nov 30 10:04:10 message",
    "time without year or zone",
)
def _ctime_only(m: Match, into: Prefixes) -> None:
    into.time(stamps.named(m[1], m[2].strip(), m[3], m[4]))


@leaf("iso", "iso", bytes(range(256)), rb"", "2026-11-30T10:04:10Z message", "time")
@leaf("iso_bracket", "[iso", bytes(range(256)), rb"[^\]\n]{0,100}\]", "[2026-11-30 10:04:10] message", "time")
def _stamp(_m: Match, _into: Prefixes) -> None:
    """Read nothing more: the stem's stamp is all."""


LOGGERS: Final = tuple(_FORMATS.formats)
