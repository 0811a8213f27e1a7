"""Literals in expressions, and what they may stand for: `3` is a rank beside a rank, `"gpu-a01"` a host beside a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from denpex_rules.declaration import MAX_DIGITS, duration
from denpex_rules.mistake import Mistakes
from denpex_rules.recovery import Node
from denpex_rules.rule import Constant, Expression
from denpex_rules.template import plain
from denpex_rules.values import NUMERIC, CaptureType, parse_bytes, parse_host, parse_pci

RANKS: Final = frozenset({"rank", "local_rank", "group_rank", "ranks"})

_LITERALS: Final = {"integer": "int", "decimal": "float", "duration": "duration", "size": "bytes", "string": "text"}
_A: Final = {
    "rank": "a rank",
    "ranks": "a list of ranks",
    "local_rank": "a local rank",
    "group_rank": "a rank inside a group",
    "host": "a host",
    "device": "a device",
    "pid": "a process id",
    "job": "a job",
    "int": "a number",
    "float": "a decimal number",
    "text": "a text",
    "bytes": "a size",
    "duration": "a duration",
    "bool": "a yes or no",
    "step": "a step",
    "capture": "a field of a step",
}


def a(base: str) -> str:
    """Return a base in words, with its article."""
    return _A.get(base, f"a {base}")


@frozen
class Typed:
    """An expression, its base (None: unknown because of another mistake) and the steps that it depends on."""

    value: Expression
    base: str | None
    steps: frozenset[str] = frozenset()


def literal(node: Node, mistakes: Mistakes) -> Typed:
    """Return the constant of a literal's node, of the base that its spelling says."""
    base = _LITERALS[node.kind]
    leaf = node.leaves("INT", "FLOAT", "DURATION", "SIZE", "STRING")[0]
    sign = node.leaf("SIGN")
    factor = -1 if sign is not None and sign.text == "-" else 1
    value: int | float | str = 0
    if base == "text":
        value = plain(leaf, mistakes)
    elif len(leaf.text) > MAX_DIGITS:
        mistakes.add("E0305", "this number is too long", node.span, f"at most {MAX_DIGITS} digits")
    elif base == "duration":
        value = duration(leaf, mistakes) or 0
    elif base == "bytes":
        value = parse_bytes(leaf.text) or 0
    else:
        value = factor * (int(leaf.text) if base == "int" else float(leaf.text))
    return Typed(Constant(value, base, node.span), base)


def converted(typed: Typed, base: str) -> Typed | None:
    """Return an expression as one of `base`, None when it can't be one; an unknown base fits everything."""
    if typed.base is None or typed.base == base:
        return typed
    if not isinstance(typed.value, Constant):
        return None
    value = typed.value.value
    if typed.base == "int" and base in NUMERIC - {"duration", "bytes"}:
        return Typed(evolve(typed.value, value=float(value) if base == "float" else value, base=base), base)
    if typed.base == "text" and base in {"host", "device", "job"}:
        text = str(value)
        canonical = parse_host(text) if base == "host" else (parse_pci(text) or text) if base == "device" else text
        return Typed(evolve(typed.value, value=canonical, base=base), base)
    return None


def fit(typed: Typed, base: str | None, types: Mapping[str, CaptureType], mistakes: Mistakes) -> Typed:
    """Return a constant as a value of `base`, where it can be one; anything else as it is. Reports what can't be.

    Args:
        typed: any expression.
        base: the base of what it is compared with; `ranks` wants one of its ranks.
        types: the capture types by name; those of plug-ins read texts of their bases.
        mistakes: takes what is wrong.
    """
    if not isinstance(typed.value, Constant) or base is None or typed.base is None:
        return typed
    base = "rank" if base == "ranks" else base
    fitted = converted(typed, base) or _of_plugin(typed.value, typed.base, base, types)
    if fitted is not None and _admitted(fitted):
        return fitted
    _unfit(typed.value, typed.base, base, mistakes)
    return evolve(typed, base=None)


def _of_plugin(constant: Constant, kind: str, base: str, types: Mapping[str, CaptureType]) -> Typed | None:
    """Return a text as a value of a plug-in's base, read by the first type that has it."""
    reader = next((t for t in types.values() if t.base == base and base not in _A), None)
    value = reader.parse(str(constant.value)) if reader is not None and kind == "text" else None
    return None if value is None or isinstance(value, tuple) else Typed(evolve(constant, value=value, base=base), base)


def _admitted(typed: Typed) -> bool:
    """Whether a constant is a possible value: no rank or process id is negative, no name is empty."""
    if not isinstance(typed.value, Constant):
        return True
    value = typed.value.value
    if typed.base in RANKS | {"pid"}:
        return isinstance(value, int) and value >= 0
    return typed.base not in {"host", "device", "job"} or bool(value)


def _unfit(constant: Constant, kind: str, base: str, mistakes: Mistakes) -> None:
    """Report a constant that is no value of `base`."""
    shown, hint = str(constant.value), ""
    if kind == "int" and base in {"duration", "bytes"}:
        units = f"{shown}ms, {shown}s or {shown}m" if base == "duration" else f"{shown}B, {shown}MiB or {shown}GiB"
        mistakes.add("E0303", f"`{shown}` has no unit", constant.span, a(base), f"say which: {units}")
        return
    if kind == "int" and base in {"text", "job", "host", "device"}:
        hint = f'did you mean "{shown}"?'
    elif kind == "text" and base in NUMERIC and shown.lstrip("-").isdigit():
        hint = f"did you mean {shown}?"
    wrong_value = (kind == "int" and base in RANKS | {"pid"}) or (kind == "text" and (base == "host" or base not in _A))
    mistakes.add("E0305" if wrong_value else "E0302", f"`{shown}` is not {a(base)}", constant.span, a(base), hint)
