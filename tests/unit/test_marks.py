"""What the start of a text tells beyond its prefixes."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.marks import continues, kind_at, own_words, plain, severity_at
from denpex_rules.rule import KINDS, SEVERITIES


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", "kernel"),
        ("   NVRM: Xid", "kernel"),
        ("nvidia-nvswitch3: SXid (PCI:0000:a9:00.0): 20034, Fatal", "kernel"),
        ("Out of memory: Killed process 4242 (python3)", "kernel"),
        ("python3 invoked oom-killer: gfp_mask=0x140cca", "kernel"),
        ("INFO: task python3:4242 blocked for more than 120 seconds.", "kernel"),
        ("python3[4242]: segfault at 0 ip 0 sp 0 error 4", "kernel"),
        ("{1}[Hardware Error]: event severity: fatal", "kernel"),
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "agent"),
        ("Root Cause (first observed failure):", "agent"),
        ("  exitcode  : -9 (pid: 4242)", "agent"),
        ("train.py FAILED", "agent"),
        ("torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: -9)", "agent"),
        ("torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9)", "agent"),
        ("failed (exitcode: -9) local_rank: 0 (pid: 4242) of binary: /usr/bin/python3", "agent"),
        ("Sending process 4242 closing signal SIGTERM", "agent"),
        ("mpirun noticed that process rank 3", "agent"),
        ("*** STEP 4711.0 ON node-07 CANCELLED", "scheduler"),
        ("fabricmanager[12] is up", "fabric"),
        ("NET/IB : Got completion from peer", "rank"),
        ("ProcessGroupGloo is used", "rank"),
        ("the kernel said NVRM: Xid", None),
        ("exitcode  : -9", None),
        ("step 10 FAILED to converge", None),
        ("XFS was mounted", None),
        ("", None),
    ],
)
def test_kind_by_the_emitters_own_token(text: str, kind: str | None) -> None:
    """A token at the start is its emitter's own; the same words inside a message are a quote."""
    assert kind_at(text.encode(), 0) == kind


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Fatal Python error: Segmentation fault", "fatal"),
        ("Segmentation fault (core dumped)", "fatal"),
        ("terminate called after throwing an instance of 'std::runtime_error'", "fatal"),
        ("Traceback (most recent call last):", "error"),
        ("RuntimeError: lost", "error"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "error"),
        ("torch.distributed.elastic.rendezvous.api.RendezvousConnectionError", "error"),
        ("KeyboardInterrupt", "error"),
        ("error: no space left", "error"),
        ("Warning: retried", "warning"),
        ("# RuntimeError: pasted as a comment", "error"),
        ("HCCL demo error: In function initDevice()", "error"),
        ("MPI error: lost", "error"),
        ("FAILED [0.0004s] test/test_a.py::TestA::test_b - RuntimeError", "error"),
        ("FAILED test/test_a.py::test_b", "error"),
        ("RMSE error: 0.25", None),
        ("FAILED to converge", None),
        ('  "message": "RuntimeError: of an error file', "error"),
        ("UnfilteredStackTrace: RuntimeError: RESOURCE_EXHAUSTED", "error"),
        ("│ ❱ 1024 │   raise RuntimeError('lost')   │", "error"),
        ("│   1023 │   step()", None),
        ("  traceback : Signal 9 (SIGKILL) received by PID 4242", "error"),
        ("Error CUDA driver version is insufficient at line 167 in file ops.cu", "error"),
        ("Error handling is on", None),
        ("a RuntimeError: was caught", None),
        ("RuntimeErrors happen", None),
        ("ErrorBoundary: x", None),
        ("step 10 error: 0.3", None),
        ("", None),
    ],
)
def test_severity_by_the_texts_own_form(text: str, severity: str | None) -> None:
    """A traceback, an exception's last line and a crash say how bad they are; the words inside a message don't."""
    assert severity_at(text.encode(), 0) == severity


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        '  File "train.py", line 88, in step',
        "\tat loader.cc:88",
        "RuntimeError: lost",
        "KeyboardInterrupt",
        "During handling of the above exception, another exception occurred:",
        "frame #3: c10d::ProcessGroupNCCL::watchdog",
        "CUDA kernel errors might be asynchronously reported",
        "[0]:",
        "================",
        "train.py FAILED",
        "    ~~~~^^^^",
    ],
)
def test_rows_of_a_record(text: str) -> None:
    """Indented and blank lines, an exception's end, frames and rows of blocks go on with the record before."""
    assert continues(text.encode(), 0)


@pytest.mark.parametrize(
    "text",
    [
        "step 10",
        "Traceback (most recent call last):",
        "NVRM: Xid",
        "  3%|#         | 3/100",
        "[E ProcessGroupNCCL.cpp:632] x",
        "====",
        "[0]: x",
    ],
)
def test_heads_of_a_record(text: str) -> None:
    """A traceback's head, a progress bar and any other text at the margin start a record."""
    assert not continues(text.encode(), 0)


def test_position_counts() -> None:
    """What stands in front of the position is not looked at."""
    text = b"[rank3]: RuntimeError: lost"
    assert (severity_at(text, 0), severity_at(text, 9)) == (None, "error")
    assert (continues(text, 0), continues(text, 9)) == (False, True)
    assert (kind_at(b"x NVRM: Xid", 0), kind_at(b"x NVRM: Xid", 2)) == (None, "kernel")


@given(st.binary(max_size=200), st.integers(min_value=0, max_value=200))
def test_any_bytes(text: bytes, position: int) -> None:
    """Any bytes give a known kind, a known severity, or none."""
    assert kind_at(text, position) in {None, *KINDS}
    assert severity_at(text, position) in {None, *SEVERITIES}
    assert continues(text, position) in {True, False}


@pytest.mark.parametrize("unit", [b" ", b"a.", b"A", b"a", b"=", b"[1", b"^~"])
def test_long_texts_take_linear_time(unit: bytes) -> None:
    """Sixteen times the text takes no more than some hundred times the time."""

    def cost(size: int) -> float:
        text = unit * (size // len(unit)) + b"!"
        best = 1e9
        for _ in range(3):
            start = process_time()
            for _ in range(20):
                kind_at(text, 0), severity_at(text, 0), continues(text, 0)
            best = min(best, process_time() - start)
        return best

    assert cost(1 << 18) < 100 * max(cost(1 << 14), 1e-4)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("RuntimeError: Timed out initializing process group in store based barrier on rank: 5, for key: k", (b"5", None)),
        ("AssertionError: Rank 5: found NaN in local grad norm in backward pass. Device: 5, node: node-07", (b"5", b"node-07")),
        ("RuntimeError: Rank 5, node node-07, device 5, iteration 3: Unexpected result nan", (b"5", b"node-07")),
        ("Parameters which did not receive grad for rank 5: layer.weight", (b"5", None)),
        ("CUDA failure 35: old driver ; GPU=0 ; hostname=NODE-07 ; expr=x", (None, b"NODE-07")),
        ("RuntimeError: lost connection to rank 5 on node node-07", (None, None)),
        ("RuntimeError: Rank 5 of node-07 is gone", (None, None)),
    ],
)
def test_own_words(text: str, own: tuple[bytes | None, bytes | None]) -> None:
    """Messages that are known to name their printer give rank and host; a number that is about another gives nothing."""
    assert own_words(text.encode(), 0) == own


@given(st.one_of(st.text(max_size=60), st.sampled_from(["NVRM: Xid", "  x", "KeyError: 1", "step 10", "Warning: x", "[0]:"])))
def test_plain_text_has_no_mark(text: str) -> None:
    """Text is plain only where it tells no kind, no severity and continues nothing."""
    data = text.encode("utf-8", "surrogatepass")
    marked = kind_at(data, 0) or severity_at(data, 0) or continues(data, 0)
    assert plain(data, 0) is not bool(marked)
