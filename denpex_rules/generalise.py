"""From log lines to a template: which parts of a message vary, of which type they are, and what to call them.

A part varies where lines of one shape differ. Where one line alone is given its shape decides: addresses, hosts, ranks, paths,
sizes, durations and plain numbers vary; a number behind a word such as `code` or `signal` is what the message is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from attrs import evolve, frozen

from denpex_rules.sighting import NOBODY, Actor
from denpex_rules.values import ACTOR_FIELDS, BUILTIN, parse_host

LONGEST: Final = 1000  # characters of a message that are looked at
FIXED: Final = 140  # characters of fixed text after which a template ends: more says nothing new
HOLES: Final = 8  # captures after which it ends
ALIKE: Final = 0.6  # how much of two messages is equal when they are of one shape
GAP: Final = "gap"  # the type of a stretch of any length that lines don't have in common
TIME: Final = "time"  # the type of a stamp: its shape is skipped, no capture type stands for it


@frozen
class Part:
    """A piece of a message: fixed where `type` is empty, else a hole with the text that stood in it.

    `known` says that its shape alone makes it vary (an address, a path), so that equal texts in several lines prove nothing.
    `name` is what the capture is called; a hole without a name is there and not kept.
    """

    text: str
    type: str = ""
    known: bool = False
    name: str = ""


# ------------------------------------------------------------------ one line by its shape

_END: Final = r"(?![\w])"
_MACHINE: Final = (
    r"(?:node|host|gpu|cpu|cn|nid|dgx|hgx|hpc|compute|server|srv|worker|ip)[a-z]*-(?=[a-z0-9.-]*\d)"
    r"[a-z0-9-]*[a-z0-9](?:\.[a-z0-9-]+)*"
)
_DEVICE: Final = r"mlx[45]_\d+|bnxt_re\d+|hfi1_\d+|nvme\d+n\d+(?:p\d+)?|sd[a-z]{1,2}\d*|(?:eth|ib|bond|eno)\d+|(?:ens|enp)\d\w*"
_UNITS: Final = {
    "ms": r"ms|msec|milliseconds?",
    "us": r"us|usec|microseconds?",
    "ns": r"ns|nsec|nanoseconds?",
    "s": r"s|secs?|seconds?",
    "min": r"min|mins|minutes?",
}
# What a stretch of a message looks like, in the order in which shapes are tried, and whether that alone makes it vary.
_SHAPES: Final[tuple[tuple[str, str, bool], ...]] = (
    (TIME, r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?" + _END, True),
    ("pci", r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?" + _END, True),
    ("pci", r"[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]" + _END, True),
    ("word", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}" + _END, True),
    ("address", r"\[[0-9a-fA-F:]{2,39}\]:\d{1,5}" + _END, True),
    ("address", r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|<\d{1,5}>)?" + _END, True),
    ("address", _MACHINE + r":\d{2,5}" + _END, True),
    ("hms", r"\d+:\d\d:\d\d(?:\.\d+)?" + _END, True),
    ("host", _MACHINE + _END, True),
    ("path", r"(?:[a-z][a-z0-9]{1,9}:/)?/[\w.@+=%~-][\w.@+=%~/-]*[\w@+=%~/-]", True),
    ("device", f"(?:{_DEVICE}){_END}", True),
    ("hex", r"0[xX][0-9a-fA-F]+" + _END, True),
    ("hex", r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}" + _END, True),
    ("bytes", r"\d+(?:\.\d+)? ?(?:[KMGTPE]i?B|[kmg]B)" + _END, True),
    *((unit, r"\d+(?:\.\d+)?(?= ?(?:" + names + r")" + _END + ")", True) for unit, names in _UNITS.items()),
    ("ranks", r"\[\d+(?:-\d+)?(?:, ?\d+(?:-\d+)?)+\]", True),
    ("float", r"[+-]?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)" + _END, False),
    ("int", r"[+-]?\d+" + _END, False),
)
_TOKEN: Final = re.compile(
    "|".join(f"(?P<t{n}>(?<![\\w.]){shape})" for n, (_, shape, _) in enumerate(_SHAPES))
    + r"|(?P<word>[^\W_]+|_+)|(?P<other>\s+|.)",
    re.DOTALL,
)
_LABELLED: Final = re.compile(r"([A-Za-z][A-Za-z_]*)(?:\s*[=:#]\s*|\s+|[([])[\"'(]?$|([A-Za-z][A-Za-z_]*)$")
# Words that say what the number behind them is.
_TYPES: Final = {
    "rank": "rank",
    "global_rank": "rank",
    "ranks": "ranks",
    "local_rank": "local_rank",
    "group_rank": "group_rank",
    "pid": "pid",
    "seq": "seq",
    "seq_num": "seq",
    "sequence": "seq",
    "job": "job",
    "jobid": "job",
    "job_id": "job",
}
_NAMED: Final = {"host": "host", "hostname": "host", "node": "host", "peer": "host", "nodename": "host"}
_CODES: Final = frozenset(
    re.findall(
        r"\w+",
        """
        errno error err code exitcode exit_code retcode ret rc signal status xid sxid sx_id http version language level
        opcode
        """,
    )
)
_XID: Final = re.compile(r"S?Xid \(PCI:[^)]{0,40}\): $")


def parts(message: str) -> tuple[Part, ...]:
    """Return a message in parts by its shape alone, the fixed ones word by word."""
    found: list[Part] = []
    text = message[:LONGEST]
    for match in _TOKEN.finditer(text):
        group = match.lastgroup or ""
        piece = match[0]
        before = text[: match.start()]
        if group.startswith("t"):
            kind, _, known = _SHAPES[int(group[1:])]
            found.append(_number(piece, kind, before) if kind in {"int", "float"} else Part(piece, kind, known))
        elif group == "word":
            found.extend(_word(piece, before, text[match.end() :]))
        else:  # what can't be seen has no place in a rule's text: bidi marks, controls
            seen = piece.replace("\t", " ").isprintable()
            found.append(Part(piece) if seen else Part(piece, GAP, known=True))
    return tuple(found)


def _label(before: str) -> str:
    """Return the word that says what stands behind a text, in the form of a name; "" where none does."""
    match = _LABELLED.search(before[-60:])
    return snake(match[1] or match[2]) if match else ""


def snake(word: str) -> str:
    """Return a word as a name is written: `SeqNum` is `seq_num`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower().strip("_")


def _number(piece: str, kind: str, before: str) -> Part:
    label = _label(before)
    if label in _TYPES and kind == "int":
        return Part(piece, _TYPES[label], known=True)
    if label in _CODES or _XID.search(before):
        return Part(piece)
    return Part(piece, kind)


def _word(piece: str, before: str, behind: str) -> list[Part]:
    """Return a word: fixed, or a host where the text in front says so, or a rank glued to its number (`rank5`)."""
    glued = re.fullmatch(r"([Rr]ank)(\d{1,7})", piece)
    if glued:
        return [Part(glued[1]), Part(glued[2], "rank", known=True)]
    if _label(before) in _NAMED and any(c.isdigit() for c in piece) and not behind[:1].isalnum():
        return [Part(piece, "host", known=True)]
    return [Part(piece)]


# ------------------------------------------------------------------ several lines by comparison


def alike(one: Sequence[Part], other: Sequence[Part]) -> bool:
    """Say whether two messages are of one shape: most of their parts are equal, a word of three letters among them."""
    matcher = SequenceMatcher(None, _keys(one), _keys(other), autojunk=False)
    shared = (one[i] for block in matcher.get_matching_blocks() for i in range(block.a, block.a + block.size))
    return matcher.ratio() >= ALIKE and any(len(p.text) >= 3 and p.text.isalpha() for p in shared if not p.type)


def _keys(message: Sequence[Part]) -> list[str]:
    return [f"<{p.type}>" if p.type else p.text for p in message]


def generalise(messages: Sequence[Sequence[Part]]) -> tuple[Part, ...]:
    """Return what messages of one shape have in common, with holes where they differ or where the shape alone tells.

    A plain number varies when there is only one message; of several, when it differs.

    Args:
        messages: at least one message in parts.
    """
    merged, *others = messages
    for other in others:
        merged = _merge(merged, other)
    return tuple(Part(p.text) if others and p.type and not p.known else p for p in merged)


def _merge(one: Sequence[Part], other: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts of two messages as one; a number that differs is known to vary from then on."""
    found: list[Part] = []
    for what, a, b, c, d in SequenceMatcher(None, _keys(one), _keys(other), autojunk=False).get_opcodes():
        if what == "equal":
            found += [
                evolve(p, known=p.known or p.text != q.text) if p.type else p for p, q in zip(one[a:b], other[c:d], strict=True)
            ]
        elif b - a == d - c == 1 and (kind := _common(one[a], other[c])):
            found.append(Part(one[a].text, kind, known=True))
        else:
            found.append(Part("".join(p.text for p in one[a:b]), GAP, known=True))
    return tuple(found)


def _common(one: Part, other: Part) -> str:
    """Return the type of a hole into which both parts fit, "" where it takes a stretch of any length."""
    width = max(_width(one), _width(other))
    return _WIDER[width] if width < len(_WIDER) else ""


_WIDER: Final = ("int", "float", "word")  # each holds all that the ones before it do


def _width(part: Part) -> int:
    """Return the narrowest of `_WIDER` that holds a part; beyond them where none does."""
    if part.type in _WIDER:
        return _WIDER.index(part.type)
    if part.type not in {"", "hex"} or not re.fullmatch(BUILTIN["word"].pattern, part.text):
        return len(_WIDER)
    return 0 if re.fullmatch(r"[+-]?\d+", part.text) else _WIDER.index("word")


# ------------------------------------------------------------------ from parts to a pattern

_SHORT_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a after an and are as at before by for from has in into is it its not of on or over than that the this to up was were
        will with
        """,
    )
)
_DEFAULTS: Final = {"path": "file", "bytes": "size", "address": "peer", "word": "what", "hex": "id", "float": "value", "int": "n"}
_DURATIONS: Final = frozenset({*_UNITS, "hms"})


def trimmed(pattern: Sequence[Part], *, holes: int = HOLES, fixed: int = FIXED) -> tuple[Part, ...]:
    """Return a pattern without holes of any length at its ends, cut where it has said enough."""
    found: list[Part] = []
    for part in pattern:
        if sum(p.type not in {"", GAP, TIME} for p in found) >= holes or sum(len(p.text) for p in found if not p.type) >= fixed:
            break
        found.append(part)
    while found and (_idle(found[0]) or (not found[0].type and found[0].text in _CLOSING)):
        found.pop(0)
    while found and (_idle(found[-1]) or (not found[-1].type and found[-1].text in _OPENING)):
        found.pop()
    return tuple(found)


_OPENING: Final = frozenset("[({<'\"=")
_CLOSING: Final = frozenset("])}>:,;-|.")


def _idle(part: Part) -> bool:
    return part.type in {GAP, TIME} or (not part.type and part.text.isspace())


def named(pattern: Sequence[Part], actor: Actor = NOBODY) -> tuple[Part, ...]:
    """Return a pattern with a name for each hole, and with holes that touch made one.

    A rank or host in a message is the printer's own only where it is known to be: elsewhere it is called `peer`, because a
    capture `rank` or `host` says who the record speaks for.

    Args:
        pattern: the parts.
        actor: who printed the lines.
    """
    found: list[Part] = []
    taken: set[str] = set()
    for part in pattern:
        if not part.type:
            found.append(part)
            continue
        if found and found[-1].type:
            found[-1] = Part(found[-1].text + part.text, GAP, known=True)
            continue
        name = "" if part.type in {GAP, TIME} else _free(_name(part, "".join(p.text for p in found), actor), taken)
        taken.add(name)
        found.append(evolve(part, name=name))
    return tuple(found)


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else next(f"{name}{n}" for n in range(2, len(taken) + 3) if f"{name}{n}" not in taken)


def _name(part: Part, before: str, actor: Actor) -> str:
    if part.type in {"rank", "ranks"}:
        return "rank" if part.type == "rank" and part.text == str(actor.rank) else f"peer{'s' * (part.type == 'ranks')}"
    if part.type in {"host", "address"}:
        return "host" if parse_host(part.text) == actor.host else "peer"
    if part.type in {"pci", "device"}:
        return "device"
    if part.type in {"local_rank", "group_rank", "pid", "job", "seq"}:
        return part.type
    label = _label(before)
    if part.type in _DURATIONS:
        return "took"
    default = _DEFAULTS.get(part.type, "value")
    usable = 2 <= len(label) <= 20 and label not in _SHORT_WORDS and label not in {*ACTOR_FIELDS, "time"}
    return label if usable and part.type not in {"path", "bytes", "address"} else default


def escaped(text: str) -> str:
    """Return a text as it stands between the quotes of a string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def source(pattern: Sequence[Part]) -> str:
    """Return a pattern as a rule writes it: templates in quotes, joined by `&` across what lines do not have in common."""
    strings: list[str] = [""]
    for part in pattern:
        if part.type in {GAP, TIME}:
            strings.append("")
        elif part.type:
            strings[-1] += f"{{{part.name}:{part.type}}}"
        else:
            strings[-1] += escaped(part.text).replace("{", "{{").replace("}", "}}")
    return " & ".join(f'"{text}"' for text in strings if _says(text))


def _says(text: str) -> bool:
    """Whether a template between two gaps says anything: punctuation alone does not."""
    return any(c.isalnum() for c in text)


def words(pattern: Sequence[Part]) -> list[str]:
    """Return the words that a pattern fixes, in order, in lower case: letters only, at least three, none of the small ones."""
    fixed = " ".join(p.text for p in pattern if not p.type)
    return [w for w in (snake(found) for found in re.findall(r"[A-Za-z]{3,}", fixed)) if w not in _SHORT_WORDS]
