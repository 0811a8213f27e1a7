"""What is said about the word that somebody points at: a clause in words, a definition, or what the word means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from denpex_rules.blocks import cuts
from denpex_rules.errors import Span
from denpex_rules.glossary import CHOICES, FIELDS, NATURES, WORDS
from denpex_rules.notation import clause_text
from denpex_rules.outline import Kind, Symbol
from denpex_rules.parser import Node, words
from denpex_rules.phrase import step_in_words
from denpex_rules.recovery import statement_before
from denpex_rules.reference import definition, mention_at, owner
from denpex_rules.rule import IMPACTS, KEYS, KINDS, LEVELS, STATUSES, Event
from denpex_rules.taxonomy import FailureClass
from denpex_rules.workspace import Workspace

LONGEST: Final = 1200  # characters of a definition that are shown
LONGEST_WORD: Final = 60
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_CHOSEN: Final[Mapping[str, tuple[str, ...]]] = {
    "in": KINDS,
    "per": KEYS,
    "impact": IMPACTS,
    "level": LEVELS,
    "status": STATUSES,
}


@frozen
class Card:
    """What is shown, as Markdown, and the half-open range that it is about."""

    text: str
    start: int
    end: int


def hover(workspace: Workspace, path: str, offset: int) -> Card | None:
    """Return what there is to say about a place of a file, None when there is nothing."""
    step = _step(workspace, path, offset)
    if step is not None:
        return step
    mention = mention_at(workspace, path, offset)
    if mention is not None:
        text = _SHOWN[mention.symbol.kind](workspace, path, mention.symbol)
        return Card(text, mention.span.start, mention.span.end) if text else None
    return _word(workspace, path, offset)


def _step(workspace: Workspace, path: str, offset: int) -> Card | None:
    """Return a step in words, for its verb."""
    sheet = workspace.sheet(path)
    for rule in sheet.tree.root.nodes("rule"):
        if not rule.span.start <= offset or not rule.nodes("body"):
            continue
        for node in rule.nodes("body")[0].nodes("step"):
            verb = node.leaves("VERB")[0]
            if verb.span.start <= offset < verb.span.end:
                return _clause(workspace, path, node, verb.span)
    return None


def _clause(workspace: Workspace, path: str, node: Node, verb: Span) -> Card | None:
    sheet = workspace.sheet(path)
    rule = workspace.outline(path).names(verb.start).rule
    step = workspace.step(path, rule, sheet.text[node.span.start : node.span.end])
    help_ = WORDS[sheet.text[verb.start : verb.end]]
    if step is None:
        return Card(f"**{sheet.text[verb.start : verb.end]}**: {help_}", verb.start, verb.end)
    return Card(f"{step_in_words(step)}\n\n```rule\n{clause_text(step)}\n```\n\n{help_}", verb.start, verb.end)


def _word(workspace: Workspace, path: str, offset: int) -> Card | None:
    """Return the meaning of a word of the language."""
    text = workspace.sheet(path).text
    match = next((m for m in _WORD.finditer(text, max(0, offset - LONGEST_WORD)) if m.end() > offset), None)
    if match is None or match.start() > offset:
        return None
    block = max(cut for cut in cuts(text) if cut <= offset)
    statement = statement_before(text, block, match.end(), words())
    if statement is None or statement.open or (statement.tokens and statement.tokens[-1].kind == "string"):
        return None
    before = [token.text for token in statement.tokens[:-1] if token.text != ","]
    behind = next((word for word in reversed(before) if word not in {*KINDS, *KEYS}), "")
    if behind in CHOICES and match[0] in _CHOSEN.get(behind, ()):
        return Card(f"**{match[0]}**: {CHOICES[behind]}", match.start(), match.end())
    said = WORDS.get(match[0])
    return None if said is None else Card(f"**{match[0]}**: {said}", match.start(), match.end())


# ------------------------------------------------------------------ by kind


def _event(workspace: Workspace, path: str, symbol: Symbol) -> str:
    return _definition(workspace, path, symbol) or f"building block `{symbol.name}`"


def _definition(workspace: Workspace, path: str, symbol: Symbol) -> str:
    """Return the text that defines a symbol, and what an event captures."""
    found = definition(workspace, path, symbol)
    if found is None:
        return ""
    text = workspace.text(found.path)
    whole = found.whole
    start = text.rfind("\n", 0, whole.start) + 1
    shown = _dedented(text[start : whole.end])
    event = _lowered(workspace, found.path, found.at)
    facts = "" if event is None else _facts(event)
    return f"```rule\n{shown[:LONGEST]}\n```{facts}"


def _dedented(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _lowered(workspace: Workspace, path: str, at: Span) -> Event | None:
    sheet = workspace.sheet(path)
    if sheet.shared:
        events = [e for e in sheet.blocks()[0].values() if e is not None]
    else:
        lowered = sheet.lowered(workspace.world(path))
        events = [*lowered.shared, *lowered.private]
    return next((event for event in events if event.span == at), None)


def _facts(event: Event) -> str:
    captures = ", ".join(f"`{name}` ({kind})" for name, kind in event.captures)
    moments = ", ".join(f"`{moment.name}`" for moment in event.moments)
    found = [f"captures {captures}" if captures else "", f"moments {moments}" if moments else ""]
    said = "; ".join(part for part in found if part)
    return f"\n\n{said}" if said else ""


def _alias(workspace: Workspace, path: str, symbol: Symbol) -> str:
    target = workspace.outline(path).targets.get(symbol)
    return f"`{symbol.name}` is `{target.name}`\n\n{_event(workspace, path, target)}" if target is not None else ""


def _capture(workspace: Workspace, path: str, symbol: Symbol) -> str:
    found = definition(workspace, path, symbol)
    entry = owner(workspace.outline(found.path), found.at) if found is not None else None
    event = _lowered(workspace, found.path, entry.at) if found is not None and entry is not None else None
    kind = event.capture_type(symbol.name) if event is not None else None
    return f"capture `{symbol.name}`" if kind is None else f"capture `{symbol.name}`: {_type_text(workspace, path, kind)}"


def _type_text(workspace: Workspace, path: str, name: str) -> str:
    one = workspace.world(path).types.get(name)
    return f"`{name}`" if one is None else f"`{name}`, {one.summary}, such as `{one.example}`; compares as {one.base}"


def _type(workspace: Workspace, path: str, symbol: Symbol) -> str:
    return f"capture type {_type_text(workspace, path, symbol.name)}" if symbol.name in workspace.world(path).types else ""


def _class(workspace: Workspace, path: str, symbol: Symbol) -> str:
    one = workspace.world(path).taxonomy.get(symbol.name)
    return "" if one is None else class_text(one)


def class_text(one: FailureClass) -> str:
    """Return a class and its definition as Markdown."""
    upstream = f"\n\nupstream: {', '.join(f'`{name}`' for name in one.upstream)}" if one.upstream else ""
    return f"**{one.id}**: {one.title}\n\n{one.definition}\n\n{one.layer} layer, {NATURES[one.role]}{upstream}"


def _function(workspace: Workspace, path: str, symbol: Symbol) -> str:
    one = workspace.world(path).signatures.get(symbol.name)
    if one is None:
        return ""
    forms = "\n".join(f"{one.name}({', '.join(overload)}) -> {one.result}" for overload in one.overloads)
    return f"```\n{forms}\n```\n\n{one.summary}"


def _field(_workspace: Workspace, _path: str, symbol: Symbol) -> str:
    return f"`{symbol.name}`: {FIELDS[symbol.name]}"


def _rule(workspace: Workspace, path: str, symbol: Symbol) -> str:
    found = definition(workspace, path, symbol)
    if found is None:
        return ""
    entry = next((e for e in workspace.outline(found.path).entries if e.kind == "rule" and e.name == symbol.name), None)
    return f"rule `{symbol.name}`: {entry.detail}" if entry is not None else ""


_SHOWN: Final[Mapping[Kind, Callable[[Workspace, str, Symbol], str]]] = {
    "rule": _rule,
    "event": _event,
    "alias": _alias,
    "step": _definition,
    "let": _definition,
    "capture": _capture,
    "moment": _definition,
    "class": _class,
    "type": _type,
    "function": _function,
    "field": _field,
}
