"""The JSON form of model classes, through cattrs: what saved programs and saved scans have in common.

An attribute that has its default is left out, and so are spans in rule files. A value of a union of several classes is an
object that says its class as `type`; no class outside the annotations is ever built, so reading data runs no code of it.
"""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, Final

import attrs
from cattrs import BaseValidationError, Converter, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from denpex_rules.errors import Span

TAG: Final = "type"

# What a converter raises for data of another shape.
MISFITS: Final = (ValueError, TypeError, LookupError, AttributeError, BaseValidationError, ForbiddenExtraKeysError)


def make_converter() -> Converter:
    """Return a converter for the model: strict about unknown keys, terse about defaults."""
    converter = Converter(detailed_validation=False)
    converter.register_unstructure_hook_factory(attrs.has, lambda cls: _class_out(cls, converter))
    converter.register_structure_hook_factory(attrs.has, lambda cls: _class_in(cls, converter))
    converter.register_unstructure_hook_factory(_mixed, lambda union: _union_out(union, converter))
    converter.register_structure_hook_factory(_mixed, lambda union: _union_in(union, converter))
    converter.register_structure_hook_factory(_many, lambda form: _tuple_in(form, converter))
    return converter


def _spans(cls: type) -> dict[str, Any]:
    attrs.resolve_types(cls)
    return {a.name: override(omit=True) for a in attrs.fields(cls) if a.type is Span or not a.eq}


def _class_out(cls: type, converter: Converter) -> Any:
    return make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True, **_spans(cls))


def _class_in(cls: type, converter: Converter) -> Any:
    return make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=False, **_spans(cls))


def _mixed(annotation: Any) -> bool:
    """Say whether an annotation is a union that needs care; `X | None` does not."""
    return (
        isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union
    ) and types.NoneType not in typing.get_args(annotation)


def _union_out(union: Any, converter: Converter) -> Any:
    classes = [c for c in typing.get_args(union) if attrs.has(c)]

    def unstructure(value: Any) -> Any:
        if not attrs.has(type(value)):
            return value
        plain = converter.unstructure(value, type(value))
        return {TAG: type(value).__name__, **plain} if len(classes) > 1 else plain

    return unstructure


def _union_in(union: Any, converter: Converter) -> Any:
    members = typing.get_args(union)
    classes = {c.__name__: c for c in members if attrs.has(c)}
    only = next(iter(classes.values())) if len(classes) == 1 else None
    plain = tuple(c for c in members if isinstance(c, type) and not attrs.has(c))
    lists = [c for c in members if typing.get_origin(c) is tuple]
    hook = cache(converter.get_structure_hook)  # asked for late: a class may hold the union that it is a member of

    def structure(value: Any, _: Any) -> Any:
        if isinstance(value, dict) and classes:
            rest = dict(value)
            cls = only or classes[rest.pop(TAG)]
            return hook(cls)(rest, cls)
        if isinstance(value, list) and lists:
            return converter.structure(value, lists[0])
        if type(value) in plain:
            return value
        raise ValueError(f"{value!r:.80} is none of {union}")

    return structure


def _many(annotation: Any) -> bool:
    """Say whether an annotation is `tuple[X, ...]`."""
    return typing.get_origin(annotation) is tuple and typing.get_args(annotation)[-1] is Ellipsis


def _tuple_in(form: Any, converter: Converter) -> Any:
    """Return what reads a tuple of one type: a program is mostly such tuples, and the converter's own way looks at each anew."""
    member = typing.get_args(form)[0]
    if member in {str, int}:
        return lambda value, _: tuple(map(member, value))
    hook = converter.get_structure_hook(member)
    return lambda value, _: tuple([hook(one, member) for one in value])
