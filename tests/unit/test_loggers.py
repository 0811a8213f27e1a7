"""What trainers, serving engines and Python loggers put in front of their own lines."""

from __future__ import annotations

import pytest
from reading import one, read, taken

from denpex_rules.formats import peel
from denpex_rules.loggers import LOGGERS
from denpex_rules.prefix import Format
from denpex_rules.record import Hints

TAKEN: dict[str, dict[str, object]] = {
    "deepspeed": {
        "severity": "info",
        "kind": "rank",
        "tag": "rank0",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "message",
    },
    "megatron": {"kind": "rank", "time": "local 2026-11-30T10:04:10Z", "text": " message"},
    "nemo": {"severity": "warning", "kind": "rank", "time": "local 2026-11-30T10:04:10Z", "text": "message"},
    "sglang": {"rank": 3, "kind": "rank", "process": "TP3", "time": "local 2026-11-30T10:04:10Z", "text": "message"},
    "trtllm": {
        "rank": 3,
        "severity": "error",
        "kind": "rank",
        "tag": "rank3",
        "time": "local 2026-11-30T10:04:10Z",
        "text": "message",
    },
    "vllm": {"severity": "error", "time": "local 2000-11-30T10:04:10Z no year", "text": "message"},
    "logrus": {"severity": "info", "kind": "control", "time": "monotonic 289.000000", "text": "message"},
    "zap": {"severity": "error", "kind": "control", "time": "wall 2026-11-30T10:04:10.123456Z for 1000", "text": "events\tmessage"},
    "jittor": {"severity": "error", "time": "local 2000-11-30T10:04:10.123456Z no year for 1000", "text": "message"},
    "ray_py": {"severity": "error", "time": "local 2026-11-30T10:04:10.123Z for 1000000", "text": "message"},
    "tensorflow_short": {"severity": "fatal", "text": "message"},
    "horovod": {"severity": "warning", "time": "local 2026-11-30T10:04:10.123456Z for 1000", "text": "message"},
    "tensorflow": {"severity": "error", "time": "local 2026-11-30T10:04:10.123456Z for 1000", "text": "message"},
    "python_basic": {"severity": "error", "kind": "rank", "text": "message"},
    "loguru": {
        "severity": "error",
        "kind": "rank",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "loop:step:88 - message",
    },
    "python_hf": {"severity": "info", "kind": "rank", "time": "local 2026-11-30T10:04:10.123Z for 1000000", "text": "message"},
    "submitit": {
        "host": "node-07",
        "severity": "warning",
        "kind": "rank",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "message",
    },
    "python_level": {"severity": "error", "kind": "rank", "time": "local 2026-11-30T10:04:10.123Z for 1000000", "text": " message"},
    "python_level_bracket": {
        "severity": "error",
        "kind": "rank",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": " error_handler: message",
    },
    "python_us_date": {"severity": "warning", "kind": "rank", "time": "local 2026-11-30T10:04:10Z", "text": "mod.sub - message"},
    "python_bracket": {
        "severity": "error",
        "kind": "rank",
        "time": "local 2026-11-30T10:04:10.123Z for 1000000",
        "text": "message",
    },
    "python": {"severity": "error", "kind": "rank", "time": "local 2026-11-30T10:04:10.123Z for 1000000", "text": "message"},
    "detectron": {"time": "local 2000-11-30T10:04:10Z no year", "text": "message"},
    "json": {"severity": "error", "time": "wall 2026-11-30T10:04:10.123Z for 1000000", "text": ',"message":"mess'},
    "logfmt": {
        "severity": "info",
        "kind": "control",
        "time": "wall 2026-11-30T10:04:10Z",
        "text": 'time="2026-11-30T10:04:10Z" level=info msg="message"',
    },
    "level_bracket": {"severity": "error", "text": " message"},
    "level": {"severity": "error", "text": ": message"},
    "syslog_stamp": {"time": "local 2000-11-30T10:04:10Z no year", "text": "message"},
    "iso_bracket": {"time": "local 2026-11-30T10:04:10Z", "text": " message"},
    "iso": {"time": "wall 2026-11-30T10:04:10Z", "text": " message"},
}


@pytest.mark.parametrize("form", LOGGERS, ids=lambda form: form.name)
def test_example(form: Format) -> None:
    """The example of every format gives what it promises and nothing else; the text behind it is left."""
    assert taken(form, form.example) == TAKEN[form.name]


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("2026-11-30 10:04:10,123 - trainer.loop - ERROR - x", "error"),
        ("2026-11-30 10:04:10,123 ERROR trainer.loop: x", "error"),
        ("2026-11-30 10:04:10,123 [ERROR] x", "error"),
        ("2026-11-30 10:04:10,123 [error    ] x", "error"),
        ("2026-11-30 10:04:10,123 trainer.py:88 WARNING x", "warning"),
        ("2026-11-30 10:04:10 | CRITICAL | x", "fatal"),
        ("2026-11-30 10:04:10,123 [trainer] (4242) - DEBUG - x", "debug"),
        ("2026-11-30 10:04:10 fatal: x", "fatal"),
    ],
)
def test_level_behind_a_stamp(line: str, severity: str) -> None:
    """A level directly behind the stamp, or behind a few fields, is the severity."""
    assert taken(one(LOGGERS, "python"), line)["severity"] == severity


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30 10:04:10 the last ERROR was retried",
        "2026-11-30 10:04:10 loss 2.1 error 0.3",
        "2026-11-30 10:04:10 ERROR.log was written",
        "2026-11-30 10:04:10 INFORMATION",
        "2026-11-30 10:04:10 step 10",
    ],
)
def test_word_in_a_message_is_no_level(line: str) -> None:
    """A level's word inside the message, or as part of another word, is not the severity."""
    assert read(one(LOGGERS, "python"), line) is None


def test_rank_in_a_logger_prefix() -> None:
    """A rank behind the level is the process's own."""
    line = taken(one(LOGGERS, "python"), "2026-11-30 10:04:10,123 INFO [Rank 3] x")
    assert (line["rank"], line["tag"], line["kind"]) == (3, "rank3", "rank")


def test_agent_by_its_logger() -> None:
    """A line of the agent's logger is the agent's, in each of the shapes that Python loggers have."""
    name = "torch.distributed.elastic.agent.server.api"
    for form, line in (
        ("python", f"2026-11-30 10:04:10,123 - {name} - ERROR - x"),
        ("python_bracket", f"[2026-11-30 10:04:10,123] {name}: [ERROR] x"),
        ("python_basic", f"ERROR:{name}:x"),
    ):
        assert taken(one(LOGGERS, form), line)["kind"] == "agent"


@pytest.mark.parametrize(("file", "kind"), [("launch.py", "agent"), ("runner.py", "agent"), ("engine.py", "rank")])
def test_deepspeed_launcher(file: str, kind: str) -> None:
    """DeepSpeed's launcher is an agent; its other modules run in the ranks."""
    assert taken(one(LOGGERS, "deepspeed"), f"[2026-11-30 10:04:10,123] [INFO] [{file}:96:main] x")["kind"] == kind


def test_deepspeed_rank_minus_one() -> None:
    """`[Rank -1]` is no rank."""
    line = "[2026-11-30 10:04:10,123] [INFO] [logging.py:96:log_dist] [Rank -1] x"
    assert "rank" not in taken(one(LOGGERS, "deepspeed"), line)


def test_parallel_coordinates_are_no_rank() -> None:
    """SGLang's tags tell processes apart; none of them is a global rank."""
    line = taken(one(LOGGERS, "sglang"), "[2026-11-30 10:04:10 DP1 TP3] x")
    assert line["process"] == "DP1 TP3"
    assert "rank" not in line


def test_megatron_without_a_stamp() -> None:
    """Old Megatron prints iterations without a time."""
    assert taken(one(LOGGERS, "megatron"), " iteration       60/    1000 | loss") == {"kind": "rank", "text": " loss"}


def test_trtllm_without_a_rank() -> None:
    """TensorRT-LLM names a rank only where there are several."""
    assert "rank" not in taken(one(LOGGERS, "trtllm"), "[11/30/2026-10:04:10] [TRT-LLM] [E] x")


def test_stamp_without_a_real_time() -> None:
    """A date that does not exist gives no time; the rest of the prefix is read all the same."""
    line = taken(one(LOGGERS, "python"), "2026-13-30 10:04:10,123 ERROR x")
    assert line == {"severity": "error", "kind": "rank", "text": "x"}


def test_json_and_logfmt_zones() -> None:
    """Structured logs keep their zone; without one the time is local."""
    assert (
        taken(one(LOGGERS, "json"), '{"time": "2026-11-30 10:04:10", "levelname": "warn"}')["time"] == "local 2026-11-30T10:04:10Z"
    )
    assert taken(one(LOGGERS, "logfmt"), 'time="2026-11-30T12:04:10+02:00" level=error')["time"] == "wall 2026-11-30T10:04:10Z"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            'rank=3 local_rank=1 event="step done" level=info timestamp=2026-11-30T10:04:10.5Z host=node-07 pid=4242',
            {
                "rank": 3,
                "local_rank": 1,
                "host": "node-07",
                "pid": 4242,
                "tag": "rank3",
                "kind": "rank",
                "severity": "info",
                "time": "wall 2026-11-30T10:04:10.5Z for 100000000",
            },
        ),
        ('msg="it says \\"level=info\\"" lvl=eror', {}),
        ("ts=1796033050.123 level=warn msg=late", {"severity": "warning", "time": "wall 2026-11-30T10:04:10.123Z for 1000000"}),
        (
            'level=error msg="lost" time="2026-11-30 10:04:10"',
            {"severity": "error", "time": "local 2026-11-30T10:04:10Z"},
        ),
    ],
)
def test_logfmt_in_any_order(line: str, told: dict[str, object]) -> None:
    """Keys are known by their names wherever they stand; what stands inside a quoted value is no key."""
    found = taken(one(LOGGERS, "logfmt"), line)
    found.pop("text")
    assert found == told


@pytest.mark.parametrize("line", ["loss=2.31 step=10", "level=3 of the tree", "a=1 level=info", "step 10 level=info msg=x"])
def test_text_with_equals_signs_is_no_logfmt(line: str) -> None:
    """A level alone, numbers and words with equals signs are text."""
    assert read(one(LOGGERS, "logfmt"), line) is None


def test_specific_formats_stand_in_front_of_bare_ones() -> None:
    """A bare level or stamp is tried after everything that says more."""
    names = [form.name for form in LOGGERS]
    bare = {"level", "level_bracket", "syslog_stamp", "iso", "iso_bracket"}
    assert set(names[-len(bare) :]) == bare


@pytest.mark.parametrize(
    ("tags", "rank"),
    [("TP3", 3), ("TP3 EP3", 3), ("DP3 TP3", 3), ("DP1 TP3", None), ("PP0 TP3", None), ("DP1", None), ("PP1", None)],
)
def test_rank_of_parallel_coordinates(tags: str, rank: int | None) -> None:
    """TP numbers a server's processes where no other coordinate does; stages and replicas each count from 0 again."""
    assert taken(one(LOGGERS, "sglang"), f"[2026-11-30 10:04:10 {tags}] x").get("rank") == rank


def test_start_clocks_compare_with_no_boot() -> None:
    """Seconds since a program's start are of another origin than the kernel's uptime in the same source."""
    into, _ = read(one(LOGGERS, "logrus"), "ERRO[0289] x", Hints(domain="a.log")) or (None, "")
    assert into is not None
    assert into.stamp is not None
    assert into.stamp.domain != "a.log"


def test_loss_scaler_names_its_own_rank() -> None:
    """DeepSpeed's loss scaler says which rank prints."""
    line = "[2026-11-30 10:04:10,123] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 3 Skipping step."
    assert taken(one(LOGGERS, "deepspeed"), line)["rank"] == 3


@pytest.mark.parametrize(
    ("line", "severity", "message"),
    [
        (b"2026-11-30 10:04:10,123 - ERROR - NCCL WARN took long", "error", b"NCCL WARN took long"),
        (b"2026-11-30 10:04:10,123 INFO retry - ERROR in shard 3", "info", b"retry - ERROR in shard 3"),
        (b"[2026-11-30 10:04:10,123][mod.sub][INFO] - [x] - ERROR y", "info", b"[x] - ERROR y"),
        (b"2026-11-30 10:04:10 [info     ] retry - ERROR in shard 3", "info", b"retry - ERROR in shard 3"),
        (b"2026-11-30 10:04:10 info: mod: ERROR in shard 3", "info", b"mod: ERROR in shard 3"),
        (b"2026-11-30 10:04:10,123 - mod.sub - ERROR - INFO follows", "error", b"INFO follows"),
        (b"2026-11-30 10:04:10,123 - WARN-handler - ERROR - message", "error", b"message"),
    ],
)
def test_the_first_level_is_the_loggers(line: bytes, severity: str, message: bytes) -> None:
    """What stands behind a Python logger's level is its message, also where that looks like a prefix with another level."""
    peeled = peel(line)
    assert peeled.severity == severity
    assert peeled.text[peeled.body :] == message
