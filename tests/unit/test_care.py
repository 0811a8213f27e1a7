"""Texts that ask for care: whatever `marks` knows a message by is among them, or can't begin a plain message."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.care import BEGINS, CARE, GLUED, MARKS
from denpex_rules.marks import SPECIAL, plain

_parser: Any = import_module("re._parser")
BEGINNING = re.compile(BEGINS)

SPECIALS = [
    b"Traceback (most recent call last):",
    b"RuntimeError: boom",
    b"torch.cuda.OutOfMemoryError",
    b"  File x",
    b"",
    b"====================",
    b"----------",
    b"  ^^^^^",
    b"[3]:",
    b"frame #3: x",
    b"NVRM: Xid (PCI:0000:41:00): 79",
    b"python invoked oom-killer: x",
    b"train.py FAILED",
    b"python3[7]: segfault at 0",
    b"rank      : 3 (local_rank: 3)",
    b"{1}[Hardware Error]: x",
    b"xe 0000:03:00.0: x",
    b"mlx5_core 0000:1a:00.0: x",
    b"warning: x",
    b"ProcessGroupNCCL x",
    b"*** STEP 3 x",
]


def cared(message: bytes) -> bool:
    """Whether a message can't be taken as plain."""
    return BEGINNING.match(message) is None or any(text in message for text in (*CARE, *MARKS, GLUED))


@pytest.mark.parametrize("message", SPECIALS)
def test_a_message_with_a_mark_is_never_plain(message: bytes) -> None:
    """Each kind of mark is one that asks for care."""
    assert not plain(b" " + message, 1)
    assert cared(message)


def branches(tree: Any) -> list[Any]:
    """Return the innermost alternatives of a parsed regex of which one must match as a whole."""
    if len(tree) == 1 and str(tree[0][0]) == "BRANCH":
        return [one for branch in tree[0][1][1] for one in branches(branch)]
    if len(tree) == 1 and str(tree[0][0]) == "SUBPATTERN":
        return branches(tree[0][1][3])
    return [tree]


def example(tree: Any) -> bytes:
    """Return a text that a parsed regex matches: each repeat as often as it must, each class by its first member."""
    text = b""
    for token, argument in tree:
        match str(token):
            case "LITERAL":
                text += bytes([argument])
            case "IN" | "CATEGORY" | "NOT_LITERAL" | "ANY":
                text += _member(argument)
            case "SUBPATTERN":
                text += example(argument[3])
            case "BRANCH":
                text += example(argument[1][0])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += example(argument[2]) * max(1, argument[0])
            case _:
                pass
    return text


def _member(argument: Any) -> bytes:
    fitting = [c for c in b"a1A _.-" if _takes(argument, c)]
    return bytes([fitting[0]]) if fitting else b""


def _takes(members: Any, char: int) -> bool:
    if not isinstance(members, list):
        return True
    inside = any(
        (str(name) == "LITERAL" and value == char)
        or (str(name) == "RANGE" and value[0] <= char <= value[1])
        or (
            str(name) == "CATEGORY"
            and re.match({"CATEGORY_DIGIT": r"\d", "CATEGORY_WORD": r"\w", "CATEGORY_SPACE": r"\s"}.get(str(value), "x"), chr(char))
        )
        for name, value in members
    )
    return inside != (str(members[0][0]) == "NEGATE")


def test_every_alternative_of_the_marks_asks_for_care() -> None:
    """An example of each alternative, made from the regex itself, is never plain: a mark added later fails here."""
    inner = [one for tree in branches(_parser.parse(SPECIAL.pattern.decode("latin-1"))) for one in _expanded(tree)]
    examples = {example(tree) for tree in inner}
    matching = [text for text in examples if SPECIAL.match(text)]
    assert len(matching) > 60
    assert [text for text in matching if not cared(text)] == []


def _expanded(tree: Any) -> list[Any]:
    """Return the sequences of a tree, each branch of the alternatives inside of it on its own."""
    for place, (token, argument) in enumerate(tree):
        inner = argument[3] if str(token) == "SUBPATTERN" else None
        if str(token) == "BRANCH":
            return [one for branch in argument[1] for one in _expanded([*tree[:place], *branch, *tree[place + 1 :]])]
        if inner is not None and any(str(t) in {"BRANCH", "SUBPATTERN"} for t, _ in inner):
            return _expanded([*tree[:place], *inner, *tree[place + 1 :]])
    return [list(tree)]


@given(st.sampled_from(SPECIALS), st.binary(max_size=6))
def test_more_text_behind_a_mark_changes_nothing(message: bytes, more: bytes) -> None:
    """What is special stays cared for with other text behind it."""
    text = message + more.replace(b"\n", b"")
    assert plain(text, 0) or cared(text)
