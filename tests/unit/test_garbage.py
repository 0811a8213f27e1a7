"""The collector of reference cycles runs rarely inside of a block, and as before behind it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from denpex_rules.garbage import TURNS, YOUNG, kept_waiting


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Begin with what the interpreter begins with."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_thresholds_come_back() -> None:
    """Also where the block fails."""
    before = gc.get_threshold()
    with kept_waiting():
        assert gc.get_threshold()[:2] == (YOUNG, TURNS)
    assert gc.get_threshold() == before
    with pytest.raises(SystemExit), kept_waiting():
        sys.exit()
    assert gc.get_threshold() == before


def test_rarer_collections_stay_rarer() -> None:
    """A process that collects more rarely by its own choice goes on so."""
    gc.set_threshold(YOUNG * 2, TURNS * 2, 10)
    with kept_waiting():
        assert gc.get_threshold() == (YOUNG * 2, TURNS * 2, 10)


def test_switched_off_stays_off() -> None:
    """Nothing is switched on for a process that does without."""
    gc.disable()
    try:
        with kept_waiting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
