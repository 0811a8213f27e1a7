"""Run the training job under torchrun, break one rank of it, and keep the logs with the truth.

    python bench/faults/run.py OUT --runs 3 [--fault kill --fault stop] [--nodes 2]

Each run is a folder OUT/<fault>-<seed>: an agent's `console.log` (torchrun's own stdout and stderr), its `logs/` (the
tree of --log-dir), and `truth.json`. With several nodes each agent has its own folder in it, `node-0` and so on.
Needs a Python that has torch; nothing else beyond the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
RANKS = 4
STEPS = 40
PACE = 0.15
TIMEOUT = 8.0
PATIENCE = 120.0

ROOT_CAUSE = re.compile(
    r"Root Cause \(first observed failure\):\n.*\n\s+time\s+: (?P<time>\S+)\n.*\n\s+rank\s+: (?P<rank>\d+) "
)


@dataclass(frozen=True)
class Fault:
    """What happens to the victim: an action inside the process, or a signal from outside."""

    action: str = "none"
    seconds: float = 0.0
    signal: int | None = None
    record: bool = False
    harmless: bool = False


FAULTS = {
    "kill": Fault(signal=signal.SIGKILL),
    "stop": Fault(signal=signal.SIGSTOP),
    "exception": Fault("raise"),
    "exception_recorded": Fault("raise", record=True),
    "sleep": Fault("sleep", seconds=4 * TIMEOUT),
    "exit_0": Fault("leave"),
    "exit_3": Fault("exit"),
    "segv": Fault("read_null"),
    "abort": Fault("abort"),
    "healthy": Fault(harmless=True),
    "slow": Fault("sleep", seconds=TIMEOUT / 2, harmless=True),
}


@dataclass(frozen=True)
class Run:
    """One run: its fault, its victim and step (drawn from the seed), and its folder."""

    fault: str
    seed: int
    folder: Path
    nodes: int = 1

    @property
    def spec(self) -> Fault:
        """The fault's description."""
        return FAULTS[self.fault]

    @property
    def draw(self) -> tuple[int, int, float]:
        """The victim's rank, the step, and how far into the step a signal comes."""
        dice = random.Random(f"{self.fault}/{self.seed}")
        return dice.randrange(RANKS), dice.randint(8, STEPS - 10), dice.random() * PACE

    @property
    def note(self) -> Path:
        """The file that the victim writes when it reaches the step."""
        return self.folder / "note.json"


def agent_folders(run_dir: Path) -> list[Path]:
    """The folders of a run's agents: one a node, or the run's own."""
    return sorted(run_dir.glob("node-*")) or [run_dir]


def views(run_dir: Path) -> dict[str, list[Path]]:
    """What users would have kept of a run: everything, the consoles, the ranks' files, or one innocent rank's file."""
    agents = agent_folders(run_dir)
    consoles, trees = [a / "console.log" for a in agents], [a / "logs" for a in agents]
    victim = json.loads((run_dir / "truth.json").read_text())["victim"]
    files = sorted(path for tree in trees for path in tree.rglob("stderr.log"))
    innocent = [path for path in files if f"rank {victim} of " not in path.read_text(errors="replace")]
    return {"all": consoles + trees, "console": consoles, "ranks": trees, "one": innocent[:1]}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(run: Run, logs: Path, port: int) -> list[str]:
    """The command line of one agent."""
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "job"]
    launcher = [sys.executable, "-m", "torch.distributed.run", *meeting, "--nnodes", str(run.nodes)]
    launcher += ["--nproc-per-node", str(RANKS // run.nodes), "--tee", "3", "--log-dir", str(logs)]
    job = [str(HERE / "train.py"), "--steps", str(STEPS), "--pace", str(PACE), "--timeout", str(TIMEOUT)]
    return launcher + job + ["--record"] * run.spec.record


def environment(run: Run) -> dict[str, str]:
    """The job's environment: the caller's, and the hook for the victim."""
    victim, step, _ = run.draw
    hook = {"rank": victim, "step": step, "action": run.spec.action, "seconds": run.spec.seconds, "note": str(run.note)}
    return os.environ | {"STEP_HOOK": json.dumps(hook), "OMP_NUM_THREADS": "1"}


def start(run: Run) -> list[subprocess.Popen[bytes]]:
    """Start the agents, each writing its console.log."""
    port = free_port()
    agents = []
    for node in range(run.nodes):
        folder = run.folder / f"node-{node}" if run.nodes > 1 else run.folder
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "console.log").open("wb") as console:
            words = command(run, folder / "logs", port)
            agents.append(subprocess.Popen(words, env=environment(run), stdout=console, stderr=subprocess.STDOUT))
    return agents


def strike(run: Run, agents: list[subprocess.Popen[bytes]]) -> str | None:
    """Wait for the victim's note, send the signal if the fault is one, and return the instant."""
    while not run.note.exists():
        if all(agent.poll() is not None for agent in agents):
            return None
        time.sleep(0.01)
    note = json.loads(run.note.read_text())
    if run.spec.signal is None:
        return str(note["instant"])
    time.sleep(run.draw[2])
    instant = datetime.now(UTC).isoformat()
    os.kill(note["pid"], run.spec.signal)
    return instant


def finish(agents: list[subprocess.Popen[bytes]]) -> list[int]:
    """Wait for the agents to end; end those that do not."""
    deadline = time.monotonic() + PATIENCE
    for agent in agents:
        try:
            agent.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            agent.terminate()
            agent.wait()
    return [agent.returncode for agent in agents]


def root_causes(run_dir: Path) -> list[tuple[str, int]]:
    """Time and rank of every agent's "Root Cause" block, earliest first."""
    texts = [(folder / "console.log").read_text(errors="replace") for folder in agent_folders(run_dir)]
    return sorted((block["time"], int(block["rank"])) for text in texts for block in ROOT_CAUSE.finditer(text))


def earliest(causes: list[tuple[str, int]]) -> int | None:
    """The rank of the earliest root cause; none if there is no block, or two agents name two ranks in one second."""
    ranks = {rank for moment, rank in causes if moment == causes[0][0]}
    return ranks.pop() if len(ranks) == 1 else None


def execute(run: Run) -> dict[str, object]:
    """Run the job once and write its truth."""
    shutil.rmtree(run.folder, ignore_errors=True)
    agents = start(run)
    try:
        instant = strike(run, agents)
    finally:
        codes = finish(agents)
    run.note.unlink(missing_ok=True)
    victim, step, _ = run.draw
    causes = root_causes(run.folder)
    truth: dict[str, object] = {
        "fault": run.fault,
        "victim": None if run.spec.harmless else victim,
        "step": None if run.fault == "healthy" else step,
        "instant": None if run.fault == "healthy" else instant,
        "torchrun_root_cause_rank": earliest(causes),
        "torchrun_root_causes": causes,
        "agent_exit_codes": codes,
        "seed": run.seed,
        "nodes": run.nodes,
    }
    (run.folder / "truth.json").write_text(json.dumps(truth, indent=2) + "\n")
    return truth


def plan(options: argparse.Namespace) -> Iterator[Run]:
    """Every run that the options ask for."""
    for fault in options.fault or FAULTS:
        for seed in range(options.seed, options.seed + options.runs):
            yield Run(fault, seed, options.out / f"{fault}-{seed}", options.nodes)


def main() -> int:
    """Run the plan, one run after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder for the runs")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="only this fault (may be repeated)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each fault")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 2, 4), help="agents, all on this machine")
    for run in plan(parser.parse_args()):
        began = time.monotonic()
        truth = execute(run)
        print(f"{run.folder.name} {time.monotonic() - began:.0f}s {json.dumps(truth)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
