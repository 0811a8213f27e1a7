"""Completion: what may be written at each place, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from desks import RULE, SHARED, pack, typed, work

from denpex_rules.completion import complete
from denpex_rules.parser import keywords
from denpex_rules.workspace import Workspace

__all__ = ["pack", "work"]

CONFIRM = "confirm timeout where rank != bad stalled between lost - 1m and lost + 5m"
ONSET = "onset  last progress before lost else lost"
FIELDS = {"rank", "local_rank", "host", "device", "pid", "job"}


def offered(desk: Workspace, path: Path, text: str, offset: int) -> dict[str, str]:
    """Return what is offered, with its sort."""
    desk.open(str(path), text)
    return {item.text: item.sort for item in complete(desk, str(path), offset)}


@pytest.mark.parametrize(
    ("old", "new", "wanted", "unwanted"),
    [
        ("language 1\n", "¦", {"language", "use", "rule", "event"}, {"title", "require"}),
        ("language 1\n", "lang¦", {"language"}, {"title"}),
        ("lib.calls.loss as", "lib.ca¦ as", {"lib.calls.loss", "lib.c10d.timeout"}, {"lost", "language"}),
        ("class  gpu.fell_off_bus", "class  gpu.¦", {"gpu.fell_off_bus", "own.trouble"}, {"collective", "lost"}),
        ("causes collective.timeout", "causes collective.timeout, ¦", {"net.peer_closed"}, {"title"}),
        ("  per job within 2h", "  ¦", {"require", "per", "event", "title", "blame"}, {"language", "use", "lost"}),
        ("per job within 2h", "per ¦", {"job", "host", "device", "rank"}, {"lost", "within"}),
        ("per job within 2h", "per job ¦", {"within"}, {"require", "title"}),
        ("per job within 2h", "impact ¦", {"critical", "none"}, {"lost"}),
        ("per job within 2h", "status ¦", {"stable"}, {"lost"}),
        ("per job within 2h", "status stable ¦", {"since"}, {"stable"}),
        ("require lost", "require ¦", {"lost", "timeout", "progress", "silence", "last"}, {"loss", "bad", "where"}),
        ("require lost", "require x = ¦", {"lost", "timeout", "progress"}, {"bad"}),
        ("require lost", "require lost ¦", {"where", "count", "distinct", "before", "within"}, {"require", "lost"}),
        ("require lost", "require lost wh¦", {"where"}, {"require"}),
        (CONFIRM, "confirm timeout where ¦", FIELDS | {"ran", "bad", "rank_of", "lost"}, {"where", "step"}),
        (CONFIRM, "confirm timeout where rank ¦", set(), {"bad", "lost"}),
        (CONFIRM, "confirm timeout where rank != ¦", {"bad", "lost", "ran"}, {"where"}),
        (CONFIRM, "confirm timeout where rank != lost.¦", {"device", "rank"}, {"ran", "lost"}),
        (CONFIRM, "confirm timeout sta¦", {"stalled", "between"}, {"ran"}),
        (CONFIRM, "confirm timeout stalled between ¦", {"lost"}, {"bad", "ran"}),
        (CONFIRM, "confirm timeout stalled between lost - 1m and ¦", {"lost"}, {"bad"}),
        (CONFIRM, "confirm timeout stalled between lost - 1m and lost ¦", set(), {"title"}),
        (CONFIRM, "confirm timeout distinct ¦", {"ran", "rank"}, {"bad"}),
        (CONFIRM, "confirm timeout count ¦", set(), {"rank"}),
        ("refute alive = progress after lost + 2m", "refute alive = progress after timeout.¦", {"stalled"}, {"ran", "rank"}),
        ("let bad = rank_of(lost.host, lost.device)", "let bad = ¦", {"rank_of", "lost"}, {"where"}),
        ("rank_of(lost.host, lost.device)", "rank_of(lost.host, lost.¦)", {"device"}, {"ran"}),
        ("device lost.device, host", "¦", {"rank", "host", "device", "each", "none"}, {"lost"}),
        ("when timeout", "when ¦", {"timeout", "lost"}, {"bad"}),
        (ONSET, "onset ¦", {"first", "last", "next", "lost"}, {"progress"}),
        (ONSET, "onset last ¦", {"progress", "timeout"}, {"alive", "bad"}),
        (ONSET, "onset last progress where ¦", {"step", "bad"}, {"ran"}),
        (ONSET, "onset timeout.¦", {"stalled"}, {"ran"}),
        ("victim timeout.rank", "victim timeout.¦", {"rank", "ran"}, {"stalled"}),
        ("on lost.host", "on ¦", {"lost", "bad"}, {"title"}),
        ('"Drain {lost.host}, then', '"Drain {¦', {"lost", "timeout", "bad"}, {"rank"}),
        ('"Drain {lost.host}, then', '"Drain {lost.¦', {"host", "device"}, {"lost"}),
        ('see    "gpu.other"', 'see    "¦"', {"gpu.other", "hardware.gpu.fell_off_bus"}, {"lost"}),
        ("event lost error in kernel", "event lost ¦", {"error", "fatal", "in", "expensive"}, {"lost", "title"}),
        ("event lost error in kernel", "event lost error in ¦", {"kernel", "rank"}, {"error"}),
        ("{device:pci}): 79", "{device:¦}): 79", {"pci", "int"}, {"device_of"}),
        ("{device:pci}): 79", "{¦", FIELDS, {"pci"}),
        ("  per job within 2h", "  event x /(?P<n>a)/\n    with ¦", {"n"}, {"lost"}),
        ("  per job within 2h", "  event x /(?P<n>a)/\n    with n: ¦", {"int", "ms"}, {"n"}),
        ("  per job within 2h", '  event x "a {n:ms}"\n    moment m = time - ¦', {"n"}, {"lost"}),
        ("rule gpu.lost {", "rule gpu.¦ {", {"gpu.lost"}, {"host", "lost"}),
        ("  per job within 2h", '  event x "a {n:ms}"\n    li¦', {"like"}, {"lost"}),
        ("  per job within 2h", '  event x "a {n:ms}"\n    ¦', {"like", "unlike", "with", "moment", "require"}, {"lost"}),
    ],
)
def test_what_is_offered(pack: Path, work: Workspace, old: str, new: str, wanted: set[str], unwanted: set[str]) -> None:
    """Each place offers what the grammar takes and what is known there."""
    found = offered(work, pack / "gpu" / "lost.rule", *typed(RULE, old, new))
    assert wanted <= set(found)
    assert unwanted.isdisjoint(found)


@pytest.mark.parametrize("new", ['title  "A ¦', "# a ¦", "event lost error in kernel /a¦", 'like   "x {¦', 'event lost "a {{b¦'])
def test_texts_and_comments_offer_nothing(pack: Path, work: Workspace, new: str) -> None:
    """What an author says in his own words is his own."""
    assert offered(work, pack / "gpu" / "lost.rule", *typed(RULE, 'title  "A GPU was lost"', new)) == {}


def test_what_is_replaced(pack: Path, work: Workspace) -> None:
    """A path is replaced from its first letter on, a word too."""
    path = str(pack / "gpu" / "lost.rule")
    for old, new, start in (("gpu.fell_off_bus", "gpu.fel¦", "gpu.fel"), ("require lost", "require lo¦", "lo")):
        text, offset = typed(RULE, old, new)
        work.open(path, text)
        assert {offset - item.start for item in complete(work, path, offset)} == {len(start)}


def test_the_end_of_a_file(pack: Path, work: Workspace) -> None:
    """Behind a rule another one may start; in a file of building blocks, events."""
    found = offered(work, pack / "gpu" / "lost.rule", RULE + "\n", len(RULE) + 1)
    assert {"rule", "event", "use"} <= set(found)
    assert not {"require", "language"} & set(found)
    found = offered(work, pack / "lib" / "calls.rule", SHARED + "\nevent x error in ", len(SHARED) + 18)
    assert "kernel" in found


@pytest.mark.parametrize("text", ["", "\n", "rule", "language 1\nrule a.b {\n", "}\n}\n", '"', "event event event"])
def test_odd_texts(pack: Path, work: Workspace, text: str) -> None:
    """Every place of a text that is no rule file offers words of the language at most."""
    for offset in range(len(text) + 1):
        found = offered(work, pack / "gpu" / "lost.rule", text, offset)
        assert set(found) - FIELDS <= keywords() | {"silence", "gpu.lost"}, (text, offset)


@pytest.mark.parametrize("uses", ["use lib.calls.timeout, lib.calls.loss as progress\n", ""])
def test_a_building_block_brings_its_use(pack: Path, work: Workspace, uses: str) -> None:
    """A building block that the file does not use yet is offered where an event may stand, and `use` is put in for it."""
    path = str(pack / "gpu" / "lost.rule")
    text, offset = typed(RULE.replace("use lib.calls.timeout, lib.calls.loss as progress\n", uses), "require lost", "require fell¦")
    work.open(path, text)
    found = {item.text: item for item in complete(work, path, offset)}
    assert "loss" not in found or not uses
    item = found["fell_off_bus"]
    assert (item.detail, item.also is not None) == ("lib.nvrm.fell_off_bus", True)
    assert item.also is not None
    at, also = item.also
    changed = text[:at] + also + text[at : item.start] + item.text + text[offset:]
    work.open(path, changed)
    assert "lib.nvrm.fell_off_bus" in changed
    assert {d.code for d in work.sheet(path).tree.diagnostics} == set()
    assert "E0203" not in {d.code for d in work.mistakes(path)}
