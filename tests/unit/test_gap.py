"""Minimum gaps against the rule's span."""

from __future__ import annotations

import pytest
from writing import codes, text_of


@pytest.mark.parametrize(
    ("steps", "sound"),
    [
        ("require timeout within 1h..2h after lost\n require progress within 1h..2h after timeout", True),
        ("require timeout within 1h..2h after lost\n require progress within 61m..2h after timeout", False),
        ("require timeout after lost + 3h", False),
        ("require timeout before lost - 3h", False),
        ("confirm timeout after lost + 3h", True),
        ("require timeout stalled after lost + 3h", True),
        ("require timeout after lost\n require progress before lost - 1m\n require again = lost after progress + 2h", True),
        ("require timeout before lost - 1h\n require progress before timeout - 61m", False),
        ("require timeout between lost + 10m and lost + 20m\n require progress between timeout + 1m and lost + 5m", False),
        ("require timeout between lost + 10m and lost + 20m\n require progress between timeout + 1m and lost + 11m", True),
        ("require timeout after lost\n require progress after lost + timeout.ran + 3h", True),
    ],
)
def test_chains_of_gaps(steps: str, sound: bool) -> None:
    """Chained minimum gaps of required steps must fit into the span and not contradict each other; captured gaps are open."""
    assert codes(text_of(f"  require lost\n {steps}")) == ([] if sound else ["E0407"])
