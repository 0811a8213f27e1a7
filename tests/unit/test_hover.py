"""Hovers: what is said about a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from desks import OTHER, RULE, SHARED, at, pack, typed, work

from denpex_rules.hover import hover
from denpex_rules.workspace import Workspace

__all__ = ["pack", "work"]


def said(desk: Workspace, path: Path, mark: str) -> str:
    """Return what is said about a place, "" where nothing is."""
    card = hover(desk, str(path), at(desk.text(str(path)), mark))
    return "" if card is None else card.text


@pytest.mark.parametrize(
    ("mark", "parts"),
    [
        ("re¦quire lost", ["Needed: the first sighting of `lost`", "require lost", "The first one is the trigger."]),
        ("con¦firm timeout", ["between 1m before `lost` and 5m after `lost`", "```rule\nconfirm timeout where rank != bad"]),
        ("confirm time¦out", ["event timeout error in rank", "captures `rank` (rank), `ran` (ms); moments `stalled`"]),
        ("alive = prog¦ress", ["`progress` is `lib.calls.loss`", "event loss in rank"]),
        ("lost.dev¦ice)", ["capture `device`: `pci`, a PCI address", "compares as device"]),
        ("timeout.ra¦nk", ["capture `rank`: `rank`, a global rank"]),
        ("bad stal¦led", ["event timeout error", "moment stalled = time - ran"]),
        ("lost.ho¦st, lost", ["`host`: the host that the record speaks for"]),
        ("gpu.fell_off¦_bus", ["**gpu.fell_off_bus**", "hardware layer, a cause"]),
        ("causes collective.time¦out", ["a symptom", "upstream:"]),
        ("{device:pc¦i}", ["capture type `pci`, a PCI address"]),
        ("rank_¦of(", ["rank_of(host, device) -> rank", "the rank that ran on that device"]),
        ("!= b¦ad", ["let bad = rank_of(lost.host, lost.device)"]),
        ("ali¦ve =", ["refute alive = progress after lost + 2m"]),
        ('"gpu.oth¦er"', ["rule `gpu.other`: A collective timed out"]),
        ("wit¦hin", ["**within**", "the rule's whole span"]),
        ("per jo¦b", ["**job**: what one match is about"]),
        ("in ker¦nel", ["**kernel**: a kind of log"]),
        ("err¦or in", ["**error**: The lowest severity"]),
        ("blame  dev¦ice", ["**device**: The device of the initiator."]),
    ],
)
def test_what_is_said(pack: Path, work: Workspace, mark: str, parts: list[str]) -> None:
    """A clause is said in words, a name by its definition, a word of the language by its meaning."""
    text = said(work, pack / "gpu" / "lost.rule", mark)
    assert all(part in text for part in parts), text


@pytest.mark.parametrize("mark", ['title  "A G¦PU', '"dmesg ¦-T"', "require lost¦\n  let", "ha¦s fallen"])
def test_where_nothing_is_said(pack: Path, work: Workspace, mark: str) -> None:
    """Texts are not explained; a name's end still is the name's."""
    text = said(work, pack / "gpu" / "lost.rule", mark)
    assert bool(text) == (mark == "require lost¦\n  let")


def test_a_step_of_a_broken_rule(pack: Path, work: Workspace) -> None:
    """While another statement is broken, a step is said as it was; a new one is explained by its verb alone."""
    path = pack / "gpu" / "lost.rule"
    assert "Speaks against" in said(work, path, "ref¦ute alive")
    text, _ = typed(RULE, "onset  last", "onset  lst¦")
    work.open(str(path), text.replace("require lost", "require other = lost"))
    assert "Speaks against" in said(work, path, "ref¦ute alive")
    assert (
        said(work, path, "re¦quire other")
        == "**require**: Decides the outcome: without it the rule is quiet. The first one is the trigger."
    )


def test_the_files_of_building_blocks(pack: Path, work: Workspace) -> None:
    """Their names are explained in their own file."""
    path = pack / "lib" / "calls.rule"
    assert "captures `step` (int)" in said(work, path, "event lo¦ss")
    assert "a number of milliseconds" in said(work, path, "time - ra¦n")
    assert SHARED.startswith("language")
    assert "**language**" in said(work, path, "langu¦age")


def test_what_is_defined_nowhere(pack: Path, work: Workspace) -> None:
    """An unknown building block, class, rule or function is not made up."""
    path = pack / "gpu" / "other.rule"
    changed = OTHER.replace("lib.calls.timeout", "lib.calls.nothing").replace("class collective.timeout", "class no.class")
    work.open(str(path), changed.replace("  do ", '  see "no.rule" because "x"\n  let y = nothing_of(1)\n  do '))
    assert said(work, path, "lib.calls.noth¦ing") == "building block `lib.calls.nothing`"
    for mark in ("no.cl¦ass", "no.ru¦le", "nothing¦_of("):
        assert said(work, path, mark) == ""
