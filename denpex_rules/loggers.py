"""The prefixes that trainers, serving engines and Python loggers print themselves. They stay in the text."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from denpex_rules import stamps
from denpex_rules.leaves import claim, module
from denpex_rules.prefix import (
    CLOCK,
    DIGIT,
    HOST,
    ISO,
    LEVEL,
    MONTH,
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

_COORDINATE: Final = re.compile(rb"([A-Z_]+)(\d+)")
_LEVEL = rb"(" + LEVEL + rb")"

# After an ISO stamp: a level directly, or behind up to four fields (`[mod]`, `(pid)`, `mod -`, `mod:`) and one bare word.
# Fields are possessive, so that a line is read once.
_FIELD = (
    rb"(?:\[[^\]\n]{1,120}\]|\([^)\n]{1,120}\)|[\w.<>/@:-]{1,120}+)"
    rb"(?:\s{0,20}+[-|,]\s{0,20}+|\s{0,20}+(?=\[)|(?<=[:\]\)])\s{0,20}+)"
)
_PYTHON = (
    rb"[\])]?[\s|:,-]{0,12}+(?:"
    + _FIELD
    + rb"){0,4}(?:[\w.<>/@:-]{1,120}\s{1,20}+)?[\[(<]?(?:"
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
    UPPER,
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
    UPPER,
    rb"(DEBU|INFO|WARN|ERRO|FATA)\[(\d{4,8})\] ",
    "INFO[0289] message",
    "severity, seconds since the program's start",
)
def _logrus(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.uptime(m[2], b"", f"{into.hints.domain} since its start"))


@leaf(
    "loguru",
    "iso",
    b" ",
    rb" \| ([A-Z]{1,20}) {0,20}\| ",
    "2026-11-30 10:04:10.123 | ERROR    | loop:step:88 - message",
    "time without zone, severity",
)
@leaf("python_basic", "", UPPER, _LEVEL + rb":([^\s:]{1,200}):", "ERROR:mod.sub:message", "severity")
def _logger(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    module(m[0], into)


@leaf(
    "python_hf",
    "[",
    UPPER,
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
    UPPER,
    rb"\[" + _LEVEL + rb"\] (?:\[[^\]\n]{1,200}\] ?)?\(?" + ISO + rb"(?:" + ZONE + rb")?",
    "[ERROR] 2026-11-30 10:04:10,123 error_handler: message",
    "severity, time",
)
@leaf(
    "python_level",
    "",
    UPPER,
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
    "logfmt",
    "",
    b"t",
    rb'time="' + ISO + rb"(?:" + ZONE + rb')?" level=([a-z]{1,10})',
    'time="2026-11-30T10:04:10Z" level=info msg="message"',
    "time, severity",
)
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
def _logfmt(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1], m[2], m[3]))
    into.level(m[4])


# What is left: a bare level, a bare stamp. Everything that says more stands above.


@leaf("level", "", UPPER + b"|", rb"(?:\| )?" + _LEVEL + rb"(?=[:\s\]]| -)", "ERROR: message", "severity")
@leaf("level_bracket", "[", WORD, rb"(?:\[[\w-]{1,40}\])?\[" + _LEVEL + rb"\]", "[ERROR] message", "severity")
def _bare_level(m: Match, into: Prefixes) -> None:
    into.level(m[1])


@leaf(
    "syslog_stamp",
    "",
    UPPER,
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
