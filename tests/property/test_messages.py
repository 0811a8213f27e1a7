"""Whatever an author mistypes, the messages are in an author's words, and every patch is of the text that it is about."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.errors import Diagnostic, Source
from denpex_rules.library import check_text
from denpex_rules.lint import lint_rules
from denpex_rules.mending import apply, mend
from denpex_rules.taxonomy import shipped_taxonomy
from goldens import BAD, GOOD, token_names

TEXTS = [
    p.read_text(encoding="utf-8") for p in (*GOOD, *BAD) if p.suffix == ".rule" and p.name not in {"not_utf8.rule", "empty.rule"}
]
PIECE = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|\s+|[^\w\s]')
WORDS = ("where", "rule", "event", "require", "5m", "3", "lost", "any(", "é")
SPLICES = ("", " ", "\n", "{", "}", '"', "/", "==", "&", ",", "..", ")", "#", *WORDS)


@st.composite
def mistyped(draw: st.DrawFn) -> str:
    """Draw a rule file of the goldens with a few pieces left out, doubled, swapped or replaced."""
    pieces = PIECE.findall(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        other = draw(st.integers(0, len(pieces) - 1))
        change = draw(st.sampled_from(["leave out", "double", "swap", "replace", "cut"]))
        if change == "leave out":
            pieces[at] = ""
        elif change == "double":
            pieces[at] *= 2
        elif change == "swap":
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif change == "replace":
            pieces[at] = draw(st.sampled_from(SPLICES))
        else:
            pieces[at] = pieces[at][: len(pieces[at]) // 2]
    return "".join(pieces)


def all_found(text: str) -> list[Diagnostic]:
    """Return the mistakes of a text, or the advice about it where it has none."""
    rules, found = check_text(text, "a.rule")
    if rules is None:
        return list(found)
    return [d for d in lint_rules(rules, shipped_taxonomy(), sources={"a.rule": Source("a.rule", text)}) if d.span.path == "a.rule"]


@given(mistyped())
def test_words_of_authors(text: str) -> None:
    """No message shows the name of a symbol of the grammar."""
    for found in all_found(text):
        assert token_names(found.render()) == [], found.render()
        assert found.message
        assert "\n" not in found.message


@given(mistyped())
def test_patches_fit(text: str) -> None:
    """Each patch changes something, inside its own text, without overlap; applied, it leaves fewer of the same mistake or none."""
    for found in all_found(text):
        if found.patch is None:
            continue
        assert all(e.span.path == "a.rule" and 0 <= e.span.start <= e.span.end <= len(text) for e in found.patch.edits)
        assert apply(text, found.patch.edits) != text
        assert "`" not in found.patch.title or found.patch.title.count("`") % 2 == 0


@given(mistyped())
def test_mending_ends(text: str) -> None:
    """Safe patches, taken again and again, come to an end: then none is left."""
    for _ in range(20):
        text, taken = mend(text, all_found(text))
        if not taken:
            break
    assert [d.render() for d in all_found(text) if d.patch is not None and d.patch.safe] == []
