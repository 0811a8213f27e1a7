"""Collectives that stall, ranks that fail by themselves, and engines that serve: who is waiting, and for whom."""

from __future__ import annotations

from scenarios.cluster import Cluster
from scenarios.hardware import OFF, full
from scenarios.scenario import ANY, Guilty, Truth, scenario

FINGERPRINT = "CollectiveFingerPrint(SequenceNumber=8412, OpType=ALLREDUCE, TensorShape=[{}], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)))"


def three() -> Cluster:
    """Return a cluster of three hosts."""
    return Cluster(("gpu-a01", "gpu-a02", "gpu-a03"))


@scenario("oom")
def out_of_memory_then_half_an_hour() -> tuple[Cluster, Truth]:
    """Rank 3 runs out of GPU memory; its peers wait for 30 minutes and print timeouts."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(2400)
    c.raised(3, 402, c.oom(3))
    c.timeout(c.but(3), 403, ran=1800.0)
    return c, Truth(("gpu.memory.out_of_memory",), (Guilty(3, "gpu-a01", ANY),))


@scenario("oom")
def out_of_memory_on_two_ranks_in_turn() -> tuple[Cluster, Truth]:
    """Rank 1 runs out of memory; rank 6 does so 90 s later in its own backward pass: rank 1 was first."""
    c = Cluster()
    c.init()
    c.steps(400)
    for rank, at in ((1, 402.0), (6, 492.0)):
        c.log(rank, at, f"step failed: {c.oom(rank)}", "ERROR")
        c.raised(rank, at, c.oom(rank))
    c.timeout(c.but(1, 6), 403)
    return c, Truth(("gpu.memory.out_of_memory",), (Guilty(1, "gpu-a01", ANY),), (Guilty(6, "gpu-a02", ANY),))


@scenario("oom")
def out_of_memory_in_turn_without_stamps() -> tuple[Cluster, Truth]:
    """The same, but the only words about it are tracebacks, which have no stamps: the order can't be told."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.raised(1, 402, c.oom(1))
    c.raised(6, 492, c.oom(6))
    c.timeout(c.but(1, 6), 403)
    return c, Truth(("gpu.memory.out_of_memory",), undecided=("order can't be told",))


@scenario("oom")
def out_of_memory_everywhere_in_one_second() -> tuple[Cluster, Truth]:
    """All ranks run out of memory in the same step: a setting, and nobody was first."""
    c = Cluster()
    c.init()
    c.steps(400)
    for rank in c.ranks:
        c.log(rank, 402 + 0.03 * rank, f"training failed: {c.oom(rank)}", "ERROR")
        c.raised(rank, 402.1 + 0.03 * rank, c.oom(rank))
    return c, Truth(("gpu.memory.out_of_memory",), undecided=("order can't be told", "nothing tells which"))


@scenario("recovered")
def caught_out_of_memory_hours_before() -> tuple[Cluster, Truth]:
    """Rank 1 ran out of memory once and went on with a smaller batch; two hours later the GPU of rank 6 is lost."""
    c = Cluster()
    c.init()
    c.steps(7200, c.but(6))
    c.steps(7190, [6])
    c.quiet_kernels(8200)
    c.log(1, 605, f"retrying with half the batch: {c.oom(1)}", "WARNING")
    c.xid(6, 7203, 79, OFF, pid=c.pid(6))
    c.timeout(c.but(6), 7215)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 6),))


@scenario("recovered")
def cleanup_of_another_job_hours_before() -> tuple[Cluster, Truth]:
    """Somebody's evaluation was killed on gpu-a01 (Xid 43 and 45); two hours later rank 7 raises an error of its own."""
    c = Cluster()
    c.init()
    c.steps(7200)
    c.quiet_kernels(8200)
    c.xid(2, 900, 43, "Ch 00000008", pid=60111)
    c.xid(2, 900.1, 45, "Ch 00000009", pid=60111)
    c.raised(7, 7203, "KeyError: 'labels'", "loss = model(batch)['labels']")
    c.timeout(c.but(7), 7210)
    return c, Truth(("train.python_exception",), (Guilty(7, "gpu-a02", ANY),))


@scenario("recovered")
def remapped_row_hours_before() -> tuple[Cluster, Truth]:
    """The GPU of rank 0 recorded a row to remap; the job ran on; much later rank 4 ends with a device-side assert."""
    c = Cluster()
    c.init()
    c.steps(5000)
    c.quiet_kernels(6000)
    c.xid(0, 300, 63, "Row Remapper: New row (0x0000001a2b3c4d) marked for remapping, reset gpu to activate.")
    c.say(
        4,
        5003,
        "/opt/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1289: indexSelectLargeIndex: block: [112,0,0], thread: [64,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
    )
    c.raised(4, 5003.2, "torch.AcceleratorError: CUDA error: device-side assert triggered")
    c.timeout(c.but(4), 5010)
    return c, Truth(("gpu.device_assert",), (Guilty(4, "gpu-a02", ANY),))


@scenario("collective")
def straggler_by_status() -> tuple[Cluster, Truth]:
    """Rank 6 had enqueued and completed 8411 when the others waited in 8412: it never came."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.timeout(c.but(6), 405, enqueued=8412)
    c.signalled(6, 1006, 0, 8411)
    return c, Truth(("collective.timeout", "collective.missing_rank"), (Guilty(6, "gpu-a02", ANY),))


@scenario("collective")
def equal_everywhere() -> tuple[Cluster, Truth]:
    """All ranks enqueued 8412 and none completed it: fabric or mismatch, no rank."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.timeout(c.ranks, 405, enqueued=8412)
    return c, Truth(("collective.timeout",), undecided=("show the same", "no rank is missing", "collective"))


@scenario("collective")
def ahead_but_not_behind() -> tuple[Cluster, Truth]:
    """Some ranks had enqueued further operations; all had enqueued the one that did not end."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.timeout(c.ranks, 405, enqueued={r: 8412 + r % 3 for r in c.ranks})
    return c, Truth(("collective.timeout",), undecided=("kernel", "rank"))


@scenario("collective")
def tensor_parallel_group_rank() -> tuple[Cluster, Truth]:
    """In the tensor-parallel group of ranks 4 to 7, member 2 (global rank 6) stays behind; global rank 2 is innocent."""
    c = Cluster()
    c.init()
    for first in (0, 4):
        c.init(3, group=range(first, first + 4))
    c.steps(400)
    c.quiet_kernels(1300)
    c.timeout((4, 5, 7), 405, group="7", name="tensor_model_parallel", members=range(4, 8), enqueued=8412)
    for rank in (0, 1, 2, 3, 6):
        c.signalled(rank, 1006, 4, 17)
    return c, Truth(("collective.timeout", "collective.missing_rank"), (Guilty(6, "gpu-a02", ANY),))


@scenario("collective")
def tensor_group_stalls_then_data_group() -> tuple[Cluster, Truth]:
    """Rank 1 hangs in its tensor group; the data-parallel groups of the healthy ranks time out later, each on other ranks."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.timeout((0, 2, 3), 405, group="5", name="tensor_model_parallel", members=range(4), enqueued=8412)
    c.signalled(1, 1006, 0, 17)
    for rank in range(4, 8):
        c.timeout((rank,), 412, group=str(9 + rank), name="data_parallel", members=(rank - 4, rank), seq=301, enqueued=301)
    return c, Truth(("collective.timeout", "collective.missing_rank"), (Guilty(1, "gpu-a01", ANY),))


@scenario("collective")
def only_group_communicators() -> tuple[Cluster, Truth]:
    """No communicator spans the job: rank 2 of the second tensor group is global rank 6, and its GPU is lost."""
    c = Cluster()
    for first in (0, 4):
        c.init(3, group=range(first, first + 4))
    c.steps(400, c.but(6))
    c.steps(395, [6])
    c.quiet_kernels(1300)
    c.xid(6, 403, 79, OFF, pid=c.pid(6))
    c.timeout((4, 5, 7), 405, group="7", name="tensor_model_parallel", members=range(4, 8), enqueued=8412)
    c.timeout((2,), 407, group="12", name="data_parallel", members=(2, 6), seq=301, enqueued=301)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 6),))


@scenario("collective", merge=False)
def only_group_communicators_without_ranks() -> tuple[Cluster, Truth]:
    """The same from files named by host and pid: only c10d's own prefix tells who is global rank 6."""
    c, truth = only_group_communicators()
    for rank in c.ranks:
        c.files[f"nccl.{c.host(rank)}.{c.pid(rank)}.log"] = c.files.pop(f"rank_{rank}.log")
    return c, Truth(truth.classes, (Guilty(None, "gpu-a02", c.device(6)),), truth.guilty)


@scenario("collective")
def group_member_waits_elsewhere() -> tuple[Cluster, Truth]:
    """Rank 6 is missing in its tensor group because it waits for rank 2 in the pipeline; rank 2 stands still."""
    c = Cluster()
    c.init()
    for first in (0, 4):
        c.init(3, group=range(first, first + 4))
    for rank in range(4):
        c.init(6, group=(rank, rank + 4))
    c.steps(400)
    c.quiet_kernels(1300)
    c.timeout((6,), 404, group="14", name="pipeline_model_parallel", members=(2, 6), seq=55, enqueued=55, op="RECV")
    c.timeout((4, 5, 7), 405, group="7", name="tensor_model_parallel", members=range(4, 8), enqueued=8412)
    return c, Truth(("collective.timeout", "collective.missing_rank"), (Guilty(2, "gpu-a01", ANY),))


@scenario("collective")
def pipeline_stage_lost() -> tuple[Cluster, Truth]:
    """The GPU of rank 5, stage 1 of 3, is lost: the stage after it waits in RECV, the one before in SEND."""
    c = three()
    c.init()
    c.steps(400, c.but(5))
    c.steps(395, [5])
    c.quiet_kernels(1300)
    c.xid(5, 403, 79, OFF, pid=c.pid(5))
    c.timeout((9,), 406, group="21", name="pipeline_model_parallel", members=(1, 5, 9), seq=55, enqueued=55, op="RECV")
    c.timeout((1,), 409, group="21", name="pipeline_model_parallel", members=(1, 5, 9), seq=57, enqueued=57, op="SEND")
    for rank in (4, 6, 7):
        c.timeout((rank,), 407, group="3", name="tensor_model_parallel", members=range(4, 8), seq=880, enqueued=880)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 5),))


@scenario("collective")
def pipeline_stage_without_a_cause() -> tuple[Cluster, Truth]:
    """Only the stage after the lost one prints a timeout, and the kernel logs are silent: its RECV accuses nobody by itself."""
    c = three()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    for rank in c.on("gpu-a03"):
        c.timeout(
            (rank,),
            406,
            group=str(20 + rank),
            name="pipeline_model_parallel",
            members=(rank - 8, rank - 4, rank),
            seq=55,
            enqueued=55,
            op="RECV",
        )
    return c, Truth(("collective.timeout",), undecided=("rank", "kernel"))


@scenario("collective")
def mismatch_by_fingerprint() -> tuple[Cluster, Truth]:
    """The debug wrapper finds two shapes at one position: neither side is proven guilty."""
    c = Cluster()
    c.init()
    c.steps(400)
    for rank in (2, 5):
        c.raised(
            rank,
            402,
            f"RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running collective: {FINGERPRINT.format(1024 if rank == 2 else 512)}, but Rank 0 is running collective: {FINGERPRINT.format(1024)}.",
        )
    c.timeout(c.but(2, 5), 403)
    return c, Truth(("collective.mismatch",))


@scenario("collective")
def monitored_barrier_names_it() -> tuple[Cluster, Truth]:
    """Rank 0's monitored barrier names rank 5; the others only say that they were let down."""
    c = Cluster()
    c.init()
    c.steps(400, c.but(5))
    c.steps(380, [5])
    c.raised(0, 465, "RuntimeError: [Rank 0]: Rank 5 failed to pass monitoredBarrier in 60000 ms")
    for rank in c.but(0, 5):
        c.raised(
            rank,
            465.5,
            f"RuntimeError: Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
        )
    return c, Truth(("collective.missing_rank",), (Guilty(5, "gpu-a02", ANY),))


@scenario("collective")
def desync_report_names_it() -> tuple[Cluster, Truth]:
    """The desync report of each waiting rank names rank 2."""
    c = Cluster()
    c.init()
    c.steps(400, c.but(2))
    c.steps(380, [2])
    c.timeout(c.but(2), 405)
    for rank in c.but(2):
        c.c10(
            rank,
            1005.5,
            " - To our best knowledge, ranks [2] are the lagging ranks that caused this timeout. They never joined any collectives",
            where="logger.cpp:325",
        )
    return c, Truth(("collective.missing_rank", "collective.timeout"), (Guilty(2, "gpu-a01", ANY),))


@scenario("collective")
def exception_and_console_of_torchrun() -> tuple[Cluster, Truth]:
    """Rank 3 raises; its agent stops the others of its host with SIGTERM, the other agent finds its workers aborted."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.raised(3, 402, "ValueError: expected sequence of length 4096 at dim 1 (got 4095)", "batch = collate(rows)")
    c.worker_failed(3, 404, 1)
    c.peer_gone(c.on("gpu-a02"), 405, "10.0.0.11")
    c.worker_failed(6, 409, -6)
    return c, Truth(("train.python_exception",), (Guilty(3, "gpu-a01", ANY),))


@scenario("missing")
def log_of_the_silent_rank_missing() -> tuple[Cluster, Truth]:
    """Seven ranks print timeouts; rank 3's log was not collected, nor was any kernel log."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.timeout(c.but(3), 405)
    c.drop("rank_3.log")
    return c, Truth(("collective.timeout",), undecided=("rank 3",))


@scenario("missing")
def only_rank_zero() -> tuple[Cluster, Truth]:
    """Only rank 0's log is left: it waited."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.timeout(c.ranks, 405)
    c.drop(*(f"rank_{r}.log" for r in range(1, 8)))
    return c, Truth(("collective.timeout",), undecided=("rank 1",))


@scenario("missing")
def kernel_log_of_the_culprit_missing() -> tuple[Cluster, Truth]:
    """The GPU of rank 5 was lost, but that host's kernel log is not there: rank 5 is the one that did not report."""
    c = Cluster()
    c.init()
    c.steps(400, c.but(5))
    c.steps(395, [5])
    c.quiet_kernels(1300, "gpu-a01")
    c.timeout(c.but(5), 405)
    return c, Truth(("collective.timeout", "collective.missing_rank"), (Guilty(5, "gpu-a02", ANY),))


@scenario("skew", skew=90.0)
def clock_ahead_on_the_culprit_with_skew() -> tuple[Cluster, Truth]:
    """The culprit's clock is a minute ahead; with the bound given, its error still explains the peers' errors that seem older."""
    c = Cluster(ahead={"gpu-a02": 60.0})
    c.init()
    c.steps(400)
    c.log(5, 402, f"step failed: {c.oom(5)}", "ERROR")
    c.raised(5, 402, c.oom(5))
    c.peer_gone(c.on("gpu-a01"), 403, "10.0.0.12")
    return c, Truth(("gpu.memory.out_of_memory",), (Guilty(5, "gpu-a02", ANY),))


@scenario("skew")
def clock_ahead_on_the_culprit() -> tuple[Cluster, Truth]:
    """The same, and nobody said that the clocks differ."""
    c, truth = clock_ahead_on_the_culprit_with_skew()
    return c, truth


@scenario("skew")
def clock_behind_on_a_victim() -> tuple[Cluster, Truth]:
    """A victim's clock is a minute behind: its error about a lost peer seems to come before the real one."""
    c = Cluster(ahead={"gpu-a02": -60.0})
    c.init()
    c.steps(400)
    c.log(1, 402, "batch could not be read", "ERROR", "data.py:88")
    c.raised(1, 402, "OSError: [Errno 5] Input/output error: '/data/shard_0118.bin'", "rows = read(shard)")
    for rank in c.on("gpu-a02"):
        c.raised(
            rank,
            404,
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2251, remote process exited or there was a network error, NCCL version 2.26.2",
            "dist.all_reduce(grad)",
        )
    return c, Truth(
        ("train.python_exception", "storage.block_io_error", "storage.local_disk_failure"), (Guilty(1, "gpu-a01", ANY),)
    )


@scenario("skew")
def clock_ahead_kernel_and_timeouts() -> tuple[Cluster, Truth]:
    """A GPU is lost on a host whose clock is a minute ahead: the stall of the others seems to start before it."""
    c = Cluster(ahead={"gpu-a02": 60.0})
    c.init()
    c.steps(400, c.but(6))
    c.steps(395, [6])
    c.quiet_kernels(1300)
    c.xid(6, 403, 79, OFF, pid=c.pid(6))
    c.timeout(c.but(6), 405)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 6),))


@scenario("skew", skew=90.0)
def clock_ahead_two_faults_with_skew() -> tuple[Cluster, Truth]:
    """Two ranks run out of memory half a minute apart, and the clocks differ by up to 90 s: the order can't be told."""
    c = Cluster(ahead={"gpu-a02": 60.0})
    c.init()
    c.steps(400)
    for rank, at in ((6, 402.0), (2, 432.0)):
        c.log(rank, at, f"step failed: {c.oom(rank)}", "ERROR")
        c.raised(rank, at, c.oom(rank))
    c.timeout(c.but(2, 6), 435)
    return c, Truth(("gpu.memory.out_of_memory",), undecided=("order can't be told", "nothing tells which"))


@scenario("skew")
def clock_ahead_two_faults() -> tuple[Cluster, Truth]:
    """The same, and nobody said that the clocks differ: the steps, which all ranks end together, show by how much."""
    c, _ = clock_ahead_two_faults_with_skew()
    return c, Truth(("gpu.memory.out_of_memory",), (Guilty(6, "gpu-a02", ANY),))


@scenario("skew")
def clock_ahead_two_faults_within_a_step() -> tuple[Cluster, Truth]:
    """Two ranks run out of memory 15 s apart, on hosts whose clocks differ by a minute: steps of 20 s can't tell which was first."""
    c = Cluster(ahead={"gpu-a02": 60.0})
    c.init()
    c.steps(400)
    for rank, at in ((6, 402.0), (2, 417.0)):
        c.log(rank, at, f"step failed: {c.oom(rank)}", "ERROR")
        c.raised(rank, at, c.oom(rank))
    c.timeout(c.but(2, 6), 420)
    return c, Truth(("gpu.memory.out_of_memory",), undecided=("order can't be told", "nothing tells which"))


@scenario("skew")
def straggler_that_fails_last() -> tuple[Cluster, Truth]:
    """A host ends each step 10 s after the other, for it is slow; its clock is right. A rank elsewhere fails first, by half a minute."""
    c = Cluster()
    c.init()
    c.steps(400, c.on("gpu-a01"))
    c.steps(410, c.on("gpu-a02"), since=19.9)
    for rank, at in ((2, 402.0), (6, 432.0)):
        c.log(rank, at, f"step failed: {c.oom(rank)}", "ERROR")
        c.raised(rank, at, c.oom(rank))
    c.timeout(c.but(2, 6), 435)
    return c, Truth(("gpu.memory.out_of_memory",), (Guilty(2, "gpu-a01", ANY),))


def served(c: Cluster, rank: int, at: float, text: str, level: str = "ERROR", where: str = "multiproc_executor.py:596") -> None:
    """Let a vLLM worker print a line."""
    c.write(
        "vllm.log", c.hosts[0], at, lambda t: f"(Worker_TP{rank} pid={c.pid(rank)}) {level} {t:%m-%d %H:%M:%S} [{where}] {text}"
    )


def engine(c: Cluster, at: float, text: str, level: str = "ERROR", where: str = "core.py:708") -> None:
    """Let vLLM's engine core print a line."""
    c.write("vllm.log", c.hosts[0], at, lambda t: f"(EngineCore_DP0 pid=40900) {level} {t:%m-%d %H:%M:%S} [{where}] {text}")


def ready(c: Cluster) -> None:
    """Let vLLM start and serve."""
    for rank in c.ranks:
        served(
            c,
            rank,
            5 + 0.1 * rank,
            f"rank {rank} in world size {len(c.ranks)} is assigned as DP rank 0, PP rank 0, TP rank {rank}, EP rank {rank}",
            "INFO",
            "parallel_state.py:1325",
        )
    for number in range(40):
        c.write(
            "vllm.log",
            c.hosts[0],
            10 + 10.0 * number,
            lambda t: (
                f"(APIServer pid=40800) INFO {t:%m-%d %H:%M:%S} [loggers.py:127] Engine 000: Avg prompt throughput: 512.3 tokens/s, Avg generation throughput: 1804.2 tokens/s, Running: 31 reqs, Waiting: 0 reqs, GPU KV cache usage: 41.2%, Prefix cache hit rate: 12.1%"
            ),
        )


@scenario("inference", merge=False)
def vllm_worker_raises() -> tuple[Cluster, Truth]:
    """Worker TP2 runs out of memory; the engine and the server die of it, the other workers end with their parent."""
    c = Cluster(("gpu-a01",))
    ready(c)
    c.quiet_kernels(900)
    served(c, 2, 402, "WorkerProc hit an exception.")
    for line in (
        "Traceback (most recent call last):",
        '  File "/opt/vllm/v1/executor/multiproc_executor.py", line 591, in worker_busy_loop',
        "    output = func(*args, **kwargs)",
        c.oom(2),
    ):
        served(c, 2, 402, line)
    engine(c, 402.5, "EngineCore encountered a fatal error.")
    engine(
        c,
        402.5,
        "RuntimeError: Worker failed with error 'CUDA out of memory.', please check the stack trace above for the root cause",
    )
    c.write(
        "vllm.log",
        "gpu-a01",
        403,
        lambda t: (
            f"(APIServer pid=40800) ERROR {t:%m-%d %H:%M:%S} [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
        ),
    )
    for rank in (0, 1, 3):
        served(c, rank, 403.5, "Parent process exited, terminating worker", "INFO", "multiproc_executor.py:558")
    return c, Truth(("infer.worker_exception", "gpu.memory.out_of_memory"), (Guilty(2, ANY, ANY),))


@scenario("inference", merge=False)
def vllm_worker_killed() -> tuple[Cluster, Truth]:
    """Worker 3 is killed by the kernel's memory killer; the engine says which one died."""
    c = Cluster(("gpu-a01",))
    ready(c)
    c.quiet_kernels(900)
    pid = c.pid(3)
    c.kernel(
        "gpu-a01",
        401,
        f"Out of memory: Killed process {pid} (VLLM::Worker_TP) total-vm:481200412kB, anon-rss:402118232kB, file-rss:1204kB, shmem-rss:80124kB, UID:1001 pgtables:812344kB oom_score_adj:0",
    )
    engine(c, 402, "Worker proc VllmWorker-3 died unexpectedly, shutting down executor.", where="multiproc_executor.py:154")
    engine(c, 402.5, "EngineCore encountered a fatal error.")
    return c, Truth(("host.oom_kill",), (Guilty(ANY, "gpu-a01", None),), (Guilty(3, ANY, None),))


@scenario("inference", merge=False)
def vllm_call_times_out() -> tuple[Cluster, Truth]:
    """A call to all workers times out, and no worker says anything: which one hangs can't be told."""
    c = Cluster(("gpu-a01",))
    ready(c)
    c.quiet_kernels(900)
    for number in range(4):
        engine(
            c,
            470 + 60 * number,
            "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization).",
            "INFO",
            "shm_broadcast.py:466",
        )
    engine(
        c,
        710,
        "Dumping scheduler output for model execution: SchedulerOutput(scheduled_new_reqs=[], total_num_scheduled_tokens=31)",
    )
    engine(c, 710, "EngineCore encountered a fatal error.")
    engine(c, 710, "TimeoutError: RPC call to execute_model timed out.")
    return c, Truth(("infer.engine_hang", "infer.engine_dead"), undecided=("worker", "rank"))


def sglang(c: Cluster, rank: int, at: float, text: str) -> None:
    """Let an SGLang scheduler print a line."""
    c.write("sglang.log", c.hosts[0], at, lambda t: f"[{t:%Y-%m-%d %H:%M:%S} TP{rank}] {text}")


@scenario("inference", merge=False)
def sglang_scheduler_raises() -> tuple[Cluster, Truth]:
    """The scheduler of TP1 meets an illegal address; the others' watchdogs only saw that the batch does not end."""
    c = Cluster(("gpu-a01",))
    for number in range(40):
        sglang(
            c,
            0,
            10 + 10.0 * number,
            "Decode batch, #running-req: 31, #token: 40112, token usage: 0.41, cuda graph: True, gen throughput (token/s): 1810.12, #queue-req: 0",
        )
    c.quiet_kernels(900)
    sglang(c, 1, 402, "Scheduler hit an exception: Traceback (most recent call last):")
    for line in (
        '  File "/opt/sglang/srt/managers/scheduler.py", line 2604, in run_scheduler_process',
        "    scheduler.event_loop_overlap()",
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
    ):
        c.write("sglang.log", "gpu-a01", 402, lambda _, line=line: line)  # type: ignore[misc]
    for rank in (0, 2, 3):
        sglang(c, rank, 702, "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)")
    c.write(
        "sglang.log",
        "gpu-a01",
        703,
        lambda t: f"[{t:%Y-%m-%d %H:%M:%S}] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    )
    return c, Truth(("infer.worker_exception", "gpu.page_fault", "gpu.engine_exception"), (Guilty(1, ANY, ANY),))


@scenario("inference", merge=False)
def sglang_child_killed() -> tuple[Cluster, Truth]:
    """A scheduler process is gone with signal 9: the parent names its pid, and nothing joins that to a rank."""
    c = Cluster(("gpu-a01",))
    for number in range(40):
        sglang(
            c,
            0,
            10 + 10.0 * number,
            "Decode batch, #running-req: 31, #token: 40112, token usage: 0.41, cuda graph: True, gen throughput (token/s): 1810.12, #queue-req: 0",
        )
    c.quiet_kernels(900)
    c.write(
        "sglang.log",
        "gpu-a01",
        402,
        lambda t: (
            f"[{t:%Y-%m-%d %H:%M:%S}] Subprocess scheduler_2 (pid={c.pid(2)}) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
        ),
    )
    c.write(
        "sglang.log",
        "gpu-a01",
        402,
        lambda t: f"[{t:%Y-%m-%d %H:%M:%S}] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    )
    return c, Truth(("infer.worker_died",), undecided=("kernel", "pid", "worker"))
