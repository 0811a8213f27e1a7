"""What syslog, journald and the kernel's log put in front of a line."""

from __future__ import annotations

import pytest
from reading import one, read, taken

from denpex_rules.hosts import HOSTS, PROGRAMS
from denpex_rules.prefix import Format
from denpex_rules.record import Hints
from denpex_rules.sighting import Actor

TAKEN: dict[str, dict[str, object]] = {
    "journal_bsd": {
        "host": "node-07",
        "kind": "kernel",
        "ident": "node-07/kernel",
        "program": True,
        "time": "local 2000-11-30T10:04:10Z no year",
        "text": "message",
    },
    "journal_iso": {
        "host": "node-07",
        "kind": "kernel",
        "ident": "node-07/kernel",
        "program": True,
        "time": "wall 2026-11-30T10:04:10Z",
        "text": "message",
    },
    "journal_iso_bare": {
        "host": "node-07",
        "ident": "node-07/trainer",
        "program": True,
        "time": "wall 2026-11-30T10:04:10Z",
        "text": "message",
    },
    "journal_full": {
        "host": "node-07",
        "kind": "kernel",
        "ident": "node-07/kernel",
        "program": True,
        "time": "wall 2026-11-30T10:04:10Z",
        "text": "message",
    },
    "journal_unix": {
        "host": "node-07",
        "kind": "kernel",
        "ident": "node-07/kernel",
        "program": True,
        "time": "wall 2026-11-30T10:04:10.122856Z for 1000",
        "text": "message",
    },
    "journal_mono": {
        "host": "node-07",
        "pid": 1,
        "kind": "control",
        "ident": "node-07/systemd[1]",
        "program": True,
        "time": "monotonic 12345.600000 for 1000",
        "text": "message",
    },
    "rfc5424": {
        "host": "node-07",
        "pid": 4242,
        "severity": "error",
        "ident": "node-07/trainer[4242]",
        "program": True,
        "time": "wall 2026-11-30T10:04:10Z",
        "text": "message",
    },
    "dmesg": {"kind": "kernel", "time": "monotonic 12345.678901 for 1000", "text": "message"},
    "dmesg_level": {"severity": "error", "kind": "kernel", "time": "monotonic 12345.678901 for 1000", "text": "message"},
    "dmesg_ctime": {"kind": "kernel", "time": "local 2026-11-30T10:04:10Z", "text": "message"},
    "dmesg_iso": {"kind": "kernel", "time": "wall 2026-11-30T10:04:10.123456Z for 1000", "text": "message"},
    "dmesg_human": {"kind": "kernel", "time": "local 2000-11-30T10:04:00Z no year for 60000000000", "text": "message"},
    "kmsg": {"severity": "error", "kind": "kernel", "time": "monotonic 12345.678901 for 1000", "text": "message"},
    "talos": {
        "host": "10.0.0.7",
        "severity": "warning",
        "kind": "kernel",
        "ident": "10.0.0.7/kern",
        "time": "wall 2026-11-30T10:04:10.123456789Z for 1",
        "text": "message",
    },
}


@pytest.mark.parametrize("form", HOSTS, ids=lambda form: form.name)
def test_example(form: Format) -> None:
    """The example of every format gives what it promises and nothing else; the text behind it is left."""
    assert taken(form, form.example) == TAKEN[form.name]


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_programs_tell_the_kind(program: bytes) -> None:
    """A known program's lines are of its kind, as a unit too."""
    name = program.decode()
    for ident in (f"{name}[7]", f"{name}.service[7]"):
        assert taken(one(HOSTS, "journal_iso"), f"2026-11-30T10:04:10Z node-07 {ident}: x")["kind"] == PROGRAMS[program]


def test_unknown_program_may_be_a_rank() -> None:
    """A program that is not known has a name and no kind."""
    line = taken(one(HOSTS, "journal_bsd"), "Nov 30 10:04:10 node-07.cluster.local python3[4242]: step 10")
    assert (line["host"], line["ident"], line["pid"]) == ("node-07", "node-07/python3[4242]", 4242)
    assert "kind" not in line


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("Nov  3 10:04:10", "local 2000-11-03T10:04:10Z no year"),
        ("<4>Nov 30 10:04:10", "local 2000-11-30T10:04:10Z no year"),
        ("11月 30 10:04:10", "local 2000-11-30T10:04:10Z no year"),
        ("Nov 30 10:04:10.25", "local 2000-11-30T10:04:10.25Z no year for 10000000"),
    ],
)
def test_syslog_stamps(stamp: str, time: str) -> None:
    """Padded days, priorities, month numbers and fractions are read."""
    assert taken(one(HOSTS, "journal_bsd"), f"{stamp} node-07 kernel: x")["time"] == time


def test_syslog_priority_is_the_severity() -> None:
    """The low three bits of `<pri>` are the severity."""
    assert taken(one(HOSTS, "journal_bsd"), "<4>Nov 30 10:04:10 node-07 kernel: x")["severity"] == "warning"
    assert taken(one(HOSTS, "kmsg"), "6,1,5,-;x")["severity"] == "info"
    assert taken(one(HOSTS, "dmesg_level"), "<2>[    1.000002] x")["severity"] == "fatal"


@pytest.mark.parametrize("name", ["journal_iso", "journal_mono"])
def test_text_of_the_same_shape_names_no_host(name: str) -> None:
    """`[1.000002] nvme nvme0: message` and a logger's `module: message` need the kernel's name or a pid to be a host's line."""
    stamp = "[    1.000002]" if name == "journal_mono" else "2026-11-30T10:04:10Z"
    assert read(one(HOSTS, name), f"{stamp} nvme nvme0: message") is None
    assert read(one(HOSTS, name), f"{stamp} node-07 nvme0[12]: message") is not None


def test_zone_is_needed_in_front_of_a_host() -> None:
    """Journald's ISO output has a zone; a stamp without one stands in front of anything."""
    assert read(one(HOSTS, "journal_iso_bare"), "2026-11-30T10:04:10 node-07 trainer: message") is None


def test_uptime_compares_within_its_source() -> None:
    """An uptime stamp has the clock domain of its source."""
    found = read(one(HOSTS, "dmesg"), "[12345.678901] x", Hints(domain="node-07/dmesg"))
    assert found is not None
    assert found[0].stamp is not None
    assert found[0].stamp.domain == "node-07/dmesg"


def test_kernel_thread_column() -> None:
    """The kernel's caller column is part of the prefix."""
    assert taken(one(HOSTS, "dmesg"), "[   12.345678][ T1234] x")["text"] == "x"


def test_rank_file_has_no_kernel() -> None:
    """`[12.345678]` in a file that a rank wrote is some logger's clock."""
    found = read(one(HOSTS, "dmesg"), "[   12.345678] step 10", Hints(Actor(rank=3), "rank", process=True))
    assert found is not None
    assert found[0].kind is None


def test_rfc5424_blanks() -> None:
    """A nil host, a nil stamp and structured data with brackets in quotes are read."""
    line = '<11>1 - - trainer 4242 - [meta a="\\]" b="1"][more] message'
    assert taken(one(HOSTS, "rfc5424"), line) == {"severity": "error", "text": "message"}


def test_dmesg_delta_has_no_time() -> None:
    """`dmesg -H` shows only the distance to the line before."""
    assert taken(one(HOSTS, "dmesg_human"), "[  +0.000012] x") == {"kind": "kernel", "text": "x"}


def test_talos_services_are_control() -> None:
    """Of Talos' logs only `kern` is the kernel's."""
    assert taken(one(HOSTS, "talos"), "10.0.0.7: daemon: err: [2026-11-30T10:04:10Z]: x")["kind"] == "control"
