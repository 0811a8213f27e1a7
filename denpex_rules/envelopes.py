"""JSON around a line: one record a line, as container runtimes, journald, collectors and JSON loggers write it.

A carrier (docker, a collector, a cloud's log service) stamps when a line arrived; its message is read on. A logger prints the
time itself. What is no JSON object of a known shape is text and stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from attrs import frozen

from denpex_rules import stamps
from denpex_rules.clock import Instant
from denpex_rules.hosts import take_program
from denpex_rules.leaves import AGENT_MODULES, claim
from denpex_rules.prefix import ISO, PRIORITY, SEVERITY, ZONE, Prefixes, host_of, text_of
from denpex_rules.rule import LogSeverity

DEPTH: Final = 4  # envelopes around one line; a message inside more of them is a quote
LIMIT: Final = 1 << 20  # bytes of one record

Record = Mapping[str, Any]
Reader = Callable[[Record, Prefixes], bytes | None]

_DECODER: Final = json.JSONDecoder(parse_float=str)  # a double has too few digits for an epoch
_ISO: Final = re.compile(ISO + rb" ?(" + ZONE + rb"|UTC)?")
_UNITS: Final = {0: (9, 10), 3: (12, 13), 6: (15, 16), 9: (18, 19)}  # digits of an epoch: in s, ms, us, ns
_EPOCH: Final = re.compile(r"(\d{9,10})\.(\d{1,9})\d*")

# The names that loggers and collectors give to the same thing, best known first.
_MESSAGE: Final = ("message", "event", "msg", "log", "MESSAGE", "body", "text", "line", "@message")
_TIME: Final = ("timestamp", "time", "ts", "asctime", "@timestamp", "datetime", "date", "eventTime", "t")
_LEVEL: Final = ("level", "levelname", "severity", "severity_text", "severityText", "log.level", "loglevel", "lvl")
_RANK: Final = ("rank", "global_rank", "RANK")
_LOCAL: Final = ("local_rank", "LOCAL_RANK")
_HOST: Final = ("host", "hostname", "host.name", "k8s.node.name", "nodeName", "node_name", "node")
_POD: Final = ("pod", "pod_name", "podName", "k8s.pod.name")
_CONTAINER: Final = ("container", "container_name", "containerName", "k8s.container.name")
_PID: Final = ("pid", "process", "process_id", "process.pid")
_NAME: Final = ("logger", "name", "logger_name", "module")
_CAUSE: Final = ("exception", "exc_info", "exc_text", "error", "err", "traceback", "stack", "stack_trace", "stacktrace")
_SAGEMAKER: Final = re.compile(r"(?:^|/)(algo-\d{1,4})-\d{10}$")
_HOST_FORM: Final = re.compile(r"[A-Za-z0-9][\w.:-]{0,254}")


@frozen
class Shape:
    """One kind of JSON record: the keys that it always has, and what reads it; like a `Format`, for documentation too."""

    name: str
    keys: frozenset[str]
    read: Reader
    example: str
    gives: str
    one: str  # of the keys: looking for it costs less than comparing all of them


_SHAPES: list[Shape] = []


def _shape(name: str, keys: str, example: str, gives: str) -> Callable[[Reader], Reader]:
    def register(read: Reader) -> Reader:
        _SHAPES.append(Shape(name, frozenset(keys.split()), read, example, gives, keys.partition(" ")[0]))
        return read

    return register


def read(data: bytes, into: Prefixes) -> bytes | None:
    """Return the message of a JSON record and take what stands beside it; None where `data` is no record of a known shape."""
    if len(data) > LIMIT:
        return None
    try:
        record = _DECODER.decode(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    for shape in SHAPES:
        if (not shape.one or shape.one in record) and shape.keys <= record.keys():
            message = shape.read(record, into)
            if message is not None:
                into.layout += (shape.name,)
                return message
    return None


# ------------------------------------------------------------------ values


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # an escaped half of a pair
        return text.encode("utf-8", "replace")


def _text(value: Any, depth: int = 3) -> bytes | None:
    """Return a message: a string, journald's array of bytes or of strings, or the message inside an object; None for no text."""
    if isinstance(value, str):
        return _bytes(value)
    if isinstance(value, list) and value and depth:
        if all(type(v) is int and 0 <= v <= 255 for v in value):
            return bytes(value)
        parts = [_text(v, depth - 1) for v in value]
        return b"\n".join(p for p in parts if p is not None) if None not in parts else None
    if isinstance(value, dict) and depth:
        if isinstance(value.get("kvlistValue"), dict):
            value = _attributes(value["kvlistValue"].get("values"))
        return next((text for key in ("stringValue", *_MESSAGE) if (text := _text(value.get(key), depth - 1)) is not None), None)
    return None


def _first(record: Record, keys: Iterable[str]) -> Any:
    """Return the value of the first key that has one."""
    for key in keys:  # most of them are not there: a loop costs half of what a generator does
        value = record.get(key)
        if value is not None and value != "":
            return value
    return None


def _inside(record: Record, *path: str) -> Record:
    """Return the object below a path of keys; an empty one where there is none."""
    for key in path:
        value = record.get(key)
        record = value if isinstance(value, dict) else {}
    return record


def _attributes(pairs: Any) -> dict[str, Any]:
    """Return OTLP's list of keys and typed values as a plain object."""
    if not isinstance(pairs, list):
        return {}
    typed = [(p.get("key"), p.get("value")) for p in pairs if isinstance(p, dict)]
    return {k: next(iter(v.values()), None) for k, v in typed if isinstance(k, str) and isinstance(v, dict)}


def _number(value: Any) -> bytes | None:
    """Return a whole number, printed or not, as digits."""
    if value is None:
        return None
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    return text.encode() if text.isascii() and text.isdigit() and len(text) <= 19 else None


def instant(value: Any) -> Instant | None:
    """Return a time: ISO text, or an epoch in seconds, ms, us or ns, told by its size; None for anything else."""
    if value is None:
        return None
    digits = _number(value)
    if digits:
        unit = next((u for u, lengths in _UNITS.items() if len(digits) in lengths), None)
        if unit is None:
            return None
        return stamps.epoch(digits[: len(digits) - unit], digits[len(digits) - unit :] or None)
    if not isinstance(value, str):
        return None
    seconds = _EPOCH.fullmatch(value)
    if seconds:
        return stamps.epoch(seconds[1].encode(), seconds[2].encode())
    iso = _ISO.fullmatch(_bytes(value))
    return stamps.iso(iso[1], iso[2], iso[3]) if iso else None


def _level(value: Any) -> LogSeverity | None:
    return SEVERITY.get(_bytes(value).upper()) if isinstance(value, str) else None


def _cause(record: Record, message: bytes) -> bytes:
    """Return the message with the exception that stands beside it: what it is about is often only there."""
    for key in _CAUSE:
        value = record.get(key)
        if value is None:
            continue
        for part in value if isinstance(value, list) else [value]:
            said = _exception(part) if isinstance(part, dict) else _text(part)
            if said and said not in message:
                message += b"\n" + said
    return message


def _exception(value: Record) -> bytes | None:
    kind = _text(_first(value, ("exc_type", "type", "name")))
    said = _text(_first(value, ("exc_value", "value", "message")))
    return b": ".join(part for part in (kind, said) if part) or None


# ------------------------------------------------------------------ who


def _process(fields: Record, into: Prefixes) -> None:
    """Take what a process says of itself: rank, host, pid."""
    rank, local, pid = (_number(_first(fields, keys)) for keys in (_RANK, _LOCAL, _PID))
    if local and len(local) <= 7:
        into.local_rank = int(local)
    if rank and len(rank) <= 7:
        claim(rank, into)
    if pid and len(pid) <= 10:
        into.pid = int(pid)
    host = _host(fields, into)
    if host or pid:
        into.process = ":".join(part for part in (host, text_of(pid)) if part)


def _host(fields: Record, into: Prefixes) -> str:
    host = _first(fields, _HOST)
    if not isinstance(host, str) or not _HOST_FORM.fullmatch(host):
        return ""
    into.host = host_of(host.encode("ascii", "replace"))
    return into.host


def _place(fields: Record, into: Prefixes) -> None:
    """Take where a carrier found the line: host, pod and container. They tell emitters apart."""
    host = _host(fields, into)
    parts = [str(_first(fields, keys) or "") for keys in (_POD, _CONTAINER)]
    into.ident = "/".join(p for p in parts if p) or host or into.ident


def _stream(fields: Record, into: Prefixes) -> None:
    stream = fields.get("stream")
    if stream in ("stdout", "stderr"):
        into.stream = str(stream)


# ------------------------------------------------------------------ carriers


@_shape(
    "docker",
    "log stream time",
    '{"log": "step 10\\n", "stream": "stdout", "time": "2026-11-30T10:04:10.123456789Z"}',
    "stream; arrival time; whether the line goes on in the stream's next one",
)
def _docker(record: Record, into: Prefixes) -> bytes | None:
    message = _text(record["log"])
    if message is not None:
        into.arrival(instant(record["time"]))
        _stream(record, into)
        into.partial = not message.endswith(b"\n")
    return message


@_shape(
    "fluentbit",
    "date log",
    '{"date": 1796033050.123456, "log": "step 10", "stream": "stderr", "kubernetes": {"pod_name": "train-3", "host": "node-07"}}',
    "stream, pod, host; arrival time",
)
def _collected(record: Record, into: Prefixes) -> bytes | None:
    message = _text(record["log"])
    if message is not None:
        into.arrival(instant(_first(record, ("time", "date"))))
        _place(_inside(record, "kubernetes"), into)
        _stream(record, into)
    return message


@_shape(
    "journald_json",
    "MESSAGE",
    '{"_HOSTNAME": "node-07", "SYSLOG_IDENTIFIER": "kernel", "_TRANSPORT": "kernel", "PRIORITY": "3", "MESSAGE": "message", '
    '"__REALTIME_TIMESTAMP": "1796033050123456"}',
    "host, program, pid, severity; time (arrival where only the receipt is told)",
)
def _journal(record: Record, into: Prefixes) -> bytes | None:
    if not any(key.startswith("_") for key in record):
        return None
    # journald writes null for a long value unless it is asked for all
    message = b"" if record["MESSAGE"] is None else _text(record["MESSAGE"])
    if message is None:
        return None
    ident = _first(record, ("SYSLOG_IDENTIFIER", "_COMM", "_SYSTEMD_UNIT"))
    host = record.get("_HOSTNAME")
    pid = _number(_first(record, ("_PID", "SYSLOG_PID"))) or b""
    if isinstance(host, str) and _HOST_FORM.fullmatch(host):
        program = _bytes(str(ident or "unknown"))
        take_program(into, host.encode("ascii", "replace"), program, pid if 0 < len(pid) <= 10 else None)
    source, kernel = instant(record.get("_SOURCE_REALTIME_TIMESTAMP")), record.get("_TRANSPORT") == "kernel"
    receipt = instant(record.get("__REALTIME_TIMESTAMP"))
    into.time(source or (receipt if kernel else stamps.arrival(receipt)))
    priority = _number(record.get("PRIORITY"))
    # what a service prints has the same priority whatever it says
    if priority and len(priority) == 1 and not (record.get("_TRANSPORT") == "stdout" and priority == b"6"):
        into.severity = PRIORITY[int(priority) & 7]
    return message


@_shape(
    "loki_json",
    "line timestamp",
    '{"labels": {"pod": "train-3"}, "line": "step 10", "timestamp": "2026-11-30T10:04:10.123456789Z"}',
    "pod, host; arrival time (logcli's jsonl, Grafana's download)",
)
def _loki(record: Record, into: Prefixes) -> bytes | None:
    message = _text(record["line"])
    if message is not None:
        into.arrival(instant(record["timestamp"]))
        labels = {**_inside(record, "fields"), **_inside(record, "labels")}
        _place(labels, into)
        _stream(labels, into)
    return message


@_shape(
    "cloudwatch_insights",
    "@message @timestamp",
    '{"@timestamp": "2026-11-30 10:04:10.123", "@message": "step 10", "@logStream": "job/algo-1-1796033000"}',
    "stream's name, SageMaker's host; arrival time without zone (a row of the CSV file)",
)
def _insights(record: Record, into: Prefixes) -> bytes | None:
    message = _text(record["@message"])
    if message is not None:
        into.arrival(instant(record["@timestamp"]))
        _log_stream(_first(record, ("@logStream", "@log")), into)
    return message


def _log_stream(name: Any, into: Prefixes) -> None:
    """Take the name of a log stream; SageMaker's holds the host."""
    if isinstance(name, str):
        into.ident = name
        machine = _SAGEMAKER.search(name)
        if machine:
            into.host = machine[1]


@_shape(
    "cloudwatch",
    "message timestamp ingestionTime",
    '{"timestamp": 1796033050123, "message": "step 10", "ingestionTime": 1796033052000}',
    "stream's name; arrival time",
)
@_shape(
    "cloudwatch_filter",
    "message timestamp logStreamName",
    '{"logStreamName": "job/algo-1-1796033000", "timestamp": 1796033050123, "message": "step 10"}',
    "stream's name, SageMaker's host; arrival time",
)
def _cloudwatch(record: Record, into: Prefixes) -> bytes | None:
    message = _text(record["message"])
    if message is not None:
        into.arrival(instant(record["timestamp"]))
        _log_stream(record.get("logStreamName"), into)
    return message


@_shape(
    "gcp",
    "logName timestamp",
    '{"logName": "projects/p/logs/trainer", "severity": "ERROR", "jsonPayload": {"message": "message"}, "timestamp": '
    '"2026-11-30T10:04:10.123456789Z", "resource": {"labels": {"pod_name": "train-3"}}}',
    "severity, pod, host; arrival time",
)
@_shape(
    "gcp_text",
    "textPayload timestamp",
    '{"severity": "ERROR", "textPayload": "message", "timestamp": "2026-11-30T10:04:10.123456789Z"}',
    "severity, pod, host; arrival time",
)
def _gcp(record: Record, into: Prefixes) -> bytes | None:
    payload = _inside(record, "jsonPayload")
    message = _text(record.get("textPayload")) if "textPayload" in record else _text(payload) or _text(record.get("protoPayload"))
    if message is None:
        return None
    into.arrival(instant(record["timestamp"]))
    labels = {**_inside(record, "resource", "labels"), **payload}
    _process(payload, into)
    machine = _inside(record, "labels").get("compute.googleapis.com/resource_name")
    _place({**labels, "host": machine}, into)
    log = str(record.get("logName", "")).rpartition("/")[2]
    if log in {"stdout", "stderr"}:  # the agent makes ERROR of all that a container writes to stderr: that is no level
        into.stream = log
        into.severity = _level(_first(payload, _LEVEL))
    else:
        into.severity = _level(record.get("severity"))
    return _cause(payload, message)


@_shape(
    "otlp",
    "body resource",
    '{"timeUnixNano": "1796033050123456789", "severityNumber": 17, "body": {"stringValue": "message"}, "resource": {"attributes": '
    '[{"key": "host.name", "value": {"stringValue": "node-07"}}]}}',
    "time, severity, host, rank (an OTLP request's records, and the console exporter's)",
)
def _otlp(record: Record, into: Prefixes) -> bytes | None:
    message = _text(record["body"])
    if message is None:
        return None
    seen = instant(_first(record, ("observedTimeUnixNano", "observed_timestamp")))
    own = _first(record, ("timeUnixNano", "timestamp"))
    into.time(instant(own) if own not in (None, "0", 0) else stamps.arrival(seen))
    number = _number(_first(record, ("severityNumber", "severity_number")))
    levels: tuple[LogSeverity, ...] = ("debug", "debug", "info", "warning", "error", "fatal")
    if number and 1 <= int(number) <= 24:
        into.severity = levels[(int(number) - 1) // 4]
    else:
        into.severity = _level(_first(record, _LEVEL))
    into.whole = into.severity is not None
    fields: dict[str, Any] = {}
    for where in (_inside(record, "resource").get("attributes"), record.get("attributes")):
        fields |= where if isinstance(where, dict) else _attributes(where)
    _process(fields, into)
    if _first(fields, _POD):
        _place(fields, into)
    cause = {"exception": fields.get("exception.stacktrace") or fields.get("exception.message")}
    return _cause(cause, message)


# ------------------------------------------------------------------ loggers


@_shape(
    "loguru_json",
    "record text",
    '{"text": "message\\n", "record": {"level": {"name": "ERROR"}, "message": "message", "extra": {"rank": 3}, "process": '
    '{"id": 4242}, "time": {"timestamp": 1796033050.123456}}}',
    "time, severity, rank, pid",
)
def _loguru(record: Record, into: Prefixes) -> bytes | None:
    inner = _inside(record, "record")
    message = _text(inner.get("message"))
    if message is None:
        return None
    into.time(instant(_inside(inner, "time").get("timestamp")))
    into.severity = _level(_inside(inner, "level").get("name"))
    into.whole = True
    _process({"pid": _inside(inner, "process").get("id"), **_inside(inner, "extra")}, into)
    printed = _text(record["text"]) or b""
    traceback = printed.find(b"Traceback (most recent call last)")
    return message + b"\n" + printed[traceback:].rstrip() if inner.get("exception") and traceback >= 0 else message


@_shape(
    "json_logger",
    "",
    '{"timestamp": "2026-11-30T10:04:10.123Z", "level": "ERROR", "rank": 3, "message": "message"}',
    "time, severity, rank, local rank, host, pid (structlog, python-json-logger, zap, stern and others, by their usual keys)",
)
def _logger(record: Record, into: Prefixes) -> bytes | None:
    message = next((text for key in _MESSAGE if key in record and (text := _text(record[key])) is not None), None)
    stamp = next((found for key in _TIME if key in record and (found := instant(record[key])) is not None), None)
    level = _level(_first(record, _LEVEL))
    pod = _first(record, _POD)
    if message is None or not (stamp or level or pod):
        return None
    into.time(stamp)
    into.severity = level or into.severity
    into.whole = level is not None
    name = _first(record, _NAME)
    if isinstance(name, str) and AGENT_MODULES.search(_bytes(name)):
        into.kind = "agent"
    _process(record, into)
    if pod:
        _place(record, into)
    return _cause(record, message)


SHAPES: Final = tuple(_SHAPES)
