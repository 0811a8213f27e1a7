"""Workspaces: the same mistakes and advice as `rulecheck check`, for texts that nobody has saved, without doing work twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from desks import OTHER, RULE, SHARED, pack, work

from denpex_rules import gather, library, workspace
from denpex_rules.errors import Diagnostic
from denpex_rules.shipped import shipped
from denpex_rules.workspace import Workspace

__all__ = ["pack", "work"]

FILES = sorted(shipped("rules").rglob("*.rule"))[::25]


def told(path: Path) -> set[tuple[str, str, int]]:
    """Return what `rulecheck check` says about one file on disk."""
    return brief(d for d in gather.check([path])[1] if Path(d.span.path) == path)


def brief(found: Iterable[Diagnostic]) -> set[tuple[str, str, int]]:
    """Return diagnostics without what does not matter here."""
    return {(d.code, d.message, d.span.start) for d in found}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_shipped_files_are_checked_as_the_command_does(path: Path) -> None:
    """A file of the pack has the diagnostics that the command finds."""
    assert brief(Workspace().check(str(path))) == told(path)


MISTAKES = [
    ("", ""),
    ("confirm timeout", "confrim timeout"),
    ("class  gpu.fell_off_bus", "class  gpu.fell_of_bus"),
    ("lost.device)", "lost.colour)"),
    ("within 2h", ""),
    ('like   "NVRM: Xid (PCI:0000:06:00): 79', 'like   "NVRM: Xid (PCI:0000:06:00): 78'),
    ("{device:pci}", "{device:pcy}"),
    ("rule gpu.lost", "rule gpu.found"),
    ("lib.calls.loss", "lib.calls.los"),
    ("  do     ", "  # do "),
    ('see    "gpu.other"', 'see    "gpu.nowhere"'),
    ('"NVRM: Xid (PCI:{device:pci}): 79,"', "/(?=a)NVRM: Xid/"),
    ("}\n", ""),
]


@pytest.mark.parametrize(("old", "new"), MISTAKES)
def test_changed_files_are_checked_as_the_command_does(pack: Path, work: Workspace, old: str, new: str) -> None:
    """An open text has the diagnostics that the command finds once it is saved."""
    path = pack / "gpu" / "lost.rule"
    text = RULE.replace(old, new) if old else RULE
    work.open(str(path), text)
    found = brief(work.check(str(path)))
    path.write_text(text, encoding="utf-8")
    assert found == told(path)
    assert bool(found) == bool(old)


def test_a_broken_library_file_is_checked(pack: Path, work: Workspace) -> None:
    """Mistakes in building blocks show in their own file, and keep no other file from being checked for what it says itself."""
    path = pack / "lib" / "calls.rule"
    work.open(str(path), SHARED.replace("{ran:ms}", "{ran:msec}") + "\nrule a.b {\n}\n")
    assert {d.code for d in work.check(str(path))} == {"E0301", "E0204", "E0606"}
    assert work.check(str(pack / "gpu" / "other.rule")) == ()


def test_two_building_blocks_of_one_path(pack: Path, work: Workspace) -> None:
    """The second file that defines a building block is told so."""
    (pack / "lib" / "calls").mkdir()
    path = pack / "lib" / "calls" / "timeout.rule"
    path.write_text('language 1\nevent timeout in rank "timed out at last"\n', encoding="utf-8")
    found = {d.code for p in ("lib/calls.rule", "lib/calls/timeout.rule") for d in work.check(str(pack / p))}
    assert found == {"E0202"}


def test_an_unsaved_building_block_reaches_the_rules(pack: Path, work: Workspace) -> None:
    """A renamed event in an open library file is a mistake in the rule that uses it; saving neither is needed."""
    other, shared = str(pack / "gpu" / "other.rule"), str(pack / "lib" / "calls.rule")
    assert work.mistakes(other) == ()
    work.open(shared, SHARED.replace("event timeout", "event expired"))
    assert [d.code for d in work.mistakes(other)] == ["E0203"]
    work.close(shared)
    assert work.mistakes(other) == ()


def test_a_file_of_no_pack_and_an_unsaved_text(tmp_path: Path) -> None:
    """Both may use the shipped building blocks, and are not named for a path."""
    text = OTHER.replace("lib.calls", "lib.c10d")
    alone = tmp_path / "alone.rule"
    alone.write_text(text, encoding="utf-8")
    desk = Workspace()
    desk.open("untitled:Untitled-1", text)
    assert desk.check(str(alone)) == desk.check("untitled:Untitled-1") == ()
    desk.close("untitled:Untitled-1")
    assert desk.text("untitled:Untitled-1") == ""


def test_classes_that_can_not_be_read(pack: Path, work: Workspace) -> None:
    """A broken taxonomy is said once, at the top of the file, instead of a mistake for each class."""
    (pack / "taxonomy.toml").write_text("[[class]]\nid = 5\n", encoding="utf-8")
    path = str(pack / "gpu" / "lost.rule")
    (found,) = work.check(path)
    assert (found.code, found.span.line) == ("E0607", 1)
    assert "taxonomy.toml" in found.hint


def test_changes_on_disk_are_seen_after_a_refresh(pack: Path, work: Workspace) -> None:
    """A new building block, and new classes, are known once the workspace is told to look again."""
    path = str(pack / "gpu" / "other.rule")
    work.open(path, OTHER.replace("lib.calls.timeout", "lib.more.timeout").replace("class collective.timeout", "class own.new"))
    assert {d.code for d in work.mistakes(path)} == {"E0203", "E0601"}
    (pack / "lib" / "more.rule").write_text(SHARED, encoding="utf-8")
    classes = pack / "taxonomy.toml"
    classes.write_text(classes.read_text(encoding="utf-8").replace("own.trouble", "own.new"), encoding="utf-8")
    work.refresh(path)
    assert work.mistakes(path) == ()


def test_a_damaged_file_is_empty(pack: Path, work: Workspace) -> None:
    """A file on disk that is no text has no names, and the rest of the pack works."""
    (pack / "lib" / "bad.rule").write_bytes(b"language 1\n\xff\xfe")
    assert work.text(str(pack / "lib" / "bad.rule")) == ""
    assert work.mistakes(str(pack / "gpu" / "other.rule")) == ()


def test_nothing_is_done_twice(pack: Path, work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request without a change parses, lowers and checks nothing again; a change of one file only that file."""
    calls: list[str] = []
    for name in ("lower", "read", "check_rules"):
        real = getattr(workspace, name)

        def counted(first: object, *args: object, _real: object = real, _name: str = name, **options: object) -> object:
            calls.append(_name)
            return _real(first, *args, **options)  # type: ignore[operator]

        monkeypatch.setattr(workspace, name, counted)
    path = str(pack / "gpu" / "lost.rule")
    work.check(path)
    work.outline(path)
    calls.clear()
    work.outline(path)
    sheet = work.sheet(path)
    world = work.world(path)
    assert calls == []
    work.open(path, RULE.replace("2h", "3h"))
    work.check(path)
    assert calls == ["lower", "check_rules"]  # the rule's bounds; its events are known to be sound
    assert work.sheet(path) is not sheet
    assert work.world(path) is world


def test_the_last_good_step(pack: Path, work: Workspace) -> None:
    """While the rule has a mistake elsewhere, a step is what it was; a step with another text is not known."""
    path = str(pack / "gpu" / "lost.rule")
    statement = "refute alive = progress after lost + 2m"
    assert work.step(path, "gpu.lost", statement) is not None
    work.open(path, RULE.replace("require lost", "require"))
    assert work.step(path, "gpu.lost", statement) is not None
    assert work.step(path, "gpu.lost", statement.replace("2m", "3m")) is None


def test_what_may_be_changed(pack: Path, work: Workspace) -> None:
    """Files below the open folders and open files may be changed, the shipped pack's may not."""
    block = str(library.pack_folder("denpex") / "lib" / "c10d.rule")
    assert work.owns(str(pack / "gpu" / "lost.rule"))
    assert not work.owns(block)
    work.open(block, "language 1\n")
    assert work.owns(block)
    assert block in work.opened
