"""Stories in which the loudest, the first or the named one is innocent."""

from __future__ import annotations

from scenarios.cluster import Cluster
from scenarios.groups import three
from scenarios.hardware import CLEANUP, OFF, full
from scenarios.scenario import ANY, Guilty, Truth, scenario

FAULT = "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f1a_2c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
TOKENS = "ValueError: shard 118 has 4095 tokens, expected 4096"


@scenario("traps")
def fault_of_a_foreign_process() -> tuple[Cluster, Truth]:
    """Somebody's notebook faults on the GPU of rank 1, which runs on for an hour; then rank 6 raises an error of its own."""
    c = Cluster()
    c.init()
    c.steps(4000)
    c.quiet_kernels(5000)
    c.kernel("gpu-a01", 400, f"NVRM: Xid (PCI:{c.device(1)}): 31, pid=70001, name=python3, {FAULT}")
    c.kernel("gpu-a01", 400.1, f"NVRM: Xid (PCI:{c.device(1)}): 43, pid=70001, name=python3, Ch 00000008")
    c.raised(6, 4003, TOKENS, "batch = next(batches)")
    c.timeout(c.but(6), 4010)
    return c, Truth(
        ("train.python_exception", "gpu.page_fault"), (Guilty(6, "gpu-a02", ANY),), (Guilty(None, "gpu-a01", c.device(1)),)
    )


@scenario("traps")
def contained_error_of_a_foreign_process() -> tuple[Cluster, Truth]:
    """A contained error ends somebody else's process on the GPU of rank 4; the job goes on, and later loses the GPU of rank 2."""
    c = Cluster()
    c.init()
    c.steps(4000, c.but(2))
    c.steps(3990, [2])
    c.quiet_kernels(5000)
    c.kernel("gpu-a02", 400, f"NVRM: Xid (PCI:{c.device(4)}): 94, pid=70001, name=python3, Contained: SM (0x1). RST: No, D-RST: No")
    c.xid(2, 4003, 79, OFF, pid=c.pid(2))
    c.timeout(c.but(2), 4010)
    return c, Truth(("gpu.fell_off_bus", "gpu.memory.contained"), (full(c, 2),), (Guilty(None, "gpu-a02", c.device(4)),))


@scenario("traps")
def neighbour_faults_after_a_lost_gpu() -> tuple[Cluster, Truth]:
    """The GPU of rank 2 is lost; its neighbours on NVLink fault half a second later, and print more than it does."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(2, 401, 79, OFF)
    for rank in (1, 3):
        c.xid(rank, 401.5, 31, FAULT, pid=c.pid(rank))
        c.xid(rank, 401.6, 45, CLEANUP, pid=c.pid(rank))
        c.raised(rank, 402, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    c.timeout((0, 4, 5, 6, 7), 405)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 2),))


@scenario("traps")
def cleanup_stamped_before_the_exception() -> tuple[Cluster, Truth]:
    """The kernels log Xid 45 for the GPUs of gpu-a01 a moment before the agent prints why: rank 3 had raised."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.log(3, 402, "step failed", "ERROR")
    c.raised(3, 402, TOKENS, "batch = next(batches)")
    for rank in c.on("gpu-a01"):
        c.xid(rank, 402.2, 45, CLEANUP, pid=c.pid(rank))
    c.worker_failed(3, 404, 1)
    c.peer_gone(c.on("gpu-a02"), 404.5, "10.0.0.11")
    return c, Truth(("train.python_exception",), (Guilty(3, "gpu-a01", ANY),))


@scenario("traps")
def chain_over_three_hosts() -> tuple[Cluster, Truth]:
    """Rank 1 raises; gpu-a02 aborts because of it; gpu-a03 only ever names gpu-a02."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.log(1, 402, "step failed", "ERROR")
    c.raised(1, 402, TOKENS, "batch = next(batches)")
    c.worker_failed(1, 404, 1)
    c.peer_gone(c.on("gpu-a02"), 405, "10.0.0.11")
    c.worker_failed(5, 408, -6)
    c.peer_gone(c.on("gpu-a03"), 409, "10.0.0.12")
    c.worker_failed(9, 412, -6)
    return c, Truth(("train.python_exception",), (Guilty(1, "gpu-a01", ANY),))


@scenario("traps")
def consoles_only() -> tuple[Cluster, Truth]:
    """Only the agents' consoles are left: gpu-a01's first failure is rank 2 with code 1, gpu-a02's is an abort 6 s later."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.worker_failed(2, 404, 1)
    c.worker_failed(6, 410, -6)
    c.drop(*(f"rank_{r}.log" for r in c.ranks))
    return c, Truth(("launcher.worker_failed",), undecided=("rank 2", "log of rank"))


@scenario("traps")
def killed_by_its_own_agent() -> tuple[Cluster, Truth]:
    """Rank 0 raises; rank 1 is blocked, ignores SIGTERM and is killed by its agent: its signal 9 came from there."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.log(0, 402, "step failed", "ERROR")
    c.raised(0, 402, TOKENS, "batch = next(batches)")
    c.worker_failed(0, 404, 1)
    c.agent(
        "gpu-a01",
        403.9,
        f"Unable to shutdown process {c.pid(1)} via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
        "W",
        "elastic/multiprocessing/api.py:919",
    )
    c.peer_gone(c.on("gpu-a02"), 405, "10.0.0.11")
    return c, Truth(("train.python_exception",), (Guilty(0, "gpu-a01", ANY),))


@scenario("traps")
def loader_worker_killed() -> tuple[Cluster, Truth]:
    """The memory killer takes a data loader worker of rank 3; the other ranks of the host are innocent."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel(
        "gpu-a01",
        401,
        "Out of memory: Killed process 55123 (pt_data_worker) total-vm:81200412kB, anon-rss:72118232kB, file-rss:1204kB, shmem-rss:80124kB, UID:1001 pgtables:212344kB oom_score_adj:0",
    )
    c.raised(3, 402, "RuntimeError: DataLoader worker (pid 55123) is killed by signal: Killed. ", "batch = next(batches)")
    c.worker_failed(3, 404, 1)
    c.peer_gone(c.on("gpu-a02"), 405, "10.0.0.11")
    return c, Truth(("host.oom_kill", "data.worker_killed"), (Guilty(ANY, "gpu-a01", None),), (Guilty(3, "gpu-a01", ANY),))


@scenario("traps")
def hang_until_the_time_limit() -> tuple[Cluster, Truth]:
    """The GPU of rank 3 is lost, the job hangs without a timeout until Slurm's limit: the limit is not what failed."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(3700)
    c.xid(3, 401, 79, OFF, pid=c.pid(3))
    c.slurm(3600, "slurmstepd: error: *** STEP 4711.0 ON gpu-a02 CANCELLED AT 2026-11-30T11:00:00 DUE TO TIME LIMIT ***")
    return c, Truth(("gpu.fell_off_bus",), (full(c, 3),))


@scenario("traps")
def panic_and_the_scheduler() -> tuple[Cluster, Truth]:
    """A host panics and Slurm loses it: one fault of one host, the batch host and the ranks elsewhere are innocent."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(399, "gpu-a02")
    c.quiet_kernels(1300, "gpu-a01", "gpu-a03")
    c.kernel("gpu-a02", 401, "Kernel panic - not syncing: Fatal machine check on current CPU")
    c.slurm(520, "srun: error: Node failure on gpu-a02")
    c.slurm(
        520,
        "slurmstepd: error: *** STEP 4711.0 ON gpu-a01 CANCELLED AT 2026-11-30T10:08:40 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    )
    c.peer_gone(c.on("gpu-a03"), 460, "10.0.0.12")
    return c, Truth(("host.kernel_panic",), (Guilty(None, "gpu-a02", None),))


@scenario("traps")
def whole_node_out_of_memory() -> tuple[Cluster, Truth]:
    """All tasks of gpu-a02 are reported as killed for memory: the host, and no rank of it, is named."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.slurm(402, "slurmstepd: error: Detected 4 oom_kill events in StepId=4711.0. Some of the step tasks have been OOM Killed.")
    c.slurm(402, "srun: error: gpu-a02: tasks 4-7: Out Of Memory")
    c.peer_gone(c.on("gpu-a01"), 403, "10.0.0.12")
    return c, Truth(("host.cgroup_oom", "host.oom_kill"), (Guilty(None, "gpu-a02", None),))


@scenario("traps")
def rank_zero_prints_all_the_steps() -> tuple[Cluster, Truth]:
    """Only rank 0 prints steps, the others are silent by habit; the GPU of rank 7 is lost."""
    c = Cluster()
    c.init()
    c.steps(400, [0])
    c.quiet_kernels(1300)
    c.xid(7, 403, 79, OFF, pid=c.pid(7))
    c.timeout(c.but(7), 405)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 7),))


@scenario("traps")
def silent_by_habit() -> tuple[Cluster, Truth]:
    """Only rank 0 prints steps; all ranks time out in one collective: their silence before accuses nobody."""
    c = Cluster()
    c.init()
    c.steps(400, [0])
    c.quiet_kernels(1300)
    c.timeout(c.ranks, 405, enqueued=8412)
    return c, Truth(("collective.timeout",), undecided=("kernel", "collective"))


@scenario("traps")
def watchdog_of_one_rank_came_late() -> tuple[Cluster, Truth]:
    """Rank 3's watchdog printed half a minute after the others: it waited like them, from later on."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.timeout(c.but(3), 405, enqueued=8412)
    c.timeout([3], 435, enqueued=8412)
    return c, Truth(("collective.timeout",), undecided=("kernel", "collective"))


@scenario("traps")
def every_rank_raises_the_same() -> tuple[Cluster, Truth]:
    """A bad setting makes every rank raise the same: none of them is to blame."""
    c = Cluster()
    c.init()
    for rank in c.ranks:
        c.log(rank, 20 + 0.4 * rank, "start failed", "ERROR")
        c.raised(rank, 20 + 0.4 * rank, "KeyError: 'max_tokens'", "limit = settings['max_tokens']")
    return c, Truth(("train.python_exception",))


@scenario("traps")
def nan_everywhere() -> tuple[Cluster, Truth]:
    """The loss becomes NaN on all ranks after an all-reduce, and rank 0 alone says that it stops."""
    c = Cluster()
    c.init()
    c.steps(400)
    for rank in c.ranks:
        c.log(rank, 420 + 0.01 * rank, "step 22 loss nan")
        c.log(rank, 440 + 0.01 * rank, "step 23 loss nan")
        c.log(rank, 460 + 0.01 * rank, "step 24 loss nan")
        c.log(rank, 480 + 0.01 * rank, "step 25 loss nan")
    c.raised(0, 481, "FloatingPointError: loss is nan", "raise FloatingPointError('loss is nan')")
    return c, Truth(("train.nan_loss",), also=(Guilty(0, "gpu-a01", ANY),), undecided=("nan", "NaN"))


@scenario("traps")
def corrected_errors_before_an_exception() -> tuple[Cluster, Truth]:
    """Corrected PCIe and memory errors of gpu-a01 are noise; rank 5 cannot read a checkpoint, which is no rank's fault."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    for number in range(3):
        c.kernel(
            "gpu-a01",
            100 + 60 * number,
            "pcieport 0000:16:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
        )
        c.kernel(
            "gpu-a01",
            110 + 60 * number,
            "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1a2b3c offset:0x40 grain:32 syndrome:0x0)",
        )
    c.log(5, 402, "load failed", "ERROR")
    c.raised(
        5,
        402,
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        "state = torch.load(path)",
    )
    c.timeout(c.but(5), 405)
    return c, Truth(("storage.checkpoint_corrupt",), also=(Guilty(5, "gpu-a02", ANY),))
