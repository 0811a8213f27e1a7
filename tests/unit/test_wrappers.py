"""What launchers, containers and serving engines put in front of a line."""

from __future__ import annotations

import pytest
from reading import one, read, taken

from denpex_rules.clock import format_time
from denpex_rules.formats import peel
from denpex_rules.prefix import Format
from denpex_rules.record import Hints
from denpex_rules.wrappers import WRAPPERS

TAKEN: dict[str, dict[str, object]] = {
    "torchrun_tee": {"local_rank": 3, "kind": "rank", "tee": "default3", "text": "step 10"},
    "accelerate": {"rank": 3, "kind": "rank", "tag": "rank3", "text": "message"},
    "lightning": {"rank": 3, "kind": "rank", "tag": "rank3", "text": "Seed set to 42"},
    "rank": {"rank": 3, "kind": "rank", "tag": "rank3", "text": "RuntimeError: message"},
    "ompi4": {"task": 3, "stream": "stderr", "text": "message"},
    "ompi4_stamped": {
        "task": 3,
        "stream": "stderr",
        "time": "local 2026-11-30T10:04:05Z for 6000000000",
        "text": "message",
    },
    "ompi5": {"task": 3, "host": "node-07", "pid": 4242, "stream": "stderr", "text": "message"},
    "sagemaker_local": {"host": "algo-1", "ident": "algo-1", "text": "step 10"},
    "sagemaker_mpi": {"task": 3, "host": "algo-1", "stream": "stderr", "text": "message"},
    "intel_mpi": {"task": 3, "text": "step 10"},
    "srun_label": {"task": 3, "text": "step 10"},
    "pdsh": {"host": "node-07", "ident": "node-07", "text": "step 10"},
    "compose": {"ident": "trainer-1", "text": "step 10"},
    "stern": {"ident": "train-worker-3/trainer", "text": "step 10"},
    "torchx": {"ident": "trainer/0", "text": "step 10"},
    "fluentbit_stdout": {
        "time": "arrival 2026-11-30T10:04:05.123456789Z for 5000000001",
        "text": 'step 10", "stream"=>"stderr"}]',
    },
    "xla_dist": {"host": "10.0.0.7", "ident": "10.0.0.7", "time": "local 2026-11-30T10:04:05Z for 6000000000", "text": "step 10"},
    "vllm_stage": {"ident": "Stage-0", "text": "INFO 11-30 10:04:10 [a.py:1] x"},
    "k8s_cri": {"stream": "stderr", "time": "arrival 2026-11-30T10:04:05.123456789Z for 5000000001", "text": "step 10"},
    "logcli": {"time": "arrival 2026-11-30T10:04:05Z for 6000000000", "text": "step 10"},
    "timestamped": {"time": "arrival 2026-11-30T10:04:05.123456789Z for 5000000001", "text": "step 10"},
    "kubectl": {"ident": "train-3/trainer", "arrives": True, "text": "step 10"},
    "ray": {"host": "10.0.0.7", "pid": 4242, "kind": "rank", "process": "RayTrainWorker pid=4242 10.0.0.7", "text": "step 10"},
    "vllm_worker": {
        "rank": 1,
        "local_rank": 1,
        "pid": 4242,
        "kind": "rank",
        "process": "VllmWorker pid=4242",
        "text": "INFO 11-30 10:04:10 [a.py:1] x",
    },
    "ray_system": {"host": "10.0.0.7", "kind": "control", "process": "raylet 10.0.0.7", "text": "A worker died"},
}


@pytest.mark.parametrize("form", WRAPPERS, ids=lambda form: form.name)
def test_example(form: Format) -> None:
    """The example of every format gives what it promises and nothing else; the text behind it is left."""
    assert taken(form, form.example) == TAKEN[form.name]


@pytest.mark.parametrize(
    ("line", "tee"),
    [
        ("[default3]:step 10", "default3"),
        ("[default0]: step 10", "default0"),
        ("[trainer3]:step 10", "trainer3"),
        ("[trainer3]: step 10", None),
        ("[step10]: loss 2.1", None),
        ("[rank3]:RuntimeError", None),
        ("[default]:step", None),
    ],
)
def test_torchrun_roles(line: str, tee: str | None) -> None:
    """A role with a number is torchrun's tag; another role than `default` only without a blank behind it, and a rank never."""
    found = read(one(WRAPPERS, "torchrun_tee"), line)
    assert (found[0].tee if found else None) == tee


@pytest.mark.parametrize("line", ["[rank3]: x", "[rank3]:x", "[rank3] x"])
def test_rank_prefixes(line: str) -> None:
    """Torch's prefix is read with and without colon and blank."""
    assert taken(one(WRAPPERS, "rank"), line) == {"rank": 3, "kind": "rank", "tag": "rank3", "text": "x"}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("[1,3]<stderr>: x", {"task": 3}),
        ("[prterun-node-07-4200@1,3]<stderr>: x", {"task": 3}),
        ("[prterun-node-07-4200@1,3][node-07:4242]<stderr>: x", {"task": 3, "host": "node-07", "pid": 4242}),
        ("[Mon Nov 30 10:04:10 2026][1,3]<stderr>: x", {"task": 3, "time": "local 2026-11-30T10:04:05Z for 6000000000"}),
    ],
)
def test_open_mpi_tags(line: str, fields: dict[str, object]) -> None:
    """All the tags that Open MPI can put in front; its stamp is when the line arrived."""
    assert taken(one(WRAPPERS, "ompi5"), line) == {"stream": "stderr", "text": "x", **fields}


@pytest.mark.parametrize(
    "line",
    ["ValueError: bad", "step10: loss", "epoch-3: loss", "rank3: x", "gpu_0: 80 GB", "main: x", "http://a1: x"],
)
def test_text_is_no_host(line: str) -> None:
    """Exceptions, counters and words without a number are not taken for pdsh's hosts."""
    assert read(one(WRAPPERS, "pdsh"), line) is None


def test_wrappers_that_look_like_text_are_weak() -> None:
    """Whatever ordinary text looks like too needs evidence from the whole file."""
    assert {form.name for form in WRAPPERS if form.role == "weak"} == {
        *("srun_label", "intel_mpi", "pdsh", "compose", "stern", "torchx"),
    }


def test_container_stamps_are_arrivals() -> None:
    """Docker and kubectl print nanoseconds in UTC; a stamp with fewer digits may be the program's own."""
    assert read(one(WRAPPERS, "timestamped"), "2026-11-30T10:04:10.123Z step 10") is None
    assert read(one(WRAPPERS, "timestamped"), "2026-11-30T10:04:10.1234567Z step 10") is not None


def test_partial_cri_line() -> None:
    """A part of a cut line (`P`) has the same prefix, and says that more follows."""
    for letter, partial in (("P", True), ("F", False)):
        into, _ = read(one(WRAPPERS, "k8s_cri"), f"2026-11-30T18:04:10+08:00 stdout {letter} x") or (None, "")
        assert into is not None
        assert (into.stream, into.partial) == ("stdout", partial)


@pytest.mark.parametrize(("service", "host"), [("algo-1-abcde", "algo-1"), ("trainer-1", None), ("algo-1", None)])
def test_sagemaker_local_names_the_machine(service: str, host: str | None) -> None:
    """The service of SageMaker's local mode is a machine and a random tail; other services name no host."""
    line = peel(f"{service}  | step 10".encode(), Hints(wrappers=frozenset({"compose"})))
    assert (line.text, line.actor.host, line.label) == (b"step 10", host, host or service)


def test_stamp_behind_kubectls_own_is_the_process_own() -> None:
    """One arrival stamp is from kubectl; the next one is no arrival."""
    pod, _ = read(one(WRAPPERS, "kubectl"), "[pod/train-3/trainer] x") or (None, "")
    assert pod is not None
    assert pod.arrives
    line = peel(b"[pod/train-3/trainer] 2026-11-30T10:04:12.123456789Z 2026-11-30T10:04:10.123Z step 10")
    assert format_time(line.instant.lo) == "2026-11-30T10:04:10.123Z"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("(pid=4242) x", {"pid": 4242, "process": "pid=4242"}),
        ("(RayTrainWorker pid=4242) x", {"pid": 4242, "process": "RayTrainWorker pid=4242", "kind": "rank"}),
        ("(EngineCore_DP0 pid=4242) x", {"pid": 4242, "process": "EngineCore_DP0 pid=4242"}),
        ("(Worker_TP3 pid=4242) x", {"rank": 3, "pid": 4242, "process": "Worker_TP3 pid=4242", "kind": "rank"}),
    ],
)
def test_ray_and_vllm_processes(line: str, fields: dict[str, object]) -> None:
    """The name and pid tell processes apart; only workers are ranks, and no number in a name is one."""
    assert taken(one(WRAPPERS, "ray"), line) == {"text": "x", **fields}


def test_ray_daemons_without_an_address() -> None:
    """A daemon without an address has a name and no host."""
    assert taken(one(WRAPPERS, "ray_system"), "(autoscaler +12s) x") == {
        "kind": "control",
        "process": "autoscaler +12s",
        "text": "x",
    }
