"""Where a name of a rule file is defined, where it is used in all files of its pack, and what renaming it changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from denpex_rules.errors import Source, Span, UsageError
from denpex_rules.library import LIB, SHIPPED, SUFFIX, block_name, pack_folder
from denpex_rules.outline import Entry, Mention, Outline, Symbol
from denpex_rules.parser import Broken, Node, keywords
from denpex_rules.rule import SILENCE
from denpex_rules.taxonomy import FILE as TAXONOMY_FILE
from denpex_rules.workspace import Workspace

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RENAMED: Final = frozenset({"event", "alias", "step", "let", "capture", "moment"})
_WHY_NOT: Final = {
    "rule": "a rule is named for its file: move the file and change the name in it",
    "class": "a class is renamed in the taxonomy and in every rule that names it",
    "type": "a capture type is part of the language",
    "function": "a function is part of the language",
    "field": "a field of the actor is part of the language",
}


@frozen
class Place:
    """A definition: the file, the name in it, and the whole construct."""

    path: str
    at: Span
    whole: Span


@frozen
class Change:
    """One part of a renaming: the text that replaces a range of a file."""

    path: str
    span: Span
    text: str


def mention_at(workspace: Workspace, path: str, offset: int) -> Mention | None:
    """Return what stands at an offset: a name of a statement that parses, or one that is known in a statement that does not."""
    outline = workspace.outline(path)
    return outline.at(offset) or _guess(workspace.sheet(path).source, outline, offset)


def _guess(source: Source, outline: Outline, offset: int) -> Mention | None:
    """Return the name at an offset by its looks."""
    start = source.text.rfind("\n", 0, offset) + 1
    end = source.text.find("\n", offset)
    line = source.text[start : len(source.text) if end < 0 else end]
    bare = re.sub(r'"(\\.|[^"\\])*"?|#.*', lambda m: " " * len(m[0]), line)
    word = next((m for m in _NAME.finditer(bare) if m.start() <= offset - start <= m.end()), None)
    if word is None or word[0] in keywords():
        return None
    names = outline.names(offset)
    symbol = names.named.get(word[0]) or names.lets.get(word[0]) or names.events.get(word[0])
    return None if symbol is None else Mention(symbol, source.span(start + word.start(), start + word.end()))


# ------------------------------------------------------------------ definitions


def definition(workspace: Workspace, path: str, symbol: Symbol) -> Place | None:
    """Return where a symbol that a file mentions is defined, None where it is defined nowhere."""
    if symbol.kind == "class":
        return _class(workspace, path, symbol.name)
    outline = workspace.outline(path)
    symbol = outline.targets.get(symbol, symbol)
    for file in _defining(workspace, path, symbol):
        found = next((m for m in workspace.outline(file).of(symbol) if m.defines), None)
        if found is not None:
            return Place(file, found.span, _whole(workspace.outline(file), found.span))
    return None


def _whole(outline: Outline, at: Span) -> Span:
    """Return the event, step or `let` around a name, else the name."""
    entries = [e for entry in outline.entries for e in (*entry.inner, entry) if e.kind != "rule"]
    return next((e.span for e in entries if e.span.start <= at.start and at.end <= e.span.end), at)


def owner(outline: Outline, at: Span) -> Entry | None:
    """Return the event in which a capture or moment is defined."""
    entries = [e for entry in outline.entries for e in (*entry.inner, entry) if e.kind == "event"]
    return next((e for e in entries if e.span.start <= at.start and at.end <= e.span.end), None)


def _block(symbol: Symbol) -> str:
    """Return the path of the building block that a symbol is, or is a part of; "" for what is private to a file."""
    if symbol.kind == "event" and not symbol.home:
        return symbol.name
    return symbol.home[1:] if symbol.home.startswith(">") else ""


def _defining(workspace: Workspace, path: str, symbol: Symbol) -> Iterator[str]:
    """Yield the files that may define a symbol."""
    block = _block(symbol)
    if symbol.kind == "rule":
        parts = symbol.name.split(".")
        roots = (workspace.sheet(path).root, pack_folder(SHIPPED))
        yield path
        yield from (str(root.joinpath(*parts).with_suffix(SUFFIX)) for root in roots if root is not None)
    elif not block:
        yield path
    else:
        shipped = str(next(iter(sorted((pack_folder(SHIPPED) / LIB).glob(f"*{SUFFIX}")))))
        for file in dict.fromkeys((*workspace.files(path), *workspace.files(shipped))):
            sheet = workspace.sheet(file) if f"/{LIB}/" in file else None
            if sheet is not None and sheet.shared and sheet.blocks()[0].get(block) is not None:
                yield file


def _class(workspace: Workspace, path: str, name: str) -> Place | None:
    for file in (workspace.taxonomy_file(path), pack_folder(SHIPPED) / TAXONOMY_FILE):
        if file is None:
            continue
        text = workspace.text(str(file))
        match = re.search(rf'^\s*id\s*=\s*"({re.escape(name)})"', text, re.MULTILINE)
        if match is not None:
            span = Source(str(file), text).span(match.start(1), match.end(1))
            return Place(str(file), span, span)
    return None


# ------------------------------------------------------------------ uses


def references(workspace: Workspace, path: str, symbol: Symbol) -> Iterator[tuple[str, Mention]]:
    """Yield every place at which a symbol stands, in all files of the pack where all may name it; its definition is one of them."""
    symbol = workspace.outline(path).targets.get(symbol, symbol)
    for file in _using(workspace, path, symbol):
        outline = workspace.outline(file)
        also = {alias for alias, target in outline.targets.items() if target == symbol}
        yield from ((file, m) for m in outline.mentions if m.symbol == symbol or m.symbol in also)


def _using(workspace: Workspace, path: str, symbol: Symbol) -> Iterator[str]:
    block = _block(symbol)
    if not block and symbol.kind not in {"class", "rule", "type", "function"}:
        yield path
        return
    word = re.compile(rf"\b{re.escape(symbol.name)}\b")
    path_of_block = re.compile(rf"\b{re.escape(block)}\b")
    files = [*workspace.files(path), *_defining(workspace, path, symbol), path]
    for file in dict.fromkeys(files):
        text = workspace.text(file)
        defines = block and workspace.sheet(file).shared if f"/{LIB}/" in file else False
        if defines or word.search(text) or (block and path_of_block.search(text)):
            yield file


# ------------------------------------------------------------------ renaming


def renamed(workspace: Workspace, path: str, offset: int) -> Mention:
    """Return the name at an offset that a renaming would change.

    Raises:
        UsageError: there is none, or it can't be renamed.
    """
    mention = mention_at(workspace, path, offset)
    if mention is None:
        raise UsageError("there is no name here")
    if mention.symbol.kind not in _RENAMED:
        raise UsageError(f"`{mention.symbol.name}` can't be renamed here: {_WHY_NOT[mention.symbol.kind]}")
    return mention


def rename(workspace: Workspace, path: str, offset: int, name: str) -> tuple[Change, ...]:
    """Return the changes that rename what stands at an offset, in all files.

    Raises:
        UsageError: the new name is none or is taken, or a file that mentions the old one must not be changed or does not parse.
    """
    symbol = renamed(workspace, path, offset).symbol
    if not _NAME.fullmatch(name) or name in keywords() | {SILENCE, "time"}:
        raise UsageError(f"`{name}` can't be a name")
    found = definition(workspace, path, symbol) if symbol.kind != "alias" else None
    block = _block(symbol)
    if block and found is None:
        raise UsageError(f"`{symbol.name}` is defined nowhere")
    changes: list[Change] = []
    for file in dict.fromkeys((*((found.path,) if found is not None else ()), *_using(workspace, path, symbol))):
        mentions = list(workspace.outline(file).of(symbol))
        if mentions:
            _check(workspace, file, symbol, mentions, name)
            changes += [Change(file, m.span, _written(workspace, m, file, found, name)) for m in mentions]
    return tuple(changes)


def _written(workspace: Workspace, mention: Mention, file: str, found: Place | None, name: str) -> str:
    """Return what replaces one mention: the name, or the path of a building block that ends with it."""
    old = workspace.text(file)[mention.span.start : mention.span.end]
    return block_name(name, workspace.sheet(found.path).place) if "." in old and found is not None else name


def _check(workspace: Workspace, file: str, symbol: Symbol, mentions: list[Mention], name: str) -> None:
    if not workspace.owns(file):
        raise UsageError(f"`{symbol.name}` stands in {Path(file).name}, which is not part of the open folders")
    outline, sheet = workspace.outline(file), workspace.sheet(file)
    old = sheet.text[mentions[0].span.start : mentions[0].span.end].rpartition(".")[2]
    if any(old in broken.words for broken in _broken(sheet.tree.root)):
        raise UsageError(f"a statement of {Path(file).name} that mentions `{old}` does not parse: mend it first")
    for mention in mentions:
        names = outline.names(mention.span.start)
        if symbol.kind in {"capture", "moment"}:
            taken = any(m.symbol.home == symbol.home and m.symbol.name == name for m in outline.mentions)
        else:
            taken = name in names.events or name in names.named or name in names.lets
        if taken:
            raise UsageError(f"there is a `{name}` in {Path(file).name} already")


def _broken(node: Node) -> Iterator[Broken]:
    yield from node.broken()
    for child in node.nodes():
        if child.kind in {"rule", "body"}:
            yield from _broken(child)
