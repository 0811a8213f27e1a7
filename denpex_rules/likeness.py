"""Which root-cause class a message is most like, by the words of the classes and of the rules that name them.

A proposal for a person who writes a rule, never a verdict about a log.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from denpex_rules.program import Program
from denpex_rules.rule import Event, Template
from denpex_rules.taxonomy import Taxonomy

LEAST: Final = 0.3  # of the cosine, below which nothing is proposed
AHEAD: Final = 1.15  # how much more like it the best class must be than the next

_WORD: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
_SHARED: Final = 3  # words that are shown as the reason


@frozen
class Likeness:
    """A class that a message is like, how much (0 to 1), and the words that they share, the most telling first."""

    cls: str
    degree: float
    words: tuple[str, ...]


class Vocabulary:
    """The words of every class: its own, and those of the rules that name it with their examples."""

    def __init__(self, taxonomy: Taxonomy, program: Program) -> None:
        """Collect the words.

        Args:
            taxonomy: the classes.
            program: rules that name them.
        """
        events = {event.id: event for event in program.events}
        texts: dict[str, list[str]] = {c.id: [c.id, c.title, c.title, c.definition, *c.signals] for c in taxonomy.classes.values()}
        for rule in program.rules:
            if rule.cls in texts:
                texts[rule.cls] += [rule.title, *_texts(events[rule.trigger.event])]
        counts = {name: Counter(_words(" ".join(lines))) for name, lines in texts.items()}
        spread = Counter(word for count in counts.values() for word in count)
        self._rarity = {word: math.log(1 + len(counts) / n) for word, n in spread.items()}
        self._weights = {name: self._weighted(count) for name, count in counts.items()}

    def _weighted(self, count: Mapping[str, int]) -> dict[str, float]:
        raw = {word: (1 + math.log(n)) * self._rarity[word] for word, n in count.items() if word in self._rarity}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        return {word: value / length for word, value in raw.items()}

    def nearest(self, message: str) -> Likeness | None:
        """Return the class that a message is like; None where no class stands out."""
        best, *others = self.ranked(message) or (None,)
        if best is None or best.degree < LEAST or (others and others[0] and best.degree < AHEAD * others[0].degree):
            return None
        return best

    def ranked(self, message: str) -> tuple[Likeness, ...]:
        """Return the classes that share a word with a message, the one that it is most like first."""
        own = self._weighted(Counter(_words(message)))
        found = []
        for name, other in self._weights.items():
            shared = sorted((word for word in own if word in other), key=lambda word: (-own[word] * other[word], word))
            if shared:
                found.append(Likeness(name, sum(own[word] * other[word] for word in shared), tuple(shared[:_SHARED])))
        return tuple(sorted(found, key=lambda one: (-one.degree, one.cls)))


def _texts(event: Event) -> Iterable[str]:
    """Give an event's examples and the fixed texts of its templates."""
    yield from event.like
    for part in (p for a in event.alternatives for s in a.sequences for p in s.parts):
        if isinstance(part, Template):
            yield " ".join(piece for piece in part.pieces if isinstance(piece, str))


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, without their ends: `failed` and `failure` differ, `shard` and `shards` do not."""
    found = (word.lower() for word in _WORD.findall(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]
