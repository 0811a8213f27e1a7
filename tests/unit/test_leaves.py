"""What torch, the communication libraries, schedulers and daemons put in front of their own lines."""

from __future__ import annotations

import pytest
from reading import one, read, taken

from denpex_rules.leaves import LEAVES, claim, module
from denpex_rules.prefix import Format, Prefixes
from denpex_rules.record import NO_HINTS

TAKEN: dict[str, dict[str, object]] = {
    "c10d": {"severity": "error", "kind": "rank", "time": "local 2000-11-30T10:04:10Z no year", "text": "message"},
    "what": {"rank": 3, "severity": "error", "kind": "rank", "tag": "rank3", "text": "message"},
    "glog": {"severity": "error", "kind": "agent", "time": "local 2000-11-30T10:04:10.123456Z no year for 1000", "text": "message"},
    "absl_early": {"severity": "error", "time": "wall 2026-11-30T10:04:10.084614Z for 1000", "text": "message"},
    "nccl_free": {
        "host": "node-07",
        "pid": 4242,
        "severity": "info",
        "kind": "rank",
        "process": "node-07:4242",
        "text": " message",
    },
    "nccl_stamped": {
        "host": "node-07",
        "pid": 4242,
        "severity": "warning",
        "kind": "rank",
        "process": "node-07:4242",
        "time": "local 2026-11-30T10:04:10Z",
        "text": " message",
    },
    "nccl": {"host": "node-07", "pid": 4242, "severity": "info", "kind": "rank", "process": "node-07:4242", "text": " message"},
    "nccl_bare": {"severity": "warning", "kind": "rank", "text": "message"},
    "ucx": {
        "host": "node-07",
        "pid": 4242,
        "severity": "error",
        "kind": "rank",
        "process": "node-07:4242",
        "time": "wall 2026-11-30T10:04:10.475958Z for 1000",
        "text": "message",
    },
    "ucx_signal": {
        "host": "node-07",
        "pid": 4242,
        "severity": "fatal",
        "kind": "rank",
        "process": "node-07:4242",
        "text": " (Segmentation fault)",
    },
    "libfabric": {"pid": 4242, "severity": "warning", "kind": "rank", "time": "wall 2026-11-30T10:04:10Z", "text": "message"},
    "oneccl": {"pid": 4242, "severity": "error", "kind": "rank", "time": "local 2026-11-30T10:04:10Z", "text": "message"},
    "ascend": {
        "rank": 3,
        "pid": 4242,
        "severity": "error",
        "kind": "rank",
        "tag": "rank3",
        "time": "local 2026-11-30T10:04:10Z",
        "text": "ERR02200 message",
    },
    "torch_failure": {"kind": "agent", "time": "local 2026-11-30T10:04:10Z"},
    "fabricmanager": {"severity": "error", "kind": "fabric", "time": "local 2026-11-30T10:04:10Z", "text": "message"},
    "slurm": {
        "host": "node-07",
        "severity": "error",
        "kind": "scheduler",
        "time": "local 2026-11-30T10:04:10Z",
        "text": " ***",
    },
    "crash_handler": {"severity": "fatal", "time": "wall 2026-11-30T10:04:10Z", "text": " on cpu 7 ***"},
    "ascend_code": {
        "severity": "error",
        "kind": "rank",
        "time": "local 2026-11-30T10:04:10.123456Z for 1000",
        "text": "message",
    },
    "slurm_daemon": {
        "severity": "error",
        "kind": "scheduler",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "message",
    },
    "ray_cpp": {
        "pid": 4242,
        "severity": "error",
        "kind": "control",
        "process": "raylet pid=4242",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "node_manager.cc:3065: message",
    },
    "k8s_event": {"severity": "warning", "kind": "control", "text": "    message"},
    "ft_launcher": {
        "host": "node-07",
        "pid": 4242,
        "severity": "info",
        "kind": "agent",
        "process": "ft_launcher node-07",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "message",
    },
}


@pytest.mark.parametrize("form", LEAVES, ids=lambda form: form.name)
def test_example(form: Format) -> None:
    """The example of every format gives what it promises and nothing else; the text behind it is left."""
    assert taken(form, form.example) == TAKEN[form.name]


def test_rank_before_torch_had_an_outer_prefix() -> None:
    """`[Rank r]` and the default group's `[PG … Rank r]` are the global rank, where nothing in front names one."""
    c10d = one(LEAVES, "c10d")
    assert taken(c10d, "[E ProcessGroupNCCL.cpp:587] [Rank 2] Watchdog caught")["rank"] == 2
    assert taken(c10d, "[I1130 10:04:12.104981220 ProcessGroupNCCL.cpp:881] [PG ID 0 PG GUID 0(default_pg) Rank 3] x")["rank"] == 3


def test_rank_in_a_group_is_no_global_rank() -> None:
    """The rank inside another process group is not read."""
    line = "[I1130 10:04:12.104981220 ProcessGroupNCCL.cpp:881] [PG ID 1 PG GUID 4(tp) Rank 3] x"
    assert "rank" not in taken(one(LEAVES, "c10d"), line)


def test_c10d_fraction_is_not_read() -> None:
    """The fraction is of another clock: the stamp stands for its whole second; without a stamp there is no time."""
    c10d = one(LEAVES, "c10d")
    assert taken(c10d, "[W102 10:04:10.999999999 socket.cpp:204] x")["time"] == "local 2000-01-02T10:04:10Z no year"
    assert "time" not in taken(c10d, "[W socket.cpp:204] x")


@pytest.mark.parametrize(("file", "kind"), [("ProcessGroupNCCL.cpp", "rank"), ("socket.cpp", None), ("TCPStore.cpp", None)])
def test_c10d_kind_by_file(file: str, kind: str | None) -> None:
    """Only process groups are a rank's for certain: the agent has a store and sockets too."""
    assert taken(one(LEAVES, "c10d"), f"[W1130 10:04:10.000000000 {file}:204] x").get("kind") == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"torch.distributed.elastic.agent.server.api", "agent"),
        (b"torch/distributed/elastic/multiprocessing/api.py", "agent"),
        (b"torch.distributed.run", "agent"),
        (b"torch/distributed/elastic/multiprocessing/errors/__init__.py", "rank"),
        (b"torch.distributed.runner", "rank"),
        (b"trainer.loop", "rank"),
    ],
)
def test_agent_by_its_modules(name: bytes, kind: str) -> None:
    """The agent's modules are the agent's, but for the error handler, which runs in the workers; all else is a rank's."""
    into = Prefixes(NO_HINTS)
    module(name, into)
    assert into.kind == kind


def test_agent_module_behind_a_rank() -> None:
    """A rank's prefix in front of an agent's module keeps its kind."""
    into = Prefixes(NO_HINTS)
    into.kind = "rank"
    module(b"torch.distributed.elastic.agent", into)
    assert into.kind == "rank"


@pytest.mark.parametrize("printed", [b"-1", b"", None, b"x"])
def test_no_rank_is_claimed(printed: bytes | None) -> None:
    """-1 and nothing are no rank."""
    into = Prefixes(NO_HINTS)
    claim(printed, into)
    assert (into.rank, into.tag, into.kind) == (None, "", None)


def test_a_claim_keeps_the_tag_in_front() -> None:
    """A rank that the line says of itself does not rename the emitter that a prefix named."""
    into = Prefixes(NO_HINTS)
    into.tag = "rank3"
    claim(b"3", into)
    assert (into.rank, into.tag, into.kind) == (3, "rank3", "rank")


def test_nccl_device_is_no_rank() -> None:
    """The number in NCCL's brackets is a device of the process, not a rank."""
    assert "rank" not in taken(one(LEAVES, "nccl"), "node-07:4242:4300 [3] misc/socket.cc:49 NCCL WARN socket closed")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("slurmstepd-node-07: error: Detected 1 oom_kill event", {"severity": "error", "host": "node-07", "ident": "node-07"}),
        ("srun: Job step aborted", {}),
        ("slurmctld: debug2: x", {"severity": "debug"}),
        ("sbatch: fatal: x", {"severity": "fatal"}),
    ],
)
def test_slurm_programs(line: str, fields: dict[str, object]) -> None:
    """Slurm's programs name their host and level where they have one."""
    got = taken(one(LEAVES, "slurm"), line)
    del got["text"]
    assert got == {"kind": "scheduler", **fields}


def test_absl_without_a_date_has_no_time() -> None:
    """`0000` is no date."""
    assert "time" not in taken(one(LEAVES, "glog"), "E0000 10:04:10.123456 4242 client.cc:96] x")


def test_glog_with_a_year() -> None:
    """Eight digits are a date with its year."""
    assert taken(one(LEAVES, "glog"), "E20261130 10:04:10.123456 4242 client.cc:96] x")["time"].startswith("local 2026-11-30")


def test_ray_driver_is_not_control() -> None:
    """Of Ray's C++ lines only those of its own daemons are of kind control."""
    line = "[2026-11-30 10:04:10,123 E 4242 4300] (python-core-worker) core_worker.cc:30: x"
    assert "kind" not in taken(one(LEAVES, "ray_cpp"), line)


def test_prose_is_no_leaf() -> None:
    """Text that starts like a daemon's name but goes on otherwise is not read."""
    assert read(one(LEAVES, "slurm"), "srun was asked to stop") is None
    assert read(one(LEAVES, "k8s_event"), "4m11s later") is None
    assert read(one(LEAVES, "fabricmanager"), "[Nov 30 2026] started") is None


def test_node_that_a_cancel_came_from() -> None:
    """The scheduler's daemon names the node that it runs on."""
    line = "[2026-11-30T10:04:10.123] error: *** JOB 4711 ON node-07 CANCELLED AT 2026-11-30T10:04:10 ***"
    assert taken(one(LEAVES, "slurm_daemon"), line)["host"] == "node-07"


def test_node_of_a_raylet() -> None:
    """A raylet that counts its killed workers names its own node."""
    line = (
        "[2026-11-30 10:04:10,123 E 4242 4242] (raylet) node_manager.cc:3277: 2 Workers (tasks / actors) killed due to memory "
        "pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 0a1b2c, IP: 10.0.0.7) over the last time period."
    )
    got = taken(one(LEAVES, "ray_cpp"), line)
    assert (got["host"], got["kind"]) == ("10.0.0.7", "control")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("*** SIGTERM received at time=1796033050 on cpu 7 ***", {"time": "wall 2026-11-30T10:04:10Z"}),
        ("*** SIGSEGV (@0x0) received by PID 4242 (TID 0x7f) from PID 0; stack trace: ***", {"pid": 4242, "severity": "fatal"}),
        ("*** Aborted at 1796033050 (unix time) ***", {"time": "wall 2026-11-30T10:04:10Z", "severity": "fatal"}),
    ],
)
def test_crash_handlers(line: str, fields: dict[str, object]) -> None:
    """The handlers of absl and glog give time or pid; being told to stop is no crash."""
    got = taken(one(LEAVES, "crash_handler"), line)
    del got["text"]
    assert got == fields
