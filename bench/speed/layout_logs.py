"""Logs of one layout each: what a line costs, by how the program that prints it writes its lines.

A scan must name the layout and count the lines; the logs hold no failure, so it must report none.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from workloads import WORDS

RANKS: Final = 8
SECOND: Final = 1_000  # lines
Answer = dict[str, Any]
Probe = Callable[..., Answer]


@frozen
class Line:
    """What one line is made of: its number, who prints it and when, and some message."""

    number: int
    chance: random.Random = field(repr=False)

    @property
    def rank(self) -> int:
        """Who prints it."""
        return self.number % RANKS

    @property
    def clock(self) -> str:
        """Its time of the day."""
        seconds = 36_000 + self.number // SECOND
        return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    def digits(self, count: int) -> str:
        """Return the fraction of a second."""
        return f"{self.number % SECOND * 10**count // SECOND:0{count}}"

    @property
    def message(self) -> str:
        """Some words and numbers."""
        first, second, third = (self.chance.choice(WORDS).decode() for _ in range(3))
        return f"{first} {self.chance.randrange(10_000)} {second} in {self.chance.randrange(10_000) / 1000} ms from {third}"

    @property
    def loss(self) -> str:
        """What a step of a training tells."""
        return f"{self.chance.random():.4f}"


@frozen
class Layout:
    """One layout.

    Args:
        name: what results call it.
        layout: what coverage calls it.
        line: makes one.
    """

    name: str
    layout: str
    line: Callable[[Line], str]


def _day(line: Line, between: str = " ") -> str:
    return f"2026-11-30{between}{line.clock}"


LAYOUTS: Final = (
    Layout("Python logging", "python", lambda o: f"{_day(o)},{o.digits(3)} - train - INFO - {o.message}"),
    Layout(
        "Python logging behind a rank's tag",
        "rank > python",
        lambda o: f"[rank{o.rank}]: {_day(o)},{o.digits(3)} INFO train: {o.message}",
    ),
    Layout("loguru", "loguru", lambda o: f"{_day(o)}.{o.digits(3)} | INFO     | train:main:12 - {o.message}"),
    Layout("hydra", "python_bracket", lambda o: f"[{_day(o)},{o.digits(3)}][train][INFO] - {o.message}"),
    Layout(
        "DeepSpeed", "deepspeed", lambda o: f"[{_day(o)},{o.digits(3)}] [INFO] [logging.py:96:log_dist] [Rank {o.rank}] {o.message}"
    ),
    Layout("NeMo", "nemo", lambda o: f"[NeMo I {_day(o)} train:12] {o.message}"),
    Layout("Megatron, progress", "megatron", lambda o: f" [{_day(o)}] iteration {o.number:8}/ 1000000 | lm loss: {o.loss} |"),
    Layout("vLLM", "vllm", lambda o: f"INFO 11-30 {o.clock} [engine.py:96] {o.message}"),
    Layout(
        "vLLM behind its process's tag",
        "ray > vllm",
        lambda o: f"(EngineCore_0 pid={4000 + o.rank}) INFO 11-30 {o.clock} [engine.py:96] {o.message}",
    ),
    Layout(
        "Ray, Python logging",
        "ray > python",
        lambda o: f"(Worker pid={4000 + o.rank}, ip=10.0.0.7) {_day(o)},{o.digits(3)} INFO train.py:12 -- {o.message}",
    ),
    Layout(
        "c10d",
        "rank > c10d",
        lambda o: f"[rank{o.rank}]:[I1130 {o.clock}.{o.digits(9)} socket.cpp:884] [Rank {o.rank}] {o.message}",
    ),
    Layout("glog", "glog", lambda o: f"I1130 {o.clock}.{o.digits(6)} 4242 worker.cc:88] {o.message}"),
    Layout(
        "Kubernetes, a tag behind",
        "k8s_cri > rank",
        lambda o: f"{_day(o, 'T')}.{o.digits(9)}Z stdout F [rank{o.rank}]: {o.message}",
    ),
    Layout("kubectl logs --timestamps", "timestamped", lambda o: f"{_day(o, 'T')}.{o.digits(9)}Z {o.message}"),
    Layout("syslog", "journal_bsd", lambda o: f"Nov 30 {o.clock} node-07 trainer[4242]: {o.message}"),
    Layout("Slurm's daemon", "slurm_daemon", lambda o: f"[{_day(o, 'T')}.{o.digits(3)}] debug: {o.message}"),
    Layout("kernel, dmesg", "dmesg", lambda o: f"[{1000 + o.number // SECOND:5}.{o.digits(6)}] {o.message}"),
    Layout(
        "NCCL, without a stamp",
        "nccl",
        lambda o: f"node-07:{4000 + o.rank}:{5000 + o.rank} [{o.rank}] NCCL INFO Channel {o.number % 24:02}/24 : {o.rank}",
    ),
    Layout("prints behind a rank's tag", "rank", lambda o: f"[rank{o.rank}]: {o.message}"),
    Layout("prints behind torchrun's tag", "torchrun_tee", lambda o: f"[default{o.rank}]:{o.message}"),
    Layout("prints behind srun's label", "srun_label", lambda o: f"{o.rank}: {o.message}"),
    Layout("prints behind Ray's tag", "ray", lambda o: f"(Worker pid={4000 + o.rank}, ip=10.0.0.7) {o.message}"),
    Layout("bare prints", "", lambda o: o.message),
    Layout("bare prints of progress", "", lambda o: f"step {o.number} loss {o.loss} lr 1e-4"),
    Layout("Trainer's dicts", "", lambda o: f"{{'loss': {o.loss}, 'learning_rate': 1e-05, 'epoch': {o.number / 1000:.2f}}}"),
    Layout("tqdm, a line each", "", lambda o: f" {o.number % 100:2}%|███       | {o.number}/100 [00:01<00:09,  1.2it/s]"),
    Layout(
        "docker, JSON", "docker", lambda o: f'{{"log":"{o.message}\\n","stream":"stdout","time":"{_day(o, "T")}.{o.digits(9)}Z"}}'
    ),
    Layout(
        "JSON logger", "json_logger", lambda o: f'{{"ts": "{_day(o, "T")}.{o.digits(3)}Z", "level": "info", "msg": "{o.message}"}}'
    ),
    Layout("logfmt", "logfmt", lambda o: f'time="{_day(o, "T")}Z" level=info msg="{o.message}"'),
)


def run(probe: Probe, program: Path, backend: str, folder: Path, size: int) -> tuple[list[Answer], list[str]]:
    """Measure all layouts; return the answers, and what a scan found that is wrong."""
    answers, mistakes = [], []
    for layout in LAYOUTS:
        log = folder / "console.log"
        chance, made, lines = random.Random(1), 0, 0
        with log.open("wb") as out:
            while made < size:
                made += out.write(f"{layout.line(Line(lines, chance))}\n".encode())
                lines += 1
        found = [probe(task="scan", logs=log, program=program, backend=backend) for _ in range(2)]
        answer = min(found, key=lambda one: float(one["cpu"]))
        told = answer["layouts"], answer["lines"], answer["incidents"]
        if told != ([layout.layout], lines, []):
            mistakes.append(f"{layout.name}: found {told}, expected {[layout.layout]}, {lines} lines, no incident")
        answers.append({"name": layout.name, "layout": layout.layout, **answer})
        print(f"{layout.name}: {answer['cpu'] / lines * 1e9:,.0f} ns a line", file=sys.stderr, flush=True)
    return answers, mistakes
