"""Fabric, storage and schedulers: what ends a job from outside its processes, and logs that were moved or renamed."""

from __future__ import annotations

from attrs import evolve

from scenarios.cluster import Cluster, Line
from scenarios.groups import out_of_memory_then_half_an_hour, three
from scenarios.hardware import OFF, full, killed_by_the_oom_killer, lost_gpu, off_bus_two_hosts
from scenarios.scenario import ANY, Guilty, Truth, scenario

RETRY = "transport/net_ib.cc:2250 | NET/IB: Got completion from peer {}<{}> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:{} remoteGids::ffff:{} hca mlx5_2"
FLUSH = "transport/net_ib.cc:2250 | NET/IB: Got completion from peer {}<{}> with status=5 opcode=0 len=0 vendor err 249 (Recv) localGid ::ffff:{} remoteGids::ffff:{} hca mlx5_2"
PORT = "transport/net_ib/common.cc:205 | NET/IB : mlx5_2:1 Got non-fatal async event: port {}"
NFS = "nfs: server nfs-01 not responding, still trying"


def retries(c: Cluster, ranks: range | list[int], at: float, host: str) -> None:
    """Let ranks give up on a host."""
    far = c.address(host)
    for rank in ranks:
        near = c.address(c.host(rank))
        c.nccl(rank, at + 0.1 * rank, RETRY.format(far, 41000 + rank, near, far), "WARN")
        c.nccl(rank, at + 0.2 + 0.1 * rank, FLUSH.format(far, 41000 + rank, near, far), "WARN")
        c.c10(
            rank,
            at + 1 + 0.1 * rank,
            f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2",
            where="ProcessGroupNCCL.cpp:1895",
        )


@scenario("fabric")
def link_of_a_host_down() -> tuple[Cluster, Truth]:
    """The port of gpu-a02 goes down: both sides give up on each other; the address in a victim's line is not always the culprit."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel("gpu-a02", 401, "mlx5_core 0000:84:00.0 ibs3: Link down")
    retries(c, [*c.on("gpu-a01"), *c.on("gpu-a03")], 436, "gpu-a02")
    retries(c, c.on("gpu-a02"), 437, "gpu-a01")
    return c, Truth(("net.link_down",), (Guilty(None, "gpu-a02", ANY),))


@scenario("fabric")
def port_error_seen_by_nccl() -> tuple[Cluster, Truth]:
    """NCCL of rank 5 sees its own port go; rank 1 on the other side gives up on it."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.nccl(5, 401, PORT.format("error(10)"), "WARN")
    retries(c, list(c.on("gpu-a01")), 436, "gpu-a02")
    return c, Truth(("net.link_down",), (Guilty(None, "gpu-a02", ANY),), (Guilty(5, "gpu-a02", ANY),))


@scenario("fabric")
def flap_that_broke_the_job() -> tuple[Cluster, Truth]:
    """The link of gpu-a01 is gone for 40 s and comes back; by then the connections have failed."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel("gpu-a01", 401, "mlx5_core 0000:84:00.0 ibs3: Link down")
    c.kernel("gpu-a01", 441, "mlx5_core 0000:84:00.0 ibs3: Link up")
    retries(c, list(c.on("gpu-a02")), 436, "gpu-a01")
    return c, Truth(("net.link_flap", "net.link_down"), (Guilty(None, "gpu-a01", ANY),))


@scenario("recovered")
def flap_hours_before() -> tuple[Cluster, Truth]:
    """The link of gpu-a01 flapped two hours before the kernel of gpu-a02 kills rank 6."""
    c = Cluster()
    c.kernel("gpu-a01", 300, "mlx5_core 0000:84:00.0 ibs3: Link down")
    c.kernel("gpu-a01", 304, "mlx5_core 0000:84:00.0 ibs3: Link up")
    c.init()
    c.steps(7500)
    c.quiet_kernels(8200)
    pid = c.pid(6)
    c.kernel(
        "gpu-a02",
        7501.1,
        f"Out of memory: Killed process {pid} (pt_main_thread) total-vm:481200412kB, anon-rss:402118232kB, file-rss:1204kB, shmem-rss:80124kB, UID:1001 pgtables:812344kB oom_score_adj:0",
    )
    c.worker_failed(6, 7503, -9)
    c.peer_gone(c.on("gpu-a01"), 7504, "10.0.0.12")
    return c, Truth(("host.oom_kill",), (Guilty(6, "gpu-a02", None),))


@scenario("recovered")
def port_back_then_gpu_lost() -> tuple[Cluster, Truth]:
    """A port error of gpu-a01 was followed by `port active`; an hour later the GPU of rank 7 is lost."""
    c = Cluster()
    c.nccl(1, 200, PORT.format("error(10)"), "WARN")
    c.nccl(1, 206, PORT.format("active(9)"), "WARN")
    lost_gpu(c, 7, 3803)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 7),))


@scenario("fabric")
def retries_to_one_host_without_its_logs() -> tuple[Cluster, Truth]:
    """Everybody gives up on gpu-a02, and nothing of that host was collected: down, dead or unreachable can't be told."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    retries(c, [*c.on("gpu-a01"), *c.on("gpu-a03")], 436, "gpu-a02")
    c.drop("kern_gpu-a02.log", *(f"rank_{r}.log" for r in c.on("gpu-a02")))
    return c, Truth(("net.transport_retry", "collective.remote_error"), undecided=("gpu-a02", "kernel", "rank 4"))


@scenario("fabric")
def retries_on_all_sides() -> tuple[Cluster, Truth]:
    """Each host gives up on the next one, and no kernel says anything: the fabric, and nobody."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    for host, other in (("gpu-a01", "gpu-a02"), ("gpu-a02", "gpu-a03"), ("gpu-a03", "gpu-a01")):
        retries(c, list(c.on(host)), 436, other)
    return c, Truth(("net.transport_retry",), undecided=("peer", "path"))


@scenario("fabric")
def retry_after_a_rank_died() -> tuple[Cluster, Truth]:
    """Peers give up on gpu-a02 because rank 5 ended with an exception of its own: host and network are healthy."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.log(5, 401, "step failed", "ERROR")
    c.raised(5, 401, "RuntimeError: shape '[8, 4096]' is invalid for input of size 32760", "x = x.view(8, 4096)")
    retries(c, list(c.on("gpu-a01")), 436, "gpu-a02")
    return c, Truth(("train.python_exception",), (Guilty(5, "gpu-a02", ANY),))


@scenario("fabric")
def adapter_firmware_fails() -> tuple[Cluster, Truth]:
    """The adapter of gpu-a03 reports an internal error; its port stays up for the others."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel(
        "gpu-a03",
        401,
        "mlx5_core 0000:84:00.0: print_health_info:431:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
    )
    c.kernel("gpu-a03", 401.1, "mlx5_core 0000:84:00.0: mlx5_error_sw_reset:242:(pid 811): start")
    c.kernel("gpu-a03", 402, "mlx5_core 0000:84:00.0: mlx5_health_try_recover:354:(pid 811): health recovery failed")
    retries(c, [*c.on("gpu-a01"), *c.on("gpu-a02")], 436, "gpu-a03")
    return c, Truth(("net.nic_failure",), (Guilty(None, "gpu-a03", ANY),))


@scenario("storage")
def file_server_gone() -> tuple[Cluster, Truth]:
    """The NFS server stops answering all hosts; the save of rank 0 hangs, the others time out."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1900)
    c.log(0, 401, "saving checkpoint at iteration 20 to /nfs/ckpt")
    for host in c.hosts:
        c.kernel(host, 440, NFS)
    c.kernel("gpu-a01", 560, f"INFO: task pt_main_thread:{c.pid(0)} blocked for more than 120 seconds.")
    c.timeout(c.but(0), 402)
    return c, Truth(
        ("storage.nfs_unresponsive", "storage.checkpoint_stall"), (Guilty(None, "nfs-01", None),), (Guilty(0, ANY, ANY),)
    )


@scenario("storage")
def file_server_seen_by_one_client() -> tuple[Cluster, Truth]:
    """Only gpu-a02 complains about the server, right after its own link went down: the server is innocent."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1900)
    c.kernel("gpu-a02", 401, "mlx5_core 0000:84:00.0 ens3f0np0: Link down")
    c.kernel("gpu-a02", 440, NFS)
    c.timeout([*c.on("gpu-a01"), *c.on("gpu-a03")], 405)
    return c, Truth(("net.link_down",), (Guilty(None, "gpu-a02", ANY),), tuple(Guilty(r, "gpu-a02", ANY) for r in c.on("gpu-a02")))


@scenario("recovered")
def file_server_came_back() -> tuple[Cluster, Truth]:
    """The server was away for a minute and came back; an hour later rank 2 stays behind in a collective."""
    c = Cluster()
    for host in c.hosts:
        c.kernel(host, 300, NFS)
        c.kernel(host, 355, "nfs: server nfs-01 OK")
    c.init()
    c.steps(4000)
    c.quiet_kernels(5000)
    c.timeout(c.but(2), 4005, enqueued=8412)
    c.signalled(2, 4606, 0, 8411)
    return c, Truth(("collective.timeout", "collective.missing_rank"), (Guilty(2, "gpu-a01", ANY),))


@scenario("scheduler")
def time_limit() -> tuple[Cluster, Truth]:
    """Slurm ends the job at its limit; the teardown makes ranks report lost peers."""
    c = Cluster()
    c.init()
    c.steps(3590)
    c.slurm(3600, "slurmstepd: error: *** STEP 4711.0 ON gpu-a01 CANCELLED AT 2026-11-30T11:00:00 DUE TO TIME LIMIT ***")
    c.slurm(3600, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    c.peer_gone((5, 6), 3601, "10.0.0.11")
    c.slurm(3603, "srun: error: gpu-a02: task 5: Aborted (core dumped)")
    return c, Truth(("sched.time_limit",))


@scenario("scheduler")
def preemption() -> tuple[Cluster, Truth]:
    """A job of higher priority takes the nodes: SIGTERM to all, a save, and broken connections."""
    c = Cluster()
    c.init()
    c.steps(2590)
    c.slurm(2600, "slurmstepd: error: *** STEP 4711.0 ON gpu-a01 CANCELLED AT 2026-11-30T10:43:20 DUE TO PREEMPTION ***")
    for host in c.hosts:
        c.agent(host, 2600.5, "Received 15 death signal, shutting down workers", "W", "elastic/agent/server/api.py:704")
    c.peer_gone(c.on("gpu-a02"), 2602, "10.0.0.11")
    return c, Truth(("sched.preempted",))


@scenario("scheduler")
def cancelled_by_hand() -> tuple[Cluster, Truth]:
    """The user cancels the job; a rank that raises while it is torn down is not to blame."""
    c = Cluster()
    c.init()
    c.steps(1590)
    c.slurm(1600, "slurmstepd: error: *** STEP 4711.0 ON gpu-a01 CANCELLED AT 2026-11-30T10:26:40 ***")
    c.agent("gpu-a01", 1600.5, "Received 15 death signal, shutting down workers", "W", "elastic/agent/server/api.py:704")
    c.raised(1, 1601, "torch.distributed.elastic.multiprocessing.api.SignalException: Process 41001 got signal: 15", "run(args)")
    c.peer_gone((6, 7), 1602, "10.0.0.11")
    return c, Truth(("sched.cancelled",))


@scenario("scheduler")
def node_lost() -> tuple[Cluster, Truth]:
    """Slurm loses gpu-a03; the job's step is cancelled on the batch host, which is innocent."""
    c = three()
    c.init()
    c.steps(400)
    c.slurm(520, "srun: error: Node failure on gpu-a03")
    c.slurm(
        520,
        "slurmstepd: error: *** STEP 4711.0 ON gpu-a01 CANCELLED AT 2026-11-30T10:08:40 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    )
    c.slurm(521, "srun: error: gpu-a01: tasks 0-3: Terminated")
    c.slurm(521, "srun: error: gpu-a02: tasks 4-7: Terminated")
    return c, Truth(("sched.node_failed",), (Guilty(None, "gpu-a03", None),))


@scenario("scheduler")
def task_failed_first() -> tuple[Cluster, Truth]:
    """Rank 2 raises; srun ends the step, and the tasks of the other host are reported as killed first."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.log(2, 402, "step failed", "ERROR")
    c.raised(2, 402, "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard_0118.bin'", "rows = read(shard)")
    c.slurm(433, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    c.slurm(434, "srun: error: gpu-a02: tasks 4-7: Killed")
    c.slurm(434, "srun: error: gpu-a01: task 2: Exited with exit code 1")
    c.slurm(435, "srun: error: gpu-a01: tasks 0-1,3: Killed")
    return c, Truth(("train.python_exception",), (Guilty(2, "gpu-a01", ANY),))


# ------------------------------------------------------------------ renamed and moved


def renamed(c: Cluster, old: str, new: str, *prefixes: str) -> None:
    """Write another host name in the files whose names start with a prefix, and in those names."""
    for name in [n for n in c.files if n.startswith(prefixes)]:
        c.files[name.replace(old, new)] = [evolve(x, text=x.text.replace(old, new)) for x in c.files.pop(name)]


@scenario("moved")
def kernel_knows_another_name() -> tuple[Cluster, Truth]:
    """The kernel log calls the host by a name that no line of the job has: no join, so no rank and no other host."""
    c, _ = off_bus_two_hosts()
    renamed(c, "gpu-a02", "hgx-17", "kern_gpu-a02")
    return c, Truth(("gpu.fell_off_bus",), (Guilty(None, "hgx-17", c.device(5)),), (Guilty(5, "gpu-a02", None),))


@scenario("moved")
def all_hosts_renamed() -> tuple[Cluster, Truth]:
    """The hosts have other names everywhere: the answer has them too."""
    c, _ = off_bus_two_hosts()
    for old, new in (("gpu-a01", "hgx-31"), ("gpu-a02", "hgx-32")):
        renamed(c, old, new, "")
    return c, Truth(("gpu.fell_off_bus",), (Guilty(5, "hgx-32", c.device(5)),))


@scenario("moved")
def line_in_another_hosts_file() -> tuple[Cluster, Truth]:
    """The line of the lost GPU lies in the other host's kernel log: the line's own host counts, never the file's."""
    c, _ = off_bus_two_hosts()
    moved = [x for x in c.files["kern_gpu-a02.log"] if "79" in x.text and "Xid" in x.text]
    c.files["kern_gpu-a02.log"] = [x for x in c.files["kern_gpu-a02.log"] if x not in moved]
    c.files["kern_gpu-a01.log"] += moved
    return c, Truth(("gpu.fell_off_bus",), (full(c, 5),))


@scenario("moved", merge=False)
def error_in_another_ranks_file() -> tuple[Cluster, Truth]:
    """Rank 3's traceback, whose lines name it, lies in the log of rank 6: rank 6 is innocent."""
    c, truth = out_of_memory_then_half_an_hour()
    moved: list[Line] = [x for x in c.files["rank_3.log"] if x.text.startswith("[rank3]:")]
    c.files["rank_3.log"] = [x for x in c.files["rank_3.log"] if x not in moved]
    c.files["rank_6.log"] += moved
    return c, truth


@scenario("moved")
def pid_of_another_host() -> tuple[Cluster, Truth]:
    """The killed pid is one that a rank of the other host has too: without a join on the same host no rank is named."""
    c, _ = killed_by_the_oom_killer()
    c.drop("gpu-a02/torchrun.log")
    for rank in c.on("gpu-a02"):
        c.files[f"rank_{rank}.log"] = [x for x in c.files[f"rank_{rank}.log"] if "NCCL INFO" not in x.text]
    for rank in c.on("gpu-a01"):
        c.files[f"rank_{rank}.log"] = [
            evolve(x, text=x.text.replace(str(c.pid(rank)), str(c.pid(rank + 4)))) for x in c.files[f"rank_{rank}.log"]
        ]
    return c, Truth(("host.oom_kill",), (Guilty(ANY, "gpu-a02", None),))


@scenario("moved", merge=False)
def off_bus_kernel_names_no_host() -> tuple[Cluster, Truth]:
    """A `dmesg -T` without a host in its name: the device is certain, but each host has one at that address."""
    c = Cluster(kernel_style="dmesg")
    c.init()
    c.steps(400, c.but(6))
    c.steps(395, [6])
    c.quiet_kernels(1300, "gpu-a02")
    c.xid(6, 403, 79, OFF, pid=c.pid(6))
    c.timeout(c.but(6), 405)
    c.files["dmesg.txt"] = c.files.pop("kern_gpu-a02.log")
    return c, Truth(("gpu.fell_off_bus",), (Guilty(None, None, c.device(6)),), (full(c, 6), Guilty(6, "gpu-a02", None)))
