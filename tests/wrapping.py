"""One writer for each wrapper of the registry: a rank's line as a launcher, a container runtime or a collector passes it on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from attrs import evolve, frozen

from denpex_rules import envelopes
from denpex_rules.tables import FORMATS
from layouts import START, Job, by_time, split, written


@frozen
class Said:
    """One line of a rank, with what a wrapper may tell about it; `second` is when it was written, after START."""

    second: float
    text: str
    rank: int
    local: int
    host: str
    pid: int

    @property
    def arrived(self) -> datetime:
        """When a collector took the line: a little after it was written."""
        return START + timedelta(seconds=self.second, milliseconds=200)

    @property
    def nanos(self) -> str:
        """The arrival as container runtimes print it."""
        return f"{self.arrived:%Y-%m-%dT%H:%M:%S.%f}123Z"

    @property
    def epoch(self) -> str:
        """The arrival in whole microseconds since 1970."""
        return str(int(self.arrived.timestamp() * 1_000_000))


Wrapper = Callable[[Said], str]


def _journald(said: Said) -> str:
    who = {"_HOSTNAME": said.host, "_PID": str(said.pid), "SYSLOG_IDENTIFIER": "trainer"}
    return json.dumps({"__REALTIME_TIMESTAMP": said.epoch, **who, "MESSAGE": said.text})


def _ctime(said: Said) -> str:
    return f"{said.arrived:%a %b} {said.arrived.day:2} {said.arrived:%H:%M:%S %Y}"


def _program(said: Said) -> str:
    return f"{said.host} trainer[{said.pid}]: {said.text}"


def _docker(said: Said) -> str:
    return json.dumps({"log": f"{said.text}\n", "stream": "stderr", "time": said.nanos})


def _fluentbit(said: Said) -> str:
    seconds = f"{said.epoch[:-6]}.{said.epoch[-6:]}"
    place = {"pod_name": f"train-{said.rank}", "host": said.host}
    return f'{{"date": {seconds}, "log": {json.dumps(said.text)}, "stream": "stderr", "kubernetes": {json.dumps(place)}}}'


def _cloudwatch(said: Said) -> str:
    return _object(said, "message", timestamp=int(said.epoch[:-3]), ingestionTime=int(said.epoch[:-3]) + 900)


def _filtered(said: Said) -> str:
    return _object(said, "message", timestamp=int(said.epoch[:-3]), logStreamName=f"job/worker-{said.rank}")


def _insights(said: Said) -> str:
    return _object(
        said, "@message", **{"@timestamp": f"{said.arrived:%Y-%m-%d %H:%M:%S}.200", "@logStream": f"job/worker-{said.rank}"}
    )


def _gcp(said: Said) -> str:
    log = {"logName": "projects/p/logs/stderr", "severity": "ERROR", "resource": {"labels": {"pod_name": f"train-{said.rank}"}}}
    return json.dumps({**log, "jsonPayload": {"message": said.text}, "timestamp": said.nanos})


def _otlp(said: Said) -> str:
    host = {"key": "host.name", "value": {"stringValue": said.host}}
    when = {"timeUnixNano": "0", "observedTimeUnixNano": f"{said.epoch}000"}
    return json.dumps({**when, "body": {"stringValue": said.text}, "resource": {"attributes": [host]}})


def _loguru(said: Said) -> str:
    when = {"timestamp": float(f"{said.epoch[:-6]}.{said.epoch[-6:]}")}
    told = {"message": said.text, "extra": {"rank": said.rank}, "process": {"id": said.pid}, "time": when}
    return json.dumps({"text": f"{said.text}\n", "record": {"level": {"name": "INFO"}, **told}})


def _object(said: Said, key: str, **others: Any) -> str:
    return json.dumps({key: said.text, **others})


STRONG: Final[Mapping[str, Wrapper]] = {
    # JSON
    "docker": _docker,
    "fluentbit": _fluentbit,
    "journald_json": _journald,
    "loki_json": lambda s: _object(s, "line", labels={"pod": f"train-{s.rank}"}, timestamp=s.nanos),
    "cloudwatch_insights": _insights,
    "cloudwatch": _cloudwatch,
    "cloudwatch_filter": _filtered,
    "gcp": _gcp,
    "gcp_text": lambda s: _object(s, "textPayload", severity="DEFAULT", timestamp=s.nanos),
    "otlp": _otlp,
    "json_logger": lambda s: _object(s, "message", timestamp=s.nanos, rank=s.rank, pod=f"train-{s.rank}"),
    # hosts
    "journal_bsd": lambda s: f"{s.arrived:%b} {s.arrived.day:2} {s.arrived:%H:%M:%S} {_program(s)}",
    "journal_iso": lambda s: f"{s.arrived:%Y-%m-%dT%H:%M:%S}+00:00 {_program(s)}",
    "journal_full": lambda s: f"{s.arrived:%a %Y-%m-%d %H:%M:%S} UTC {_program(s)}",
    "journal_unix": lambda s: f"{s.epoch[:-6]}.{s.epoch[-6:]} {_program(s)}",
    "rfc5424": lambda s: f"<14>1 {s.arrived:%Y-%m-%dT%H:%M:%S.%f}Z {s.host} trainer {s.pid} - - {s.text}",
    # launchers, containers, engines
    "torchrun_tee": lambda s: f"[default{s.local}]:{s.text}",
    "rank": lambda s: f"[rank{s.rank}]: {s.text}",
    "lightning": lambda s: f"[rank: {s.rank}] {s.text}",
    "accelerate": lambda s: f"[RANK {s.rank}] {s.text}",
    "ompi4": lambda s: f"[1,{s.rank}]<stderr>:{s.text}",
    "ompi4_stamped": lambda s: f"{_ctime(s)}[1,{s.rank}]<stderr>:{s.text}",
    "ompi5": lambda s: f"[1,{s.rank}][{s.host}:{s.pid}]<stderr>: {s.text}",
    "sagemaker_mpi": lambda s: f"[1,mpirank:{s.rank},{s.host}]<stderr>:{s.text}",
    "sagemaker_local": lambda s: f"{s.host}-abcde  | {s.text}",
    "xla_dist": lambda s: f"{s.arrived:%Y-%m-%d %H:%M:%S} {s.host} [{s.local}] {s.text}",
    "k8s_cri": lambda s: f"{s.nanos} stdout F {s.text}",
    "timestamped": lambda s: f"{s.nanos} {s.text}",
    "logcli": lambda s: f'{s.arrived:%Y-%m-%dT%H:%M:%S}Z {{pod="train-{s.rank}"}} {s.text}',
    "kubectl": lambda s: f"[pod/train-{s.rank}/trainer] {s.text}",
    "ray": lambda s: f"(RayTrainWorker pid={s.pid}) {s.text}",
    "vllm_worker": lambda s: f"(VllmWorker rank={s.rank} pid={s.pid}) {s.text}",
    "vllm_stage": lambda s: f"[Stage-0] {s.text}",
}

WEAK: Final[Mapping[str, Wrapper]] = {
    "srun_label": lambda s: f"{s.rank}: {s.text}",
    "intel_mpi": lambda s: f"[{s.rank}] {s.text}",
    "pdsh": lambda s: f"{s.host}: {s.text}",
    "stern": lambda s: f"train-worker-{s.rank} trainer {s.text}",
    "torchx": lambda s: f"trainer/{s.rank} {s.text}",
    "compose": lambda s: f"trainer-{s.rank}  | {s.text}",
    "journal_iso_bare": lambda s: f"{s.arrived:%Y-%m-%dT%H:%M:%S}+00:00 {s.host} trainer: {s.text}",
}

# Wrappers that can't carry a rank's lines so that the same is told, each with the reason.
EXCEPT: Final[Mapping[str, str]] = {
    "dmesg": "only the kernel's own lines",
    "dmesg_level": "only the kernel's own lines",
    "dmesg_ctime": "only the kernel's own lines",
    "dmesg_iso": "only the kernel's own lines",
    "dmesg_human": "only the kernel's own lines",
    "kmsg": "only the kernel's own lines",
    "talos": "only lines of the kernel and of the host's services",
    "ray_system": "only lines of Ray's own services",
    "journal_mono": "counts from boot: lines without a stamp of their own have no time of day",
    "fluentbit_stdout": "what follows the message stays behind it",
    "loguru_json": "a logger's own record, with a level of its own: a line that it holds has no other",
}

# Wrappers that know one way only to name hosts; `{}` is a number.
HOSTS: Final[Mapping[str, str]] = {"sagemaker_local": "algo-{}", "xla_dist": "10.0.0.{}"}

# Wrappers that tell processes apart: a launcher's label stands around them, never inside.
TELLING: Final = frozenset(
    {"torchrun_tee", "rank", "lightning", "accelerate", "ompi4", "ompi4_stamped", "ompi5", "sagemaker_mpi", "ray", "vllm_worker"}
)


def may_stand(inner: str, outer: str) -> bool:
    """Whether one wrapper can stand around another: no label inside of a process's own prefix, one way only to name hosts."""
    return inner != outer and not (inner in WEAK and (outer in TELLING or outer in WEAK)) and not {inner, outer} >= HOSTS.keys()


def fitted(job: Job, *names: str) -> Job:
    """Return the job on hosts that are named as the wrappers of these names need it."""
    form = next((HOSTS[name] for name in names if name in HOSTS), None)
    return job if form is None else evolve(job, names=tuple(form.format(n) for n in range(1, len(job.names) + 1)))


def carries(job: Job, *names: str) -> bool:
    """Whether one file of all ranks still tells them apart inside of these wrappers: local ranks alone don't, across hosts."""
    return job.prefix == "rank" and ("torchrun_tee" not in names or len(job.names) == 1)


def wrapped(job: Job, *wrappers: Wrapper, merge: bool = False) -> dict[str, bytes]:
    """Return a job as `split` does, each line of a rank inside of wrappers, the innermost first; all ranks in one file if asked."""
    streams = {}
    for index in range(job.ranks):
        lines = []
        for second, text in job.process(index):
            rank = job.number(index)
            said = Said(second, text, rank, job.local(index), job.names[job.node(index)], 4200 + rank)
            for wrapper in wrappers:
                said = evolve(said, text=wrapper(said))
            lines.append((second, said.text))
        streams[f"rank{job.number(index)}.log"] = lines
    if not merge:
        return split(job) | {name: written(lines) for name, lines in streams.items()}
    kernels = {name: data for name, data in split(job).items() if name not in streams}
    return {"train.log": written(by_time(streams)), **kernels}


def registry(role: str) -> set[str]:
    """Return the names of the registry's formats of a role; JSON records are wrappers."""
    shapes = {s.name for s in envelopes.SHAPES} if role == "wrapper" else set()
    return shapes | {f.name for f in FORMATS if f.role == role}
