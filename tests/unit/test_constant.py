"""Literals take the meaning of what they are compared with."""

from __future__ import annotations

import pytest
from writing import codes, step_of, text_of

from denpex_rules.clock import SECOND
from denpex_rules.library import check_text
from denpex_rules.rule import Constant

EVENTS = """
  event lost "lost {n:int} {f:float} {size:bytes} {t:ms} {dev:pci} {h:host} {w:word} {r:ranks} {p:pid} {job:job} end"
"""


def constant_of(condition: str) -> Constant:
    """Return the constant on the right of a condition."""
    (found,) = step_of(f"confirm again = lost where {condition} after lost", events=EVENTS).where
    assert isinstance(found.right, Constant)
    return found.right


@pytest.mark.parametrize(
    ("condition", "value", "base"),
    [
        ("n == -9", -9, "int"),
        ("f < 3", 3.0, "float"),
        ("f < -0.5", -0.5, "float"),
        ("size >= 16GiB", 16 * 2**30, "bytes"),
        ("t > 1m30s", 90 * SECOND, "duration"),
        ("rank == 3", 3, "rank"),
        ("r == 3", 3, "rank"),
        ("p == 42", 42, "pid"),
        ('dev == "00000000:41:00.0"', "0000:41:00", "device"),
        ('dev == "mlx5_0"', "mlx5_0", "device"),
        ('h == "Node-07.cluster.local"', "node-07", "host"),
        ('job == "4711"', "4711", "job"),
        (r'w == "a\"b"', 'a"b', "text"),
    ],
)
def test_constant_takes_the_other_sides_base(condition: str, value: object, base: str) -> None:
    """A literal becomes the canonical value of what stands on the other side."""
    found = constant_of(condition)
    assert (found.value, found.base) == (value, base)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ('rank == "3"', "E0302"),
        ("h == 7", "E0302"),
        ("w == 7", "E0302"),
        ("n == 1.5", "E0302"),
        ("n == 5s", "E0302"),
        ("size > 5s", "E0302"),
        ("t > 5", "E0303"),
        ("size > 5", "E0303"),
        ("rank == -1", "E0305"),
        ("p == -1", "E0305"),
        ('h == ""', "E0305"),
        (f"n == {'9' * 5000}", "E0305"),
        ("1 == 1", "E0302"),
    ],
)
def test_constant_that_can_not_be(condition: str, code: str) -> None:
    """A literal that is no value of the other side's base is reported with a code that says why."""
    assert codes(text_of(f"  require lost\n  confirm again = lost where {condition} after lost", events=EVENTS)) == [code]


def test_hint_writes_the_value_as_it_should_be() -> None:
    """A number in quotes beside a rank is shown without them."""
    assert "did you mean 3?" in _said('rank == "3"')
    assert 'did you mean "7"?' in _said("h == 7")
    assert "5ms, 5s or 5m" in _said("t > 5")


def _said(condition: str) -> str:
    from_text = text_of(f"  require lost\n  confirm again = lost where {condition} after lost", events=EVENTS)
    _, found = check_text(from_text)
    return found[0].hint
