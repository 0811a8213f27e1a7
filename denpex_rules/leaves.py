"""The prefixes that a process prints itself: loggers of torch, NCCL, Python and the frameworks. They stay in the text."""

from __future__ import annotations

import re
from typing import Final

from denpex_rules import stamps
from denpex_rules.prefix import (
    CLOCK,
    DIGIT,
    HOST,
    ISO,
    LEVEL,
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

# The agent's own modules; `errors` runs in the workers too, and its handler prints there.
AGENT_MODULES: Final = re.compile(rb"torch[./]distributed[./](?:elastic|launcher|run\b|launch\b)(?![./]multiprocessing[./]errors)")


def _claim(rank: bytes | None, into: Prefixes) -> None:
    """Take a rank that the process says of itself; -1 is none."""
    if rank and rank.isdigit():
        into.rank = int(rank)
        into.tag = into.tag or f"rank{into.rank}"
        into.kind = into.kind or "rank"


def _module(name: bytes, into: Prefixes) -> None:
    """Take the kind of a Python logger: the agent by its modules, unless a rank's prefix stands in front; else a process of the job."""
    if into.kind != "rank":
        into.kind = "agent" if AGENT_MODULES.search(name) else into.kind or "rank"


def _c10d(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    if m[2]:
        into.time(stamps.month_day(m[2], m[3]))
    if m[4].startswith(b"ProcessGroup"):
        into.kind = "rank"
    if into.rank is None:
        # torch before 2.2 prints no outer prefix: `[Rank r]` is the default group's rank, which is the global one. In a job that
        # makes sub-groups it can be a group's rank; there `[PG` (2.2 on) always comes with the outer prefix.
        _claim(m[5] or m[6], into)


def _what(m: Match, into: Prefixes) -> None:
    into.severity = "error"
    if into.rank is None:
        _claim(m[1] or m[2], into)


def _glog(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    if m[2][-4:] != b"0000":
        into.time(stamps.glog(m[2], m[3], m[4]))
    if m[5].endswith(b".py"):
        _module(m[5], into)


def _absl_early(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.epoch(m[2], m[3]))


def _nccl(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.pid = int(m[2])
    into.process = f"{into.host}:{into.pid}"
    into.level(m[3])
    into.kind = "rank"


def _nccl_bare(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "rank"


def _ucx(m: Match, into: Prefixes) -> None:
    into.time(stamps.epoch(m[1], m[2]))
    into.host = host_of(m[3])
    into.pid = int(m[4])
    into.process = f"{into.host}:{into.pid}"
    into.level(m[5])
    into.kind = into.kind or "rank"


def _ucx_signal(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.pid = int(m[2])
    into.process = f"{into.host}:{into.pid}"
    into.severity = "fatal"
    into.kind = into.kind or "rank"


def _libfabric(m: Match, into: Prefixes) -> None:
    into.pid = int(m[1])
    into.time(stamps.epoch(m[2]))
    into.level(m[3])
    into.kind = into.kind or "rank"


def _fabricmanager(m: Match, into: Prefixes) -> None:
    into.time(stamps.named(m[1], m[2], m[4], None, m[3]))
    into.level(m[5])
    into.kind = "fabric"


def _oneccl(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1]))
    into.pid = int(m[2])
    into.level(m[3])
    into.kind = into.kind or "rank"


def _ascend(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2]))
    into.pid = int(m[3])
    _claim(m[4], into)


def _level_1(m: Match, into: Prefixes) -> None:
    into.level(m[1])


def _logger(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    _module(m[0], into)


def _python(m: Match, into: Prefixes) -> None:
    into.level(m[1] or m[2] or m[3])
    _module(m[0], into)
    _claim(m[4], into)


def _stamp(_m: Match, _into: Prefixes) -> None:
    """Read nothing more: the stem's stamp is all."""


def _deepspeed(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    _claim(m[3], into)
    if m[2] in {b"launch.py", b"runner.py"}:
        into.kind = "agent"
    else:
        into.kind = into.kind or "rank"


def _ft_launcher(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "agent"
    if m[2]:
        into.pid = int(m[2])
        into.host = host_of(m[3])
        into.process = f"ft_launcher {into.host}"


def _ray_cpp(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.pid = int(m[2])
    into.process = f"{text_of(m[3])} pid={into.pid}"
    if m[3] in {b"raylet", b"gcs_server", b"autoscaler"}:
        into.kind = "control"


def _slurm_daemon(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "scheduler"


def _slurm(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.host = host_of(m[1])
        into.ident = into.host
    if m[2]:
        into.level(m[2])
    if m[3]:
        into.time(stamps.iso(m[3]))
    into.kind = "scheduler"


def _sglang(m: Match, into: Prefixes) -> None:
    into.process = text_of(m[1]).strip()  # parallel coordinates: they tell processes apart and are no global rank
    into.kind = into.kind or "rank"


def _megatron(m: Match, into: Prefixes) -> None:
    if m[1]:
        into.time(stamps.iso(m[1], m[2]))
    into.kind = into.kind or "rank"


def _nemo(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2]))
    into.kind = into.kind or "rank"


def _trtllm(m: Match, into: Prefixes) -> None:
    into.time(stamps.numbered(m[1], m[2], m[4], m[3]))
    _claim(m[5], into)
    into.level(m[6])
    into.kind = into.kind or "rank"


def _vllm(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.numbered(m[2], m[3], m[4]))


def _hf(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2], m[3]))
    into.kind = into.kind or "rank"


def _level_stamp(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.time(stamps.iso(m[2], m[3], m[4]))
    _module(m[0], into)


def _us_date(m: Match, into: Prefixes) -> None:
    into.time(stamps.numbered(m[1], m[2], m[4], m[3]))
    into.level(m[5])
    _module(m[0], into)


def _detectron(m: Match, into: Prefixes) -> None:
    into.time(stamps.numbered(m[1], m[2], m[3]))


def _logfmt(m: Match, into: Prefixes) -> None:
    into.time(stamps.iso(m[1], m[2], m[3]))
    into.level(m[4])


def _ctime_only(m: Match, into: Prefixes) -> None:
    into.time(stamps.named(m[1], m[2].strip(), m[3], m[4]))


def _event(m: Match, into: Prefixes) -> None:
    into.level(m[1])
    into.kind = "control"


_L: Final = "leaf"


def _of(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


_LEVEL = rb"(" + LEVEL + rb")"
_LETTERS: Final = b"IWEFCDV"
_OWN_RANK = rb"(?:\[Rank (\d{1,7})\] |\[PG [^\]\n]{0,120}\(default_pg\) Rank (\d{1,7})\])"
_NCCL = rb"([^\s:\[\]]{1,255}):(\d{1,10}):\d{1,10} (?:\[\d{1,7}\] )?[^\n]{0,160}?NCCL (WARN|INFO|TRACE|CALL|ABORT)\b"

# After an ISO stamp: a level directly, or behind up to four fields (`[mod]`, `(pid)`, `mod -`, `mod:`) and one bare word. Fields are
# possessive, so that a line is read once.
_FIELD = rb"(?:\[[^\]\n]{1,120}\]|\([^)\n]{1,120}\)|[\w.<>/@:-]{1,120}+)(?:\s*+[-|,]\s*+|\s*+(?=\[)|(?<=[:\]\)])\s*+)"
_PYTHON = (
    rb"[\])]?[\s|:,-]{0,12}+(?:" + _FIELD + rb"){0,4}(?:[\w.<>/@:-]{1,120}\s++)?[\[(<]?(?:"
    + _LEVEL + rb"(?![\w.])|(?<=\[)(debug|info|warning|error|critical|fatal)(?=\s*\])|(?<= )(debug|info|warning|error|fatal)(?=: ))"
    rb"[\s|:\]-]{0,12}+(?:\[[Rr](?:ank|ANK)[ :=]{0,2}(\d{1,7})\])?"
)

LEAVES: Final[tuple[Format, ...]] = (
    # ------------------------------------------------------------------ torch
    Format("c10d", _L, "[", _LETTERS,
           _of(rb"\[([IWEFVCD])(?:(\d{3,4}) (" + CLOCK + rb")\.\d{9})? ([\w./-]{1,200}):\d{1,7}\] " + _OWN_RANK + rb"?"), _c10d,
           "[E1130 10:04:10.123456789 ProcessGroupNCCL.cpp:632] message", "severity, time to the second without year or zone; its fraction is false"),
    Format("what", _L, "", b" ", _of(rb" {1,4}what\(\): +" + _OWN_RANK + rb"?"), _what, "  what():  [Rank 3] message", "severity, rank"),
    Format("absl_early", _L, "", _LETTERS, _of(rb"([IWEF])0000 00:00:(\d{9,10})\.(\d{6}) +\d{1,20} [^\s\]]{1,300}\] ?"), _absl_early,
           "E0000 00:00:1796033050.084614   25751 cuda_dnn.cc:10] message", "severity, time"),
    Format("glog", _L, "", _LETTERS,
           _of(rb"([IWEFCDV])((?:\d{4})?\d{4}) (" + CLOCK + rb")\.(\d{6}) +\d{1,20} ([^\s:\]]{1,300}):\d{1,7}\] ?"), _glog,
           "E1130 10:04:10.123456 4242 torch/distributed/elastic/multiprocessing/api.py:12] message", "severity, time without zone, often without year"),
    # ------------------------------------------------------------------ communication libraries
    Format("nccl", _L, "", WORD, _of(_NCCL), _nccl, "node-07:4242:4300 [3] NCCL INFO message", "host, pid, severity; its [dev] is weak and not read"),
    Format("nccl_stamped", _L, "[iso", b"]", _of(rb"\] ?" + _NCCL), _nccl,
           "[2026-11-30 10:04:10] node-07:4242:4300 [3] misc/socket.cc:49 NCCL WARN message", "time without zone, host, pid, severity"),
    Format("nccl_bare", _L, "", b"N", _of(rb"NCCL (WARN|INFO) "), _nccl_bare, "NCCL WARN message", "severity"),
    Format("ucx", _L, "[", DIGIT,
           _of(rb"\[(\d{10})\.(\d{6})\] \[(" + HOST + rb"):(\d{1,10}) *:\d{1,10}\] +\S{1,200} +UCX +([A-Z]{1,10}) +"), _ucx,
           "[1796033050.475958] [node-07:4242:0]  sock.c:325  UCX  ERROR message", "time, host, pid, severity"),
    Format("ucx_signal", _L, "[", WORD, _of(rb"\[(" + HOST + rb"):(\d{1,10}):\d{1,10}:\d{1,10}\] Caught signal \d+"), _ucx_signal,
           "[node-07:4242:0:4300] Caught signal 11 (Segmentation fault)", "host, pid, severity"),
    Format("libfabric", _L, "", b"l", _of(rb"libfabric:(\d{1,10}):(\d{9,10})::[^\s<]{1,200}<([a-z]{1,10})> "), _libfabric,
           "libfabric:4242:1796033050::efa:cq:open():92<warn> message", "pid, time, severity"),
    Format("oneccl", _L, "", DIGIT, _of(rb"(\d{4}:\d\d:\d\d-" + CLOCK + rb"):\((\d{1,10})\) \|CCL_([A-Z]{1,10})\| "), _oneccl,
           "2026:11:30-10:04:10:(4242) |CCL_ERROR| message", "time without zone, pid, severity"),
    Format("fabricmanager", _L, "[", UPPER,
           _of(rb"\[(" + MONTH + rb") (\d\d) (\d{4}) (" + CLOCK + rb")\] \[([A-Z]{1,12})\] \[tid \d{1,20}\] "), _fabricmanager,
           "[Nov 30 2026 10:04:10] [ERROR] [tid 841] message", "time without zone, severity; fabric"),
    Format("ascend", _L, "[", UPPER,
           _of(rb"\[([A-Z]{4,8})\] (\d{4}-\d\d-\d\d-" + CLOCK + rb") \(PID:(\d{1,10}), Device:-?\d{1,6}, RankID:(-?\d{1,7})\) "), _ascend,
           "[ERROR] 2026-11-30-10:04:10 (PID:4242, Device:3, RankID:3) ERR02200 message", "time without zone, pid, rank, severity"),
    # ------------------------------------------------------------------ schedulers and clusters
    Format("slurm", _L, "", b"s",
           _of(rb"(?:slurmstepd|slurmctld|slurmd|srun|sbatch|salloc)(?:-([\w.-]{1,255}))?: (?:(error|fatal|warning|info|debug\d?): )?"
               rb"(?:\*\*\* [^\n]{0,300}? CANCELLED AT (\d{4}-\d\d-\d\dT" + CLOCK + rb"))?"), _slurm,
           "slurmstepd: error: *** STEP 4711.0 ON node-07 CANCELLED AT 2026-11-30T10:04:10 ***", "severity, time without zone; scheduler"),
    Format("slurm_daemon", _L, "[iso", b"]", _of(rb"(?<=T\d\d:\d\d:\d\d\.\d{3})\] (?:\[[\w.]{1,40}\] )?(error|fatal|warning|info|verbose|debug\d?|sched): "),
           _slurm_daemon, "[2026-11-30T10:04:10.123] error: message", "time without zone, severity; scheduler"),
    Format("ray_cpp", _L, "[iso", b" ", _of(rb" ([A-Z]) (\d{1,10}) \d{1,20}\] \(([^)\n]{1,100})\) "), _ray_cpp,
           "[2026-11-30 10:04:10,123 E 4242 4300] (raylet) node_manager.cc:3065: message", "time without zone, severity, pid; control for raylet and gcs_server"),
    Format("k8s_event", _L, "", DIGIT, _of(rb"(?:\d{1,6}[smhd])+ {2,20}(Normal|Warning) {2,20}\w{1,60} {2,40}[a-z]{1,40}/\S{1,300}"), _event,
           "4m11s       Warning   Evicted               pod/train-3    message", "severity; control"),
    # ------------------------------------------------------------------ trainers and servers
    Format("deepspeed", _L, "[iso", b"]",
           _of(rb"\] \[([A-Z]{1,12})\] \[([^:\]\n]{1,200}):\d{1,7}:[^\]\n]{1,200}\] (?:\[Rank (-?\d{1,7})\] )?"), _deepspeed,
           "[2026-11-30 10:04:10,123] [INFO] [engine.py:96:log_dist] [Rank 0] message", "time without zone, severity, rank"),
    Format("ft_launcher", _L, "[iso", b"]",
           _of(rb"\] \[([A-Z]{1,12})\] \[(?:ft_launcher(\d{1,10})@([^\]\s]{1,255})|RankMonitorServer:\d{1,6})\] "), _ft_launcher,
           "[2026-11-30 10:04:10,123] [INFO] [ft_launcher4242@node-07] message", "time without zone, severity, pid, host; agent"),
    Format("megatron", _L, "", b" ", _of(rb" (?:\[" + ISO + rb"\] )?iteration +\d{1,10}/ *(?:\d{1,10}|infinity) \|"), _megatron,
           " [2026-11-30 10:04:10] iteration       60/    1000 | message", "time without zone"),
    Format("nemo", _L, "[", b"N", _of(rb"\[NeMo ([A-Z]) (\d{4}-\d\d-\d\d " + CLOCK + rb") [^\]\n]{1,200}\] ?"), _nemo,
           "[NeMo W 2026-11-30 10:04:10 nemo_logging:349] message", "severity, time without zone"),
    Format("sglang", _L, "[iso", b" ", _of(rb"((?: (?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d{1,4})+)(?: encode_\S{1,40})?\] "), _sglang,
           "[2026-11-30 10:04:10 TP3] message", "time without zone, process; its tags are no global rank"),
    Format("trtllm", _L, "[", DIGIT,
           _of(rb"\[(\d\d)/(\d\d)/(\d{4})-(" + CLOCK + rb")\] \[TRT-LLM\] (?:\[RANK (\d{1,7})\] )?\[([A-Z])\] "), _trtllm,
           "[11/30/2026-10:04:10] [TRT-LLM] [RANK 3] [E] message", "time without zone, rank, severity"),
    Format("vllm", _L, "", UPPER, _of(_LEVEL + rb" (\d\d)-(\d\d) (" + CLOCK + rb") (?:\[[^\]\n]{1,200}\]|[\w./]{1,200}:\d{1,7}\]) ?"), _vllm,
           "ERROR 11-30 10:04:10 [core.py:710] message", "severity, time without year or zone"),
    Format("tensorflow", _L, "iso", b":", _of(rb": ([IWEF])(?: +\d{1,20})? \S{1,300}:\d{1,7}\] ?"), _level_1,
           "2026-11-30 10:04:10.123456: E external/xla/client.cc:96] message", "time without zone, severity"),
    Format("horovod", _L, "[iso", b":", _of(rb": ([IWEF]) [^\]\n]{1,300}\] ?"), _level_1,
           "[2026-11-30 10:04:10.123456: W horovod/common/operations.cc:588] message", "time without zone, severity"),
    Format("tensorflow_short", _L, "", b"IWEF", _of(rb"([IWEF]) [\w./-]{1,300}\.(?:cc|cpp|cu|h):\d{1,7}\] ?"), _level_1,
           "F tensorflow/stream_executor/lib/statusor.cc:34] message", "severity"),
    # ------------------------------------------------------------------ Python loggers
    Format("loguru", _L, "iso", b" ", _of(rb" \| ([A-Z]{1,20}) *\| "), _logger, "2026-11-30 10:04:10.123 | ERROR    | loop:step:88 - message",
           "time without zone, severity"),
    Format("ray_py", _L, "iso", b"\t", _of(rb"\t([A-Z]{1,12}) (?:\([^)\n]{1,100}\) )?[^\s:]{1,200}:\d{1,7} -- "), _level_1,
           "2026-11-30 10:04:10,123\tERROR worker.py:1844 -- message", "time without zone, severity"),
    Format("python", _L, "iso", b" ,|-\t", _of(_PYTHON), _python, "2026-11-30 10:04:10,123 - mod.sub - ERROR - message", "time, severity"),
    Format("python_bracket", _L, "[iso", b"]", _of(_PYTHON), _python, "[2026-11-30 10:04:10,123][mod.sub][ERROR] - message", "time, severity"),
    Format("python_hf", _L, "[", UPPER, _of(rb"\[" + _LEVEL + rb"\|[^\]\n]{1,200}\] " + ISO + rb" >> "), _hf,
           "[INFO|trainer.py:2519] 2026-11-30 10:04:10,123 >> message", "severity, time without zone"),
    Format("python_level_bracket", _L, "[", UPPER, _of(rb"\[" + _LEVEL + rb"\] (?:\[[^\]\n]{1,200}\] ?)?\(?" + ISO + rb"(?:" + ZONE + rb")?"), _level_stamp,
           "[ERROR] 2026-11-30 10:04:10,123 error_handler: message", "severity, time"),
    Format("python_level", _L, "", UPPER,
           _of(_LEVEL + rb"[ \t|:]{1,12}(?:\[[^\]\n]{1,200}\] ?)?\(?" + ISO + rb"(?:" + ZONE + rb")?"), _level_stamp,
           "ERROR [mod.sub:123] 2026-11-30 10:04:10,123 message", "severity, time"),
    Format("submitit", _L, "", b"s", _of(rb"submitit " + _LEVEL + rb" \(" + ISO + rb"(?:" + ZONE + rb")?\) - "), _level_stamp,
           "submitit WARNING (2026-11-30 10:04:10,123) - message", "severity, time without zone"),
    Format("python_us_date", _L, "", DIGIT, _of(rb"(\d\d)/(\d\d)/(\d{4}) (" + CLOCK + rb")(?:,\d{3})? - " + _LEVEL + rb" - "), _us_date,
           "11/30/2026 10:04:10 - WARNING - mod.sub - message", "time without zone, severity"),
    Format("detectron", _L, "[", DIGIT, _of(rb"\[(\d\d)/(\d\d) (" + CLOCK + rb")[^\]\n]{0,100}\]:? "), _detectron,
           "[11/30 10:04:10 d2.engine]: message", "time without year or zone"),
    Format("python_basic", _L, "", UPPER, _of(_LEVEL + rb":([^\s:]{1,200}):"), _logger, "ERROR:mod.sub:message", "severity"),
    Format("logfmt", _L, "", b"t", _of(rb'time="' + ISO + rb"(?:" + ZONE + rb')?" level=([a-z]{1,10})'), _logfmt,
           'time="2026-11-30T10:04:10Z" level=info msg="message"', "time, severity"),
    Format("json", _L, "", b"{",
           _of(rb'\{"(?:timestamp|time|ts|asctime)": ?"' + ISO + rb"(?:" + ZONE + rb')?", ?"(?:level|levelname|severity)": ?"([A-Za-z]{1,10})"'), _logfmt,
           '{"timestamp":"2026-11-30T10:04:10.123Z","level":"ERROR","message":"message"}', "time, severity"),
    Format("logrus", _L, "", UPPER, _of(rb"(DEBU|INFO|WARN|ERRO|FATA)\[\d{4,8}\] "), _level_1, "INFO[0289] message", "severity"),
    # ------------------------------------------------------------------ what is left: a bare level, a bare stamp
    Format("level", _L, "", UPPER + b"|", _of(rb"(?:\| )?" + _LEVEL + rb"(?=[:\s\]]| -)"), _level_1, "ERROR: message", "severity"),
    Format("level_bracket", _L, "[", WORD, _of(rb"(?:\[[\w-]{1,40}\])?\[" + _LEVEL + rb"\]"), _level_1, "[ERROR] message", "severity"),
    Format("syslog_stamp", _L, "", UPPER, _of(rb"(" + MONTH + rb") {1,2}(\d{1,2}) (" + CLOCK + rb")(?:\.(\d{1,9}))? "), _ctime_only,
           "Nov 30 10:04:10 message", "time without year or zone"),
    Format("iso", _L, "iso", bytes(range(256)), _of(rb""), _stamp, "2026-11-30T10:04:10Z message", "time"),
    Format("iso_bracket", _L, "[iso", bytes(range(256)), _of(rb"[^\]\n]{0,100}\]"), _stamp, "[2026-11-30 10:04:10] message", "time"),
)
