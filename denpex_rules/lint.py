"""Advice about rules that are free of mistakes: what a reviewer of a rule pack would ask."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import attrs

from denpex_rules.errors import Diagnostic, Edit, Source
from denpex_rules.lint_events import lint_events
from denpex_rules.lint_pairs import lint_pairs
from denpex_rules.lint_report import lint_report
from denpex_rules.lint_steps import lint_steps
from denpex_rules.lint_text import lint_text
from denpex_rules.parser import Tree, parse
from denpex_rules.pattern import Types
from denpex_rules.rule import RuleSet
from denpex_rules.suppression import suppress
from denpex_rules.taxonomy import Taxonomy
from denpex_rules.usage import Use
from denpex_rules.values import BUILTIN

NO_TEXTS: Final[Mapping[str, Source]] = {}
NO_TREES: Final[Mapping[str, Tree]] = {}


def lint_rules(
    rules: RuleSet,
    taxonomy: Taxonomy,
    *,
    types: Types = BUILTIN,
    known: Collection[str] = (),
    sources: Mapping[str, Source] = NO_TEXTS,
    trees: Mapping[str, Tree] = NO_TREES,
) -> list[Diagnostic]:
    """Return advice about rules, in the order of the rule files. None of it keeps a rule from being used.

    Args:
        rules: rules that are free of mistakes, and their events.
        taxonomy: the classes that they name.
        types: every capture type that patterns may name.
        known: `pack:path` of rules that exist beside these, for `see`.
        sources: the texts of the rule files by path: to quote them, for advice about the text itself, and for the comments in
            them that allow something.
        trees: the syntax of these texts where it is known already; the others are parsed.
    """
    parsed = (trees.get(path) or parse(source) for path, source in sources.items())
    found = suppress(_advice(rules, taxonomy, types, known, parsed), sources)
    return sorted((_quoted(d, sources) for d in found), key=lambda d: (d.span.path, d.span.start, d.code))


def _advice(
    rules: RuleSet, taxonomy: Taxonomy, types: Types, known: Collection[str], trees: Iterable[Tree]
) -> Iterator[Diagnostic]:
    uses = [Use.of(rule) for rule in rules.rules]
    events = {event.id: event for event in rules.events}
    yield from lint_events(rules.events, uses)
    for use in uses:
        yield from lint_report(use, events, taxonomy, types)
        yield from lint_steps(use.rule)
    yield from lint_pairs(rules, {rule.qualified for rule in rules.rules}.union(known), types)
    by_span = {event.span: event for event in rules.events}
    for tree in trees:
        yield from lint_text(tree, by_span)


def _quoted(found: Diagnostic, sources: Mapping[str, Source]) -> Diagnostic:
    """Return advice with the line that it is about, and with patches that leave no empty line behind."""
    source = sources.get(found.span.path)
    if source is None:
        return attrs.evolve(found, patch=None)
    patch = found.patch and attrs.evolve(found.patch, edits=tuple(_tidy(edit, source) for edit in found.patch.edits))
    return attrs.evolve(found, source=source.line(found.span.line), patch=patch)


def _tidy(edit: Edit, source: Source) -> Edit:
    """Return a deletion with the blanks, and the line, that would be left of it."""
    if edit.text:
        return edit
    text, start, end = source.text, edit.span.start, edit.span.end
    while start and text[start - 1] in " \t":
        start -= 1
    while end < len(text) and text[end] in " \t\r":
        end += 1
    opens, closes = start == 0 or text[start - 1] == "\n", end == len(text) or text[end] == "\n"
    if opens and closes:
        end = min(end + 1, len(text))
    elif closes:
        end = edit.span.end
    else:
        start = edit.span.start
    return Edit(source.span(start, end), "")
