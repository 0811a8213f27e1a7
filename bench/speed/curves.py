"""How speed and memory grow with the number of rules, the size of a log and the number of ranks."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers import Peers
from workloads import MB, START, interleaved, pool, sparse, stamp, step

sys.path.insert(0, str(Path(__file__).parents[2]))

from denpex_rules import compile_rules, load_pack, load_text, save_program
from denpex_rules.library import merge

RULES = (10, 50, 200, 1_000, 5_000)
SIZES_MB = (10, 30, 100, 300, 1_000)
FULL_MB = 10_000
RANKS = (8, 64, 512, 4_096, 16_384)
SYLLABLES = [first + second for first in "bcdfghklmn" for second in "ae"]
Answer = dict[str, Any]
Probe = Callable[..., Answer]


def run(probe: Probe, backends: list[str], folder: Path, *, full: bool) -> dict[str, list[Answer]]:
    """Measure all curves."""
    logs = folder / "logs"
    logs.mkdir()
    (logs / "console.log").write_bytes(b"".join(line + b"\n" for line, _ in interleaved(200 * MB, 1, 1 / 2000)))
    rules = []
    for count in RULES:
        program = _saved(rules_of(count), folder)
        for backend in backends:
            rules.append({"rules": count, "backend": backend, **_least(probe, logs, program, backend)})
            print(f"{count} rules: {rules[-1]}", file=sys.stderr, flush=True)
    program = folder / "pack.program"
    pack = compile_rules(load_pack())
    save_program(pack, program)
    peers = Peers([entry.text for entry in pack.literals], folder)
    disk = []
    for size in (*SIZES_MB, *((FULL_MB,) if full else ())):
        disk.append({"mb": size, **_on_disk(probe, program, peers, size * MB, backends[-1], logs)})
        print(f"size {size} MB, on disk: {disk[-1]}", file=sys.stderr, flush=True)
    sizes = []
    for size in (*SIZES_MB, *((FULL_MB,) if full else ())):
        sizes.append({"mb": size, **piped(probe, program, size * MB, backends[-1])})
        print(f"size {size} MB: {sizes[-1]}", file=sys.stderr, flush=True)
    ranks = []
    for count in RANKS:
        lines = interleaved(40 * MB, 1, 1 / 20, ranks=count, failing=None)
        (logs / "console.log").write_bytes(b"".join(line + b"\n" for line, _ in lines))
        ranks.append({"ranks": count, **_least(probe, logs, program, backends[-1])})
        print(f"{count} ranks: {ranks[-1]}", file=sys.stderr, flush=True)
    return {"rules": rules, "disk": disk, "size": sizes, "ranks": ranks}


def _least(probe: Probe, logs: Path, program: Path, backend: str, rounds: int = 2) -> Answer:
    answers = [probe(task="scan", logs=logs, program=program, backend=backend) for _ in range(rounds)]
    found = min(answers, key=lambda a: float(a["cpu"]))
    return {"cpu": found["cpu"], "bytes": found["bytes"], "peak": found["peak"], **found["state"]}


def _on_disk(probe: Probe, program: Path, peers: Peers, size: int, backend: str, logs: Path) -> Answer:
    """Scan a log of a size with few events, beside the raw loop and grep; the least of two rounds that take turns."""
    made = sparse(logs, size, 1)
    found: dict[str, Answer] = {}
    for _ in range(2):
        answers = {
            "scan": probe(task="scan", logs=logs, program=program, backend=backend),
            "raw": probe(task="raw", logs=logs, program=program, backend=backend),
            **({"grep": peers.run("grep", logs, made.bytes)} if "grep" in peers.names() else {}),
        }
        for name, answer in answers.items():
            if name not in found or answer["cpu"] < found[name]["cpu"]:
                found[name] = {"cpu": answer["cpu"], "bytes": answer["bytes"], "peak": answer.get("peak", 0)}
    return {"backend": backend, **found}


# ------------------------------------------------------------------ rules


def rules_of(count: int) -> str:
    """Return the texts of rules with a literal of its own each; the first one has the progress lines of the logs."""
    named = ((_word(number), _word(number * 7_919 + 13)) for number in range(1, count))
    seen = [f"{word} {name} failed with {{code:int}}" for name, word in named]
    return "language 1\n" + "".join(
        f'rule bench.{_word(number)} {{\n  title "rule {number}"\n  class train.python_exception\n  event seen "{text}"\n{_REST}'
        for number, text in enumerate(("step {n:int} | loss", *seen))
    )


_REST = "  per job within 1h\n  require seen\n  blame none\n}\n"


def _word(number: int) -> str:
    """Return a made-up word for a number; different numbers have different ones."""
    text = SYLLABLES[number % 20]
    while number >= 20:
        number //= 20
        text += SYLLABLES[number % 20]
    return text


def _saved(text: str, folder: Path) -> Path:
    path = folder / "synthetic.program"
    save_program(compile_rules(merge([load_text(text, "bench.rule", "bench")])), path)
    return path


# ------------------------------------------------------------------ size


def piped(probe: Probe, program: Path, size: int, backend: str) -> Answer:
    """Scan a log of a size that is made while it is read: nothing of it is ever stored."""
    with subprocess.Popen([sys.executable, __file__, str(size)], stdout=subprocess.PIPE) as maker:
        found = probe(task="scan", logs="-", program=program, backend=backend, stdin=maker.stdout)
    return {"cpu": found["cpu"], "bytes": found["bytes"], "peak": found["peak"], **found["state"]}


def make(size: int) -> None:
    """Write a log of a size to standard output: 256 ranks, a progress line in 20, made of a pool of messages to be quick."""
    chance = random.Random(1)
    messages = [*pool(chance, 950), *(step(number, chance) for number in range(50))]
    heads = [b"[rank%d]: " % rank for rank in range(256)]
    written, second = 0, START
    out = sys.stdout.buffer
    while written < size:
        at = stamp(second) + b" "
        written += out.write(b"".join([b"%b%b%b\n" % (head, at, chance.choice(messages)) for head in heads]))
        second += 1


if __name__ == "__main__":
    make(int(sys.argv[1]))
