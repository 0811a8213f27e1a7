"""The rule files that somebody edits: open texts before the files on disk, what each defines, and what is wrong with it.

Nothing is computed twice: a file's tree hangs on its text, its meaning on its tree and on the building blocks that it may use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import define, field

from denpex_rules import library
from denpex_rules.blocks import Blocks
from denpex_rules.compiler import check_rules
from denpex_rules.errors import Diagnostic, RuleError, Source, Span
from denpex_rules.library import LIB, SHIPPED, SUFFIX
from denpex_rules.lint import lint_rules
from denpex_rules.lower import Lowered, World, lower
from denpex_rules.outline import Outline, read
from denpex_rules.parser import Tree
from denpex_rules.pattern import Types
from denpex_rules.rule import Event, Rule, RuleSet, Step
from denpex_rules.taxonomy import FILE as TAXONOMY_FILE
from denpex_rules.taxonomy import Taxonomy, shipped_taxonomy

MOST_SOUND: Final = 5000  # events that are remembered to be sound
Stamp = tuple[int, int] | None  # of a file on disk: when it changed, and its size


@define(eq=False)
class Sheet:
    """One file with one text.

    Args:
        path: where it is; for a text that was never saved, what the editor calls it.
        root: the folder of its pack, None outside of one.
        place: its dotted path in the pack, the name of its rule.
        tree: its syntax.
    """

    path: str
    root: Path | None
    place: str
    tree: Tree
    _blocks: tuple[Mapping[str, Event | None], tuple[Diagnostic, ...]] | None = field(default=None, init=False)
    _lowered: tuple[World, Lowered] | None = field(default=None, init=False)
    _outline: tuple[World, Outline] | None = field(default=None, init=False)

    @property
    def source(self) -> Source:
        """The text."""
        return self.tree.source

    @property
    def text(self) -> str:
        """The text, as a string."""
        return self.tree.source.text

    @property
    def shared(self) -> bool:
        """Whether it holds building blocks."""
        return self.place.startswith(f"{LIB}.")

    def blocks(self) -> tuple[Mapping[str, Event | None], tuple[Diagnostic, ...]]:
        """Return the building blocks of a file in `lib/` by their paths, and its mistakes."""
        if self._blocks is None:
            self._blocks = library.lower_blocks(self.tree, SHIPPED, self.place)
        return self._blocks

    def lowered(self, world: World) -> Lowered:
        """Return what the file defines."""
        if self._lowered is None or self._lowered[0] is not world:
            self._lowered = world, lower(self.tree, world, SHIPPED, self.place)
        return self._lowered[1]

    def outline(self, world: World) -> Outline:
        """Return the names of the file and where they stand."""
        if self._outline is None or self._outline[0] is not world:
            place = self.place if self.shared else ""
            self._outline = world, read(self.tree, place, world.shared)
        return self._outline[1]


@define(eq=False)
class Pack:
    """The part of a pack that its files share."""

    root: Path | None
    files: tuple[str, ...] = ()  # of rules and building blocks
    taxonomy: Taxonomy = field(factory=shipped_taxonomy)
    broken: tuple[Diagnostic, ...] = ()  # mistakes of its classes
    known: frozenset[str] = frozenset()  # `pack:path` of the rules that `see` may name
    _stamp: Stamp = None
    _world: tuple[tuple[Sheet, ...], Taxonomy, World] | None = field(default=None, init=False)

    def refresh(self, path: str) -> None:
        """Look again at the folder; `path` is a file in it."""
        self.known = library.rule_names([path] if self.root is not None else ())
        if self.root is None:
            return
        self.files = tuple(sorted(str(p) for p in self.root.rglob(f"*{SUFFIX}") if p.is_file()))
        stamp = _stamp(self.root / TAXONOMY_FILE)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self.taxonomy, self.broken = library.pack_classes(self.root), ()
            except RuleError as error:
                self.taxonomy, self.broken = shipped_taxonomy(), error.diagnostics

    def world(self, sheets: Iterable[Sheet]) -> World:
        """Return what the files of the pack may refer to; `sheets` are those of its building blocks."""
        now = tuple(sheets)
        kept = self._world
        if kept is None or kept[1] is not self.taxonomy or len(kept[0]) != len(now) or any(map(_differ, kept[0], now)):
            shared: dict[str, Event | None] = {}
            for sheet in now:
                shared.update(sheet.blocks()[0])
            self._world = kept = now, self.taxonomy, library.world_of(self.taxonomy, shared)
        return kept[2]


def _differ(one: object, other: object) -> bool:
    return one is not other


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@define(eq=False)
class Workspace:
    """The open texts and the packs around them.

    Args:
        folders: what the editor has open; only files below them are changed by a renaming.
    """

    folders: tuple[Path, ...] = ()
    _open: dict[str, str] = field(factory=dict, init=False)
    _disk: dict[str, tuple[Stamp, str | None]] = field(factory=dict, init=False)
    _parsers: dict[str, Blocks] = field(factory=dict, init=False)
    _sheets: dict[str, Sheet] = field(factory=dict, init=False)
    _packs: dict[Path | None, Pack] = field(factory=dict, init=False)
    _sound: set[Event] = field(factory=set, init=False)
    _steps: dict[str, dict[str, dict[str, Step]]] = field(factory=dict, init=False)  # by file, rule and text
    _roots: dict[Path, Path | None] = field(factory=dict, init=False)  # of the packs, by the folder of a file

    # ---- texts

    def open(self, path: str, text: str) -> None:
        """Take the text of an open file instead of the one on disk."""
        self._open[path] = text.removeprefix("\ufeff")

    def close(self, path: str) -> None:
        """Go back to the file on disk."""
        self._open.pop(path, None)
        self._disk.pop(path, None)
        if not Path(path).is_file():
            for kept in (self._sheets, self._parsers, self._steps):
                kept.pop(path, None)

    @property
    def opened(self) -> tuple[str, ...]:
        """The paths of the open files."""
        return tuple(self._open)

    def text(self, path: str) -> str:
        """Return the text of a file, "" where there is none that could be read."""
        if path in self._open:
            return self._open[path]
        if path not in self._disk:
            stamp = _stamp(Path(path))
            self._disk[path] = stamp, None if stamp is None else _read(Path(path))
        return self._disk[path][1] or ""

    def refresh(self, path: str) -> None:
        """Look again at the disk: at the pack around a file, and at what was read from it."""
        for read_before, (stamp, _) in list(self._disk.items()):
            if _stamp(Path(read_before)) != stamp:
                del self._disk[read_before]
        self._roots.clear()
        self._pack(path).refresh(path)

    # ---- meaning

    def sheet(self, path: str) -> Sheet:
        """Return a file with its text of now."""
        text = self.text(path)
        kept = self._sheets.get(path)
        root = self._pack(path).root
        if kept is None or kept.source.text != text or kept.root != root:
            place = library.place_of(Path(path), root) if root is not None else Path(path).stem
            tree = self._parsers.setdefault(path, Blocks()).parse(Source(path, text))
            kept = self._sheets[path] = Sheet(path, root, place, tree)
        return kept

    def _pack(self, path: str) -> Pack:
        folder = Path(path).parent
        if folder not in self._roots:
            self._roots[folder] = library.pack_root(Path(path)) if folder.is_absolute() else None
        root = self._roots[folder]
        if root not in self._packs:
            self._packs[root] = Pack(root)
            self._packs[root].refresh(path)
        return self._packs[root]

    def world(self, path: str) -> World:
        """Return what a file may refer to."""
        pack = self._pack(path)
        lib = "" if pack.root is None else f"{pack.root / LIB}/"
        files = [file for file in pack.files if lib and file.startswith(lib)]
        files += [file for file in self._open if lib and file.startswith(lib) and file not in pack.files]
        return pack.world(self.sheet(file) for file in sorted(files))

    def outline(self, path: str) -> Outline:
        """Return the names of a file and where they stand."""
        return self.sheet(path).outline(self.world(path))

    def files(self, path: str) -> tuple[str, ...]:
        """Return the files of the pack around a file, open ones that were never saved included."""
        pack = self._pack(path)
        return tuple(dict.fromkeys((*pack.files, *(p for p in self._open if self._pack(p) is pack))))

    def events(self, path: str) -> tuple[Event, ...]:
        """Return the events that a file defines."""
        found, _ = self._defined(self.sheet(path))
        return (*found.shared, *found.private)

    def rules(self, path: str) -> frozenset[str]:
        """Return `pack:path` of every rule that a file may name."""
        return self._pack(path).known

    def taxonomy_file(self, path: str) -> Path | None:
        """Return the file with the classes of the pack around a file."""
        root = self._pack(path).root
        return None if root is None or not (root / TAXONOMY_FILE).is_file() else root / TAXONOMY_FILE

    def owns(self, path: str) -> bool:
        """Say whether a file may be changed: it is open, or below a folder of the editor."""
        return path in self._open or any(Path(path).is_relative_to(folder) for folder in self.folders)

    def step(self, path: str, rule: str, statement: str) -> Step | None:
        """Return a step of a rule by its text. While the rule has mistakes, it is what the step was before them."""
        lowered = self.sheet(path).lowered(self.world(path))
        steps = self._steps.setdefault(path, {})
        text = self.sheet(path).source.text
        steps.update({one.id: {text[s.span.start : s.span.end]: s for s in one.steps} for one in lowered.rules})
        return steps.get(rule, {}).get(statement)

    # ---- mistakes

    def check(self, path: str) -> tuple[Diagnostic, ...]:
        """Return what `rulecheck check` says about a file: its mistakes, or advice where there are none."""
        return self.mistakes(path) or self.advice(path)()

    def mistakes(self, path: str) -> tuple[Diagnostic, ...]:
        """Return what keeps the rules of a file from being used."""
        sheet, pack = self.sheet(path), self._pack(path)
        if pack.broken:
            return (*sheet.tree.diagnostics, _classes_unread(sheet, pack.broken[0]))
        found, mistakes = self._defined(sheet)
        if not mistakes and not found.unsound:
            mistakes = self._deeper(sheet, found)
        return tuple(d for d in dict.fromkeys(mistakes) if d.span.path == path)

    def advice(self, path: str) -> Callable[[], tuple[Diagnostic, ...]]:
        """Return a function that returns the advice about a file that is free of mistakes; it may run in another thread."""
        sheet, pack, world = self.sheet(path), self._pack(path), self.world(path)
        found, _ = self._defined(sheet)
        rules = RuleSet(found.rules, (*found.shared, *found.private, *found.used))
        known, sources, trees = pack.known, {path: sheet.source}, {path: sheet.tree}

        def advise() -> tuple[Diagnostic, ...]:
            advice = lint_rules(rules, world.taxonomy, types=world.types, known=known, sources=sources, trees=trees)
            return tuple(d for d in advice if d.span.path == path)

        return (lambda: ()) if found.unsound else advise

    def _defined(self, sheet: Sheet) -> tuple[Lowered, list[Diagnostic]]:
        """Return what a file defines, and the mistakes in its names and types."""
        if sheet.shared:
            shared, mistakes = sheet.blocks()
            found = Lowered(shared=tuple(e for e in shared.values() if e is not None))
            return found, [*mistakes, *self._taken(sheet)]
        found = sheet.lowered(self.world(sheet.path))
        return found, [*found.diagnostics, *_misplaced(sheet, found.rules)]

    def _taken(self, sheet: Sheet) -> Iterator[Diagnostic]:
        """Yield a mistake for each building block of which a file above has one of the same path."""
        lib = [f for f in self._pack(sheet.path).files if f < sheet.path and self.sheet(f).shared]
        above = {name for f in lib for name, event in self.sheet(f).blocks()[0].items() if event is not None}
        for name, event in sheet.blocks()[0].items():
            if event is not None and name in above:
                yield library.defined_already(name, event, sheet.source)

    def _deeper(self, sheet: Sheet, found: Lowered) -> list[Diagnostic]:
        """Return the mistakes that are seen only where names and types are right: in patterns, examples and bounds."""
        types = self.world(sheet.path).types
        doubtful = RuleSet(found.rules, self._doubtful((*found.shared, *found.private), types))
        return check_rules(doubtful, types=types, sources={sheet.path: sheet.source})

    def _doubtful(self, events: Iterable[Event], types: Types) -> tuple[Event, ...]:
        """Return the events that are not known to be sound."""
        if len(self._sound) > MOST_SOUND:
            self._sound.clear()
        doubtful = tuple(event for event in events if event not in self._sound)
        for event in doubtful:
            if not check_rules(RuleSet((), (event,)), types=types):
                self._sound.add(event)
        return tuple(event for event in doubtful if event not in self._sound)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")  # its line ends stay what they are
    except (OSError, UnicodeDecodeError):
        return None


def _misplaced(sheet: Sheet, rules: Iterable[Rule]) -> Iterator[Diagnostic]:
    """Yield a mistake for each rule that is not named for its path, or that was named before."""
    first: dict[str, Rule] = {}
    for rule in rules:
        before = first.setdefault(rule.id, rule)
        if before is not rule:
            yield library.defined_twice(rule, before, sheet.source)
        if sheet.root is not None and rule.id != sheet.place:
            yield library.misnamed(rule, sheet.place, sheet.source)


def _classes_unread(sheet: Sheet, cause: Diagnostic) -> Diagnostic:
    span: Span = sheet.source.span(0, len(sheet.source.line(1)))
    message = f"the classes of this pack can't be read, so its rules are not checked: {cause.message}"
    return sheet.source.diagnostic("E0607", message, span, hint=f"see line {cause.span.line} of {cause.span.path}")
