"""The prefixes that launchers, containers and serving engines put in front of a line."""

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
    LOWER,
    MONTH,
    UPPER,
    WORD,
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

_OMPI = rb"<(?P<stream>std(?:out|err|diag))>:"
NANOS: Final = rb"(?:(?<=\.\d{7}Z)|(?<=\.\d{8}Z)|(?<=\.\d{9}Z))"


# Another role than `default` looks like what people print (`[step10]: loss`), but torchrun puts no blank behind it. A prefix
# template of the user's may end in one: a single blank is its, more are the line's own indentation.
@wrapper(
    "torchrun_tee",
    "[",
    WORD,
    rb"\[(?:default|(?!rank\d)[A-Za-z_]\w{0,63}?(?=\d{1,4}\]:(?! )))(\d{1,4})\]:(?: (?! ))?",
    "[default3]:step 10",
    "local rank, role",
)
def _tee(m: Match, into: Prefixes) -> None:
    into.local_rank, into.tee = _worker(m[0], m[1])
    into.kind = "rank"


@lru_cache(maxsize=4096)
def _worker(tag: bytes, local: bytes) -> tuple[int, str]:
    return int(local), text_of(tag.rstrip()[1:-2])


@wrapper(
    "rank", "[", b"r", rb"\[rank(\d{1,7})\]:? ?", "[rank3]: RuntimeError: message", "global rank (torch's excepthook and c10d)"
)
@wrapper("lightning", "[", b"r", rb"\[rank: (\d{1,7})\] ", "[rank: 3] Seed set to 42", "global rank")
@wrapper("accelerate", "[", b"R", rb"\[R(?:ANK|ank) (\d{1,7})\] ", "[RANK 3] message", "global rank")
def _rank(m: Match, into: Prefixes) -> None:
    into.rank = int(m[1])
    into.tag = f"rank{into.rank}"
    into.kind = "rank"


@wrapper("ompi4", "[", DIGIT, rb"\[\d{1,10},(?P<rank>\d{1,7})\]" + _OMPI, "[1,3]<stderr>:message", "task, stream")
def _ompi(m: Match, into: Prefixes) -> None:
    into.task = int(m["rank"])
    into.stream = text_of(m["stream"])


@wrapper(
    "ompi4_stamped",
    "",
    DAYS,
    CTIME + rb"(?:\[\d{1,10},(?P<rank>\d{1,7})\])?" + _OMPI,
    "Mon Nov 30 10:04:10 2026[1,3]<stderr>:message",
    "task, stream; arrival time without zone",
)
def _ompi_stamped(m: Match, into: Prefixes) -> None:
    into.arrival(stamps.named(m[1], m[2].strip(), m[3], None, m[4]))
    into.stream = text_of(m["stream"])
    if m["rank"]:
        into.task = int(m["rank"])


@wrapper(
    "ompi5",
    "[",
    DIGIT + UPPER + LOWER,
    rb"(?:\[[A-Z][a-z]{2} (?P<month>" + MONTH + rb") (?P<day>[ \d]\d) (?P<clock>" + CLOCK + rb") (?P<year>\d{4})\])?"
    rb"\[(?:[^\],\s]{1,128},)?(?P<rank>\d{1,7})\](?:\[(?P<host>[^\]:\s]{1,255}):(?P<pid>\d{1,10})\])?" + _OMPI + rb" ",
    "[1,3][node-07:4242]<stderr>: message",
    "task, host, pid, stream; arrival time",
)
def _ompi_host(m: Match, into: Prefixes) -> None:
    _ompi(m, into)
    if m["month"]:
        into.arrival(stamps.named(m["month"], m["day"].strip(), m["clock"], None, m["year"]))
    if m["host"]:
        into.host = host_of(m["host"])
        into.pid = int(m["pid"])


@wrapper(
    "sagemaker_mpi",
    "[",
    DIGIT,
    rb"\[\d{1,10},mpirank:(?P<rank>\d{1,7}),(?P<host>[^\]\s]{1,255})\]" + _OMPI,
    "[1,mpirank:3,algo-1]<stderr>:message",
    "task, host, stream",
)
def _sagemaker(m: Match, into: Prefixes) -> None:
    _ompi(m, into)
    into.host = host_of(m["host"])


@weak("srun_label", "", b" " + DIGIT, rb" {0,6}(\d{1,7}): ?", "03: step 10", "task")
@weak("intel_mpi", "[", DIGIT, rb"\[(\d{1,7})\] ", "[3] step 10", "task")
def _task(m: Match, into: Prefixes) -> None:
    into.task = int(m[1])


@weak(
    "pdsh",
    "",
    LOWER + UPPER,
    rb"(?!\w{1,40}(?:Error|Exception|Warning)\b|(?:epoch|step|iter|rank|loss|layer|batch|gpu|val|test)\w{0,8}[-_.]?\d{1,9}: )"
    rb"([A-Za-z][\w.-]{0,250}\d[\w.-]{0,64}): ",
    "node-07: step 10",
    "host",
)
def _pdsh(m: Match, into: Prefixes) -> None:
    into.host = host_of(m[1])
    into.ident = into.host


@weak(
    "stern",
    "",
    LOWER + DIGIT,
    rb"([a-z0-9][a-z0-9.-]{0,200}-[a-z0-9]{1,40}) ([a-z0-9][a-z0-9-]{0,62}) ",
    "train-worker-3 trainer step 10",
    "pod, container",
)
def _stern(m: Match, into: Prefixes) -> None:
    into.ident = text_of(m[0]).rstrip().replace(" ", "/")


@wrapper(
    "sagemaker_local",
    "",
    b"a",
    rb"(algo-\d{1,4})-[a-z0-9]{5} {1,40}\| ",
    "algo-1-abcde  | step 10",
    "host (SageMaker's local mode)",
)
def _sagemaker_local(m: Match, into: Prefixes) -> None:
    into.host = into.ident = host_of(m[1])


@weak("torchx", "", WORD, rb"([A-Za-z_][\w.-]{0,63}/\d{1,4}) ", "trainer/0 step 10", "role and replica")
@weak(
    "compose",
    "",
    WORD,
    rb"(?!algo-\d{1,4}-[a-z0-9]{5} )([A-Za-z0-9][\w.-]{0,250}) {1,40}\| ",
    "trainer-1  | step 10",
    "service",
)
def _named(m: Match, into: Prefixes) -> None:
    into.ident = text_of(m[1])


@wrapper(
    "fluentbit_stdout",
    "[",
    DIGIT,
    rb"\[\d{1,9}\] [^\s:\]]{1,200}: \[\[?(\d{9,10})\.(\d{9})(?:, \{[^}\n]{0,500}\}\])?, \{\"(?:log|message|MESSAGE)\"=>\"",
    '[0] kube.trainer: [1796033050.123456789, {"log"=>"step 10", "stream"=>"stderr"}]',
    "arrival time; what follows the message stays behind it",
)
def _fluentbit(m: Match, into: Prefixes) -> None:
    into.arrival(stamps.epoch(m[1], m[2]))


@wrapper(
    "xla_dist",
    "iso",
    b" ",
    rb" ((?:\d{1,3}\.){3}\d{1,3}) \[(\d{1,5})\] ",
    "2026-11-30 10:04:10 10.0.0.7 [3] step 10",
    "arrival time without zone, host (the number is the host's)",
)
def _xla_dist(m: Match, into: Prefixes) -> None:
    into.stamp = stamps.arrival(into.stamp)
    into.host = into.ident = host_of(m[1])


@wrapper(
    "k8s_cri",
    "iso",
    b" ",
    ZONED + rb" (stdout|stderr) ([FP])(?::\S{0,64})? ",
    "2026-11-30T10:04:10.123456789Z stderr F step 10",
    "stream; arrival time; whether the line goes on in the stream's next one",
)
def _cri(m: Match, into: Prefixes) -> None:
    into.stamp = stamps.arrival(into.stamp)
    into.stream = text_of(m[1])
    into.partial = m[2] == b"P"


@wrapper(
    "timestamped",
    "iso",
    b" ",
    NANOS + rb" ",
    "2026-11-30T10:04:10.123456789Z step 10",
    "arrival time (docker and kubectl --timestamps)",
)
@wrapper(
    "logcli", "iso", b" ", ZONED + rb" \{[^}\n]{0,2000}\} {1,40}", '2026-11-30T10:04:10Z {pod="train-3"} step 10', "arrival time"
)
def _arrived(_m: Match, into: Prefixes) -> None:
    if not into.arrives:
        into.stamp = stamps.arrival(into.stamp)
    into.arrives = False  # a stamp behind it is the process's own


@wrapper("kubectl", "[", b"p", rb"\[pod/([^\]\s]{1,300})\] ", "[pod/train-3/trainer] step 10", "pod; what follows is arrival time")
def _kubectl(m: Match, into: Prefixes) -> None:
    into.ident = text_of(m[1])
    into.arrives = True


_TENSOR_WORKER: Final = re.compile(rb"(?:Worker_|VllmWorker )TP(\d{1,4})(?:_EP\d{1,4})?")


@wrapper(
    "ray",
    "",
    b"(",
    rb"\((?:([^()=\n]{1,200}?) )?pid=(\d{1,10})(?:, ip=([^)\s]{1,255}))?\) ?",
    "(RayTrainWorker pid=4242, ip=10.0.0.7) step 10",
    "pid, host; vLLM's prefix has the same shape: its worker's number is the rank where tensor parallelism alone numbers them",
)
def _ray(m: Match, into: Prefixes) -> None:
    name = m[1] or b""
    into.process, into.pid, host, kind, rank = _ray_process(name, m[2], m[3])
    into.host = host or into.host
    into.kind = kind or into.kind
    into.rank = into.rank if rank is None else rank


@lru_cache(maxsize=4096)
def _ray_process(name: bytes, pid: bytes, ip: bytes) -> tuple[str, int, str | None, Kind | None, int | None]:
    process = f"{text_of(name)} pid={text_of(pid)}".strip()
    host = host_of(ip) if ip else None
    tensor = _TENSOR_WORKER.fullmatch(name)
    kind: Kind | None = "rank" if b"orker" in name else None
    return f"{process} {host}" if host else process, int(pid), host, kind, int(tensor[1]) if tensor else None


@wrapper(
    "vllm_worker",
    "",
    b"(",
    rb"\(VllmWorker rank=(\d{1,4}) pid=(\d{1,10})\) ",
    "(VllmWorker rank=1 pid=4242) INFO 11-30 10:04:10 [a.py:1] x",
    "rank, local rank, pid",
)
def _vllm_worker(m: Match, into: Prefixes) -> None:
    into.rank = into.local_rank = int(m[1])  # the engines that print this run all workers on one node
    into.pid = int(m[2])
    into.process = f"VllmWorker pid={into.pid}"
    into.kind = "rank"


@wrapper("vllm_stage", "[", b"S", rb"\[Stage-\d{1,4}\] ", "[Stage-0] INFO 11-30 10:04:10 [a.py:1] x", "stage")
def _stage(m: Match, into: Prefixes) -> None:
    into.ident = into.ident or text_of(m[0][1:-2])


@wrapper(
    "ray_system",
    "",
    b"(",
    rb"\((raylet|gcs_server|autoscaler[^()\n]{0,40}?)(?:, ip=([^)\s]{1,255}))?\) ",
    "(raylet, ip=10.0.0.7) A worker died",
    "host; control",
)
def _ray_system(m: Match, into: Prefixes) -> None:
    if m[2]:
        into.host = host_of(m[2])
    into.process = text_of(m[1]) + (f" {into.host}" if m[2] else "")
    into.kind = "control"


WRAPPERS: Final = tuple(_FORMATS.formats)
