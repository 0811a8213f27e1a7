"""Advice about the text of a file: what stands there and does nothing."""

from __future__ import annotations

import pytest
from advising import EVENTS, advice_on, text_of

from denpex_rules.mending import mend


def using(use: str, steps: str = "  require lost") -> str:
    """Return a rule file that uses building blocks."""
    return text_of(steps).replace("language 1\n", f"language 1\n{use}\n")


@pytest.mark.parametrize(
    ("use", "left"),
    [
        ("use lib.c10d.timeout", ""),
        ("use lib.c10d.timeout as late", ""),
        ("use lib.c10d.timeout, lib.progress.step", ""),
        ("use lib.c10d.timeout, lib.nvrm.fell_off_bus as lost", "use lib.nvrm.fell_off_bus as lost"),
        ("use lib.nvrm.fell_off_bus as lost, lib.c10d.timeout", "use lib.nvrm.fell_off_bus as lost"),
        ("use lib.c10d.timeout # timeout", "# timeout"),
    ],
)
def test_unused_building_block(use: str, left: str) -> None:
    """A building block whose name stands nowhere else is advised against, and goes with its comma, line and all."""
    text = text_of(events="" if "lost" in use else EVENTS).replace("language 1\n", f"language 1\n{use}\n")
    for _ in range(2):
        text, _taken = mend(text, [d for d in advice_on(text) if d.code == "L0110"])
    head = text.split("rule ")[0].replace("language 1\n", "").strip()
    assert head == left
    assert "L0110" not in {d.code for d in advice_on(text)}


@pytest.mark.parametrize(
    "steps",
    [
        "  require lost\n  confirm timeout where host != lost.host within 1h after lost",
        "  require lost\n  onset last timeout before lost else lost",
    ],
)
def test_used_building_block(steps: str) -> None:
    """One that a step or a look-up names is used."""
    assert "L0110" not in {d.code for d in advice_on(using("use lib.c10d.timeout", steps))}


def test_needless_expensive() -> None:
    """`expensive` is taken out where a fixed text announces the event, and stays where none does."""
    slow = text_of(events=EVENTS.replace("in kernel", "in kernel expensive"))
    (found,) = advice_on(slow)
    assert found.code == "L0111"
    assert mend(slow, [found])[0] == text_of()
    needed = "  event lost error in kernel expensive /^[A-Z]+ \\d+$/\n"
    assert [d.code for d in advice_on(text_of(events=needed))] == []


def test_example_twice() -> None:
    """The second copy of an example is taken out with its line; one as `like` and another as `unlike` are two."""
    line = EVENTS.splitlines(keepends=True)[-1]
    twice = text_of(events=EVENTS + line)
    (found,) = advice_on(twice)
    assert (found.code, found.span.line) == ("L0112", 8)
    assert mend(twice, [found])[0] == text_of()
