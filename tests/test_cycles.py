"""Nothing that a scan makes refers to itself: all of it is freed when it is not needed any more.

So the collector of reference cycles may run rarely while logs are read, and memory stays bounded nevertheless.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

import denpex_rules
from denpex_rules import Program, engine
from denpex_rules.scanner import SourceScanner
from denpex_rules.session import Session

FOLDER = Path(__file__).parent / "faults"
LOGS = FOLDER / "kill-two_agents-0"
ONE = max((path for path in FOLDER.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped rules, compiled once."""
    return denpex_rules.compile_rules(denpex_rules.load_pack())


def scan(program: Program) -> None:
    """Read files, and write the report."""
    engine.correlate(engine.sight([LOGS], program), program)


def one_by_one(program: Program) -> None:
    """Read every line in full."""
    scanner = SourceScanner(program, "rank_0.log", skim=False)
    scanner.feed(ONE.read_bytes())
    scanner.close()


def snapshots(program: Program) -> None:
    """Ask a session for what it knows, again and again."""
    session = Session(program)
    for line in ONE.read_bytes().splitlines(keepends=True)[:200]:
        session.feed("rank_0.log", line)
        session.advance()
    session.close()


@pytest.mark.parametrize("run", [scan, one_by_one, snapshots])
def test_there_are_no_cycles(run: Callable[[Program], None], program: Program) -> None:
    """Once all is made that stays, a run leaves nothing for the collector."""
    run(program)
    gc.collect()
    gc.disable()
    try:
        run(program)
        assert gc.collect() == 0
    finally:
        gc.enable()
