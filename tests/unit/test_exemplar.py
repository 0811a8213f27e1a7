"""Lines that are read by an example: as reading them tells them, or not at all."""

from __future__ import annotations

import pytest

from denpex_rules.clock import Instant, whole_seconds
from denpex_rules.exemplar import Exemplar
from denpex_rules.formats import describe, peel
from denpex_rules.school import School, body_of, skeleton_of

TEE = b"[rank3]: 2026-11-30 10:00:07,125 INFO loader: shard 9 read"
EXAMPLES = [example.encode() for _, example, _ in describe()]


def exemplar_of(raw: bytes) -> Exemplar | None:
    """Return a line as an example of its form; None where it has none."""
    line = peel(raw)
    body = body_of(raw, line)
    prefix = School(peel).examine(skeleton_of(raw, body), raw, body) if body else None
    return Exemplar(raw, body, line, prefix) if prefix is not None else None


def read_by(example: bytes, raw: bytes) -> bool:
    """Read a line by another one of its emitter; say whether that was possible."""
    exemplar, told = exemplar_of(example), peel(raw)
    assert exemplar is not None
    found = exemplar.read(raw, whole_seconds(told.instant))
    if found is not None:
        assert (found, found.body) == (told, told.body)
    return found is not None


@pytest.mark.parametrize(
    ("example", "others"),
    [
        (
            TEE,
            [TEE.replace(b"125", b"999"), TEE.replace(b":07", b":59"), TEE + b" 12:34:56,789 again"],
        ),
        (b"2026-11-30T10:00:07.123456789Z stdout F [rank3]: x 9", [b"2026-12-01T00:00:00.000000000Z stdout F [rank3]: x 8"]),
        (b"I1130 10:00:07.123456 4242 worker.cc:88] x 9", [b"I1130 10:00:08.000001 4242 worker.cc:12] y"]),
        (b"Nov 30 10:00:07 node-07 trainer[4242]: x 9", [b"Nov 30 10:00:08 node-07 trainer[4242]: x 10"]),
        (b"[2026-11-30T10:00:07.125] x 9", [b"[2026-11-30T10:00:07.000] x 10"]),
    ],
)
def test_lines_of_a_form_are_read_as_reading_tells_them(example: bytes, others: list[bytes]) -> None:
    """Text and time are the line's own, to the digit that is printed; all else is the example's."""
    assert read_by(example, example)
    for other in others:
        assert read_by(example, other)


def test_a_number_of_another_width_takes_reading() -> None:
    """Where the digits stand elsewhere, nothing is guessed: neither in a stamp nor in front of it."""
    assert not read_by(TEE, TEE.replace(b",125", b",1"))
    glog = b"I1130 10:00:07.123456 4242 worker.cc:88] x"
    assert not read_by(glog, glog.replace(b":88", b":188"))


def test_most_formats_with_a_message_of_their_own_serve() -> None:
    """JSON and what tells more than a prefix aside, a line of a format is read by an example of it."""
    read = [raw for raw in EXAMPLES if exemplar_of(raw) is not None and read_by(raw, raw)]
    assert len(read) >= len(EXAMPLES) // 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_format_reads_its_example(example: bytes) -> None:
    """A line that serves as an example is read by itself as reading tells it, with other digits in its message too."""
    exemplar = exemplar_of(example)
    if exemplar is None:
        return
    for raw in (example, example + b" 7", example + b" 8 more"):
        told = peel(raw)
        assert exemplar.read(raw, whole_seconds(told.instant)) in {None, told}


def test_a_time_that_is_not_that_of_its_digits_takes_reading() -> None:
    """The example's own time must follow from the digits that stand for its fraction."""
    line = peel(TEE)
    body = body_of(TEE, line)
    prefix = School(peel).examine(skeleton_of(TEE, body), TEE, body)
    assert prefix is not None
    shifted = peel(TEE.replace(b",125", b",126"))
    assert Exemplar(TEE, body, shifted, prefix).read(TEE, whole_seconds(line.instant)) is None
    assert line.instant == Instant(shifted.instant.lo - 10**6, shifted.instant.hi - 10**6, "local")
