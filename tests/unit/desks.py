"""A small pack to edit, and places in its texts, for the tests of the editor's modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.workspace import Workspace

SHARED = """language 1

event timeout error in rank "collective on rank {rank:rank} timed out after {ran:ms} ms"
  moment stalled = time - ran
  like "collective on rank 3 timed out after 1000 ms"

event loss in rank "iteration {step:int} lm loss"
  like "iteration 12 lm loss 0.5"
"""
RULE = """language 1
use lib.calls.timeout, lib.calls.loss as progress

rule gpu.lost {
  title  "A GPU was lost"
  class  gpu.fell_off_bus
  causes collective.timeout

  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
    like   "NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus."
    unlike "NVRM: Xid (PCI:0000:06:00): 74, pid=1, NVLink: fatal error detected"

  per job within 2h
  require lost
  let bad = rank_of(lost.host, lost.device)
  confirm timeout where rank != bad stalled between lost - 1m and lost + 5m
  refute alive = progress after lost + 2m

  blame  device lost.device, host lost.host, rank bad when timeout
  onset  last progress before lost else lost
  victim timeout.rank

  do     "Drain {lost.host}, then reset {lost.device} of rank {bad}."
  verify "dmesg -T" on lost.host
  see    "gpu.other" because "that one is no loss"
}
"""
OTHER = """language 1
use lib.calls.timeout

rule gpu.other {
  title "A collective timed out"
  class collective.timeout
  per   job within 2h
  require timeout
  reporter timeout.rank
  do    "Look at rank {timeout.rank}."
}
"""
CLASSES = """version = 1

[[class]]
id = "own.trouble"
title = "Trouble of our own"
definition = "What only we have."
layer = "application"
role = "cause"
scope = "job"
accuse = "none"
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Return the folder of a pack with a building block file, classes and two rules."""
    root = tmp_path / "pack"
    texts = {"lib/calls.rule": SHARED, "gpu/lost.rule": RULE, "gpu/other.rule": OTHER, "taxonomy.toml": CLASSES}
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def work(pack: Path) -> Workspace:
    """Return a workspace with the pack as its open folder."""
    return Workspace((pack,))


def at(text: str, mark: str) -> int:
    """Return the offset of `¦` in a mark that otherwise stands once in a text."""
    before, _, after = mark.partition("¦")
    assert text.count(before + after) == 1, mark
    return text.index(before + after) + len(before)


def typed(text: str, old: str, new: str) -> tuple[str, int]:
    """Return a text in which `new` stands instead of `old`, without its `¦`, and the offset of that."""
    assert text.count(old) == 1, old
    start = text.index(old) + new.index("¦")
    return text.replace(old, new.replace("¦", "")), start
