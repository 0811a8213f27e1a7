"""The JSON form of a report, and the JSON Schema that describes it.

Both are derived from the classes of `finding`, so they can't disagree with them. The one name that differs is `class`, a
reserved word in Python, which the classes spell `cls`.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

import attrs
from cattrs import Converter, ForbiddenExtraKeysError, transform_error
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from denpex_rules.errors import UsageError
from denpex_rules.finding import SCHEMA, Incident, Report

_RENAMED: Final = {"cls": "class"}
_CLASS: Final = override(rename=_RENAMED["cls"])
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def _is_table(form: Any) -> bool:
    origin: object = typing.get_origin(form)
    return origin is dict


@cache
def _converter() -> Converter:
    """Return the converter, which is made when it is first needed: a report as text needs none."""
    converter = Converter(unstruct_collection_overrides={tuple: list})
    converter.register_unstructure_hook_func(_is_table, lambda table: dict(sorted(table.items())))
    converter.register_unstructure_hook(Incident, make_dict_unstructure_fn(Incident, converter, cls=_CLASS))
    converter.register_structure_hook(Incident, make_dict_structure_fn(Incident, converter, cls=_CLASS))
    return converter


# ------------------------------------------------------------------ values


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as plain dicts, lists, texts and numbers, in the order of the contract.

    Args:
        report: the report.

    Returns:
        A dict that `json` can write as it stands.
    """
    body = plain(report)
    return {"schema": body.pop("schema"), **body}


def plain(model: object) -> Any:
    """Return one model object of `finding`, or a tuple of them, as JSON-ready data."""
    return _ordered(_converter().unstructure(model))


def _ordered(value: Any) -> Any:
    """Turn the tuples that are left into lists; they are pairs, which the converter keeps."""
    if isinstance(value, dict):
        return {key: _ordered(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_ordered(item) for item in value]
    return value


def from_dict(data: Mapping[str, Any]) -> Report:
    """Return the report that `to_dict` made `data` of; unknown keys are ignored, as newer releases may add some.

    Raises:
        UsageError: the data is no report, or one of another schema version.
    """
    version = data.get("schema")
    if version != SCHEMA:
        raise UsageError(f"not a report of schema {SCHEMA}: its `schema` is {version!r}")
    try:
        return _converter().structure(data, Report)
    except (BaseValidationError, ForbiddenExtraKeysError, TypeError, ValueError, KeyError) as error:
        raise UsageError(f"malformed report: {'; '.join(transform_error(error, path='report')[:3])}") from error


# ------------------------------------------------------------------ text


def dump(data: object, indent: int | None = None) -> str:
    """Return JSON-ready data as JSON in pure ASCII: no byte of it can steer a terminal.

    Args:
        data: what `plain` or `to_dict` returned, or other plain data.
        indent: columns of indentation; None for one line.

    Returns:
        The JSON text, without a newline at its end.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, indent=indent, separators=separators)
    # DEL is the one control character that JSON leaves as it is; it can only stand inside a string.
    return text.replace("\x7f", "\\u007f")


def to_json(report: Report) -> str:
    """Return the report as indented JSON; equal reports give equal texts."""
    return dump(to_dict(report), indent=2)


def from_json(text: str | bytes) -> Report:
    """Return the report that `to_json` wrote.

    Raises:
        UsageError: the text is no JSON, no report, or one of another schema version.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"not a report of schema {SCHEMA}: no JSON object")
    return from_dict(data)


# ------------------------------------------------------------------ JSON Schema


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a report, derived from the classes.

    Every property is required, because every property is written. Further properties are allowed: releases may add some
    without a new version.
    """
    definitions: dict[str, Any] = {}
    root = _describe(Report, definitions)
    return {
        "$schema": _DIALECT,
        "$id": f"urn:denpex:{SCHEMA}",
        "title": SCHEMA,
        **root,
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


def _describe(cls: type[attrs.AttrsInstance], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to `cls`, defining it (and what it refers to) on first use."""
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = {}  # the place is taken before the fields are described: an incident holds incidents
        hints = typing.get_type_hints(cls)
        properties = {_RENAMED.get(a.name, a.name): _of_type(hints[a.name], definitions) for a in attrs.fields(cls)}
        if cls is Report:
            properties["schema"] = {"const": SCHEMA}
        definitions[cls.__name__] = {
            "description": " ".join((cls.__doc__ or "").split()),
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }
    return {"$ref": f"#/$defs/{cls.__name__}"}


_SIMPLE: Final = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _of_type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one type form that the model classes use. Raises TypeError for a form that they don't."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return {"type": _SIMPLE[hint]} if hint in _SIMPLE else _describe(hint, definitions)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {types.UnionType, typing.Union}:
        return {"anyOf": [_of_type(arg, definitions) for arg in args]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of_type(args[1], definitions)}
    if origin is tuple:
        return _of_tuple(args, definitions)
    raise TypeError(f"no JSON Schema for {hint!r}")


def _of_tuple(args: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if args[-1] is Ellipsis:
        return {"type": "array", "items": _of_type(args[0], definitions)}
    items = [_of_type(arg, definitions) for arg in args]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def report_schema_text() -> str:
    """Return the JSON Schema as the reference documentation holds it, with a newline at its end."""
    return dump(report_schema(), indent=2) + "\n"
