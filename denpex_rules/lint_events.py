"""Advice about events: patterns that say too little or too much, and examples."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from denpex_rules.errors import Diagnostic, Edit, Patch
from denpex_rules.literals import MIN_LENGTH, fixed_texts
from denpex_rules.rule import PROGRESS, Alternative, Event, Template
from denpex_rules.usage import Use, advice

COMPARED: Final = 500  # alternatives of one event that are compared with each other
TELLING: Final = 12  # bytes of fixed text from which on a pattern can be taken for its emitter's own words


def lint_events(events: Iterable[Event], uses: Collection[Use]) -> Iterator[Diagnostic]:
    """Yield advice about events, in the light of the rules that use them."""
    used = frozenset[str]().union(*(use.events for use in uses))
    proof = frozenset[str]().union(*(use.proof for use in uses))
    stable = frozenset[str]().union(*(use.events for use in uses if use.rule.status == "stable"))
    for event in events:
        if event.id in stable and not event.like:
            message = f"event `{event.name}` of a stable rule has no example"
            yield advice("L0101", message, event.span, 'add `like "…"` with a line as its emitter prints it')
        if event.id in proof:
            yield from _breadth(event)
        if uses and event.id not in used and not event.identity and PROGRESS not in event.id:
            yield advice("L0108", f"no rule uses the event `{event.name}`", event.span, "leave it out")
        yield from _pattern(event)
        yield from _examples(event)


# ------------------------------------------------------------------ too wide


def _breadth(event: Event) -> Iterator[Diagnostic]:
    """Yield advice about an event that more emitters could print than its author thought of."""
    word = next((w for a in event.alternatives if (w := _common(a))), "")
    if word:
        message = f"event `{event.name}` accepts every record with `{word}` in it"
        yield advice("L0102", message, event.span, "add what only this emitter says around the word")
    if event.severity is None and not event.kinds:
        fixed = min((_fixed(a) for a in event.alternatives), key=lambda texts: sum(map(len, texts)))
        if sum(map(len, fixed)) < TELLING:
            words = " … ".join(text.decode("utf-8", "replace") for text in fixed)
            message = f"event `{event.name}` accepts records of any severity from any log with no more fixed text than `{words}`"
            yield advice("L0103", message, event.span, f"say where it is printed: `event {event.name} error in rank`")


def _fixed(alternative: Alternative) -> list[bytes]:
    """Return the words of an alternative that every match contains, the shortest where one of several will do."""
    texts = (min(either, key=len).strip() for either in fixed_texts(alternative))
    return [text for text in texts if len(text) >= MIN_LENGTH]


# Words that say how bad it is or that something ended, and so stand in the lines of every emitter.
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a an and at by down for from has in info is not of on or out the to unknown warn warning was with
        abort aborted crash crashed dead died done err error errors exception exit exited fail failed failure fatal
        hang hung killed lost panic stopped stuck terminated time timed timeout
        """,
    )
)
_ESCAPE: Final = re.compile(r"\\[bBdDsSwWAzZ]|\(\?(?:P?<\w+>|[a-z]*:|[a-z]+\))")


def _common(alternative: Alternative) -> str:
    """Return what the parts of an alternative say, where that is common words alone; else nothing."""
    said = []
    for part in (p for sequence in alternative.sequences for p in sequence.parts):
        if isinstance(part, Template):
            said += [piece for piece in part.pieces if isinstance(piece, str)]
        elif part.text.startswith("^") and part.text.endswith("$"):
            return ""  # the whole line: nothing else may stand in it
        else:
            said.append(_ESCAPE.sub(" ", part.text))
    text = " ".join(said)
    words = re.findall(r"[a-z]+", text.lower())
    return text.strip() if words and _COMMON.issuperset(words) and not re.search(r"[0-9]", text) else ""


# ------------------------------------------------------------------ patterns


_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")

# What changes from run to run, and so stands in a pattern only because a line was pasted into it.
_VARIABLE: Final = (
    (
        re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)|(?<!\d)\d\d:\d\d:\d\d(?!\d)"),
        "a time",
        "leave the time out: it is read from the line",
    ),
    (re.compile(r"\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\b"), "a PCI address", "write {device:pci}"),
    (re.compile(r"(?<![\d.])(?!127\.0\.0\.1|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"), "an address", "write {peer:address}"),
    (re.compile(r"\bpid[= ]\d+"), "a process id", "write {pid:pid}"),
    (re.compile(r"\b0x[0-9a-fA-F]{8,}\b"), "a memory address", "write {:hex}"),
)


def _pattern(event: Event) -> Iterator[Diagnostic]:
    yield from _covered(event)
    for part in (p for a in event.alternatives for s in a.sequences for p in s.parts):
        if isinstance(part, Template):
            yield from _pasted(event, part)
        elif not _SPECIAL.search(part.text):
            text = part.text.replace('"', '\\"')
            patch = Patch("write the regex as a text", (Edit(part.span, f'"{text}"'),), safe=True)
            message = "this regex says no more than a text in double quotes would"
            yield advice("L0116", message, part.span, f'write "{text}"', patch)


def _pasted(event: Event, part: Template) -> Iterator[Diagnostic]:
    for text in (piece for piece in part.pieces if isinstance(piece, str)):
        for shape, what, hint in _VARIABLE:
            found = shape.search(text)
            if found:
                message = f"event `{event.name}` wants {what} that differs from run to run: `{found[0]}`"
                yield advice("L0114", message, part.span, hint)


def _covered(event: Event) -> Iterator[Diagnostic]:
    """Yield advice about plain texts in each of which a shorter alternative of the same event stands anyway."""
    texts = [(text, a.sequences[0].parts[0].span) for a in event.alternatives[:COMPARED] if (text := _sole(a)) is not None]
    for number, (text, span) in enumerate(texts):
        other = next((t for n, (t, _) in enumerate(texts) if t in text and (t != text or n < number)), None)
        if other is not None:
            message = f"every line with `{text}` has `{other}` in it, which is an alternative too"
            yield advice("L0113", message, span, "leave the longer one out")


def _sole(alternative: Alternative) -> str | None:
    """Return the text that is all of an alternative, None where it has captures, a regex or several parts."""
    parts = [p for sequence in alternative.sequences for p in sequence.parts]
    if len(parts) != 1 or not isinstance(parts[0], Template) or len(parts[0].pieces) != 1:
        return None
    piece = parts[0].pieces[0]
    return piece if isinstance(piece, str) else None


# ------------------------------------------------------------------ examples

# What an invented example does not hold. Addresses: those that no documentation, private or local range has.
_PRIVATE: Final = (
    (
        re.compile(r"(?<![\w.])[\w.+-]{1,64}@(?!example\.)[\w-]{1,63}\.(?!local\b|example\b|internal\b)[a-z]{2,20}\b"),
        "an e-mail address",
    ),
    (
        re.compile(
            r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{30,}|xox[abp]-[\w-]{20,})"
        ),
        "a credential",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), "a private key"),
)
_IPV4: Final = re.compile(r"(?<![\d.])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\d.])")


def _examples(event: Event) -> Iterator[Diagnostic]:
    for text in dict.fromkeys((*event.like, *event.unlike)):
        for shape, what in _PRIVATE:
            if shape.search(text):
                message = f"an example of event `{event.name}` holds what looks like {what}"
                yield advice("L0115", message, event.span, "invent it: rules travel further than logs")
        for found in _IPV4.finditer(text):
            if _public(tuple(map(int, found.groups()))):
                message = f"an example of event `{event.name}` holds a public address: `{found[0]}`"
                yield advice("L0115", message, event.span, "use an address such as 10.0.0.7")


def _public(octets: tuple[int, ...]) -> bool:
    """Say whether an IPv4 address may be somebody's; a version number such as 12.4.0.1 is indistinguishable, and small."""
    a, b, c, _ = octets
    if max(octets) > 255 or a < 20 or a >= 224:
        return False
    documentation = (a, b, c) in {(192, 0, 2), (198, 51, 100), (203, 0, 113)}
    reserved = a == 127 or (a, b) in {(192, 168), (169, 254)} or (a == 172 and 16 <= b < 32) or (a == 100 and 64 <= b < 128)
    return not documentation and not reserved
