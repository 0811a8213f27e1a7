"""References: definitions, uses and renamings, in one file and across the files of a pack."""

from __future__ import annotations

from pathlib import Path

import pytest
from desks import CLASSES, OTHER, RULE, SHARED, at, pack, typed, work

from denpex_rules.errors import UsageError
from denpex_rules.library import pack_folder
from denpex_rules.reference import definition, mention_at, owner, references, rename, renamed
from denpex_rules.workspace import Workspace

__all__ = ["pack", "work"]

TEXTS = {"gpu/lost.rule": RULE, "gpu/other.rule": OTHER, "lib/calls.rule": SHARED, "taxonomy.toml": CLASSES}


def changed(desk: Workspace, pack: Path, file: str, mark: str, name: str) -> dict[str, str]:
    """Return the texts of the pack's files that a renaming changes."""
    texts: dict[str, str] = {}
    found = rename(desk, str(pack / file), at(TEXTS[file], mark), name)
    for change in sorted(found, key=lambda c: -c.span.start):
        text = texts.setdefault(change.path, desk.text(change.path))
        texts[change.path] = text[: change.span.start] + change.text + text[change.span.end :]
    return {Path(path).relative_to(pack).as_posix(): text for path, text in texts.items()}


@pytest.mark.parametrize(
    ("mark", "file", "target"),
    [
        ("victim timeout.ra¦nk", "lib/calls.rule", "{¦rank:rank}"),
        ("confirm time¦out where", "lib/calls.rule", "event ¦timeout"),
        ("bad stal¦led between", "lib/calls.rule", "moment ¦stalled"),
        ("last pro¦gress before", "lib/calls.rule", "event ¦loss"),
        ("rank_of(lo¦st.host", "gpu/lost.rule", "event ¦lost error"),
        ("reset {lost.dev¦ice}", "gpu/lost.rule", "{¦device:pci}"),
        ("of rank {b¦ad}", "gpu/lost.rule", "let ¦bad"),
        ('"gpu.oth¦er"', "gpu/other.rule", "rule ¦gpu.other"),
    ],
)
def test_definitions(pack: Path, work: Workspace, mark: str, file: str, target: str) -> None:
    """A name leads to where it is defined, in another file too."""
    path = str(pack / "gpu" / "lost.rule")
    mention = mention_at(work, path, at(RULE, mark))
    assert mention is not None
    found = definition(work, path, mention.symbol)
    assert found is not None
    assert (found.path, found.at.start) == (str(pack / file), at(TEXTS[file], target))
    assert found.whole.start <= found.at.start < found.at.end <= found.whole.end


def test_definitions_of_classes(pack: Path, work: Workspace) -> None:
    """A class leads to the pack's taxonomy, or to the shipped one."""
    path = str(pack / "gpu" / "lost.rule")
    work.open(path, RULE.replace("collective.timeout", "own.trouble"))
    places = []
    for mark in ("causes own.trou¦ble", "class  gpu.fell_off¦_bus"):
        mention = mention_at(work, path, at(work.text(path), mark))
        assert mention is not None
        found = definition(work, path, mention.symbol)
        assert found is not None
        assert work.text(found.path)[found.at.start : found.at.end] == mention.symbol.name
        places.append(found.path)
    assert places == [str(pack / "taxonomy.toml"), str(pack_folder("denpex") / "taxonomy.toml")]


def test_definition_in_the_shipped_pack(pack: Path, work: Workspace) -> None:
    """A shipped building block leads to its file."""
    path = str(pack / "gpu" / "other.rule")
    work.open(path, OTHER.replace("lib.calls.timeout", "lib.c10d.timeout"))
    mention = mention_at(work, path, at(work.text(path), "require time¦out"))
    assert mention is not None
    found = definition(work, path, mention.symbol)
    assert found is not None
    assert found.path == str(pack_folder("denpex") / "lib" / "c10d.rule")
    entry = owner(work.outline(found.path), found.at)
    assert entry is not None
    assert entry.name == "timeout"


def test_references_over_files(pack: Path, work: Workspace) -> None:
    """A building block's uses are found in all files, under another name too."""
    shared = str(pack / "lib" / "calls.rule")
    counts = {}
    for mark in ("event time¦out", "event lo¦ss", "{ra¦nk:rank}"):
        mention = mention_at(work, shared, at(SHARED, mark))
        assert mention is not None
        found = list(references(work, shared, mention.symbol))
        counts[mark] = sorted((Path(path).stem, sum(p == path for p, _ in found)) for path in {p for p, _ in found})
    assert counts == {
        "event time¦out": [("calls", 1), ("lost", 4), ("other", 4)],
        "event lo¦ss": [("calls", 1), ("lost", 4)],
        "{ra¦nk:rank}": [("calls", 1), ("lost", 2), ("other", 2)],
    }


def test_references_of_a_class(pack: Path, work: Workspace) -> None:
    """A class's uses are the rules that name it."""
    path = str(pack / "gpu" / "other.rule")
    mention = mention_at(work, path, at(OTHER, "class collec¦tive.timeout"))
    assert mention is not None
    assert {Path(p).stem for p, _ in references(work, path, mention.symbol)} == {"lost", "other"}


def test_rename_of_a_private_event(pack: Path, work: Workspace) -> None:
    """An event and the step that is called by it are renamed together, in texts too; the rule stays sound."""
    texts = changed(work, pack, "gpu/lost.rule", "event lo¦st error", "gone")
    assert set(texts) == {"gpu/lost.rule"}
    assert "reset {gone.device}" in texts["gpu/lost.rule"]
    work.open(str(pack / "gpu" / "lost.rule"), texts["gpu/lost.rule"])
    assert work.check(str(pack / "gpu" / "lost.rule")) == ()


@pytest.mark.parametrize(
    ("file", "mark"),
    [("lib/calls.rule", "event time¦out"), ("gpu/other.rule", "require time¦out"), ("gpu/lost.rule", "lib.calls.time¦out, ")],
)
def test_rename_of_a_building_block(pack: Path, work: Workspace, file: str, mark: str) -> None:
    """From any of its places, a building block is renamed in its file, in each `use` and in each rule; all stay sound."""
    texts = changed(work, pack, file, mark, "expired")
    assert set(texts) == {"gpu/lost.rule", "gpu/other.rule", "lib/calls.rule"}
    assert "use lib.calls.expired, lib.calls.loss as progress" in texts["gpu/lost.rule"]
    assert "victim expired.rank" in texts["gpu/lost.rule"]
    for name, text in texts.items():
        work.open(str(pack / name), text)
    assert [work.check(str(pack / name)) for name in texts] == [(), (), ()]


@pytest.mark.parametrize(
    ("file", "mark", "name", "count"),
    [
        ("lib/calls.rule", "moment stal¦led", "hung", 2),
        ("lib/calls.rule", "{ra¦n:ms}", "took", 1),
        ("gpu/lost.rule", "as prog¦ress", "moving", 1),
        ("gpu/lost.rule", "refute ali¦ve", "moves", 1),
        ("gpu/lost.rule", "let b¦ad", "worst", 1),
        ("gpu/lost.rule", "{dev¦ice:pci}", "slot", 1),
    ],
)
def test_rename_of_other_names(pack: Path, work: Workspace, file: str, mark: str, name: str, count: int) -> None:
    """Moments, captures, other names, steps and values are renamed where they mean the same, and nothing becomes a mistake."""
    texts = changed(work, pack, file, mark, name)
    assert len(texts) == count
    for path, text in texts.items():
        work.open(str(pack / path), text)
    assert [work.mistakes(str(pack / path)) for path in TEXTS if path.endswith(".rule")] == [(), (), ()]


@pytest.mark.parametrize(
    ("mark", "name", "reason"),
    [
        ("event lo¦st error", "timeout", "already"),
        ("event lo¦st error", "where", "can't be a name"),
        ("event lo¦st error", "two words", "can't be a name"),
        ("rule gpu.l¦ost {", "found", "named for its file"),
        ("class  gpu.fell_off_¦bus", "x", "taxonomy"),
        ("{device:pc¦i}", "x", "part of the language"),
        ("= rank¦_of(", "x", "part of the language"),
        ("per job wit¦hin", "x", "no name"),
    ],
)
def test_what_can_not_be_renamed(pack: Path, work: Workspace, mark: str, name: str, reason: str) -> None:
    """A renaming that would change a meaning, or that names nothing, is refused with a reason."""
    with pytest.raises(UsageError, match=reason):
        rename(work, str(pack / "gpu" / "lost.rule"), at(RULE, mark), name)


def test_no_renaming_in_files_of_others(pack: Path, work: Workspace) -> None:
    """A shipped building block is not renamed from a pack that uses it."""
    path = str(pack / "gpu" / "other.rule")
    work.open(path, OTHER.replace("lib.calls.timeout", "lib.c10d.timeout"))
    with pytest.raises(UsageError, match="not part of the open folders"):
        rename(work, path, at(work.text(path), "require time¦out"), "expired")


def test_no_renaming_past_a_broken_statement(pack: Path, work: Workspace) -> None:
    """A statement that does not parse would keep the old name."""
    path = str(pack / "gpu" / "lost.rule")
    text, _ = typed(RULE, "refute alive = progress after lost + 2m", "refute alive = = progress after lost + 2m¦")
    work.open(path, text)
    with pytest.raises(UsageError, match="mend it first"):
        rename(work, path, at(text, "event lo¦st error"), "gone")


def test_a_name_in_a_broken_statement(pack: Path, work: Workspace) -> None:
    """A name in a statement that does not parse is known by its looks; a keyword, a comment and a text hold none."""
    path = str(pack / "gpu" / "lost.rule")
    text, offset = typed(RULE, "refute alive = progress after lost + 2m", 'refute = "lost" progress after lo¦st + # lost')
    work.open(path, text)
    mention = mention_at(work, path, offset)
    assert mention is not None
    assert mention.symbol.name == "lost"
    assert renamed(work, path, offset) == mention
    for mark in ("progress af¦ter lost + #", '"lo¦st" progress', "# lo¦st\n"):
        assert mention_at(work, path, at(text, mark)) is None
