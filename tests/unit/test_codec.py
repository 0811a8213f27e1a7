"""The JSON form of models: terse, tagged where it must be, strict when read."""

from __future__ import annotations

import pytest
from attrs import field, frozen

from denpex_rules.codec import MISFITS, make_converter
from denpex_rules.errors import NOWHERE, Span


@frozen
class Cat:
    name: str
    span: Span = field(default=NOWHERE, eq=False)


@frozen
class Dog:
    name: str
    friends: tuple[Cat | Dog, ...] = ()


@frozen
class House:
    pet: Cat | Dog
    words: tuple[str | Cat, ...] = ()
    value: int | float | str | tuple[int, ...] = 0
    lodger: Cat | None = None


CONVERTER = make_converter()
HOUSE = House(Dog("rex", (Cat("tom"), Dog("pip"))), ("a", Cat("kit")), (1, 2), Cat("leo", Span("x", 1, 1, 0, 3)))
PLAIN = {
    "pet": {"type": "Dog", "name": "rex", "friends": [{"type": "Cat", "name": "tom"}, {"type": "Dog", "name": "pip"}]},
    "words": ["a", {"name": "kit"}],
    "value": [1, 2],
    "lodger": {"name": "leo"},
}


def _lists(value: object) -> object:
    """Return a value as JSON would give it back: tuples as lists."""
    if isinstance(value, dict):
        return {k: _lists(v) for k, v in value.items()}
    return [_lists(v) for v in value] if isinstance(value, list | tuple) else value


def test_form() -> None:
    """Defaults and spans are left out; a class is named only where a union has several."""
    assert _lists(CONVERTER.unstructure(HOUSE)) == PLAIN
    assert CONVERTER.structure(PLAIN, House) == HOUSE


@pytest.mark.parametrize("value", [1, 1.5, "x", (3,)])
def test_plain_unions_keep_their_type(value: object) -> None:
    """Numbers, texts and lists come back as they were."""
    back = CONVERTER.structure(_lists(CONVERTER.unstructure(House(Cat("a"), value=value))), House)  # type: ignore[arg-type]
    assert back.value == value
    assert type(back.value) is type(value)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        [],
        {"pet": {"name": "x"}},
        {"pet": {"type": "House", "name": "x"}},
        {"pet": {"type": "Cat", "name": "x"}, "extra": 1},
        {"pet": {"type": "Cat", "name": "x"}, "value": None},
        {"pet": {"type": "Cat", "name": "x"}, "value": True},
        {"pet": {"type": "Cat", "name": "x"}, "words": [["a"]]},
    ],
)
def test_misfits_are_refused(plain: object) -> None:
    """Missing and unknown fields, classes outside the union and values of another type are refused."""
    with pytest.raises(MISFITS):
        CONVERTER.structure(plain, House)
