"""Run one small job under a launcher, break it in a known way, and keep its logs beside the truth.

A run is a folder: an agent's `console.log` (the launcher's own stdout and stderr), its `logs/` (the tree of --log-dir), and
`truth.json`. With several agents each has its own folder in it, `node-0` and so on.
"""

from __future__ import annotations

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
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from faults import FAULTS, PACE, RANKS, STEPS, TIMEOUT, Fault

HERE = Path(__file__).parent
PATIENCE = 100.0
ROOT_CAUSE = re.compile(r"Root Cause \(first observed failure\):\n.*\n\s+time\s+: (?P<time>\S+)\n.*\n\s+rank\s+: (?P<rank>\d+) ")
SCRIPTS = {"trainer": "train_trainer.py", "lightning": "train_lightning.py", "lightning_alone": "train_lightning.py"}

Agents = list["subprocess.Popen[bytes]"]


@dataclass(frozen=True)
class Run:
    """One run: its fault, its launcher, its victim and step (drawn from the seed), and its folder."""

    fault: str
    launcher: str
    seed: int
    folder: Path

    @property
    def spec(self) -> Fault:
        """The fault's description."""
        return FAULTS[self.fault]

    @property
    def nodes(self) -> int:
        """How many agents there are."""
        return 2 if self.launcher.startswith("two_agents") else 1

    @property
    def draw(self) -> tuple[int, int, float]:
        """The victim's rank, the step, and how far into the step a signal comes."""
        dice = random.Random(f"{self.fault}/{self.launcher}/{self.seed}")
        return dice.randrange(RANKS), dice.randint(8, STEPS - 8), dice.random() * PACE

    @property
    def work(self) -> Path:
        """Where the job writes what is no log."""
        return self.folder / "work"

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What the processes noted when they reached the step, earliest first."""
        return sorted(
            (json.loads(path.read_text()) for path in self.work.glob("note-*.json")), key=lambda note: str(note["instant"])
        )

    @property
    def processes(self) -> list[dict[str, Any]]:
        """What every rank noted about itself."""
        return [json.loads(path.read_text()) for path in sorted(self.work.glob("pid-*.json"))]


def agent_folders(run_dir: Path) -> list[Path]:
    """The folders of a run's agents: one a node, or the run's own."""
    return sorted(run_dir.glob("node-*")) or [run_dir]


# ------------------------------------------------------------------ the command


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def job(run: Run) -> list[str]:
    """The training script and its options."""
    words = [str(HERE / SCRIPTS.get(run.launcher, "train.py"))]
    # Lightning starts its processes one after the other, and the first waits for the last
    timeout = 3 * TIMEOUT if run.launcher == "lightning_alone" else TIMEOUT
    words += ["--steps", str(STEPS), "--pace", str(PACE), "--timeout", str(timeout)]
    if run.launcher in SCRIPTS:
        return [*words, "--output", str(run.work / "output")]
    return words + ["--record"] * run.spec.record + ["--ddp"] * (run.launcher == "ddp")


def command(run: Run, node: int, port: int) -> list[str]:
    """The command line of one agent."""
    if run.launcher == "lightning_alone":
        return [sys.executable, *job(run)]
    if run.launcher == "two_agents_static":
        meeting = ["--node-rank", str(node), "--master-addr", "127.0.0.1", "--master-port", str(port)]
    else:
        meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "job"]
    launcher = [sys.executable, "-m", "torch.distributed.run", *meeting, "--nnodes", str(run.nodes)]
    launcher += ["--nproc-per-node", str(RANKS // run.nodes), "--max-restarts", str(run.spec.restarts)]
    folder = run.folder / f"node-{node}" if run.nodes > 1 else run.folder
    return [*launcher, "--tee", "3", "--log-dir", str(folder / "logs"), *job(run)]


def environment(run: Run, node: int) -> dict[str, str]:
    """The job's environment: the caller's, and the hook."""
    victim, step, _ = run.draw
    spec = run.spec
    hook = {
        "victim": None if spec.expect == "all" else victim,
        "step": 0 if spec.at_start else step,
        "action": spec.action,
        "seconds": spec.seconds,
        "folder": str(run.work),
        "attempts": spec.attempts,
        "workers": spec.workers,
        "stacks": spec.stacks,
        "barrier": spec.barrier,
    }
    own = {"STEP_HOOK": json.dumps(hook), "NODE": str(node), "OMP_NUM_THREADS": "1", "CHECKPOINTS": str(run.work / "checkpoints")}
    return os.environ | own | ({"TORCH_DISTRIBUTED_DEBUG": "DETAIL"} if spec.detail else {})


# ------------------------------------------------------------------ the run


def prepare(run: Run) -> str | None:
    """Make the run's folders; return what stands in for a small disk, if the fault needs one."""
    shutil.rmtree(run.folder, ignore_errors=True)
    checkpoints = run.work / "checkpoints"
    checkpoints.mkdir(parents=True)
    if not run.spec.disk:
        return None
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(checkpoints)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        return "tmpfs"
    for rank in range(RANKS):
        (checkpoints / f"rank_{rank}.pt").symlink_to("/dev/full")
    return "/dev/full"


def start(run: Run) -> Agents:
    """Start the agents, each the leader of a process group and with a console.log of its own."""
    port = free_port()
    agents = []
    for node in range(run.nodes):
        folder = run.folder / f"node-{node}" if run.nodes > 1 else run.folder
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "console.log").open("wb") as console:
            words, env = command(run, node, port), environment(run, node)
            agents.append(
                subprocess.Popen(
                    words, env=env, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, start_new_session=True
                )
            )
    return agents


def strike(run: Run, agents: Agents) -> str | None:
    """Wait for the victim's note, send the signal if the fault is one, and return the instant."""
    while not run.notes:
        if all(agent.poll() is not None for agent in agents):
            return None
        time.sleep(0.01)
    note = run.notes[0]
    if run.spec.signal is None:
        return str(note["instant"])
    time.sleep(run.draw[2])
    instant = datetime.now(UTC).isoformat()
    if run.spec.target == "victim":
        os.kill(note["pid"], run.spec.signal)
    elif run.spec.target == "groups":
        for agent in agents:
            os.killpg(agent.pid, run.spec.signal)
    else:
        for agent in agents if run.spec.target == "agents" else [agents[note["node"]]]:
            agent.send_signal(run.spec.signal)
    return instant


def alive(pid: int) -> bool:
    """Whether a process runs the job's script."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return str(HERE).encode() in words


def finish(run: Run, agents: Agents) -> tuple[list[int], bool]:
    """Wait for the agents and what they left behind to end; end what does not. Say whether something had to be ended."""
    deadline = time.monotonic() + PATIENCE
    overdue = False
    for agent in agents:
        try:
            agent.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            overdue = True
            agent.kill()
            agent.wait()
    while any(alive(note["pid"]) for note in run.processes) and time.monotonic() < deadline:
        time.sleep(0.1)
    for note in run.processes:
        if alive(note["pid"]):
            overdue = True
            os.kill(note["pid"], signal.SIGKILL)
    return [agent.returncode for agent in agents], overdue


def root_causes(run_dir: Path) -> list[tuple[str, int]]:
    """Time and rank of every agent's last "Root Cause" block, earliest first."""
    texts = [(folder / "console.log").read_text(errors="replace") for folder in agent_folders(run_dir)]
    return sorted((block["time"], int(block["rank"])) for text in texts for block in list(ROOT_CAUSE.finditer(text))[-1:])


def earliest(causes: list[tuple[str, int]]) -> int | None:
    """The rank of the earliest root cause; none if there is no block, or two agents name two ranks in one second."""
    ranks = {rank for moment, rank in causes if moment == causes[0][0]}
    return ranks.pop() if len(ranks) == 1 else None


def versions() -> dict[str, str]:
    """The versions of what the jobs ran on."""
    return {name: metadata.version(name) for name in ("torch", "transformers", "lightning") if installed(name)}


def installed(name: str) -> bool:
    """Whether a distribution is there."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def execute(run: Run) -> dict[str, Any]:
    """Run the job once and write its truth."""
    disk = prepare(run)
    agents = start(run)
    instant = None
    try:
        instant = strike(run, agents)
    finally:
        codes, overdue = finish(run, agents)
        if disk == "tmpfs":
            subprocess.run(["umount", "-l", str(run.work / "checkpoints")], check=False)
    causes = root_causes(run.folder)
    victims = run.notes if run.spec.expect in {"rank", "all", "recovered", "agent"} else []
    truth: dict[str, Any] = {
        "fault": run.fault,
        "launcher": run.launcher,
        "seed": run.seed,
        "expect": run.spec.expect,
        "victims": [{key: note[key] for key in ("rank", "pid", "parent", "node", "attempt", "instant")} for note in victims],
        "step": run.draw[1],
        "instant": instant,
        "classes": list(run.spec.classes),
        "disk": disk,
        "torchrun_root_cause_rank": earliest(causes),
        "torchrun_root_causes": causes,
        "exit_codes": codes,
        "overdue": overdue,
        "processes": [{key: note[key] for key in ("rank", "pid", "node", "attempt")} for note in run.processes],
        "versions": versions(),
    }
    (run.folder / "truth.json").write_text(json.dumps(truth, indent=2) + "\n")
    shutil.rmtree(run.work, ignore_errors=True)
    return truth
