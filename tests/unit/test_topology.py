"""Joins between rank, host, device, process and local rank."""

from __future__ import annotations

from making import activity, sighting

from denpex_rules.sighting import Actor, Emitter
from denpex_rules.topology import build, space_of

INIT = "t#init"
IDENTITY = frozenset({INIT})


def init(rank: int, host: str, device: str, *, world: int = 8, source: str = "a.log") -> object:
    """Return an NCCL init sighting."""
    return sighting(INIT, source=source, actor=Actor(host=host, pid=100 + rank), rank=rank, device=device, world=world)


def test_init_lines_join_rank_host_device_and_pid() -> None:
    """One init line proves where a rank ran, on which device and as which process."""
    topology = build([init(5, "node-02", "0000:41:00")], [], IDENTITY)
    assert topology.rank_of_device("node-02", "0000:41:00") == 5
    assert topology.rank_of_pid("node-02", 105) == 5
    assert topology.host_of(5) == "node-02"
    assert topology.device_of(5) == "0000:41:00"
    assert topology.world_size == 8


def test_smaller_communicator_is_not_global() -> None:
    """Ranks of a sub-group's communicator are not taken for global ranks."""
    topology = build([init(5, "node-02", "0000:41:00"), init(1, "node-02", "0000:41:00", world=2)], [], IDENTITY)
    assert topology.rank_of_device("node-02", "0000:41:00") == 5
    assert topology.host_of(1) is None


def test_contradiction_is_reported_and_not_used() -> None:
    """Two hosts claimed for one rank are a conflict, and neither is used."""
    topology = build([init(5, "node-02", "0000:41:00"), init(5, "node-03", "0000:41:00", source="b.log")], [], IDENTITY)
    assert topology.host_of(5) is None
    assert "node-02 and node-03" in topology.conflicts()[0].text()


def test_same_device_address_on_two_hosts_is_two_devices() -> None:
    """A PCI address joins only together with its host."""
    topology = build([init(1, "node-01", "0000:41:00"), init(5, "node-02", "0000:41:00")], [], IDENTITY)
    assert topology.rank_of_device("node-01", "0000:41:00") == 1
    assert topology.rank_of_device("node-02", "0000:41:00") == 5
    assert topology.rank_of_device("node-03", "0000:41:00") is None


def test_local_rank_alone_is_not_a_global_rank() -> None:
    """A launcher's tag names a local rank; without a line that names both, no global rank follows."""
    topology = build([], [activity("console.log", [], label="default3", actor=Actor(local_rank=3))], IDENTITY)
    assert topology.resolve(Actor(local_rank=3), Emitter("console.log", "default3")).rank is None


def test_one_pair_numbers_the_agents_workers() -> None:
    """A line that names local and global rank of one worker numbers all workers of its agent."""
    pair = activity("console.log", [], label="default0", actor=Actor(local_rank=0, rank=4))
    other = activity("console.log", [], label="default3", actor=Actor(local_rank=3))
    topology = build([], [pair, other], IDENTITY)
    assert topology.resolve(Actor(local_rank=3), Emitter("console.log", "default3")).rank == 7


def test_two_agents_keep_their_own_numbering() -> None:
    """Pairs of one agent don't number the workers of another."""
    one = activity("agent-0.log", [], label="default0", actor=Actor(local_rank=0, rank=0))
    two = activity("agent-1.log", [], label="default0", actor=Actor(local_rank=0, rank=4))
    unknown = activity("agent-2.log", [], label="default1", actor=Actor(local_rank=1))
    topology = build([], [one, two, unknown], IDENTITY)
    assert topology.resolve(Actor(local_rank=1), Emitter("agent-1.log", "default1")).rank == 5
    assert topology.resolve(Actor(local_rank=1), Emitter("agent-2.log", "default1")).rank is None


def test_agents_line_about_a_worker_is_not_about_the_agent() -> None:
    """A launcher's line that names a worker's pid does not give that worker the launcher's own pid."""
    line = sighting("t#failed", actor=Actor(pid=7, host="node-01"), kind="agent", rank=2, pid=42)
    topology = build([line], [], frozenset({"t#failed"}))
    assert topology.rank_of_pid("node-01", 42) == 2
    assert topology.rank_of_pid("node-01", 7) is None


def test_space_is_the_launchers_log_folder() -> None:
    """All rank folders of one torchrun log folder are one agent's."""
    assert space_of(Emitter("logs/job_ab/attempt_0/3/stderr.log")) == "logs/job_ab"
    assert space_of(Emitter("console.log", "default3")) == "console.log"


def logged(source: str, label: str, text: str, *, rank: int | None = None, local_rank: int = 0) -> object:
    """Return a sighting of a worker's line."""
    return sighting("t#step", source=source, label=label, actor=Actor(rank=rank, local_rank=local_rank), text=text)


def test_console_and_its_log_folder_are_one_agent() -> None:
    """A console that was tee'd from the folder numbers the folder's local ranks."""
    lines = [logged("console.log", "default0", "step 1", rank=4), logged("logs/job_ab/attempt_0/0/stderr.log", "", "step 1")]
    topology = build(lines, [], IDENTITY)
    assert topology.resolve(Actor(local_rank=1), Emitter("logs/job_ab/attempt_0/1/stderr.log")).rank == 5


def test_first_rank_of_one_node_does_not_number_another() -> None:
    """Two consoles, one with a pair: the other's local ranks stay unknown, they are another node's."""
    lines = [logged("node-0.log", "default0", "step 1", rank=0), logged("node-1.log", "default0", "step 1")]
    topology = build(lines, [], IDENTITY)
    assert topology.resolve(Actor(local_rank=0), Emitter("node-1.log", "default0")).rank is None


def test_host_of_one_node_is_not_that_of_another() -> None:
    """An agent's host is its own workers' only."""
    lines = [
        sighting("t#child", source="node-0.log", label="agent", kind="agent", rank=0, local_rank=0, host="node-01"),
        logged("node-1.log", "default0", "step 1"),
    ]
    topology = build(lines, [], frozenset({"t#child"}))
    assert topology.resolve(Actor(local_rank=0), Emitter("node-0.log", "default0")).host == "node-01"
    assert topology.resolve(Actor(local_rank=0), Emitter("node-1.log", "default0")).host is None


def member(rank: int, number: int, host: str, group: str, *, size: int = 2) -> object:
    """Return the init line of a rank that has another number in its communicator."""
    printer = Actor(rank=rank, host=host, pid=100 + rank)
    return sighting(INIT, source=f"r{rank}.log", actor=printer, rank=number, device="0000:41:00", world=size, commid=group)


def test_job_of_groups_only_has_no_global_communicator() -> None:
    """Members that print other ranks as their own show that the largest communicator is a group; its lines join the printers."""
    topology = build([member(2, 0, "node-02", "0xb"), member(3, 1, "node-03", "0xb")], [], IDENTITY)
    assert topology.world_size is None
    assert topology.rank_of_device("node-02", "0000:41:00") == 2
    assert topology.host_of(0) is None
    assert topology.communicators == ({0: 2, 1: 3},)


def test_two_communicators_that_number_all_devices_alike_are_groups() -> None:
    """Without any rank of their own, members of two groups are nobody's rank."""
    seen = [
        sighting(
            INIT, source=f"{host}.log", actor=Actor(host=host, pid=100 + n), rank=n, device=f"0000:4{n}:00", world=2, commid=host
        )
        for host in ("node-01", "node-02")
        for n in range(2)
    ]
    topology = build(seen, [], IDENTITY)
    assert topology.rank_of_device("node-02", "0000:41:00") is None
    assert topology.world_size is None
