"""Syntax mistakes in an author's words: what stands there, what was expected, and a way out.

The parser says where it got stuck and which symbols it would have taken; here that becomes a diagnostic. A symbol is a
keyword or sign as it is written, or the name of one of the kinds in `WORDS`, which never reach a message.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from attrs import define, field, frozen

from denpex_rules.errors import JOINED, Diagnostic, Edit, Patch, Source, Span
from denpex_rules.rule import CERTAINTIES, SEVERITIES, VERBS

# What each kind of symbol is called in messages.
WORDS: Final[dict[str, str]] = {
    "STRING": "a text in double quotes",
    "REGEX": "a regex between slashes",
    "DURATION": "a duration such as 30s",
    "INT": "a whole number",
    "FLOAT": "a decimal number",
    "SIZE": "a size such as 16GiB",
    "NAME": "a name",
    "TAG": "a tag such as silent-crash",
    "OPERATOR": "a comparison (==, !=, <, <=, >, >=)",
    "SIGN": "`+` or `-`",
    "VERB": "`require`, `confirm`, `refute` or `unless`",
    "PICK": "`first` or `last`",
    "LOOK": "`first`, `last` or `next`",
    "SEVERITY": "a severity (debug, info, warning, error, fatal)",
    "CERTAINTY": "`certain` or `likely`",
    "ROLE": "`rank`, `host` or `device`",
    "$END": "the next statement",
}

# What follows a word, where that says more than the kind of the symbol does.
AFTER: Final[dict[str, str]] = {
    "language": "the version of the language: `language 1`",
    "use": "the path of a building block such as lib.c10d.timeout",
    "as": "a name for the building block",
    "rule": "the path of the rule such as hardware.gpu.fell_off_bus",
    "class": "a class such as gpu.fell_off_bus",
    "causes": "classes such as collective.timeout, separated by commas",
    "impact": "critical, major, minor or none",
    "level": "failure, stop, warning or info",
    "status": "draft, preview, stable or deprecated",
    "tags": "tags such as nvidia, silent-crash",
    "event": "a name for the event",
    "moment": "a name for the moment",
    "with": "the name of a capture and its type: `with code: int`",
    "in": "a kind of log (rank, kernel, agent, scheduler, fabric, control)",
    "per": "what one match is about: job, host, device or rank",
    "let": "a name for the value",
    "require": "the name of an event",
    "confirm": "the name of an event, or `silence`",
    "refute": "the name of an event, or `silence`",
    "unless": "the name of an event, or `silence`",
    "first": "the name of an event",
    "last": "the name of an event",
    "next": "the name of an event",
    "where": "a condition such as rank == lost.rank",
    "distinct": "the name of a field",
    "before": "the name of an earlier step",
    "after": "the name of an earlier step",
    "between": "the name of an earlier step",
    "at": "the name of an earlier step",
    "within": "a duration such as 30s, or a range such as 1m..5m",
    "give": "a duration such as 30s, or a range such as 30s..2m",
    "for": "a duration such as 30s",
    "quiet": "a duration such as 10m",
    "blame": "who failed: rank, host or device with its value, or none",
    "onset": "a step such as timeout.stalled, or a look-up such as `last progress before lost`",
    "victim": "a field such as timeout.rank",
    "reporter": "a field such as timeout.rank",
    "when": "the name of a step",
    "on": "a host such as lost.host",
}

_SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
    "SEVERITY": SEVERITIES,
    "CERTAINTY": CERTAINTIES,
    "VERB": VERBS,
    "ROLE": ("rank", "host", "device"),
    "LOOK": ("first", "last", "next"),
    "PICK": ("first", "last"),
}
MAX_WORD: Final = 60  # longer words were meant to be nothing
_LOGIC: Final = frozenset({"or", "not"})
_NO_LOGIC: Final = "there is no `or` and no `not`: conditions are joined by `and`, patterns by any(...), rules stand side by side"
_CLAUSES: Final = frozenset({"where", "count", "distinct", "before", "after", "between", "within", "at", "for"})
_VALUES: Final = frozenset({"NAME", "INT", "DURATION", "SIZE", "FLOAT", "STRING", "SIGN"})
_PATTERN: Final = frozenset({"STRING", "REGEX", "any", "all"})
_UNIT: Final = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m"}
_UNIT.update({"hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d", "msec": "ms", "millis": "ms"})
_UNIT.update({u: u for u in ("ns", "us", "ms", "s", "m", "h", "d")})


@frozen
class Token:
    """A piece of a rule file as the recovery sees it. `kind` is string, regex, word, number, sign or unclosed."""

    kind: str
    text: str
    start: int
    end: int
    first: bool  # the first piece on its line


@frozen
class Failure:
    """Where the parser got stuck (a character offset) and the symbols that it would have taken there."""

    at: int
    accepted: frozenset[str]


@define
class Mistakes:
    """The diagnostics of one file, as they are found."""

    source: Source
    found: list[Diagnostic] = field(factory=list)

    def add(self, code: str, message: str, span: Span, expected: str = "", hint: str = "") -> None:
        """Report one mistake."""
        self.found.append(self.source.diagnostic(code, message, span, expected, hint))

    def repeat(self, message: str, span: Span) -> None:
        """Report a member of a list that stood there before; taken out, it takes its comma with it."""
        before = self.source.text[: span.start].rstrip()
        sure = before.endswith(",") and "#" not in before.rpartition("\n")[2]  # the comma of a comment is none
        edit = Edit(self.source.span(len(before[:-1].rstrip()), span.end), "")
        patch = Patch("remove the second one", (edit,), safe=True) if sure else None
        self.found.append(self.source.diagnostic("E0202", message, span, patch=patch))


def nearest(word: str, candidates: Collection[str]) -> str:
    """Return the candidate that `word` was most likely meant to be, "" when none is close."""
    if len(word) > MAX_WORD:
        return ""
    return _nearest(word, frozenset(candidates))


@lru_cache(maxsize=4096)
def _nearest(word: str, candidates: frozenset[str]) -> str:
    return next(iter(get_close_matches(word.lower(), sorted(candidates), n=1, cutoff=0.7)), "")


def did_you_mean(word: str, candidates: Collection[str]) -> str:
    """Return the hint "did you mean …?", "" when no candidate is close."""
    best = nearest(word, candidates)
    return f"did you mean {best}?" if best else ""


def listed(words: Sequence[str], last: str = "or") -> str:
    """Return words as a list in prose: "a, b or c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def explain(source: Source, tokens: Sequence[Token], failure: Failure, keywords: Collection[str]) -> Diagnostic:
    """Return the diagnostic of a failed attempt to parse the statement that `tokens` are.

    Args:
        source: the file.
        tokens: the statement, at least one token.
        failure: where the parser got stuck.
        keywords: every reserved word of the language.
    """
    index = next((i for i, t in enumerate(tokens) if t.end > failure.at), len(tokens))
    moved = _misspelt_before(tokens, index, keywords)
    if moved is not None:
        token, hint = moved
        message = f"`{token.text}` is not a word of the language"
        return source.diagnostic("E0101", message, source.span(token.start, token.end), "", hint)
    if index == len(tokens):
        last = tokens[-1]
        end = source.span(last.end, last.end + 1)
        message = f"`{tokens[0].text}` ends too early"
        comma = Edit(source.span(last.start, last.end), "") if last.text == "," else None
        patch = Patch("remove the comma", (comma,), safe=True) if comma else None
        expected = _expected(tokens, index, failure.accepted)
        return source.diagnostic("E0101", message, end, expected, _hint_end(tokens), patch=patch)
    token = tokens[index]
    message = f"`{_short(token.text)}` can't stand here"
    if index > 0:
        message += f" in `{tokens[0].text}`"
    accepted = failure.accepted
    if failure.at > token.start:  # stuck inside a piece: a number such as 5min, or == for =
        accepted = frozenset({"=" if token.text == "==" else "NAME"})
    expected, hint = _expected(tokens, index, accepted), _hint(tokens, index, accepted)
    if re.fullmatch(r"did you mean \d+[a-z]+\?", hint):
        expected = WORDS["DURATION"]
    return source.diagnostic("E0101", message, source.span(token.start, token.end), expected, hint)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _expected(tokens: Sequence[Token], index: int, accepted: frozenset[str]) -> str:
    before = tokens[index - 1].text if index else ""
    if before == ",":
        before = tokens[0].text
    if before in AFTER and accepted & {"NAME", "STRING", "INT", "TAG", "ROLE"}:
        return AFTER[before]
    words, rest = [], set(accepted)
    if len(rest & _CLAUSES) > 2:
        words.append("a clause such as `where`, `before` or `within`")
        rest -= _CLAUSES | {"NAME"}
    if rest >= _VALUES:
        words.append("a field, a `let` or a value")
        rest -= _VALUES | {")"}
    if rest >= {"STRING", "REGEX"}:
        words.append("a pattern: a text in double quotes, a regex between slashes, any(...) or all(...)")
        rest -= _PATTERN | {"SEVERITY", "in", "expensive"}
    if "OPERATOR" in rest:
        rest -= {"(", "."}
    if {"DURATION", "INT"} <= rest:
        rest.discard("INT")
    if len(rest) > 6:  # a place where most statements may stand
        rest &= {"}"}
        words.append("the next statement")
    words += [WORDS.get(s, f"`{s}`") for s in sorted(rest, key=lambda s: (s == "$END", s not in WORDS, s))]
    return listed(list(dict.fromkeys(words))) if words else "nothing more"


def _misspelt_before(tokens: Sequence[Token], index: int, keywords: Collection[str]) -> tuple[Token, str] | None:
    """Return the token before the failure when it was taken for a name but is a misspelt clause ("whre rank == 3"), with
    a hint.
    """
    if index < 2:
        return None
    token = tokens[index - 1]
    if token.kind != "word" or token.text in keywords or tokens[index - 2].kind == "sign":
        return None
    if token.text in _LOGIC:
        return token, _NO_LOGIC
    if tokens[index - 2].text in {"onset", "else"}:
        meant = nearest(token.text, _SPELLINGS["LOOK"])
        return (token, f"did you mean {meant}?") if meant else None
    if tokens[index - 2].text in AFTER or (index < len(tokens) and tokens[index].text in {".", ",", "=", "("}):
        return None
    meant = nearest(token.text, _CLAUSES | {"error", "warning", "fatal", "info", "expensive"})
    return (token, f"did you mean {meant}?") if meant else None


def _hint_end(tokens: Sequence[Token]) -> str:
    last = tokens[-1]
    if last.text == ",":
        return "remove the comma at the end"
    if tokens[0].text == "per":
        return "say over how long: `per job within 2h`"
    return ""


def _hint(tokens: Sequence[Token], index: int, accepted: frozenset[str]) -> str:
    token = tokens[index]
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    for hint in (
        _hint_number(token, before, after, accepted),
        _hint_sign(token, before, after, accepted),
        _hint_word(token, before, accepted),
    ):
        if hint:
            return hint
    return ""


def _hint_number(token: Token, before: Token | None, after: Token | None, accepted: frozenset[str]) -> str:
    text = token.text
    if token.kind == "word" and before is not None and before.kind == "number":
        text = before.text + text  # "5 minutes"
    match = re.fullmatch(r"(\d+)(\.\d+)?([A-Za-z]+)", text)
    if match and match[3].lower() in _UNIT:
        unit = _UNIT[match[3].lower()]
        if match[2]:
            return "durations are whole numbers of a unit: 1h30m, not 1.5h"
        if match[1] + unit != token.text:
            return f"did you mean {match[1]}{unit}?"
    if token.kind == "number" and before is not None and before.text in {"after", "before"}:
        target = after.text if after is not None and after.kind == "word" else "X"
        return f"did you mean `within {token.text} {before.text} {target}`?"
    if token.kind == "number" and "STRING" in accepted:
        return f'did you mean "{token.text}"?'
    return ""


def _hint_sign(token: Token, before: Token | None, after: Token | None, accepted: frozenset[str]) -> str:
    if token.text == "=" and "OPERATOR" in accepted:
        return "did you mean ==?"
    if token.text == "==" and "=" in accepted:
        return "did you mean =?"
    if token.text in {"&&", "&"} and "and" in accepted:
        return JOINED
    if token.text in {"||", "|"}:
        return "there is no `or`: write any(...) in the event, or two rules"
    if token.text == "'":
        return "texts stand in double quotes"
    if token.text == ":":
        return "no colon is needed here"
    if token.text in {";", ","} and before is not None:
        return f"remove the `{token.text}`: statements and clauses need no separator"
    if token.text == "-" and before is not None and after is not None and before.end == token.start and after.start == token.end:
        return f"a name has letters, digits and _: did you mean {before.text}_{after.text}?"
    if token.text == "{" and "{" not in accepted:
        return "only a rule has a block in braces"
    return ""


def _hint_word(token: Token, before: Token | None, accepted: frozenset[str]) -> str:
    if token.kind == "string":
        if before is not None and before.kind == "string":
            return "join two parts of a pattern by `&`"
        return "names are written without quotes" if accepted & {"NAME", "TAG"} and "STRING" not in accepted else ""
    if token.kind != "word":
        return ""
    if before is not None and before.kind == "string" and before.end == token.start:
        return 'write \\" for a quote inside a text'
    spelled = (w for s in accepted for w in _SPELLINGS.get(s, (s,)))
    meant = token.text not in _LOGIC and nearest(token.text, {w for w in spelled if w.isalpha() and w.islower()})
    if meant:
        return f"did you mean {meant}?"
    if token.text in _LOGIC:
        return _NO_LOGIC
    if "STRING" in accepted and "NAME" not in accepted:
        return "put the text in double quotes"
    return ""
