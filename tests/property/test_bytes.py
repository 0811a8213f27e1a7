"""Any bytes at all: no exception, and a report that keeps its contract."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from typing import Final

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from denpex_rules.compiler import compile_rules
from denpex_rules.engine import Session, scan_bytes
from denpex_rules.library import load_pack
from denpex_rules.program import Program
from denpex_rules.schema import report_schema, to_json
from noise import NAMES, damaged, noise

VALIDATOR: Final = jsonschema.Draft202012Validator(report_schema())
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def pack() -> Program:
    """Return the shipped pack; no fixture, because hypothesis would show it whole beside a failing example."""
    return compile_rules(load_pack())


def check(logs: dict[str, bytes]) -> None:
    """Scan and validate."""
    VALIDATOR.validate(json.loads(to_json(scan_bytes(logs, pack()))))


@SOME
@given(st.sampled_from(NAMES), st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(damaged(0))), max_size=30))
def test_any_bytes_give_a_report(name: str, parts: list[bytes]) -> None:
    """Random bytes between pieces of real lines, in a file of any kind."""
    check({name: b"".join(parts)})


@pytest.mark.parametrize("seed", range(12))
def test_damaged_logs_give_a_report(seed: int) -> None:
    """Logs with bits flipped, parts cut out, doubled or replaced by control bytes; whole and fed in pieces they say the same."""
    logs = noise(random.Random(seed))
    whole = scan_bytes(logs, pack())
    VALIDATOR.validate(json.loads(to_json(whole)))
    session = Session(pack())
    for name, data in logs.items():
        for start in range(0, len(data), 997):
            session.feed(name, data[start : start + 997])
        session.feed(name, b"")
    assert session.close() == whole


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 100_000,
        b"\n" * 100_000,
        b"\r" * 100_000,
        b"\r\n" * 50_000,
        b"\x1b[31m" * 20_000,
        b"\x1b]0;" + b"a" * 100_000,
        b"\xff\xfe" + "2026-11-30 10:00:00,000 ERROR step 1 loss nan\n".encode("utf-16-le") * 50,
        b"\xfe\xff" + "RuntimeError: no\n".encode("utf-16-be") + b"\0",
        b"\xff\xfe\n",
        b"\xef\xbb\xbf[rank0]: RuntimeError: \xc3\x28\xa0\xa1\n",
        b"[" * 50_000 + b"\n" + b"(" * 50_000,
        b"[rank0]:" * 5_000,
        b'{"log": ' * 5_000,
        b"[rank99999999999999999999]: step 1 loss 2\n[rank-1]: x\n",
        b"2026-99-99 99:99:99,999 ERROR x\n9999-12-31T23:59:59.999999999Z node kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1\n",
        b"[99999999999.999999] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n",
        b"CUDA out of memory. Tried to allocate " + b"9" * 5_000 + b" GiB\n",
        gzip.compress(b"RuntimeError: no\n" * 1000)[:40],
        b"BZh9" + bytes(100),
        b"\x28\xb5\x2f\xfd" + bytes(100),
        b"a" * (3 << 20) + b"RuntimeError: CUDA out of memory.",
    ],
    ids=range(22),
)
def test_odd_bytes_give_a_report(data: bytes) -> None:
    """NULs, lone carriage returns, escapes, UTF-16, broken UTF-8, endless lines, impossible stamps and numbers, cut archives."""
    for name in NAMES:
        check({name: data})
