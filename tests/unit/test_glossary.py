"""The glossary: a sentence on each word of the language."""

from __future__ import annotations

from denpex_rules.glossary import CHOICES, FIELDS, NATURES, WORDS
from denpex_rules.parser import keywords
from denpex_rules.values import ACTOR_FIELDS


def test_every_word_is_explained() -> None:
    """Each reserved word has a sentence, and no sentence is about a word that does not exist."""
    assert keywords() <= WORDS.keys()
    assert WORDS.keys() - keywords() <= {"silence", "time"}
    assert CHOICES.keys() <= keywords()


def test_sentences() -> None:
    """Each is one or two short sentences."""
    for word, text in WORDS.items():
        assert text.endswith("."), word
        assert len(text) < 140, word


def test_fields_and_natures() -> None:
    """Every field of an actor and every nature of a class is explained."""
    assert FIELDS.keys() == ACTOR_FIELDS.keys()
    assert NATURES.keys() == {"cause", "symptom"}
