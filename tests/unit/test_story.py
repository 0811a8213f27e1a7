"""What a case shows of its rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules import Program, compile_rules, load_pack, load_text
from denpex_rules.cases import find_cases, read_case
from denpex_rules.story import tell
from samples import RULE, workshop, write_files

ROOT = Path(__file__).resolve().parents[2]
LOST = ROOT / "tests" / "rules" / "hardware" / "gpu" / "fell_off_bus" / "two_hosts"


@pytest.fixture(scope="module")
def shipped() -> Program:
    """Return the shipped rules, compiled once."""
    return compile_rules(load_pack())


def test_a_hit_is_told(tmp_path: Path) -> None:
    """A confirmed case has its incident and its evidence, with places in the case's own folder."""
    workshop(tmp_path)
    stories = tell(find_cases(tmp_path / "cases"), compile_rules(load_text(RULE)))
    (story,) = stories["denpex:storage.broken_shard"]
    assert story.name == "two_ranks"
    assert story.incident is not None
    assert story.incident.outcome == "confirmed"
    (line,) = story.lines
    assert (line.who, line.where, line.step, line.rule) == ("rank 5", "rank5.log:2", "broken", "denpex:storage.broken_shard")
    assert line.when == "2026-11-30 10:04:12.455Z"
    assert line.text.endswith("giving up")


def test_a_quiet_case_has_no_incident(tmp_path: Path) -> None:
    """A near miss is told by its sentence alone, and a case about no rule is nobody's."""
    near = 'says = "x"\nrule = "storage.broken_shard"\noutcome = "quiet"\n'
    logs = {"a/case.toml": near, "a/x.log": "fine\n", "b/case.toml": 'says = "x"\noutcome = "quiet"\n', "b/x.log": "fine\n"}
    stories = tell(find_cases(write_files(tmp_path, logs)), compile_rules(load_text(RULE)))
    (story,) = stories["denpex:storage.broken_shard"]
    assert (story.name, story.incident, story.lines) == ("a", None, ())


def test_what_it_explains_is_told_too(shipped: Program) -> None:
    """The lines of explained findings follow in time, the first of each rule and actor; the loss comes first."""
    (story,) = tell([read_case(LOST)], shipped)["denpex:hardware.gpu.fell_off_bus"]
    assert (story.lines[0].where, story.lines[0].step) == ("kern_node-02.log:5", "lost")
    others = [(line.rule, line.who) for line in story.lines if line.rule != "denpex:hardware.gpu.fell_off_bus"]
    assert "denpex:runtime.collective.timeout" in {rule for rule, _ in others}
    assert len(others) == len(set(others))
