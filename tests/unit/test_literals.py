"""The literals that a match needs: right for templates, sound for regexes."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from denpex_rules.literals import alternative_literals, check_literals, event_literals, fixed_texts
from denpex_rules.rule import Alternative, Capture, Event, Regex, Sequence, Template


def one(*parts: Template | Regex) -> Alternative:
    return Alternative((Sequence(parts),))


def of_regex(text: str) -> frozenset[bytes] | None:
    return alternative_literals(one(Regex(text)))


def test_template_gives_its_rarest_text() -> None:
    """The text between captures that is longest and rarest is the literal."""
    template = Template(("ran for ", Capture("ran", "ms"), " milliseconds before timing out."))
    assert alternative_literals(one(template)) == {b" milliseconds before timing out."}


def test_template_text_is_utf8() -> None:
    """A literal outside ASCII is looked for as its UTF-8 bytes."""
    assert alternative_literals(one(Template(("Größe",)))) == {"Größe".encode()}


def test_literal_never_crosses_a_line() -> None:
    """A text with a line break gives its longer line."""
    assert alternative_literals(one(Template(("first\nsecond line",)))) == {b"second line"}


def test_fixed_texts_are_all_that_must_stand_there() -> None:
    """Every part gives its texts, short ones too; where one of several will do they are one set; a free part gives none."""
    parts = (Template(("Xid ", Capture("code", "int"), ",")), Regex(r"on (?:bus|slot) \d+"), Regex(r"\w*"))
    assert fixed_texts(one(*parts)) == ({b"Xid "}, {b","}, {b"on "}, {b"bus", b"slot"}, {b" "})


def test_event_needs_one_of_each_alternative() -> None:
    """An event's literals are the union over its alternatives, and none when one alternative has none."""
    first, second = one(Template(("Xid",))), one(Template(("fallen off",)))
    assert event_literals(Event("e", "e", (first, second))) == {b"Xid", b"fallen off"}
    assert event_literals(Event("e", "e", (first, one(Regex(r"\d+"))))) is None


def test_all_of_needs_only_its_best_sequence() -> None:
    """Sequences that must all occur are announced by the best of their literals."""
    both = Alternative((Sequence((Template(("abc",)),)), Sequence((Template(("NVRM: Xid",)),))))
    assert alternative_literals(both) == {b"NVRM: Xid"}


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        (r"NVRM: Xid \(PCI:[0-9a-f:]+\): 79", {b"NVRM: Xid (PCI:"}),
        (r"(ECC|XID) (error|fault)", {b"error", b"fault"}),
        (r"(?P<what>SIGKILL|SIGSEGV)", {b"KILL", b"SEGV"}),
        (r"x(?:abc)+y", {b"xabc"}),
        (r"x(?:abc)*yyy", {b"yyy"}),
        (r"ab{3}cdef", {b"cdef"}),
        (r"colou?red", {b"colo"}),
        (r"\bkilled\b by", {b"killed by"}),
        (r"a.b.c", None),
        (r"(?i)out of memory", None),
        (r"(?i:out) of memory", {b" of memory"}),
        (r"[[:alpha:]]+something", None),
        (r"(foo|ba*)", None),
        (r"\Qliteral\E", None),
        (r"", None),
    ],
)
def test_regex_literals(text: str, literals: set[bytes] | None) -> None:
    """Literals come out of groups, repeats and alternations, and never out of optional or case-insensitive text."""
    assert of_regex(text) == literals


def test_no_literal_is_a_mistake_unless_expensive() -> None:
    """An event without a literal is E0502; declared expensive it is accepted."""
    event = Event("r.e", "e", (one(Regex(r"\d+ \d+")),))
    found = check_literals(event)
    assert found is not None
    assert found.code == "E0502"
    assert check_literals(Event("r.e", "e", event.alternatives, expensive=True)) is None


_ATOMS = st.sampled_from(["a", "b", "xyz", "foo", r"\.", ".", "[ab]", r"\d", r"\b", "ü", "[[:digit:]]", "(?i:abc)", r"\x41"])
_REGEXES = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "+?"])).map(lambda p: f"({p[0]}){p[1]}"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(_REGEXES, st.lists(st.sampled_from(["a", "b", "xyz", "foo", ".", "ab", "1", "ü", "A", "abc"]), max_size=12).map("".join))
def test_regex_literals_are_sound(regex: str, text: str) -> None:
    """Whatever text RE2 matches contains one of the derived literals."""
    literals = of_regex(regex)
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    found = re2.compile(regex.encode(), options).search(text.encode())
    if found and literals is not None:
        assert any(literal in found.group() for literal in literals)
