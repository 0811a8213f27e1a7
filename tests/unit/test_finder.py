"""Looking ahead: the hits of a block, where that is worth it."""

from __future__ import annotations

import importlib.util

import pytest
from attrs import evolve
from making import template

from denpex_rules import native
from denpex_rules.compiler import compile_rules
from denpex_rules.finder import LEAVES, _Finder, finder
from denpex_rules.native import PURE
from denpex_rules.rule import Alternative, Event, RuleSet, Sequence

pytestmark = pytest.mark.skipif(not native.available(), reason="there is no compiled code")

PROGRAM = compile_rules(RuleSet((), (Event("step", "step", (Alternative((Sequence((template("step {n:int} done"),)),)),)),)))


def test_blocks_with_many_hits_are_left_to_the_scan() -> None:
    """To look ahead is worth it where hits are few; where they are many it is tried again now and then."""
    look = _Finder(native.compiled_module(), PROGRAM.matcher).look
    few, many = b"step 1 done\n", b"step 1 done\n" * 400
    assert [look(few) is not None for _ in range(20)] == [True] * 20
    found = [look(many) is not None for _ in range(20)]
    assert found == [number % (LEAVES + 1) == 0 for number in range(20)]


def test_only_what_frees_threads_looks_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyahocorasick holds the interpreter while it looks, and without compiled code the scan does."""
    assert finder(evolve(PROGRAM, backend="pyahocorasick").matcher) is None
    if importlib.util.find_spec("hyperscan") is not None:
        fast = evolve(PROGRAM, backend="hyperscan").matcher
        look = finder(fast)
        assert look is not None
        assert len(look(b"step 1 done\nstep 2 done\n")) == len(fast.hits(b"step 1 done\nstep 2 done\n")) > 0
        monkeypatch.setenv(PURE, "1")
        assert finder(fast) is None
