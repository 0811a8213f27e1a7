"""What a file's name and folders claim about its lines: rank, host, job, kind of log, and whether one process wrote them all.

Only named numbers are ranks (`rank_3.log`); a bare number or `worker-7` is none. torchrun names its folders by *local* rank. A
host is taken from a name that looks like one, and joins only in that form.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from attrs import evolve

from denpex_rules.record import Hints
from denpex_rules.rule import Kind
from denpex_rules.sighting import Actor
from denpex_rules.values import parse_host

# What log rotation and packing put behind a name: a number, a date with or without a time, a compression.
_DATE: Final = r"(?:\d{8}(?:-\d{2,10})?|\d{4}-\d\d-\d\d(?:[_T-]\d\d(?:[-:_]?\d\d){0,2})?)"
_ROTATED: Final = re.compile(r"(?:\.\d{1,3}|[.-]" + _DATE + r"|\.(?:gz|xz|bz2|zst|lz4|old|bak))+$", re.IGNORECASE)
_PACKED: Final = re.compile(r"(?:\.\d{1,3})?(?:\.(?:gz|xz|bz2|zst))+$", re.IGNORECASE)
_SUFFIX: Final = re.compile(r"(?:\.(?:log|txt|out|err|stdout|stderr|jsonl?))+$", re.IGNORECASE)

_TORCHRUN_RUN: Final = re.compile(r"(.+)_[a-z0-9_]{8}")  # `<run_id>_<mkdtemp's eight characters>`
_TORCHRUN: Final = re.compile(r"attempt_(\d{1,5})/(\d{1,4})/(?:stdout|stderr)\.log")
_LOCAL: Final = re.compile(r"local[_-]?rank[._-]?(\d{1,4})(?!\d)", re.IGNORECASE)
# `rank0-7` is a range; a date may follow (`rank_3_20261130`).
_RANK: Final = re.compile(
    r"(?:^|[^a-z]|global[_-]?)(?<!local)(?<!local[_-])rank[._-]?(\d{1,7})(?!\d|-\d{1,4}(?!\d))", re.IGNORECASE
)
_TASK: Final = re.compile(r"(?:log_(\d{2,12})_(\d{1,6})|(\d{2,12})_(\d{1,6})_log)")
_JOB: Final = re.compile(r"slurm-(\d{1,12}(?:_\d{1,8})?)")
_SAGEMAKER: Final = re.compile(r".+[-/](algo-\d{1,4})-\d{10}")  # the folder that CloudWatch's export makes of a stream
_NCCL: Final = re.compile(r"nccl[._-](.+?)\.(\d{1,10})", re.IGNORECASE)
_RAY: Final = re.compile(r"worker-[0-9a-f]{56}-[0-9a-f]{8}-(\d{1,10})")  # the eight digits count Ray's drivers: no job's name
_GLOG: Final = re.compile(r"[\w-]+\.([^.]+)\.[^.]+\.log\.(?:INFO|WARNING|ERROR|FATAL)\.\d{8}-\d{6}\.(\d{1,10})")

# A name by which people call a machine. `gpu3` is a device, `node1` most often the launcher's node rank.
_MACHINE: Final = (
    r"(?:(?:\d{1,3}\.){3}\d{1,3}|ip-\d{1,3}(?:-\d{1,3}){3}|(?!gpu[-_]?\d{1,2}(?![\w-])|(?:node|host|server)-?\d(?![\w-]))"
    r"(?:node|host|gpu|cpu|cn|nid|dgx|hgx|hpc|compute|server|srv)[a-z0-9-]*\d[a-z0-9-]*)"
)
_HOST_IN_NAME: Final = re.compile(r"(?:^|_)(" + _MACHINE + r")(?=[_.]|$)", re.IGNORECASE)
_HOST_FOLDER: Final = re.compile(_MACHINE + r"(?:\.[a-z0-9.-]+)?", re.IGNORECASE)
_ANY_HOST: Final = re.compile(r"(?=[^.]*[a-z])(?=.*\d)[a-z0-9][a-z0-9.-]*|(?:\d{1,3}\.){3}\d{1,3}", re.IGNORECASE)

_KINDS: Final[dict[str, Kind]] = {
    "kern": "kernel",
    "kernel": "kernel",
    "dmesg": "kernel",
    "kmsg": "kernel",
    "messages": "kernel",
    "syslog": "kernel",
    "journal": "kernel",
    "journalctl": "kernel",
    "slurmctld": "scheduler",
    "slurmd": "scheduler",
    "slurmstepd": "scheduler",
    "fabricmanager": "fabric",
    "raylet": "control",
    "gcs_server": "control",
    "kubelet": "control",
}
_KIND: Final = re.compile(r"(?:(.+?)[._-])?(" + "|".join(_KINDS) + r")(?:[._-](.+))?", re.IGNORECASE)


def hints_for(path: str) -> Hints:
    """Return what a path, with `/` between its parts, claims. Only the parts given count; relative paths are read as they are."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    hints = Hints(domain=path)
    if not parts:
        return hints
    full = _ROTATED.sub("", parts[-1])
    stem = _SUFFIX.sub("", full)
    return _process(parts, full, stem, hints) or _host_log(parts, stem, hints) or _plain(parts, stem, hints)


def _process(parts: tuple[str, ...], full: str, stem: str, hints: Hints) -> Hints | None:
    """Return the hints of a file that one process wrote, None where the name proves no such thing."""
    torchrun = _TORCHRUN.fullmatch("/".join((*parts[-3:-1], full)))
    if torchrun:
        run = _TORCHRUN_RUN.fullmatch(parts[-4]) if len(parts) > 3 else None
        job = run[1] if run and run[1] != "none" else None
        actor = Actor(local_rank=int(torchrun[2]), host=_folder_host(parts[:-3]), job=job, attempt=int(torchrun[1]))
    elif nccl := _NCCL.fullmatch(stem):
        actor = Actor(host=parse_host(nccl[1]), pid=int(nccl[2]))
    elif ray := _RAY.fullmatch(stem):
        actor = Actor(pid=int(ray[1]), host=_folder_host(parts[:-1]))
    elif glog := _GLOG.fullmatch(_PACKED.sub("", parts[-1])):
        actor = Actor(host=parse_host(glog[1]), pid=int(glog[2]))
    elif task := _TASK.fullmatch(stem):
        actor = Actor(rank=int(task[2] or task[4]), job=task[1] or task[3], host=_folder_host(parts[:-1]))
    else:
        folder = parts[-2] if len(parts) > 1 and stem in {"stdout", "stderr", "output", "train", "log"} else ""
        rank, local = (_RANK.search(stem) or _RANK.search(folder)), (_LOCAL.search(stem) or _LOCAL.search(folder))
        if rank is None and local is None:
            return None
        actor = Actor(
            rank=int(rank[1]) if rank else None,
            local_rank=int(local[1]) if local else None,
            host=_name_host(stem) or _folder_host(parts[:-1]),
        )
    return evolve(hints, actor=actor, kind="rank", process=True)


def _host_log(parts: tuple[str, ...], stem: str, hints: Hints) -> Hints | None:
    """Return the hints of a host's, scheduler's or fabric's log: `kern_node-02`, `node-02.dmesg`, `node-02/var/log/kern`."""
    match = _KIND.fullmatch(stem)
    if match is None:
        return None
    host = next((parse_host(side) for side in (match[3], match[1]) if side and _ANY_HOST.fullmatch(side)), None)
    if host is None and parts[-3:-1] == ("var", "log") and len(parts) > 3 and _ANY_HOST.fullmatch(parts[-4]):
        host = parse_host(parts[-4])
    return evolve(hints, actor=Actor(host=host or _folder_host(parts[:-1])), kind=_KINDS[match[2].lower()])


def _plain(parts: tuple[str, ...], stem: str, hints: Hints) -> Hints:
    job = _JOB.fullmatch(stem)
    host = _name_host(stem) or _folder_host(parts[:-1])
    if host is None and len(parts) > 1 and (machine := _SAGEMAKER.fullmatch(parts[-2])):
        host = machine[1]
    return evolve(hints, actor=Actor(host=host, job=job[1] if job else None))


def _name_host(stem: str) -> str | None:
    match = _HOST_IN_NAME.search(stem)
    return parse_host(match[1]) if match else None


def _folder_host(folders: tuple[str, ...]) -> str | None:
    return next((parse_host(f) for f in reversed(folders) if _HOST_FOLDER.fullmatch(f)), None)
