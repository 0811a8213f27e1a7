"""Desks: the protocol's answers, at every prefix of a file, in every unit of columns, and quickly."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from desks import OTHER, RULE, at, pack, typed, work
from lsprotocol import types as lsp

from denpex_rules import desk as desk_module
from denpex_rules.desk import Desk, path_of
from denpex_rules.errors import UsageError
from denpex_rules.layout import format_text
from denpex_rules.positions import Positions
from denpex_rules.shipped import shipped

__all__ = ["pack", "work"]

WHOLE = lsp.Range(lsp.Position(0, 0), lsp.Position(99_999, 0))


@pytest.fixture
def desk(pack: Path) -> Desk:
    """Return a desk that has the pack open."""
    made = Desk()
    made.start([pack.as_uri()], "utf-16")
    return made


def place(text: str, offset: int) -> lsp.Position:
    """Return the position of an offset in an ASCII text."""
    before = text[:offset]
    return lsp.Position(before.count("\n"), offset - (before.rfind("\n") + 1))


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """Return an ASCII text after edits."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start = starts[edit.range.start.line] + edit.range.start.character
        end = starts[edit.range.end.line] + edit.range.end.character
        text = text[:start] + edit.new_text + text[end:]
    return text


def asked(desk: Desk, uri: str, position: lsp.Position) -> dict[str, object]:
    """Return the answers to all kinds of requests about a place."""
    questions: dict[str, Callable[[], object]] = {
        "mistakes": lambda: desk.mistakes(uri),
        "advice": lambda: (desk.advice(uri)())(),  # noqa: PLW0108 - the work is made only when it is asked for
        "actions": lambda: desk.actions(uri, WHOLE),
        "complete": lambda: desk.complete(uri, position),
        "hover": lambda: desk.hover(uri, position),
        "definition": lambda: desk.definition(uri, position),
        "references": lambda: desk.references(uri, position, defining=True),
        "renamed": lambda: desk.renamed(uri, position),
        "rename": lambda: desk.rename(uri, position, "fresh_name"),
        "symbols": lambda: desk.symbols(uri),
        "hints": lambda: desk.hints(uri, WHOLE),
        "format": lambda: desk.format(uri),
    }
    found: dict[str, object] = {}
    for name, ask in questions.items():
        try:
            found[name] = ask()
        except UsageError as refusal:
            found[name] = str(refusal)
    return found


FILES = ["hardware/gpu/fell_off_bus.rule", "lib/world.rule", "runtime/collective/timeout.rule"]


@pytest.mark.parametrize("name", FILES)
def test_every_prefix_is_survived(name: str) -> None:
    """While a file is typed from its first letter on, every request is answered, and only sound files have no mistakes."""
    path = shipped("rules") / name
    text, uri = path.read_text(encoding="utf-8"), path.as_uri()
    desk = Desk()
    desk.start([shipped("rules").as_uri()], "utf-32")
    for end in range(0, len(text) + 1, max(1, len(text) // 40)):
        desk.open(uri, text[:end])
        found = asked(desk, uri, lsp.Position(*Positions(text[:end], "utf-32").place(end)))
        assert isinstance(found["complete"], lsp.CompletionList)
        assert found["mistakes"] or end == len(text) or "\nrule " not in text[:end]
    desk.open(uri, text)
    assert desk.mistakes(uri) == []


@pytest.mark.parametrize("seed", range(20))
def test_damaged_texts_are_survived(pack: Path, desk: Desk, seed: int) -> None:
    """A text with pieces torn out or put in is answered about at a place anywhere in it."""
    draw = random.Random(seed)
    text = RULE
    for _ in range(draw.randrange(1, 6)):
        start = draw.randrange(len(text))
        text = (
            text[:start]
            + draw.choice(('"', "{", "}", "/", "#", "\n", "rule ", "\u2028", "\r", "\x00", "é\U0001f600", ""))
            + text[start + draw.randrange(9) :]
        )
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, text)
    found = asked(desk, uri, lsp.Position(draw.randrange(text.count("\n") + 2), draw.randrange(60)))
    assert isinstance(found["complete"], lsp.CompletionList)
    assert isinstance(found["symbols"], list)


@pytest.mark.parametrize(("encoding", "wide"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1), ("other", 2)])
def test_columns_behind_wide_characters(pack: Path, encoding: str, wide: int) -> None:
    """Places on a line with characters outside of ASCII are counted in the editor's unit, in questions and in answers."""
    desk = Desk()
    desk.start([pack.as_uri()], encoding)
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE.replace('"Drain {lost.host}', '"\U0001f600 {lost.host}'))
    line = RULE[: RULE.index("  do ")].count("\n")
    start = len('  do     "') + wide + len(" {")
    card = desk.hover(uri, lsp.Position(line, start + len("lost.") + 1))
    assert card is not None
    assert card.range is not None
    assert (card.range.start.character, card.range.end.character) == (start + len("lost."), start + len("lost.host"))


def test_diagnostics(pack: Path, desk: Desk) -> None:
    """A diagnostic has its code, its place, and what was expected; one that covers nothing is a character wide."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE.replace("fell_off_bus", "fell_of_bus"))
    (found,) = desk.mistakes(uri)
    assert (found.code, found.source, found.severity) == ("E0601", "rulecheck", lsp.DiagnosticSeverity.Error)
    assert "did you mean gpu.fell_off_bus?" in found.message
    assert (found.range.start, found.range.end) == (lsp.Position(5, 9), lsp.Position(5, 24))
    desk.open(uri, RULE.replace("  do ", "  # do "))
    told = desk.advice(uri)()()
    assert told is not None
    assert {(d.code, d.severity) for d in told} == {("L0106", lsp.DiagnosticSeverity.Warning)}


def test_advice_that_comes_too_late(pack: Path, desk: Desk) -> None:
    """Advice about a text that was changed meanwhile is dropped."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE)
    work = desk.advice(uri)()
    desk.open(uri, RULE + "\n")
    assert work() is None


def test_actions(pack: Path, desk: Desk) -> None:
    """A diagnostic's patch is offered where it stands and nowhere else, and removes the diagnostic."""
    uri, path = (pack / "gpu" / "lost.rule").as_uri(), pack / "gpu" / "lost.rule"
    text, offset = typed(RULE, "class  gpu.fell_off_bus", "class  gpu.fell_of¦_bus")
    desk.open(uri, text)
    told = desk.mistakes(uri)
    here = lsp.Range(place(text, offset), place(text, offset))
    (action,) = desk.actions(uri, here)
    assert action.edit is not None
    assert action.edit.changes is not None
    assert action.diagnostics == told
    assert applied(text, list(action.edit.changes[uri])) == RULE
    assert desk.actions(uri, lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))) == []
    desk.open(uri, text + "\n")  # not checked yet: the mistakes are those of this text
    assert len(desk.actions(uri, here)) == 1
    assert path_of(uri) == str(path)


def test_completion(pack: Path, desk: Desk) -> None:
    """An item replaces what stands in front of the cursor, and names come before words of the language."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    text, offset = typed(RULE, "require lost", "require ti¦")
    desk.open(uri, text)
    items = {item.label: item for item in desk.complete(uri, place(text, offset)).items}
    item = items["timeout"]
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert item.text_edit.range == lsp.Range(place(text, offset - 2), place(text, offset))
    assert str(item.sort_text) < str(items["silence"].sort_text)
    assert item.additional_text_edits is None
    (use,) = items["fell_off_bus"].additional_text_edits or ()
    assert (use.new_text, use.range.start) == (", lib.nvrm.fell_off_bus", lsp.Position(1, len(RULE.splitlines()[1])))


def test_places_in_other_files(pack: Path, desk: Desk) -> None:
    """Definitions and uses in files that are not open have their URIs and places."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE)
    position = place(RULE, at(RULE, "confirm time¦out"))
    found = desk.definition(uri, position)
    assert found is not None
    assert (found.uri, found.range.start) == ((pack / "lib" / "calls.rule").as_uri(), lsp.Position(2, 6))
    every = desk.references(uri, position, defining=True)
    assert len(every) == 9
    assert len(desk.references(uri, position, defining=False)) == 8
    assert desk.definition(uri, lsp.Position(0, 0)) is None
    assert desk.references(uri, lsp.Position(0, 0), defining=True) == []


def test_rename(pack: Path, desk: Desk) -> None:
    """The name without its path is what is renamed; each file gets its changes."""
    uri = (pack / "gpu" / "other.rule").as_uri()
    desk.open(uri, OTHER)
    position = place(OTHER, at(OTHER, "use lib.calls.time¦out"))
    assert desk.renamed(uri, position).placeholder == "timeout"
    changes = desk.rename(uri, position, "expired").changes
    assert changes is not None
    assert {uri: len(edits) for uri, edits in changes.items()} == {
        (pack / name).as_uri(): count for name, count in (("lib/calls.rule", 1), ("gpu/lost.rule", 4), ("gpu/other.rule", 4))
    }
    assert applied(OTHER, list(changes[uri])) == OTHER.replace("calls.timeout", "calls.expired").replace(
        "require timeout", "require expired"
    ).replace("timeout.rank", "expired.rank")


def test_symbols(pack: Path, desk: Desk) -> None:
    """The table of contents nests; each name lies within its construct."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE)
    (rule,) = desk.symbols(uri)
    assert [child.name for child in rule.children or ()] == ["lost", "lost", "bad", "timeout", "alive"]
    for one in (rule, *(rule.children or ())):
        assert one.range.start <= one.selection_range.start
        assert one.selection_range.end <= one.range.end


def test_hints(pack: Path, desk: Desk) -> None:
    """Examples show at their ends how they come out."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE.replace("): 74, pid", "): 79, pid"))
    assert [(hint.position.line, hint.label) for hint in desk.hints(uri, WHOLE)] == [
        (9, "→ device = 0000:06:00"),
        (10, "✗ not refused: it is the event"),
    ]
    assert desk.hints(uri, lsp.Range(lsp.Position(0, 0), lsp.Position(3, 0))) == []


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_format(pack: Path, desk: Desk, ends: str) -> None:
    """Only the lines that change are replaced, line ends stay; a text that does not parse is left alone."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    canonical = format_text(RULE)
    messy = canonical.replace("  require lost", "      require    lost").replace("\n", ends)
    desk.open(uri, messy)
    (edit,) = desk.format(uri)
    assert edit.range.start.line == edit.range.end.line
    assert applied(messy, [edit]) == canonical.replace("\n", ends)
    desk.open(uri, canonical.replace("\n", ends))
    assert desk.format(uri) == []
    desk.open(uri, RULE.replace("require", "reqiure"))
    assert desk.format(uri) == []


def test_texts_that_were_never_saved(desk: Desk) -> None:
    """An untitled document is answered about like a file, and forgotten when it is closed."""
    uri = "untitled:Untitled-1"
    text = OTHER.replace("lib.calls", "lib.c10d")
    desk.open(uri, text)
    assert desk.mistakes(uri) == []
    position = place(text, at(text, "require time¦out"))
    found = desk.definition(uri, position)
    assert found is not None
    assert found.uri.endswith("/lib/c10d.rule")
    assert desk.hover(uri, position) is not None
    desk.close(uri)
    assert desk.symbols(uri) == []


def test_lines_are_counted_once(pack: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request about an unchanged text looks for its line ends no more."""
    made: list[str] = []
    real = desk_module.Positions
    monkeypatch.setattr(desk_module, "Positions", lambda text, encoding: made.append(text) or real(text, encoding))
    uri = (pack / "gpu" / "lost.rule").as_uri()
    desk.open(uri, RULE)
    desk.symbols(uri)
    desk.hover(uri, lsp.Position(1, 5))
    desk.complete(uri, lsp.Position(1, 5))
    assert made.count(RULE) == 1
