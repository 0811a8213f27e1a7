"""Capture types: which texts they accept, and the canonical value of each spelling."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.clock import SECOND
from denpex_rules.values import (
    ACTOR_FIELDS,
    BUILTIN,
    MAX_RANKS,
    NUMERIC,
    CaptureType,
    Value,
    format_value,
    parse_address,
    parse_busid,
    parse_bytes,
    parse_host,
    parse_pci,
    parse_ranks,
)


@pytest.mark.parametrize(
    "text",
    ["0000:41:00", "41:00.0", "00000000:41:00.0", "(0000:41:00)", "0000:41:00.7"],
)
def test_pci_spellings(text: str) -> None:
    """Every spelling of one PCI address is the same value."""
    assert parse_pci(text) == "0000:41:00"


@pytest.mark.parametrize("text", ["", "41", "41:0", "0000:41:00:00", "0000:4g:00", "1:41:00"])
def test_pci_refuses(text: str) -> None:
    """A text that is no PCI address has no value."""
    assert parse_pci(text) is None


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7))
def test_busid_agrees_with_pci(domain: int, bus: int, device: int, function: int) -> None:
    """An NCCL busId names the same device as the PCI address that it was made of."""
    digits = f"{int(f'{domain:04x}{bus:02x}{device:02x}{function:x}', 16):x}"
    assert parse_busid(digits) == parse_pci(f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}")


@pytest.mark.parametrize(("text", "value"), [("1b000", "0000:1b:00"), ("0xc3000", "0000:c3:00"), ("", None), ("xyz", None)])
def test_busid(text: str, value: str | None) -> None:
    """A busId is read in hexadecimal; other texts have no value."""
    assert parse_busid(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("Node-07", "node-07"), ("node-07.cluster.local", "node-07"), ("10.0.0.7", "10.0.0.7"), ("::1", "::1")],
)
def test_host(text: str, value: str) -> None:
    """A host joins on its short lower-case name; an address stays whole."""
    assert parse_host(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[10.0.0.7]:29500", "10.0.0.7"),
        ("10.0.0.7<41234>", "10.0.0.7"),
        ("node-07:29500", "node-07"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("node-07.cluster.local", "node-07"),
        ("[fe80::1]:29500", "fe80::1"),
    ],
)
def test_address(text: str, value: str) -> None:
    """An address loses its port and joins with a host name."""
    assert parse_address(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.50 GiB", 2_684_354_560),
        ("20.00 MiB", 20_971_520),
        ("512 bytes", 512),
        ("812345kB", 812_345 * 1024),
        ("8589934592", 8_589_934_592),
        ("1 PB", 1024**5),
        ("1EB", 1024**6),
        ("1 parsec", None),
        ("GiB", None),
    ],
)
def test_bytes(text: str, value: int | None) -> None:
    """A size is whole bytes, in binary units."""
    assert parse_bytes(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("1, 3", (1, 3)), ("[3,1,1]", (1, 3)), ("0-3,7", (0, 1, 2, 3, 7)), ("5", (5,)), ("", None), ("3-1", None), ("a", None)],
)
def test_ranks(text: str, value: tuple[int, ...] | None) -> None:
    """A list of ranks is sorted and distinct; ranges are written out."""
    assert parse_ranks(text) == value


def test_ranks_are_bounded() -> None:
    """A range that no job has is not written out."""
    assert parse_ranks(f"0-{MAX_RANKS + 1}") is None


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ms", "1800000", 1800 * SECOND),
        ("s", "0.5", SECOND // 2),
        ("min", "30", 1800 * SECOND),
        ("hms", "0:30:00", 1800 * SECOND),
        ("hms", "1:30.5", 90 * SECOND + SECOND // 2),
        ("hex", "0x1f", 31),
        ("int", "-9", -9),
        ("float", "1.5e-4", 1.5e-4),
        ("int", "9" * 41, None),
        ("ms", "9" * 41, None),
    ],
)
def test_parse(name: str, text: str, value: Value | None) -> None:
    """A captured text becomes its canonical value; one that is too long to be a value becomes none."""
    assert BUILTIN[name].parse(text) == value


@pytest.mark.parametrize("kind", BUILTIN.values(), ids=lambda kind: kind.name)
def test_type_is_sound(kind: CaptureType) -> None:
    """Every type's pattern is RE2 syntax without groups of its own, accepts its example, and its parser gives that a value."""
    pattern = re2.compile(kind.pattern)
    assert pattern.groups == 0
    assert pattern.fullmatch(kind.example)
    assert kind.parse(kind.example) is not None
    assert kind.summary


def test_bases_are_consistent() -> None:
    """A type that is named like an actor's field compares with that field, and numbers are told from texts by base."""
    assert all(BUILTIN[name].base == base for name, base in ACTOR_FIELDS.items())
    for kind in BUILTIN.values():
        assert isinstance(kind.parse(kind.example), int | float) is (kind.base in NUMERIC), kind.name


def test_three_ranks_never_compare() -> None:
    """Global, group and local ranks are of three bases."""
    assert len({BUILTIN[name].base for name in ("rank", "group_rank", "local_rank")}) == 3


@pytest.mark.parametrize(("value", "text"), [((1, 3), "1, 3"), (5, "5"), ("node-07", "node-07"), ((), "")])
def test_format_value(value: Value, text: str) -> None:
    """A value is shown as an author would write it."""
    assert format_value(value) == text
