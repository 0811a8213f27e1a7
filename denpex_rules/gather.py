"""Rules from several places in one: the shipped pack, installed packs, files and folders; compiled, or only checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from denpex_rules import library, plugins
from denpex_rules.compiler import check_rules, compile_rules
from denpex_rules.errors import Diagnostic, Source, UsageError
from denpex_rules.lint import lint_rules
from denpex_rules.program import Program
from denpex_rules.rule import RuleSet
from denpex_rules.taxonomy import FILE as TAXONOMY_FILE
from denpex_rules.taxonomy import Taxonomy, load_taxonomy, shipped_taxonomy


def compile_named(rules: Sequence[str | Path], *, pack: bool) -> Program:
    """Return the program of the rules that are named, and of the shipped ones with `pack`.

    Raises:
        UsageError: there are no rules at all, or a path or pack does not exist.
        RuleError: a rule has mistakes.
    """
    chosen = load_rules(rules, pack=pack)
    return compile_rules(chosen, taxonomy_of(rules), types=plugins.capture_types(), sources=_texts(chosen))


def load_rules(rules: Sequence[str | Path], *, pack: bool) -> RuleSet:
    """Return the rules that are named, and the shipped ones with `pack`.

    Args:
        rules: rule files and folders, and `pack:path` of installed packs; they replace shipped rules of the same path.
        pack: whether the shipped rules take part.

    Raises:
        UsageError: there are no rules at all, or a path or pack does not exist.
        RuleError: a rule has mistakes.
    """
    paths = [one for one in rules if not _names_pack(one)]
    own = [_of_pack(str(one)) for one in rules if _names_pack(one)]
    if paths:
        own.append(library.load_paths(paths))
    named = library.merge(own)
    if not pack:
        if not own:
            raise UsageError("no rules: --no-pack leaves none, so name some with --rules")
        return named
    shipped = library.load_pack()
    replaced = {rule.qualified for rule in named.rules}
    return library.merge([RuleSet(tuple(r for r in shipped.rules if r.qualified not in replaced), shipped.events), named])


def _names_pack(one: str | Path) -> bool:
    """Say whether this is `pack:path`; a file or folder of that name comes first."""
    return isinstance(one, str) and ":" in one and not Path(one).exists()


def _of_pack(text: str) -> RuleSet:
    """Return the rules of `pack:path`: one rule, all below a path, or the whole pack where the path is empty."""
    name, _, path = text.partition(":")
    whole = library.load_pack(name)
    rules = tuple(r for r in whole.rules if not path or r.id == path or r.id.startswith(f"{path}."))
    if not rules:
        raise UsageError(f"the pack {name} has no rule {path}")
    return RuleSet(rules, whole.events)


def taxonomy_of(rules: Iterable[str | Path]) -> Taxonomy:
    """Return the shipped classes and those of the packs that are named. Raises UsageError and RuleError."""
    taxonomy = shipped_taxonomy()
    for one in rules:
        folder = library.pack_folder(str(one).partition(":")[0]) if _names_pack(one) else Path(one)
        if (folder / TAXONOMY_FILE).is_file():
            taxonomy = load_taxonomy(folder / TAXONOMY_FILE, taxonomy)
    return taxonomy


def check(paths: Sequence[str | Path]) -> tuple[int | None, tuple[Diagnostic, ...]]:
    """Check rule files and folders without stopping at the first mistake. Advice is about the files that are given.

    Args:
        paths: files and folders; the shipped pack when there are none.

    Returns:
        How many rules there are (None where mistakes keep that from being known), and all mistakes and advice.

    Raises:
        UsageError: a path does not exist or holds no rule.
    """
    rules, diagnostics = library.check_paths(paths) if paths else library.check_pack()
    if rules is None:
        return None, diagnostics
    types, texts = plugins.capture_types(), _texts(rules)
    found = check_rules(rules, types=types, sources=texts)
    if not found:
        known = library.rule_names(paths)
        advice = lint_rules(rules, taxonomy_of(paths), types=types, known=known, sources=texts)
        given = [Path(path).resolve() for path in paths]
        found = [d for d in advice if not given or any(Path(d.span.path).resolve().is_relative_to(path) for path in given)]
    return len(rules.rules), (*diagnostics, *found)


def _texts(rules: RuleSet) -> Mapping[str, Source]:
    """Return the rule files, for diagnostics that quote them."""
    paths = {rule.span.path for rule in rules.rules} | {event.span.path for event in rules.events}
    read = (library.read_file(Path(path)) for path in sorted(paths) if Path(path).is_file())
    return {source.path: source for source in read if isinstance(source, Source)}
