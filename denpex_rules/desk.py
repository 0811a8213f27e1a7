"""A workspace as an editor speaks of it: documents by URI, places by line and column, answers in the protocol's types.

No connection is needed: `server` hands requests on to a desk and its answers back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from attrs import define, field
from lsprotocol import types as lsp
from pygls import uris

from denpex_rules.completion import Item, Sort, complete
from denpex_rules.errors import Diagnostic, RuleError, Span
from denpex_rules.hover import hover
from denpex_rules.layout import format_tree
from denpex_rules.outline import Entry, Kind
from denpex_rules.positions import ENCODINGS, Encoding, Positions
from denpex_rules.reference import definition, mention_at, references, rename, renamed
from denpex_rules.trial import Trials
from denpex_rules.workspace import Workspace

SOURCE: Final = "rulecheck"
MOST_KEPT: Final = 200  # texts whose lines are remembered

_SEVERITIES: Final = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_SORTS: Final[dict[Sort, lsp.CompletionItemKind]] = {
    "field": lsp.CompletionItemKind.Field,
    "moment": lsp.CompletionItemKind.Property,
    "value": lsp.CompletionItemKind.Variable,
    "step": lsp.CompletionItemKind.Reference,
    "event": lsp.CompletionItemKind.Event,
    "choice": lsp.CompletionItemKind.EnumMember,
    "class": lsp.CompletionItemKind.Class,
    "block": lsp.CompletionItemKind.Module,
    "rule": lsp.CompletionItemKind.File,
    "type": lsp.CompletionItemKind.TypeParameter,
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Keyword,
}
_RANKS: Final = {sort: f"{number:02}" for number, sort in enumerate(_SORTS)}  # the order in which an editor lists them
_KINDS: Final[dict[Kind, lsp.SymbolKind]] = {
    "rule": lsp.SymbolKind.Class,
    "event": lsp.SymbolKind.Event,
    "step": lsp.SymbolKind.Method,
    "let": lsp.SymbolKind.Variable,
}


def path_of(uri: str) -> str:
    """Return the path of a document; what was never saved is called by its URI."""
    return uris.to_fs_path(uri) or uri


@define(eq=False)
class Desk:
    """The documents of one editor.

    Args:
        workspace: their texts and what they mean.
        encoding: the unit in which the editor counts columns.
    """

    workspace: Workspace = field(factory=Workspace)
    encoding: Encoding = "utf-16"
    _uris: dict[str, str] = field(factory=dict, init=False)
    _lines: dict[str, Positions] = field(factory=dict, init=False)
    _trials: Trials = field(factory=Trials, init=False)
    _told: dict[str, tuple[str, tuple[Diagnostic, ...]]] = field(factory=dict, init=False)  # by path: a text and its diagnostics

    # ---- documents

    def start(self, folders: Iterable[str], encoding: str) -> None:
        """Take the folders, by URI, that the editor has open, and its unit of columns."""
        self.workspace.folders = tuple(Path(path) for uri in folders if (path := uris.to_fs_path(uri)))
        self.encoding = next((known for known in ENCODINGS if known == encoding), "utf-16")
        self.workspace.world("untitled:")  # what every file may use is read once, before the first question

    def open(self, uri: str, text: str) -> None:
        """Take the text of a document that is open, when it is opened and after each change."""
        self._uris[path_of(uri)] = uri
        self.workspace.open(path_of(uri), text)

    def close(self, uri: str) -> None:
        """Go back to what is on disk."""
        self.workspace.close(path_of(uri))
        self._told.pop(path_of(uri), None)
        self._lines.pop(path_of(uri), None)
        self._uris.pop(path_of(uri), None)

    def uri(self, path: str) -> str:
        """Return the URI of a file, as the editor wrote it where it is open."""
        return self._uris.get(path) or uris.from_fs_path(path) or path

    def _positions(self, path: str) -> Positions:
        text = self.workspace.text(path)
        kept = self._lines.get(path)
        if kept is None or kept.text != text or kept.encoding != self.encoding:
            if len(self._lines) >= MOST_KEPT:
                self._lines.clear()
            kept = self._lines[path] = Positions(text, self.encoding)
        return kept

    def _offset(self, path: str, position: lsp.Position) -> int:
        return self._positions(path).offset(position.line, position.character)

    def _range(self, path: str, start: int, end: int) -> lsp.Range:
        positions = self._positions(path)
        return lsp.Range(lsp.Position(*positions.place(start)), lsp.Position(*positions.place(end)))

    def _location(self, path: str, span: Span) -> lsp.Location:
        return lsp.Location(self.uri(path), self._range(path, span.start, span.end))

    # ---- diagnostics and their ways out

    def mistakes(self, uri: str) -> list[lsp.Diagnostic]:
        """Return the mistakes of a document."""
        return self._tell(path_of(uri), self.workspace.mistakes(path_of(uri)))

    def advice(self, uri: str) -> Callable[[], Callable[[], list[lsp.Diagnostic] | None]]:
        """Return work that may run in another thread; what it returns gives the advice, None where the text has changed since."""
        path = path_of(uri)
        sheet, work = self.workspace.sheet(path), self.workspace.advice(path)

        def advise() -> Callable[[], list[lsp.Diagnostic] | None]:
            found = work()
            return lambda: self._tell(path, found) if self.workspace.sheet(path) is sheet else None

        return advise

    def _tell(self, path: str, found: tuple[Diagnostic, ...]) -> list[lsp.Diagnostic]:
        self._told[path] = self.workspace.text(path), found
        return [self._diagnostic(path, one) for one in found]

    def _diagnostic(self, path: str, one: Diagnostic) -> lsp.Diagnostic:
        more = [f"expected: {one.expected}"] if one.expected else []
        more += [f"hint: {one.hint}"] if one.hint else []
        return lsp.Diagnostic(
            range=self._range(path, one.span.start, max(one.span.end, one.span.start + 1)),
            message="\n".join([one.message, *more]),
            severity=_SEVERITIES[one.severity],
            code=one.code,
            source=SOURCE,
        )

    def actions(self, uri: str, area: lsp.Range) -> list[lsp.CodeAction]:
        """Return the ways out of the diagnostics that touch a range."""
        path = path_of(uri)
        text, told = self._told.get(path, ("", ()))
        if text != self.workspace.text(path):
            told = self.workspace.mistakes(path)
        start, end = self._offset(path, area.start), self._offset(path, area.end)
        touched = [one for one in told if one.patch is not None and one.span.start <= end and start <= one.span.end]
        return [self._action(path, one) for one in touched]

    def _action(self, path: str, one: Diagnostic) -> lsp.CodeAction:
        patch = one.patch
        assert patch is not None
        edits = [lsp.TextEdit(self._range(path, e.span.start, e.span.end), e.text) for e in patch.edits]
        return lsp.CodeAction(
            title=patch.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(path, one)],
            edit=lsp.WorkspaceEdit(changes={self.uri(path): edits}),
            is_preferred=patch.safe,
        )

    # ---- at a place

    def complete(self, uri: str, position: lsp.Position) -> lsp.CompletionList:
        """Return what may be written at a place."""
        path = path_of(uri)
        offset = self._offset(path, position)
        items = [self._item(path, item, offset) for item in complete(self.workspace, path, offset)]
        return lsp.CompletionList(is_incomplete=False, items=items)

    def _item(self, path: str, item: Item, offset: int) -> lsp.CompletionItem:
        also = [] if item.also is None else [lsp.TextEdit(self._range(path, item.also[0], item.also[0]), item.also[1])]
        return lsp.CompletionItem(
            label=item.text,
            kind=_SORTS[item.sort],
            detail=item.detail,
            sort_text=f"{_RANKS[item.sort]}{item.text}",
            filter_text=item.text,
            text_edit=lsp.TextEdit(self._range(path, item.start, offset), item.text),
            additional_text_edits=also or None,
        )

    def hover(self, uri: str, position: lsp.Position) -> lsp.Hover | None:
        """Return what there is to say about a place."""
        path = path_of(uri)
        card = hover(self.workspace, path, self._offset(path, position))
        if card is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, card.text), self._range(path, card.start, card.end))

    def definition(self, uri: str, position: lsp.Position) -> lsp.Location | None:
        """Return where the name at a place is defined."""
        path = path_of(uri)
        mention = mention_at(self.workspace, path, self._offset(path, position))
        found = definition(self.workspace, path, mention.symbol) if mention is not None else None
        return None if found is None else self._location(found.path, found.at)

    def references(self, uri: str, position: lsp.Position, *, defining: bool) -> list[lsp.Location]:
        """Return where the name at a place stands, with its definition where `defining`."""
        path = path_of(uri)
        mention = mention_at(self.workspace, path, self._offset(path, position))
        if mention is None:
            return []
        found = references(self.workspace, path, mention.symbol)
        return [self._location(file, one.span) for file, one in found if defining or not one.defines]

    def renamed(self, uri: str, position: lsp.Position) -> lsp.PrepareRenamePlaceholder:
        """Return the name at a place that can be renamed. Raises UsageError."""
        path = path_of(uri)
        span = renamed(self.workspace, path, self._offset(path, position)).span
        name = self.workspace.text(path)[span.start : span.end].rpartition(".")[2]
        return lsp.PrepareRenamePlaceholder(self._range(path, span.end - len(name), span.end), name)

    def rename(self, uri: str, position: lsp.Position, name: str) -> lsp.WorkspaceEdit:
        """Return the changes that rename what stands at a place. Raises UsageError."""
        path = path_of(uri)
        changes: dict[str, Sequence[lsp.TextEdit]] = {}
        for change in rename(self.workspace, path, self._offset(path, position), name):
            edit = lsp.TextEdit(self._range(change.path, change.span.start, change.span.end), change.text)
            changes[self.uri(change.path)] = [*changes.get(self.uri(change.path), ()), edit]
        return lsp.WorkspaceEdit(changes=changes)

    # ---- a whole document

    def symbols(self, uri: str) -> list[lsp.DocumentSymbol]:
        """Return the table of contents of a document."""
        path = path_of(uri)
        return [self._symbol(path, entry) for entry in self.workspace.outline(path).entries]

    def _symbol(self, path: str, entry: Entry) -> lsp.DocumentSymbol:
        return lsp.DocumentSymbol(
            name=entry.name,
            kind=_KINDS[entry.kind],
            range=self._range(path, entry.span.start, entry.span.end),
            selection_range=self._range(path, entry.at.start, entry.at.end),
            detail=entry.detail,
            children=[self._symbol(path, inner) for inner in entry.inner],
        )

    def hints(self, uri: str, area: lsp.Range) -> list[lsp.InlayHint]:
        """Return how the examples in a range come out."""
        path = path_of(uri)
        sheet, world = self.workspace.sheet(path), self.workspace.world(path)
        start, end = self._offset(path, area.start), self._offset(path, area.end)
        trials = self._trials.of(sheet.tree, self.workspace.events(path), world.types, start, end)
        return [
            lsp.InlayHint(
                position=lsp.Position(*self._positions(path).place(one.span.end)),
                label=f"{'→' if one.sound else '✗'} {one.shown}",
                padding_left=True,
            )
            for one in trials
        ]

    def format(self, uri: str) -> list[lsp.TextEdit]:
        """Return the change that gives a document its canonical layout; none where it does not parse."""
        path = path_of(uri)
        old = self.workspace.text(path)
        try:
            new = format_tree(self.workspace.sheet(path).tree)
        except RuleError:
            return []
        if "\r\n" in old:
            new = new.replace("\n", "\r\n")
        if new == old:
            return []
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        return [lsp.TextEdit(self._range(path, head, len(old) - tail), new[head : len(new) - tail])]


def _common(one: str, other: str) -> int:
    """Return how many whole lines' characters two texts have in common at their start."""
    count = 0
    for line, also in zip(one.splitlines(keepends=True), other.splitlines(keepends=True), strict=False):
        if line != also:
            break
        count += len(line)
    return count
