"""What the cases leave open: events, steps and outcomes that none of them exercises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from denpex_rules import Program, compile_rules, load_text
from denpex_rules.cases import find_cases
from denpex_rules.cover import reachable, untried
from samples import CASE, END, RULE, STEP, write_files

FAILED = f"{STEP}2026-11-30T10:04:12.455Z ERROR shard /data/shard-0042.bin: checksum mismatch, giving up\n"
AGAIN = "2026-11-30T10:05:12.455Z INFO shard /data/shard-0042.bin: read again\n"
OTHER = 'says = "x"\nrule = "storage.broken_shard"\noutcome = "{}"\n'

HIT = {"hit/case.toml": CASE, "hit/rank5.log": FAILED + END, "hit/rank0.log": STEP + END}
READ_AGAIN = {"again/case.toml": OTHER.format("quiet"), "again/rank5.log": FAILED + AGAIN + END}
CUT_SHORT = {"short/case.toml": OTHER.format("inconclusive"), "short/rank5.log": FAILED}
NEAR_MISS = {"near/case.toml": OTHER.format("quiet"), "near/rank5.log": STEP + END}


def compiled(rule: str = RULE) -> Program:
    """Return the program of a rule."""
    return compile_rules(load_text(rule))


def open_(folder: Path, *cases: dict[str, str], rule: str = RULE) -> list[tuple[str, str, str]]:
    """Return what the cases leave open, in short."""
    for case in cases:
        write_files(folder, case)
    found = untried(find_cases(folder), compiled(rule))
    assert {(one.rule, one.status) for one in found} <= {("denpex:storage.broken_shard", "stable")}
    return [(one.what, one.name.rpartition("#")[2], one.text.partition(":")[0]) for one in found]


def test_one_hit_alone(tmp_path: Path) -> None:
    """A hit shows neither the guard's event nor the trigger's absence, and reaches one outcome of three."""
    assert open_(tmp_path, HIT) == [
        ("event", "again", "never seen"),
        ("step", "broken", "never false"),
        ("step", "again", "never false"),
        ("outcome", "inconclusive", "never inconclusive"),
        ("outcome", "quiet", "never quiet with its trigger seen"),
    ]


def test_all_exercised(tmp_path: Path) -> None:
    """A hit, a near miss, a guard that speaks and a log that ends too soon exercise the whole rule."""
    assert open_(tmp_path, HIT, READ_AGAIN, CUT_SHORT, NEAR_MISS) == []


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        (HIT, [("step", "again", "never true"), ("outcome", "confirmed", "never confirmed")]),
        (
            READ_AGAIN,
            [
                ("event", "again", "never seen"),
                ("step", "again", "never false"),
                ("outcome", "quiet", "never quiet with its trigger seen"),
            ],
        ),
        (CUT_SHORT, [("outcome", "inconclusive", "never inconclusive")]),
        (NEAR_MISS, [("step", "broken", "never false")]),
    ],
)
def test_each_case_exercises_something(left_out: dict[str, str], expected: Sequence[tuple[str, str, str]], tmp_path: Path) -> None:
    """Each kind of case is missed where it is left out."""
    assert open_(tmp_path, *(c for c in (HIT, READ_AGAIN, CUT_SHORT, NEAR_MISS) if c is not left_out)) == list(expected)


def test_a_near_miss_of_another_rule_is_none(tmp_path: Path) -> None:
    """That a trigger was not seen counts only in a case that is about its rule."""
    write_files(tmp_path, {**HIT, "quiet/case.toml": 'says = "x"\noutcome = "quiet"\n', "quiet/rank5.log": STEP + END})
    assert ("step", "broken", "never false") in open_(tmp_path)


def test_confirming_steps(tmp_path: Path) -> None:
    """A step that only adds must have come out true, and not true in some way."""
    rule = RULE.replace("  blame", "  confirm seen = again where file == broken.file after broken\n  blame")
    assert ("step", "seen", "never true") in open_(tmp_path, HIT, rule=rule)
    assert not [one for one in open_(tmp_path, READ_AGAIN, rule=rule) if one[1] == "seen"]


@pytest.mark.parametrize(
    ("steps", "outcomes"),
    [
        ("require broken", {"confirmed"}),
        ('require broken where file == "/a"', {"confirmed"}),
        ("require broken where rank == 3", {"confirmed", "inconclusive"}),
        ("require broken count >= 2", {"confirmed", "quiet"}),
        ("require broken count >= 2 in 10s", {"confirmed", "inconclusive", "quiet"}),
        ("require broken\n  require again within 5m after broken", {"confirmed", "inconclusive", "quiet"}),
        ("require broken\n  unless again within 5m after broken", {"confirmed", "inconclusive", "quiet"}),
        ("require broken\n  confirm again within 5m after broken", {"confirmed"}),
    ],
)
def test_reachable(steps: str, outcomes: set[str]) -> None:
    """Only outcomes that a rule can reach are asked for."""
    clauses = "  require broken\n  unless again where file == broken.file within 10m after broken"
    program = compiled(RULE.replace(clauses, f"  {steps}"))
    assert reachable(program.rules[0], {event.id: event for event in program.events}) == outcomes
