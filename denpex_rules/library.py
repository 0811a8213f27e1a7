"""Find rule files, resolve their building blocks, and put them together to a RuleSet. All mistakes of all files are reported.

A pack is a folder: rules filed by path (`hardware/gpu/fell_off_bus.rule` is the rule `hardware.gpu.fell_off_bus`), shared
events in `lib/`, and its own classes in `taxonomy.toml`. Whatever is loaded may use the shipped pack's building blocks and
classes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from attrs import define, evolve, field, frozen

from denpex_rules import plugins
from denpex_rules.errors import Diagnostic, RuleError, Source, Span, UsageError
from denpex_rules.functions import FUNCTIONS
from denpex_rules.lower import Lowered, World, lower
from denpex_rules.mistake import did_you_mean
from denpex_rules.parser import Node, Tree, parse
from denpex_rules.rule import PROGRESS, Event, Rule, RuleSet
from denpex_rules.shipped import shipped
from denpex_rules.taxonomy import FILE as TAXONOMY_FILE
from denpex_rules.taxonomy import Taxonomy, load_taxonomy, shipped_taxonomy

SHIPPED: Final = "denpex"
SUFFIX: Final = ".rule"
LIB: Final = "lib"

Checked = tuple[RuleSet | None, tuple[Diagnostic, ...]]


@frozen
class _Lib:
    """The building blocks of one pack by path; None stands for one that did not lower."""

    shared: Mapping[str, Event | None] = field(factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


# ------------------------------------------------------------------ public


def load_text(text: str, path: str = "<text>", pack: str = SHIPPED) -> RuleSet:
    """Return the rules of a text; `use` refers to the shipped building blocks.

    Args:
        text: a whole rule file.
        path: what diagnostics call it.
        pack: the namespace of its rules.

    Raises:
        RuleError: the text has mistakes; it carries all of them.
    """
    return _sound(check_text(text, path, pack))


def check_text(text: str, path: str = "<text>", pack: str = SHIPPED) -> Checked:
    """Return what `load_text` would, and the diagnostics instead of an exception."""
    collection = _Collection(pack)
    collection.add(Source(path, text.removeprefix("\ufeff")), "text", _world(None, _Lib()))
    return collection.finish()


def load_paths(paths: Iterable[str | Path], pack: str = SHIPPED) -> RuleSet:
    """Return the rules of files and folders together.

    A folder is a pack: its rules are named by their paths in it and may use its `lib/`.

    Raises:
        RuleError: a file has mistakes; it carries those of all files.
        UsageError: a path does not exist, or a folder holds no rule.
    """
    return _sound(check_paths(paths, pack))


def check_paths(paths: Iterable[str | Path], pack: str = SHIPPED) -> Checked:
    """Return what `load_paths` would, and the diagnostics instead of an exception. Raises UsageError."""
    collection = _Collection(pack)
    for path in map(Path, paths):
        if path.is_dir():
            collection.add_folder(path)
        elif path.is_file():
            collection.add_file(path)
        else:
            raise UsageError(f"there is no file or folder {path}")
    return collection.finish()


def load_pack(name: str = SHIPPED) -> RuleSet:
    """Return the rules of a pack: the shipped one, or one that an installed package offers.

    Raises:
        RuleError: the pack has mistakes.
        UsageError: there is no such pack.
        PluginError: the package that offers it does not keep its promise.
    """
    return _sound(check_pack(name))


def check_pack(name: str = SHIPPED) -> Checked:
    """Return what `load_pack` would, and the diagnostics instead of an exception. Raises UsageError and PluginError."""
    return check_paths([pack_folder(name)], name)


def packs() -> tuple[str, ...]:
    """Return the names of the packs that can be loaded. Raises PluginError."""
    return (SHIPPED, *sorted(plugins.load(plugins.PACKS)))


def pack_folder(name: str) -> Path:
    """Return the folder of a pack. Raises UsageError and PluginError."""
    if name == SHIPPED:
        return shipped("rules")
    folder = plugins.load(plugins.PACKS).get(name)
    if not isinstance(folder, Path):
        raise UsageError(f"there is no rule pack `{name}`; {did_you_mean(name, packs()) or 'known: ' + ', '.join(packs())}")
    return folder


def rule_names(paths: Iterable[str | Path] = ()) -> frozenset[str]:
    """Return `pack:path` of the rules that the files of the known packs, and of the packs around `paths`, are named for.

    The files are not read. Raises PluginError.
    """
    folders = [(name, pack_folder(name)) for name in packs()]
    folders += [
        (SHIPPED, root) for p in map(Path, paths) if (root := pack_root(p.absolute() / SUFFIX if p.is_dir() else p.absolute()))
    ]
    places = ((name, place_of(path, root)) for name, root in folders for path in root.rglob(f"*{SUFFIX}"))
    return frozenset(f"{name}:{place}" for name, place in places if not place.startswith(f"{LIB}."))


def merge(sets: Iterable[RuleSet]) -> RuleSet:
    """Return several rule sets as one.

    Raises:
        RuleError: two sets define one rule.
    """
    rules: dict[str, Rule] = {}
    events: dict[str, Event] = {}
    twice: list[Diagnostic] = []
    for one in sets:
        twice += [
            Diagnostic("E0202", f"the rule `{rule.qualified}` is defined twice", rule.span)
            for rule in one.rules
            if rules.setdefault(rule.qualified, rule) != rule
        ]
        events.update({e.id: e for e in one.events})
    if twice:
        raise RuleError(twice)
    return RuleSet(tuple(rules.values()), tuple(events.values()))


def _sound(checked: Checked) -> RuleSet:
    found, diagnostics = checked
    if found is None:
        raise RuleError(diagnostics)
    return found


# ------------------------------------------------------------------ collecting


@define
class _Collection:
    """Gathers files, then gives the RuleSet, or None where there are errors."""

    pack: str
    lowered: list[Lowered] = field(factory=list)
    diagnostics: list[Diagnostic] = field(factory=list)
    _first: dict[str, Rule] = field(factory=dict)
    _read_already: set[Path] = field(factory=set)

    def add(self, source: Source, place: str, world: World) -> Lowered:
        """Add the text of one file. Its rules must not be defined elsewhere."""
        lowered = lower(parse(source), world, self.pack, place)
        self.lowered.append(lowered)
        self.diagnostics += lowered.diagnostics
        for rule in lowered.rules:
            first = self._first.setdefault(rule.id, rule)
            if first is not rule:
                self.diagnostics.append(defined_twice(rule, first, source))
        return lowered

    def add_file(self, path: Path) -> None:
        """Add one file; inside a pack's folder it may use that pack's building blocks."""
        root = pack_root(path.absolute())
        if root is None:
            source = self._read(path)
            if source is not None:
                self.add(source, path.stem, _world(None, _Lib()))
        else:
            self._add_from(root, [path])

    def add_folder(self, root: Path) -> None:
        """Add all files of a pack, or of a folder inside one."""
        files = sorted(p for p in root.rglob(f"*{SUFFIX}") if p.is_file())
        if not files:
            raise UsageError(f"there is no {SUFFIX} file in {root}")
        self._add_from(pack_root(root.absolute() / SUFFIX) or root, files)

    def _add_from(self, root: Path, files: Iterable[Path]) -> None:
        own = _shipped_lib() if is_shipped(root) else _lib(root, self.pack)
        self.diagnostics += own.diagnostics
        try:
            world = _world(root, own)
        except RuleError as error:  # the pack's classes: without them nothing can be said about its rules
            self.diagnostics += error.diagnostics
            return
        for path in files:
            place = place_of(path.absolute(), root.absolute())
            if place.startswith(f"{LIB}."):
                prefix = f"{self.pack}:{place}#"
                self.lowered.append(Lowered(shared=tuple(e for e in own.shared.values() if e and e.id.startswith(prefix))))
                continue
            source = self._read(path)
            if source is not None:
                self._add_rules(source, place, world)

    def _add_rules(self, source: Source, place: str, world: World) -> None:
        for rule in self.add(source, place, world).rules:
            if rule.id != place:
                self.diagnostics.append(misnamed(rule, place, source))

    def _read(self, path: Path) -> Source | None:
        """Return a file's text; None when it is no text, or was read already because the paths overlap."""
        if path.absolute() in self._read_already:
            return None
        self._read_already.add(path.absolute())
        source = read_file(path)
        if isinstance(source, Diagnostic):
            self.diagnostics.append(source)
            return None
        return source

    def finish(self) -> Checked:
        """Return the rules and events, unless there is an error, and all diagnostics."""
        shipped_lib = _shipped_lib().diagnostics if any(one.unsound for one in self.lowered) else ()
        diagnostics = tuple(dict.fromkeys((*self.diagnostics, *shipped_lib)))
        if diagnostics:
            return None, diagnostics
        found: dict[str, Event] = {e.id: e for e in _shipped_lib().shared.values() if e is not None and _standing(e)}
        for one in self.lowered:
            found.update({e.id: e for e in (*one.used, *one.shared, *one.private)})
        return RuleSet(tuple(r for one in self.lowered for r in one.rules), tuple(found[i] for i in sorted(found))), ()


def defined_twice(rule: Rule, first: Rule, source: Source) -> Diagnostic:
    """Return the mistake that a rule has the name of another."""
    message = f"there is a rule `{rule.id}` already, in line {first.span.line} of {first.span.path}"
    return source.diagnostic("E0202", message, rule.span)


def misnamed(rule: Rule, place: str, source: Source) -> Diagnostic:
    """Return the mistake that a rule is not named for the place of its file."""
    message = f"the rule is named `{rule.id}`, but its path says `{place}`"
    return source.diagnostic("E0605", message, rule.span, f"`rule {place}`", "rename the rule or move the file")


def _standing(event: Event) -> bool:
    """Whether every scan needs an event, even where no rule names it: it tells who is who, or that the job moves on."""
    return event.identity or PROGRESS in event.id


# ------------------------------------------------------------------ files


def read_file(path: Path) -> Source | Diagnostic:
    """Return the text of a rule file, or what is wrong with its bytes. Raises OSError."""
    return decode(path.read_bytes(), str(path))


def decode(raw: bytes, name: str) -> Source | Diagnostic:
    """Return the bytes of a rule file as text, or what is wrong with them; `name` is what diagnostics call the file."""
    try:
        return Source(name, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        span = Span(name, line, column, len(before), len(before) + 1)
        hint = f"the byte 0x{raw[error.start]:02x} can't stand here"
        return Diagnostic("E0105", "this file is not UTF-8 text", span, hint=hint)


def place_of(path: Path, root: Path) -> str:
    """Return the dotted path of a file in a pack, which is the name of its rule."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def pack_root(path: Path) -> Path | None:
    """Return the folder of the pack that a file stands in: the nearest one that has classes or building blocks."""
    for folder in path.parents:
        if (folder / TAXONOMY_FILE).is_file() or any((folder / LIB).glob(f"*{SUFFIX}")):
            return folder
    return None


def is_shipped(root: Path) -> bool:
    """Say whether a folder is the shipped pack."""
    return root.resolve() == shipped("rules").resolve()


def pack_classes(root: Path | None) -> Taxonomy:
    """Return the shipped classes and those of a pack. Raises RuleError."""
    own = root / TAXONOMY_FILE if root is not None else None
    if root is None or own is None or is_shipped(root) or not own.is_file():
        return shipped_taxonomy()
    return load_taxonomy(own, shipped_taxonomy())


def _world(root: Path | None, own: _Lib) -> World:
    return world_of(pack_classes(root), own.shared)


def world_of(taxonomy: Taxonomy, blocks: Mapping[str, Event | None]) -> World:
    """Return what a file may refer to: its pack's building blocks before the shipped ones, and classes.

    Args:
        taxonomy: the classes, the shipped ones included.
        blocks: the pack's own building blocks by path.
    """
    signatures = {**FUNCTIONS, **{n: p.signature for n, p in plugins.predicates().items()}}
    return World(taxonomy, plugins.capture_types(), signatures, {**_shipped_lib().shared, **blocks})


@cache
def _shipped_lib() -> _Lib:
    return _lib(shipped("rules"), SHIPPED)


def forget() -> None:
    """Forget the shipped building blocks: they are read again, for whoever has just changed their files."""
    _shipped_lib.cache_clear()


def _lib(root: Path, pack: str) -> _Lib:
    """Return the building blocks of a pack's `lib/`."""
    shared: dict[str, Event | None] = {}
    diagnostics: list[Diagnostic] = []
    for path in sorted((root / LIB).rglob(f"*{SUFFIX}")):
        source = read_file(path)
        if isinstance(source, Diagnostic):
            diagnostics.append(source)
            continue
        own, found = lower_blocks(parse(source), pack, place_of(path, root))
        diagnostics += found
        for name, event in own.items():
            if event is not None and shared.get(name) is not None:
                diagnostics.append(defined_already(name, event, source))
            shared[name] = event
    return _Lib(shared, tuple(diagnostics))


def defined_already(name: str, event: Event, source: Source) -> Diagnostic:
    """Return the mistake that a building block has the name of another."""
    return source.diagnostic("E0202", f"there is a building block `{name}` already", event.span)


def block_name(event: str, place: str) -> str:
    """Return the path of a building block: the event `x` of lib/a.rule or of lib/a/x.rule is `lib.a.x`."""
    return place if place.endswith(f".{event}") else f"{place}.{event}"


def lower_blocks(tree: Tree, pack: str, place: str) -> tuple[Mapping[str, Event | None], tuple[Diagnostic, ...]]:
    """Return the building blocks of one file of a `lib/` by their paths, and the file's mistakes.

    Args:
        tree: the file's syntax.
        pack: the namespace of its events.
        place: the file's dotted path in the pack.
    """
    source = tree.source
    events = tuple(c for c in tree.root.children if not (isinstance(c, Node) and c.kind in {"rule", "use"}))
    world = World(Taxonomy(), plugins.capture_types())
    lowered = lower(evolve(tree, root=evolve(tree.root, children=events)), world, pack, place)
    diagnostics = list(lowered.diagnostics)
    for node in tree.root.nodes("rule", "use"):
        message = f"a file in `{LIB}/` holds only events"
        diagnostics.append(source.diagnostic("E0606", message, node.span, "", f"move the {node.kind} out of `{LIB}/`"))
    shared: dict[str, Event | None] = {f"{place}.{word}": None for b in tree.root.broken() for word in b.words}
    shared.update({block_name(event.name, place): event for event in lowered.shared})
    return shared, tuple(diagnostics)
