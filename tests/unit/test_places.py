"""What a file's name and folders claim about its lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.places import hints_for
from denpex_rules.sighting import Actor

RAY = "worker-" + "0a" * 28 + "-01000000-4242.err"


@pytest.mark.parametrize(
    ("path", "actor"),
    [
        ("rank_3.log", Actor(rank=3)),
        ("rank-3.err", Actor(rank=3)),
        ("logs/rank03", Actor(rank=3)),
        ("train_rank3_20261130.log", Actor(rank=3)),
        ("rank_3.log.2.gz", Actor(rank=3)),
        ("1/rank.03/stderr", Actor(rank=3)),
        ("node-07/rank_3.log", Actor(rank=3, host="node-07")),
        ("nemo_log_globalrank-11_localrank-3.txt", Actor(rank=11, local_rank=3)),
        ("local_rank_2.log", Actor(local_rank=2)),
        ("logs/log_12345_3.out", Actor(rank=3, job="12345")),
        ("12345_3_log.err", Actor(rank=3, job="12345")),
        ("run/job4711_ab12cd34/attempt_1/3/stderr.log", Actor(local_rank=3, job="job4711", attempt=1)),
        ("none_ab12cd34/attempt_0/3/stdout.log", Actor(local_rank=3, attempt=0)),
        ("attempt_0/3/stdout.log", Actor(local_rank=3, attempt=0)),
        ("node-07/none_ab12cd34/attempt_0/3/stdout.log", Actor(local_rank=3, host="node-07", attempt=0)),
        ("nccl.gpu-a01.4242.log", Actor(host="gpu-a01", pid=4242)),
        (f"ray/{RAY}", Actor(pid=4242)),
        ("py_train.gpu-a01.user.log.ERROR.20261130-123456.4242", Actor(host="gpu-a01", pid=4242)),
    ],
)
def test_place_of_one_process(path: str, actor: Actor) -> None:
    """A name that one process's file has gives its actor, and says that one process wrote it."""
    hints = hints_for(path)
    assert (hints.actor, hints.kind, hints.process) == (actor, "rank", True)


@pytest.mark.parametrize(
    ("path", "host", "kind"),
    [
        ("gpu-a02/var/log/kern.log", "gpu-a02", "kernel"),
        ("kern_node-02.log", "node-02", "kernel"),
        ("dmesg_node-02.txt", "node-02", "kernel"),
        ("node-02.dmesg", "node-02", "kernel"),
        ("node-02/dmesg.txt", "node-02", "kernel"),
        ("node-02/messages-20261130", "node-02", "kernel"),
        ("10.0.0.7/kern.log", "10.0.0.7", "kernel"),
        ("syslog.1", None, "kernel"),
        ("dmesg_T.log", None, "kernel"),
        ("slurmctld.log", None, "scheduler"),
        ("slurmd.node-02.log", "node-02", "scheduler"),
        ("fabricmanager.log", None, "fabric"),
        ("raylet.out", None, "control"),
        ("node-03_stderr.log", "node-03", None),
    ],
)
def test_place_of_a_host(path: str, host: str | None, kind: str | None) -> None:
    """Logs of a host name it in the file or the folder; many processes write them."""
    hints = hints_for(path)
    assert (hints.actor.host, hints.kind, hints.process) == (host, kind, False)


@pytest.mark.parametrize(
    "path",
    [
        "worker-7.err",
        "rank0-7.log",
        "nranks8.log",
        "gpu3.log",
        "node1.log",
        "master.log",
        "train.log",
        "3.log",
        "job_4711.x.11.err",
        "",
        "..",
        "frank3.log",
    ],
)
def test_place_that_claims_nobody(path: str) -> None:
    """An index, a range or a device's number is no rank and no host."""
    hints = hints_for(path)
    assert (hints.actor, hints.kind, hints.process) == (Actor(), None, False)


def test_packed_glog() -> None:
    """The name that glog gives is read with a compression behind it."""
    name = "py_train.gpu-a01.user.log.ERROR.20261130-123456.4242"
    assert hints_for(f"{name}.gz").actor == hints_for(name).actor == Actor(host="gpu-a01", pid=4242)


def test_stream_of_cloudwatch() -> None:
    """CloudWatch's export makes a folder of a stream's name; SageMaker's streams name the machine."""
    assert hints_for("exportedlogs/0f9c/train-4711-algo-1-1796033000/000000.gz").actor == Actor(host="algo-1")
    assert hints_for("exportedlogs/0f9c/algo-notes/000000.gz").actor == Actor()


def test_slurm_job() -> None:
    """Slurm's default file name gives the job; what follows `_` is the array task, not a rank."""
    assert hints_for("slurm-4711.out").actor == Actor(job="4711")
    assert hints_for("slurm-4711_5.out").actor == Actor(job="4711_5")


def test_path_is_the_clock_domain() -> None:
    """Uptime stamps compare within one file."""
    assert hints_for("node-07/dmesg.txt").domain == "node-07/dmesg.txt"


def test_process_file_goes_before_its_folder() -> None:
    """The host in a file's own name is nearer than the one of its folder."""
    assert hints_for("node-07/node-08_rank3.log").actor == Actor(rank=3, host="node-08")


def test_hosts_join_on_their_short_form() -> None:
    """A full name gives the host that lines print."""
    assert hints_for("node-07.cluster.local/var/log/kern.log").actor.host == "node-07"
    assert hints_for("nccl.gpu-a01.cluster.local.4242.log").actor.host == "gpu-a01"


def test_backslashes_are_separators() -> None:
    """A path of another system is read alike."""
    assert hints_for("node-07\\rank_3.log").actor == hints_for("node-07/rank_3.log").actor


def test_rotation_and_suffixes_are_no_claims() -> None:
    """A rotated, packed or dated file claims what the live one does."""
    live = hints_for("node-07/kern.log")
    for name in (
        *("kern.log.1", "kern.log.2.gz", "kern.log-20261130.xz", "kern.log.old", "kern.log.5.zst", "kern.log.4.bz2"),
        *("kern.log-20261130-1796033050.gz", "kern.log.2026-11-30", "kern.log.2026-11-30_10", "kern.log.20261130-100410.gz"),
    ):
        rotated = hints_for(f"node-07/{name}")
        assert (rotated.actor, rotated.kind, rotated.process) == (live.actor, live.kind, live.process)


_PARTS = [
    "rank_3",
    "attempt_0",
    "3",
    "stdout.log",
    "log_12_3",
    "nccl.a.1",
    "kern",
    "local_rank0",
    "slurm-4",
    "..",
    "\x00",
    "é",
    "9" * 400,
]


@given(st.lists(st.one_of(st.sampled_from(_PARTS), st.text(max_size=20)), max_size=6))
def test_any_path(parts: list[str]) -> None:
    """No path makes the reading fail, and only a file of one rank's process is of kind rank."""
    hints = hints_for("/".join(parts))
    assert hints.process == (hints.kind == "rank")
