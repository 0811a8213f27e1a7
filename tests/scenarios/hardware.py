"""GPUs, NVLink and hosts that fail, with what their failure does to the others."""

from __future__ import annotations

from scenarios.cluster import BUSES, Cluster
from scenarios.scenario import ANY, Guilty, Truth, scenario

OFF = "GPU has fallen off the bus."
CLEANUP = "Ch 00000008"
REBOOT = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
DBE = "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 3, subpartition 1."
ECC = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"


def full(c: Cluster, rank: int) -> Guilty:
    """Return a rank with its host and device as the guilty one."""
    return Guilty(rank, c.host(rank), c.device(rank))


def lost_gpu(c: Cluster, rank: int, at: float = 403.0) -> None:
    """Let the GPU of a rank fall off the bus, its rank go silent and its peers time out."""
    c.init()
    c.steps(at + 4, c.but(rank))
    c.steps(at - 8, [rank])
    c.quiet_kernels(at + 900)
    c.xid(rank, at, 79, OFF, pid=c.pid(rank))
    c.kernel(c.host(rank), at, f"NVRM: GPU {c.device(rank)}.0: GPU has fallen off the bus.")
    c.xid(rank, at + 0.2, 154, REBOOT)
    c.timeout(c.but(rank), at + 17)


@scenario("xid")
def off_bus_two_hosts() -> tuple[Cluster, Truth]:
    """The GPU of rank 5 falls off the bus; ten minutes later seven ranks print a timeout."""
    c = Cluster()
    lost_gpu(c, 5)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 5),))


@scenario("xid")
def off_bus_three_hosts_cleanup_everywhere() -> tuple[Cluster, Truth]:
    """The teardown leaves an Xid 45 on every other GPU of three hosts; only the first fault counts."""
    c = Cluster(("gpu-a01", "gpu-a02", "gpu-a03"))
    lost_gpu(c, 9)
    for rank in c.but(9):
        c.xid(rank, 1083 + 0.1 * rank, 45, CLEANUP, pid=c.pid(rank))
    for rank in (0, 4):
        c.worker_failed(rank, 1085, -6)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 9),))


@scenario("xid", merge=False)
def off_bus_dmesg_t() -> tuple[Cluster, Truth]:
    """The kernel logs are `dmesg -T`: the host stands in the file's name only."""
    c = Cluster(kernel_style="dmesg")
    lost_gpu(c, 6)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 6),))


@scenario("xid")
def off_bus_without_init_lines() -> tuple[Cluster, Truth]:
    """NCCL did not log at INFO: no line joins the device to a rank."""
    c = Cluster()
    c.steps(407, c.but(5))
    c.steps(395, [5])
    c.quiet_kernels(1300)
    c.xid(5, 403, 79, OFF, pid=c.pid(5))
    c.timeout(c.but(5), 420)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 5),))


@scenario("xid")
def off_bus_same_slot_elsewhere() -> tuple[Cluster, Truth]:
    """Every host has a GPU at the same address, and another host's one logged a harmless Xid 63 before."""
    c = Cluster(("gpu-a01", "gpu-a02", "gpu-a03"))
    c.xid(1, 200, 63, "Row Remapper: New row (0x0000001a2b3c4d) marked for remapping, reset gpu to activate.")
    lost_gpu(c, 5)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 5),))


@scenario("xid")
def off_bus_three_lines() -> tuple[Cluster, Truth]:
    """The driver reports the loss in three lines without an Xid; the rank ends with an unknown CUDA error."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel("gpu-a01", 403, f"NVRM: The NVIDIA GPU {c.device(2)}.0")
    c.kernel("gpu-a01", 403, "NVRM: (PCI ID: 10de:2330) installed in this system has")
    c.kernel("gpu-a01", 403, "NVRM: fallen off the bus and is not responding to commands.")
    c.raised(2, 404, "torch.AcceleratorError: CUDA error: unknown error")
    c.worker_failed(2, 406, 1)
    c.peer_gone(c.on("gpu-a02"), 407, "10.0.0.11")
    return c, Truth(("gpu.fell_off_bus",), (full(c, 2),))


@scenario("ecc")
def double_bit_error() -> tuple[Cluster, Truth]:
    """A double-bit error ends rank 2; the other Xids of the GPU and the peers' errors follow from it."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(2, 401, 48, DBE, pid=c.pid(2))
    c.xid(2, 401.01, 63, "Row Remapper: New row (0x0000001a2b3c4d) marked for remapping, reset gpu to activate.")
    c.xid(2, 401.02, 94, "Contained: FB DED (0x8,0x1). RST: No, D-RST: No", pid=c.pid(2))
    c.xid(2, 401.03, 45, CLEANUP, pid=c.pid(2))
    c.raised(2, 402, ECC)
    c.worker_failed(2, 404, 1)
    c.peer_gone(c.on("gpu-a02"), 405, "10.0.0.11")
    return c, Truth(("gpu.memory.uncorrectable_ecc", "gpu.memory.contained"), (full(c, 2),))


@scenario("ecc")
def contained_error() -> tuple[Cluster, Truth]:
    """A contained error ends rank 7 alone; its peers wait until the limit."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(7, 401, 94, "Contained: SM (0x1). RST: No, D-RST: No", pid=c.pid(7))
    c.xid(7, 401.1, 45, CLEANUP, pid=c.pid(7))
    c.raised(7, 402, ECC)
    c.timeout(c.but(7), 410)
    return c, Truth(("gpu.memory.contained",), (full(c, 7),))


@scenario("ecc")
def uncontained_error_spreads() -> tuple[Cluster, Truth]:
    """An uncontained error on the GPU of rank 4: its neighbours on NVLink see CUDA errors of their own a moment later."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(4, 401, 95, "Uncontained: LTC TAG (0x3,0x0). RST: Yes, D-RST: No", pid=c.pid(4))
    c.xid(4, 401.1, 154, RESET)
    c.raised(4, 401.6, ECC)
    for rank in (5, 6, 7):
        c.raised(
            rank, 402.2, "torch.AcceleratorError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error"
        )
    c.worker_failed(4, 405, 1)
    c.peer_gone(c.on("gpu-a01"), 406, "10.0.0.12")
    return c, Truth(("gpu.memory.uncontained",), (full(c, 4),))


@scenario("xid")
def gsp_timeout() -> tuple[Cluster, Truth]:
    """The GPU's firmware stops answering: rank 3's watchdog is stuck, the other ranks time out."""
    c = Cluster()
    c.init()
    c.steps(400, c.but(3))
    c.steps(390, [3])
    c.quiet_kernels(1300)
    for again in range(3):
        c.xid(
            3,
            398 + 6 * again,
            119,
            "Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d7 0x1c).",
            pid=c.pid(3),
        )
    c.xid(3, 417, 154, RESET)
    c.c10(
        3,
        885,
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api (for example, CudaEventDestroy), or other deadlock-prone behaviors.",
        "F",
        "ProcessGroupNCCL.cpp:1557",
    )
    c.timeout(c.but(3), 402)
    return c, Truth(("gpu.gsp_failure",), (full(c, 3),))


@scenario("xid")
def gsp_timeout_named_by_a_tool() -> tuple[Cluster, Truth]:
    """Xid 119 names nvidia-smi, which merely asked; the rank on the device is the one that stands still."""
    c = Cluster()
    c.init()
    c.steps(400, c.but(6))
    c.steps(390, [6])
    c.quiet_kernels(1300)
    c.kernel(
        "gpu-a02",
        398,
        f"NVRM: Xid (PCI:{c.device(6)}): 119, pid=77120, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU2 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d7 0x1c).",
    )
    c.xid(6, 398.5, 154, RESET)
    c.timeout(c.but(6), 402)
    return c, Truth(("gpu.gsp_failure",), (full(c, 6),))


@scenario("xid")
def halted_controller() -> tuple[Cluster, Truth]:
    """Xid 62 on the GPU of rank 1, then a launch failure in its process."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(1, 401, 62, "Firmware halt 2028b 00000000 00000000")
    c.xid(1, 401.2, 45, CLEANUP, pid=c.pid(1))
    c.raised(1, 402, "torch.AcceleratorError: CUDA error: unspecified launch failure")
    c.worker_failed(1, 403, 1)
    c.peer_gone(c.on("gpu-a02"), 404, "10.0.0.11")
    return c, Truth(("gpu.microcontroller_halt",), (full(c, 1),))


@scenario("xid")
def page_fault() -> tuple[Cluster, Truth]:
    """Rank 6 reads outside its memory: Xid 31 with its pid, illegal address in its log, Xid 43 and 45 as clean-up on its host."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(
        6,
        401,
        31,
        "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f1a_2c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        pid=c.pid(6),
    )
    c.raised(6, 401.4, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    c.worker_failed(6, 403, 1)
    for rank in (4, 5, 7):
        c.xid(rank, 403.5, 45, CLEANUP, pid=c.pid(rank))
    c.peer_gone(c.on("gpu-a01"), 404, "10.0.0.12")
    return c, Truth(("gpu.page_fault", "gpu.engine_exception"), (full(c, 6),))


@scenario("xid")
def killed_job_cleanup_only() -> tuple[Cluster, Truth]:
    """A time limit ends the job; each GPU logs Xid 45 for the killed process, which blames none of them."""
    c = Cluster()
    c.init()
    c.steps(3590)
    c.quiet_kernels(3700)
    c.slurm(3600, "slurmstepd: error: *** STEP 4711.0 ON gpu-a01 CANCELLED AT 2026-11-30T11:00:00 DUE TO TIME LIMIT ***")
    for rank in c.ranks:
        c.xid(rank, 3601 + 0.01 * rank, 45, CLEANUP, pid=c.pid(rank))
    return c, Truth(("sched.time_limit",))


@scenario("nvlink")
def nvlink_error() -> tuple[Cluster, Truth]:
    """A link of the GPU of rank 3 fails; rank 3 says so, its peers wait."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(3, 401, 74, "NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", pid=c.pid(3))
    c.raised(3, 402, "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution")
    c.timeout(c.but(3), 405)
    return c, Truth(("nvlink.link_error",), (full(c, 3),))


@scenario("nvlink")
def switch_fails() -> tuple[Cluster, Truth]:
    """An NVSwitch fails: all GPUs of its host log Xid 74, which are echoes of it."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel("gpu-a02", 401, "nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12020, Fatal, Link 28 egress sequence ID error (First)")
    for rank in c.on("gpu-a02"):
        c.xid(rank, 401.3, 74, "NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", pid=c.pid(rank))
        c.raised(rank, 402, "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution")
    c.timeout(c.on("gpu-a01"), 405)
    return c, Truth(("nvswitch.always_fatal", "nvswitch.fatal"), (Guilty(None, "gpu-a02", "0000:86:00"),))


@scenario("nvlink")
def link_fault_reported_from_both_ends() -> tuple[Cluster, Truth]:
    """A switch port faults and the GPU behind it logs Xid 74: which end failed first can't be told."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.kernel("gpu-a01", 401, "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 41 LTSSM Fault Up")
    c.xid(2, 401.1, 74, "NVLink: fatal error detected on link 5(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", pid=c.pid(2))
    c.raised(2, 402, "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution")
    c.timeout(c.but(2), 405)
    return c, Truth(("nvswitch.fatal",), also=(full(c, 2),), undecided=("which end",))


@scenario("host")
def panic() -> tuple[Cluster, Truth]:
    """A host panics: its ranks fall silent, and peers' connections to it time out."""
    c = Cluster(("gpu-a01", "gpu-a02", "gpu-a03"))
    c.init()
    c.steps(400)
    c.quiet_kernels(399, "gpu-a02")
    c.quiet_kernels(1300, "gpu-a01", "gpu-a03")
    c.kernel("gpu-a02", 401, "BUG: unable to handle page fault for address: ffffa0c3d1e2f000")
    c.kernel("gpu-a02", 401.2, "Kernel panic - not syncing: Fatal exception")
    c.timeout([*c.on("gpu-a01"), *c.on("gpu-a03")], 405)
    return c, Truth(("host.kernel_panic",), (Guilty(None, "gpu-a02"),), tuple(Guilty(r, "gpu-a02", ANY) for r in c.on("gpu-a02")))


@scenario("host")
def killed_by_the_oom_killer() -> tuple[Cluster, Truth]:
    """The kernel of gpu-a02 kills rank 6; its agent sees signal 9, its peers lose a connection."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    pid = c.pid(6)
    c.kernel(
        "gpu-a02",
        401,
        "pt_data_worker invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
    )
    c.kernel(
        "gpu-a02",
        401.1,
        f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/system.slice/slurmstepd.scope,task=pt_main_thread,pid={pid},uid=1001",
    )
    c.kernel(
        "gpu-a02",
        401.1,
        f"Out of memory: Killed process {pid} (pt_main_thread) total-vm:481200412kB, anon-rss:402118232kB, file-rss:1204kB, shmem-rss:80124kB, UID:1001 pgtables:812344kB oom_score_adj:0",
    )
    c.worker_failed(6, 403, -9)
    c.peer_gone(c.on("gpu-a01"), 404, "10.0.0.12")
    return c, Truth(("host.oom_kill",), (Guilty(6, "gpu-a02", None),))


@scenario("host")
def killed_kernel_log_missing() -> tuple[Cluster, Truth]:
    """The same without the kernel log: the launcher proves who was killed, not by whom."""
    c, _ = killed_by_the_oom_killer()
    c.drop("kern_gpu-a02.log")
    return c, Truth(("host.process_killed",), (Guilty(6, "gpu-a02", ANY),))


@scenario("host")
def cgroup_limit() -> tuple[Cluster, Truth]:
    """The job's memory limit on gpu-a01: the cgroup kills rank 1, and srun says so."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    pid = c.pid(1)
    c.kernel(
        "gpu-a01",
        401.1,
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_4711,mems_allowed=0-1,oom_memcg=/slurm/uid_1001/job_4711,task_memcg=/slurm/uid_1001/job_4711/step_0/task_1,task=pt_main_thread,pid={pid},uid=1001",
    )
    c.kernel(
        "gpu-a01",
        401.1,
        f"Memory cgroup out of memory: Killed process {pid} (pt_main_thread) total-vm:481200412kB, anon-rss:402118232kB, file-rss:1204kB, shmem-rss:80124kB, UID:1001 pgtables:812344kB oom_score_adj:0",
    )
    c.slurm(402, "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.")
    c.slurm(402, "srun: error: gpu-a01: task 1: Out Of Memory")
    c.slurm(402, "srun: Terminating StepId=4711.0")
    c.peer_gone(c.on("gpu-a02"), 403, "10.0.0.11")
    return c, Truth(("host.cgroup_oom",), (Guilty(1, "gpu-a01", None),))


@scenario("host")
def innocent_process_killed_before() -> tuple[Cluster, Truth]:
    """The OOM killer of gpu-a01 ends a monitoring script of no rank; a GPU of gpu-a02 falls off the bus an hour later."""
    c = Cluster()
    c.kernel(
        "gpu-a01",
        120,
        "Out of memory: Killed process 2210 (node_exporter) total-vm:1200412kB, anon-rss:802118kB, file-rss:0kB, shmem-rss:0kB, UID:65534 pgtables:2344kB oom_score_adj:0",
    )
    lost_gpu(c, 7, 3603)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 7),))


@scenario("two")
def two_gpus_at_once() -> tuple[Cluster, Truth]:
    """GPUs of two hosts are lost within two seconds: both are to blame."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(1, 401, 79, OFF, pid=c.pid(1))
    c.xid(6, 402.5, 79, OFF, pid=c.pid(6))
    c.timeout(c.but(1, 6), 405)
    return c, Truth(("gpu.fell_off_bus",), (full(c, 1), full(c, 6)))


@scenario("two")
def fault_after_a_restart() -> tuple[Cluster, Truth]:
    """A page fault of rank 2 ends the first attempt; after the restart the GPU of rank 5 is lost: two faults of two actors."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(9000)
    c.xid(
        2,
        401,
        31,
        "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ 0x7f1a_2c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        pid=c.pid(2),
    )
    c.raised(2, 401.4, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    c.agent(
        "gpu-a01",
        404,
        "[default] Worker group FAILED. 2/3 attempts left; will restart worker group",
        "I",
        "elastic/agent/server/api.py:895",
    )
    c.steps(7000, since=500)
    c.xid(5, 7003, 79, OFF)
    c.timeout(c.but(5), 7010)
    return c, Truth(("gpu.page_fault", "gpu.engine_exception"), (full(c, 2), full(c, 5)))


@scenario("two")
def ecc_and_exception_a_moment_apart() -> tuple[Cluster, Truth]:
    """Rank 0's GPU has a memory error while rank 5 raises an error of its own within the skew of the hosts: neither excuses the other."""
    c = Cluster()
    c.init()
    c.steps(400)
    c.quiet_kernels(1300)
    c.xid(0, 401, 48, DBE, pid=c.pid(0))
    c.raised(0, 401.5, ECC)
    c.raised(5, 402, "ValueError: shard 118 has 4095 tokens, expected 4096", "batch = next(batches)")
    c.timeout(c.but(0, 5), 405)
    return c, Truth(("gpu.memory.uncorrectable_ecc", "train.python_exception"), (full(c, 0),), (Guilty(5, "gpu-a02", BUSES[1]),))
