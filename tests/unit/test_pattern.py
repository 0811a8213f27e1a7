"""Event patterns: what matches, which values come out, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import template

from denpex_rules.pattern import OCCURRENCES, TRIES, EventPattern, Hit, PatternError, admits, compile_event, trusted_event
from denpex_rules.rule import Alternative, Event, Regex, Sequence
from denpex_rules.values import BUILTIN, CaptureType


def pattern(*alternatives: Alternative, captures: tuple[tuple[str, str], ...] = ()) -> EventPattern:
    return compile_event(Event("r.e", "e", alternatives, captures=captures))


def of(*parts: str | Regex) -> EventPattern:
    return pattern(Alternative((Sequence(tuple(p if isinstance(p, Regex) else template(p) for p in parts)),)))


def test_template_matches_inside_a_line() -> None:
    """A template is found anywhere, its captures come out canonical, its place is a byte range."""
    hit = of("NVRM: Xid (PCI:{device:pci}): {code:int},").match("é NVRM: Xid (PCI:0000:C1:00): 79, pid=1".encode())
    assert hit == Hit({"device": "0000:c1:00", "code": 79}, 3, 34)


def test_template_text_is_literal() -> None:
    """Signs that mean something in a regex, and bytes outside ASCII, mean themselves in a template."""
    assert of("a.b*[c]\\d (é)\n{x:word}").match("a.b*[c]\\d (é)\nok".encode()) is not None
    assert of("a.b").match(b"axb") is None


def test_final_text_takes_the_rest_of_the_line() -> None:
    """A `text` capture at the end of a template is the rest of the line, one in the middle as little as possible."""
    assert of("error: {what:text}").match(b"error: a: b\nnext") == Hit({"what": "a: b"}, 0, 11)
    assert of("[{tag:text}] {rest:text}").match(b"[a] b] c") == Hit({"tag": "a", "rest": "b] c"}, 0, 8)


def test_final_number_takes_all_its_digits() -> None:
    """A number is never cut short to let the part behind it match."""
    both = of("rank {r:rank}", "5 x")
    assert both.match(b"rank 15 x") is None
    assert both.match(b"rank 15: 5 x") == Hit({"r": 15}, 0, 12)
    assert of("took {n:int}").match(b"took 30s") == Hit({"n": 30}, 0, 7)


def test_parts_stand_in_order_and_may_be_on_several_lines() -> None:
    """Parts joined by & occur in this order without overlap, over the lines of one record."""
    assert of("Traceback", "RuntimeError: {what:text}").match(b"Traceback\n  File\nRuntimeError: no") is not None
    assert of("RuntimeError", "Traceback").match(b"Traceback\n  File\nRuntimeError: no") is None
    assert of("abab", "ab").match(b"abab") is None


def test_a_capture_never_spans_lines() -> None:
    """A captured text with a line break is no value."""
    assert of("from {x:text} to").match(b"from a\nto") is None
    assert of(Regex(r"from (?P<x>[^,]+),")).match(b"from a\nb, from c,") == Hit({"x": "c"}, 10, 17)


def test_regex_lines_are_bounded() -> None:
    """In a regex the dot stops at the end of a line and ^ $ are the bounds of a line."""
    assert of(Regex("^b.d$")).match(b"a\nbcd\ne") == Hit({}, 2, 5)
    assert of(Regex("a.b")).match(b"a\nb") is None


def test_regex_groups_have_types() -> None:
    """Named groups take the type that the regex or the event gives them, else text; an unused one is absent."""
    regex = Regex(r"(rank|dev) (?P<r>\d+)(?P<unit>ms)?(?P<rest> \w+)?", (("r", "rank"),))
    assert of(regex).match(b"rank 07 gone") == Hit({"r": 7, "rest": " gone"}, 0, 12)
    declared = pattern(Alternative((Sequence((Regex(r"n=(?P<n>\d+)"),)),)), captures=(("n", "int"),))
    assert declared.match(b"n=12") == Hit({"n": 12}, 0, 4)


def test_groups_of_several_parts_keep_apart() -> None:
    """Unnamed groups and flags of one part do not shift or change those of the next."""
    found = of(Regex("(?i)(xid) (a|b)"), "code {c:int}", Regex(r"(z) (?P<w>\w+)")).match(b"XID B code 7 z end")
    assert found == Hit({"c": 7, "w": "end"}, 0, 18)
    assert of(Regex("(?i)xid"), Regex("abc")).match(b"XID ABC") is None


def test_a_text_that_is_no_value_is_passed_over() -> None:
    """The first place where all texts are values counts; a piece of a text that is none is not tried."""
    digits = b"1" * 50
    assert of("n={n:int};").match(b"n=" + digits + b"; n=4;") == Hit({"n": 4}, 54, 58)
    assert of("{n:int};").match(digits + b";") is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [("hms", b"9" * 400 + b":00"), ("float", b"1e999"), ("int", b"9" * 5000), ("bytes", b"9" * 400 + b" GiB"), ("ms", b"9" * 400)],
)
def test_absurd_numbers_are_no_values(kind: str, text: bytes) -> None:
    """A number too large to be one never raises and never matches."""
    assert of("x={x:" + kind + "}").match(b"x=" + text) is None
    assert of("x={x:" + kind + "}").match(b"x=" + text + b" x=1:02" if kind == "hms" else b"x=" + text + b" x=1") is not None


def test_anonymous_captures_have_shape_only() -> None:
    """A capture without a name must fit, and leaves no field."""
    assert of("pid={_:pid}, rank={r:rank}").match(b"pid=x, pid=5, rank=3") == Hit({"r": 3}, 7, 20)


def test_all_of_in_any_order_with_agreeing_values() -> None:
    """All sequences must match, in any order; a value that two of them capture must agree."""
    both = pattern(Alternative((Sequence((template("rank={r:rank}"),)), Sequence((template("host={h:host} r{r:rank}"),)))))
    assert both.match(b"host=Node-07.example r3 rank=3") == Hit({"r": 3, "h": "node-07"}, 0, 30)
    assert both.match(b"host=node-07 r3 rank=4") is None
    assert both.match(b"rank=4") is None


def test_first_alternative_wins() -> None:
    """Alternatives are tried in written order."""
    either = pattern(Alternative((Sequence((template("code {a:int}"),)),)), Alternative((Sequence((template("c{b:word}"),)),)))
    assert either.match(b"cx code 4") == Hit({"a": 4}, 3, 9)
    assert either.match(b"cx") == Hit({"b": "x"}, 0, 2)


def test_every_occurrence_counts() -> None:
    """A sequence occurs at each place where it matches, its parts taken nearest to each other."""
    box = b"[0]:\n rank : 3 (x)\n exitcode : -9\n[1]:\n rank : 5 (x)\n exitcode : 1"
    found = list(of("rank : {r:rank}", "exitcode : {c:int}").matches(box))
    assert [h.fields for h in found] == [{"r": 3, "c": -9}, {"r": 5, "c": 1}]
    assert found[0].end <= found[1].start
    assert len(list(of("a").matches(b"a" * 1000))) == OCCURRENCES


def test_later_alternatives_explain_other_lines_only() -> None:
    """A loose alternative adds nothing on a line that a precise one explains."""
    precise, loose = (Alternative((Sequence((template(t),)),)) for t in ("pid {p:pid} of rank {r:rank}", "pid {p:pid}"))
    found = pattern(precise, loose).matches(b"pid 9 of rank 3, parent pid 1\npid 8")
    assert [h.fields for h in found] == [{"p": 9, "r": 3}, {"p": 8}]


@pytest.mark.parametrize("text", [r"(a)\1", r"(?=a)b", r"(?<!a)b", r"(?>a)b", r"a{2000}", r"(a", r"a++"])
def test_regex_beyond_re2_is_refused(text: str) -> None:
    """Back-references, lookaround, possessive repeats and broken syntax are refused when compiled."""
    with pytest.raises(PatternError):
        of(Regex(text))


def test_trusted_event_compiles_what_is_tried() -> None:
    """An alternative of a trusted event is compiled when it is announced: until then, even a broken one harms nobody."""
    sound, broken = (Alternative((Sequence((Regex(text),)),)) for text in (r"lost rank (?P<r>\d+)", r"(lost"))
    event = Event("r.e", "e", (sound, broken), captures=(("r", "rank"),))
    trusted = trusted_event(event)
    assert [h.fields for h in trusted.matches(b"lost rank 3", announced=0b01)] == [{"r": 3}]
    with pytest.raises(PatternError):
        list(trusted.matches(b"lost rank 3", announced=0b10))
    with pytest.raises(PatternError):
        compile_event(event)


@given(st.lists(st.sampled_from([b"rank 3 lost", b"rank 3 left", b"lost", b"rank 44 lost\nrank 5 lost", b""]), min_size=TRIES * 2))
def test_tries_make_no_difference(texts: list[bytes]) -> None:
    """What a regex finds does not depend on how often it was tried before."""
    used = pattern(Alternative((Sequence((Regex(r"rank (?P<r>\d+) lost"),)),)))
    for text in texts:
        fresh = pattern(Alternative((Sequence((Regex(r"rank (?P<r>\d+) lost"),)),)))
        assert list(used.matches(text)) == list(fresh.matches(text))


TEXTS = st.lists(st.sampled_from([b"rank 3 lost", b"rank x lost", b"aaaa", b"lost by 4", b" of ", b"\n"]), max_size=12).map(
    b"".join
)


@given(st.lists(TEXTS, min_size=TRIES * 2))
def test_the_order_of_alternatives_holds_however_often_they_were_tried(texts: list[bytes]) -> None:
    """Texts that are looked for before a regex, and one line that is taken as a whole, change no occurrence."""
    parts: list[list[str | Regex]] = [
        ["aa"],
        [Regex(r"rank (?P<r>\d+) lost")],
        ["lost", "by {n:int}"],
        ["lost"],
        [Regex(r"l?o(?P<x>.)")],
    ]
    sequences = [Sequence(tuple(p if isinstance(p, Regex) else template(p) for p in some)) for some in parts]
    used = pattern(*(Alternative((s,)) for s in sequences), Alternative((sequences[0], sequences[3])))
    for text in texts:
        fresh = compile_event(used.event)
        assert used.matches(text) == fresh.matches(text) == used.matches(text, 0b111111)


@given(TEXTS, st.sampled_from(["aa", "lost", "a", "\n", "st\nr"]))
def test_a_template_without_captures_is_found_as_its_regex_is(text: bytes, fixed: str) -> None:
    """From left to right without overlap, over the ends of lines too."""
    assert of(fixed).matches(text) == of(Regex(re.escape(fixed))).matches(text)


def test_unknown_type_is_refused_and_plugged_type_works() -> None:
    """A type of a plug-in works when it is passed in and is refused when it is not installed."""
    event = Event("r.e", "e", (Alternative((Sequence((template("lid {l:lid}"),)),)),))
    with pytest.raises(PatternError, match="lid"):
        compile_event(event)
    lid = CaptureType("lid", "0x[0-9a-f]+|[0-9]+", lambda t: int(t, 0), "int", "0x1f", "a port's local id")
    assert compile_event(event, {**BUILTIN, "lid": lid}).match(b"lid 0x1f") == Hit({"l": 31}, 0, 8)


def test_floors_let_the_unknown_pass() -> None:
    """Severity is a floor and kinds are a filter; a record of unknown severity or kind passes both."""
    alternatives = (Alternative((Sequence((template("x"),)),)),)
    matcher = compile_event(Event("e", "e", alternatives, severity="warning", kinds=("kernel", "fabric")))
    assert matcher.accepts("warning", "kernel")
    assert matcher.accepts("fatal", "fabric")
    assert matcher.accepts(None, None)
    assert not matcher.accepts("info", "kernel")
    assert not matcher.accepts("error", "rank")


@given(st.binary(max_size=200))
def test_any_bytes_are_safe(text: bytes) -> None:
    """Arbitrary bytes never raise, and captured text is valid text."""
    hit = of(Regex("(?P<a>.+)"), "{b:text}").match(text + b"\xff\xfe")
    assert hit is not None
    assert all(isinstance(v, str) and v.encode().decode() == v for v in hit.fields.values())


@pytest.mark.parametrize(
    ("shape", "text", "fits"),
    [(r"\d+", "42", True), (r"\d+", "42;", False), (r"[^\n]*?", "$(x)", True), ("(?=x)x", "x", False), ("(", "(", False)],
)
def test_admits(shape: str, text: str, *, fits: bool) -> None:
    """A shape admits a text that it covers whole; what is not RE2 syntax admits nothing."""
    assert admits(shape, text) is fits


def test_other_digits_may_match() -> None:
    """The texts that an alternative needs stand in a text, or would with other digits, however many."""
    pattern = of("Xid {n:int} is 79")
    assert pattern.may_match_others(b"Xid 5 is 7", 1)
    assert pattern.may_match_others(b"Xid 12345 is 80123", 1)
    assert not pattern.may_match_others(b"Xid 5 was 79", 1)
    assert not pattern.may_match_others(b"Xid 5 is 7", 0)
