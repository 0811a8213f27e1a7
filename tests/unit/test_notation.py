"""Steps in words."""

from __future__ import annotations

import pytest
from scenes import EVENTS

from denpex_rules.library import load_text
from denpex_rules.notation import blame_text, clause_text

STEPS = [
    "require lost",
    "unless progress between lost - 1m and lost + 5m",
    "confirm silence where rank == lost.rank for 1m after lost + 5s",
    "confirm late = last timeout where rank != lost.rank and ran > 1s distinct rank >= 2 in 10m after lost",
    "refute again = timeout stalled between lost - 1m and lost + 5m",
    "confirm due = timeout before lost",
]


@pytest.mark.parametrize("step", STEPS)
def test_step_reads_as_it_was_written(step: str) -> None:
    """The canonical text of a step is the step."""
    first = "" if step == "require lost" else "require lost\n"
    text = f'language 1\nrule test.r {{\n title "t"\n class gpu.fell_off_bus\n per job within 1h\n {first}{step}\n{EVENTS}\n}}\n'
    (rule,) = load_text(text).rules
    assert clause_text(rule.steps[-1]) == step


@pytest.mark.parametrize(
    "blame",
    [
        "none",
        "device lost.device, host lost.host",
        "each host lost.host likely",
        "rank missing_from(late) likely when late",
        "none when late",
    ],
)
def test_blame_reads_as_it_was_written(blame: str) -> None:
    """The canonical text of an alternative is the alternative."""
    body = f"require lost\n confirm late = timeout after lost distinct rank >= 2\n blame {blame}\n{EVENTS}"
    text = f'language 1\nrule test.r {{\n title "t"\n class gpu.fell_off_bus\n per job within 1h\n {body}\n}}\n'
    (rule,) = load_text(text).rules
    assert blame_text(rule.blame[0]) == blame
