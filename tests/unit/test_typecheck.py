"""Names and types: what a name means where it stands, and what may be compared."""

from __future__ import annotations

import pytest
from writing import codes, rule_of, text_of

from denpex_rules.rule import Call, Condition, Path

EVENTS = """
  event lost error in kernel "lost {device:pci} {member:group_rank} {n:int} {r:ranks} {t:ms} end"
  event progress in rank "step {step:int} loss"
    moment began = time - 5s
"""


def found(steps: str) -> list[str]:
    """Return the codes of a rule with these steps."""
    return codes(text_of(steps, events=EVENTS))


def test_bare_name_is_the_own_field_and_dotted_is_a_bound_step() -> None:
    """In `where`, `step` is the step's own capture and `lost.n` the bound step's."""
    rule = rule_of(
        "  require lost\n  confirm progress where step == lost.n, rank == r0\n".replace(", rank == r0", ""), events=EVENTS
    )
    assert rule.steps[1].where == (Condition(Path("step"), "==", Path("lost", "n")),)


def test_let_and_call() -> None:
    """A `let` keeps its expression; its name is a bare path."""
    rule = rule_of(
        "  require lost\n  let bad = rank_of(lost.host, lost.device)\n  confirm progress where rank == bad", events=EVENTS
    )
    assert rule.lets[0].value == Call("rank_of", (Path("lost", "host"), Path("lost", "device")))
    assert rule.steps[1].where[0].right == Path("bad")


@pytest.mark.parametrize(
    "condition",
    [
        "rank == lost.r",
        "lost.r != rank",
        "lost.r == 3",
        "rank < lost.rank",
        "host == lost.host",
        "job == lost.job",
        "step >= lost.n",
    ],
)
def test_comparable(condition: str) -> None:
    """Equal bases compare; a list of ranks asks for membership."""
    assert found(f"  require lost\n  confirm progress where {condition} after lost") == []


@pytest.mark.parametrize(
    "condition",
    [
        "rank == lost.member",
        "rank == local_rank",
        "rank < lost.r",
        "host < lost.host",
        "step == lost.t",
        "rank == lost.n",
        "host == lost.device",
    ],
)
def test_incomparable(condition: str) -> None:
    """Different bases never compare: above all, the numbers that are called rank."""
    assert found(f"  require lost\n  confirm progress where {condition} after lost") == ["E0302"]


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ("require lost\n confirm progress where nothing == 3 after lost", "E0204"),
        ("require lost\n confirm progress where lost.nothing == 3 after lost", "E0204"),
        ("require lost\n confirm progress where lost == 3 after lost", "E0201"),
        ("require lost\n confirm progress where lost.a.b == 3 after lost", "E0201"),
        ("require lost\n confirm progress where began == 3 after lost", "E0204"),
        ("require lost\n let x = lots.rank", "E0201"),
        ("require lost\n let x = lost", "E0201"),
        ("require lost\n let x = rank", "E0201"),
        ("require lost\n let x = progress.rank", "E0201"),
        ("require lost\n let x = progress.rank\n confirm progress after lost", "E0206"),
        ("let x = lost.rank\n require lost", "E0206"),
        ("require lost\n confirm progress where rank == x after lost\n let x = lost.rank", "E0206"),
        ("require lost\n confirm progress after lost\n require again = lost where rank == progress.rank", "E0206"),
        ("require lost\n unless progress after lost\n let x = progress.rank", "E0201"),
        ("require lost\n let x = nope(lost.rank)", "E0205"),
        ("require lost\n let x = rank_of(lost.device, lost.host)", "E0304"),
        ("require lost\n let x = missing_from(lost.rank)", "E0304"),
        ("require lost\n let x = lowest(lost)", "E0304"),
        ("require lost\n let x = lowest(lost.device)", "E0304"),
        ("require lost\n confirm progress where host_of(3) after lost", "E0302"),
        ("require lost\n let n = lost.n\n confirm again = lost where n == 3 after lost", "E0202"),
    ],
)
def test_names_that_mean_nothing_here(steps: str, code: str) -> None:
    """Each wrong name has one diagnostic with its code, and no echo."""
    assert found(steps) == [code]


def test_required_step_can_not_rest_on_a_let_of_a_confirmed_one() -> None:
    """A `let` hides no confirming step from a required one."""
    steps = "require lost\n confirm progress after lost\n let x = progress.rank\n require again = lost where rank == x"
    assert found(steps) == ["E0206"]
