"""What may be written at a place of a rule file: the words that the grammar takes there, and the names that make sense there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from attrs import define, field, frozen

from denpex_rules.blocks import cuts
from denpex_rules.glossary import FIELDS, WORDS
from denpex_rules.lower import World
from denpex_rules.mistake import Token
from denpex_rules.outline import Names, Outline, Symbol, captures_in
from denpex_rules.parser import follow, words
from denpex_rules.recovery import statement_before
from denpex_rules.rule import IMPACTS, KEYS, KINDS, LEVELS, SILENCE, STATUSES
from denpex_rules.workspace import Workspace

Sort = Literal["keyword", "event", "step", "value", "field", "moment", "class", "type", "function", "rule", "block", "choice"]

LONGEST: Final = 200  # characters of a word that is completed
_WORD: Final = re.compile(r"[A-Za-z_][\w]*$")
_PATH: Final = re.compile(r"[A-Za-z_][\w.]*$")
_OPEN: Final = re.compile(r"(?<!\{)(?:\{\{)*\{(?P<inner>[\w.]*(?::\w*)?)$")
_CHOICES: Final[Mapping[str, Sequence[str]]] = {"impact": IMPACTS, "level": LEVELS, "status": STATUSES, "per": KEYS}
_EXAMPLES: Final = frozenset({"like", "unlike"})
_INSTANTS: Final = frozenset({"before", "after", "between", "at", "onset", "else"})
_VALUES: Final = frozenset({"where", "and", ",", "(", "let", "rank", "host", "device", "on", "victim", "reporter", "="})
_STARTS: Final[Mapping[str, str]] = {"language": "header", "use": "use", "rule": "rule_head"}


@frozen
class Item:
    """One thing that may be written.

    Args:
        text: what is written.
        sort: what it is.
        detail: a few words beside it.
        start: the offset from which on it replaces what stands there, up to where the author is.
        also: a text that it needs elsewhere in the file, and the offset at which that is put in.
    """

    text: str
    sort: Sort
    detail: str
    start: int
    also: tuple[int, str] | None = None


def complete(workspace: Workspace, path: str, offset: int) -> tuple[Item, ...]:
    """Return what may be written at an offset of a file."""
    sheet = workspace.sheet(path)
    partial = _WORD.search(sheet.text, max(0, offset - LONGEST), offset)
    start = partial.start() if partial is not None else offset
    block = max(cut for cut in cuts(sheet.text) if cut <= start)
    statement = statement_before(sheet.text, block, start, words())
    if statement is None:
        return ()
    place = _Place(workspace, path, sheet.text[:offset], workspace.outline(path), workspace.world(path), offset)
    found = place.in_text(statement.tokens) if statement.open else place.in_code(statement.tokens, ruled=statement.ruled)
    return tuple(dict.fromkeys(found))


@define
class _Place:
    workspace: Workspace
    path: str
    before: str  # the text up to the author
    outline: Outline
    world: World
    offset: int
    names: Names = field(init=False)

    @names.default
    def _names(self) -> Names:
        return self.outline.names(self.offset)

    # ---- inside of quotes

    def in_text(self, tokens: Sequence[Token]) -> Iterator[Item]:
        """Yield what may stand at the end of a text whose quote is open: the last of the tokens."""
        text = self.before[tokens[-1].start :]
        keyword = tokens[0].text if len(tokens) > 1 else ""
        if keyword == "see" and len(tokens) == 2:
            start = tokens[-1].start + 1
            for name in sorted(self.workspace.rules(self.path)):
                pack, _, rule = name.partition(":")
                yield Item(rule if pack == "denpex" else name, "rule", pack, start)
            return
        opened = _OPEN.search(text)
        if opened is None:
            return
        start = self.offset - len(opened["inner"])
        if keyword in {"event", "identity"} and tokens[-2].text not in _EXAMPLES:
            name, colon, _ = opened["inner"].partition(":")
            if colon:
                yield from self._types(start + len(name) + 1)
            else:
                yield from (Item(field, "field", text, start) for field, text in FIELDS.items())
        elif keyword in {"why", "do", "verify"}:
            step, dot, _ = opened["inner"].partition(".")
            if dot:
                yield from self._fields(self.names.steps.get(step), start + len(step) + 1)
            else:
                yield from self._steps(start)
                yield from self._lets(start)

    # ---- outside of quotes

    def in_code(self, pieces: Sequence[Token], *, ruled: bool) -> Iterator[Item]:
        """Yield what may stand behind the pieces of a statement; `ruled` says whether that is inside a rule."""
        partial = _WORD.search(self.before)
        start = partial.start() if partial else self.offset
        line = self.before[self.before.rfind("\n") + 1 : start]
        first = not line.strip()
        keyword = pieces[0].text if pieces else ""
        construct = _STARTS.get(keyword, "body" if ruled else "event" if keyword in {"event", "identity"} else "start")
        text = self.before[pieces[0].start : pieces[-1].end] if pieces else ""
        taken = follow(text, construct) if pieces else frozenset[str]()
        yield from self._keywords(taken, first=first or not pieces, ruled=ruled, start=start)
        if not first and "NAME" in taken:
            yield from self._named(pieces, start)

    def _keywords(self, taken: frozenset[str], *, first: bool, ruled: bool, start: int) -> Iterator[Item]:
        statements = words().statements if ruled else frozenset({"event", "identity", "rule", "use", "language"})
        known = taken & WORDS.keys()
        if first:
            known = (known - words().statements) | statements
            if not ruled and self.before[:start].strip():
                known -= {"language"}
        else:
            known -= words().statements - {"class", "let"} if not ruled else words().statements
        for word in sorted(known):
            yield Item(word, "keyword", WORDS.get(word, ""), start)

    def _named(self, pieces: Sequence[Token], start: int) -> Iterator[Item]:
        """Yield the names that fit behind a statement's pieces."""
        keyword, last = pieces[0].text, pieces[-1].text
        before = pieces[-2].text if len(pieces) > 1 else ""
        path = _PATH.search(self.before)
        whole = path.start() if path else start
        if keyword == "use" and last != "as":
            yield from self._blocks(whole)
        elif keyword in {"class", "causes"}:
            yield from self._classes(whole)
        elif keyword == "rule":
            sheet = self.workspace.sheet(self.path)
            if sheet.root is not None:
                yield Item(sheet.place, "rule", "the path of this file", whole)
        elif keyword in _CHOICES:
            yield from (Item(choice, "choice", f"a value of `{keyword}`", start) for choice in _CHOICES[keyword])
        elif keyword in {"event", "identity"}:
            yield from self._in_event(pieces, start)
        elif last == ".":
            yield from self._behind_dot(pieces, before, start)
        else:
            yield from self._in_rule(pieces, start)

    def _in_event(self, pieces: Sequence[Token], start: int) -> Iterator[Item]:
        last = pieces[-1].text
        said = [t.text for t in pieces]
        detail = next((w for w in reversed(said) if w in {"like", "unlike", "with", "moment", "in"}), "")
        if last == ":":
            yield from self._types(start)
        elif detail == "in":
            yield from (Item(kind, "choice", "a kind of log", start) for kind in KINDS)
        elif last in {"with", "+", "-"}:
            patterns = (
                t.text for i, t in enumerate(pieces) if t.kind in {"string", "regex"} and pieces[i - 1].text not in _EXAMPLES
            )
            for capture in dict.fromkeys(name for pattern in patterns for name in captures_in(pattern)):
                yield Item(capture, "field", "a capture of this event", start)

    def _behind_dot(self, pieces: Sequence[Token], step: str, start: int) -> Iterator[Item]:
        event = self.names.steps.get(step)
        context = next((t.text for t in reversed(pieces[:-2]) if t.text in _INSTANTS | _VALUES | {"+", "-"}), "")
        if context in _INSTANTS or (context == "and" and self._between(pieces)):
            yield from self._moments(event, start)
        else:
            yield from self._fields(event, start)

    def _between(self, pieces: Sequence[Token]) -> bool:
        """Say whether the last `and` joins the ends of a window."""
        said = [t.text for t in pieces if t.text in {"between", "where", "and"}]
        return len(said) > 1 and said[-1] == "and" and said[-2] == "between"

    def _in_rule(self, pieces: Sequence[Token], start: int) -> Iterator[Item]:
        keyword, last = pieces[0].text, pieces[-1].text
        own = self._own(pieces)
        if keyword in {"require", "confirm", "refute", "unless"} and self._sought(pieces):
            yield from self._events(start)
            if last != "first":
                yield Item(SILENCE, "keyword", WORDS[SILENCE], start)
        elif last in {"first", "last", "next"}:
            yield from self._events(start)
        elif last == "distinct":
            yield from self._fields(own, start)
        elif (
            last == "when"
            or (last in {"before", "after", "between", "at"})
            or (last == "and" and self._between(pieces))
            or (keyword == "onset" and last in {"onset", "else"})
        ):
            yield from self._steps(start)
        elif last in _VALUES | {"==", "!=", "<", "<=", ">", ">="}:
            yield from self._fields(own, start)
            yield from self._lets(start)
            yield from self._steps(start)
            yield from self._functions(start, conditions=last in {"where", "and", ","})
        elif last in {"+", "-"}:
            yield from self._steps(start)
        else:  # behind a whole clause: a window may ask for a moment
            yield from self._moments(own, start)

    def _instant(self, keyword: str, last: str, pieces: Sequence[Token]) -> bool:
        """Say whether the name of a step is what comes next."""
        if last in {"when", "before", "after", "between", "at"}:
            return True
        return (last == "and" and self._between(pieces)) or (keyword == "onset" and last in {"onset", "else"})

    def _sought(self, pieces: Sequence[Token]) -> bool:
        """Say whether a step's event is what comes next."""
        last = pieces[-1].text
        return len(pieces) == 1 or (last == "=" and len(pieces) == 3) or (last in {"first", "last"} and len(pieces) <= 4)

    def _own(self, pieces: Sequence[Token]) -> Symbol | None:
        """Return the event whose fields a bare name may be: that of the step, or of the look-up, that is written."""
        looked = [i for i, t in enumerate(pieces[:-1]) if t.text in {"first", "last", "next"}]
        if pieces[0].text == "onset":
            name = pieces[looked[-1] + 1].text if looked else ""
        else:
            at = 3 if len(pieces) > 3 and pieces[2].text == "=" else 1
            at += int(len(pieces) > at and pieces[at].text in {"first", "last"})
            name = pieces[at].text if len(pieces) > at else ""
        return self.names.events.get(name)

    # ---- lists of names

    def _blocks(self, start: int) -> Iterator[Item]:
        for path, event in sorted(self.world.shared.items()):
            if event is not None:
                yield Item(path, "block", ", ".join(dict(event.captures)) or "no captures", start)

    def _classes(self, start: int) -> Iterator[Item]:
        for name, one in sorted(self.world.taxonomy.classes.items()):
            yield Item(name, "class", one.title, start)

    def _types(self, start: int) -> Iterator[Item]:
        for name, one in sorted(self.world.types.items()):
            yield Item(name, "type", f"{one.summary}, such as {one.example}", start)

    def _events(self, start: int) -> Iterator[Item]:
        for name, symbol in self.names.events.items():
            target = self.outline.targets.get(symbol, symbol)
            yield Item(name, "event", target.name if target.name != name else "an event of this file", start)
        yield from self._unused_blocks(start)

    def _unused_blocks(self, start: int) -> Iterator[Item]:
        """Yield the building blocks that the file does not use yet, with the `use` that they need."""
        root = self.workspace.sheet(self.path).tree.root
        above = root.nodes("use") or root.nodes("header")
        if not above:
            return
        end = above[-1].span.end
        used = {symbol.name for symbol in (*self.names.events.values(), *self.outline.targets.values())}
        for path, event in sorted(self.world.shared.items()):
            if event is not None and path not in used and event.name not in self.names.events:
                yield Item(event.name, "block", path, start, (end, f", {path}" if root.nodes("use") else f"\nuse {path}"))

    def _steps(self, start: int) -> Iterator[Item]:
        for name, event in self.names.steps.items():
            if event is not None:
                yield Item(name, "step", f"a step that asks for {event.name.rpartition('.')[2]}", start)

    def _lets(self, start: int) -> Iterator[Item]:
        yield from (Item(name, "value", "a `let`", start) for name in self.names.lets)

    def _fields(self, event: Symbol | None, start: int) -> Iterator[Item]:
        captures = () if event is None else self.outline.captures.get(event, ())
        yield from (Item(name, "field", "a capture", start) for name in captures)
        yield from (Item(name, "field", text, start) for name, text in FIELDS.items() if name not in captures)

    def _moments(self, event: Symbol | None, start: int) -> Iterator[Item]:
        moments: Iterable[str] = () if event is None else self.outline.moments.get(event, ())
        yield from (Item(name, "moment", "a moment of the event", start) for name in moments)

    def _functions(self, start: int, *, conditions: bool) -> Iterator[Item]:
        for name, one in sorted(self.world.signatures.items()):
            if one.result != "bool" or conditions:
                yield Item(name, "function", one.summary, start)
