"""Random rule files: sentences derived from the grammar itself, so that no construct is forgotten, in random spacing and with
comments wherever they can stand.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

from lark import Lark
from lark.grammar import Rule, Symbol

from denpex_rules.parser import grammar, keywords

LONG: Final = "NVRM: Xid (PCI:{device:pci}): 79, pid={pid:pid}, name={comm:word}, GPU has fallen off the bus"
# What each kind of symbol looks like. A kind that the grammar gains is missing here, and says so by a KeyError.
SAMPLES: Final = {
    "NAME": ("a", "lost", "last_step", "gpu2", "rank_of", "recovered_after_restart"),
    "TAG": ("silent-crash", "nvidia", "a_b-c"),
    "STRING": ('"x"', '"# no comment"', '"say \\"no\\" / \\\\"', f'"{LONG}"', '"two\\nlines"', '"a  b"'),
    "REGEX": ("/a+/", '/#"x\\/y/', r"/(?:^|[^: ] )\[[Rr]ank ?(?P<rank>\d+)\] .{1,40}/"),
    "INT": ("1", "42"),
    "FLOAT": ("0.5",),
    "DURATION": ("5s", "1m30s", "2h"),
    "SIZE": ("10B", "2.5GiB"),
    "OPERATOR": ("==", "!=", ">=", "<"),
    "SIGN": ("+", "-"),
    "VERB": ("require", "confirm", "refute", "unless"),
    "PICK": ("first", "last"),
    "LOOK": ("first", "last", "next"),
    "SEVERITY": ("error", "info"),
    "CERTAINTY": ("certain", "likely"),
    "ROLE": ("rank", "host", "device"),
}
TIGHT: Final = frozenset("(){},.:&=") | {".."}  # signs beside which no space is needed
SPACES: Final = (" ", "   ", "\t", "\n", "\r\n", "\n        ")
BLANKS: Final = ("\n\n", "\n \n\n\n  ")
COMMENTS: Final = (" # {}\n", "# {}\r\n", "\n# {}\n", "\n\n    # {}  \n\n\n", " # {}\n  #{} again\n", '\n  # "{}: é /\n')


@cache
def _language() -> tuple[dict[Symbol, list[Rule]], dict[str, str], dict[Symbol, int]]:
    """Return the expansions of each construct, how written symbols are spelled, and how deep a construct is at least."""
    lark = Lark(grammar(), parser="lalr")
    written = {t.name: t.pattern.value for t in lark.terminals if t.pattern.type == "str"}
    rules: dict[Symbol, list[Rule]] = {}
    for rule in lark.rules:
        rules.setdefault(rule.origin, []).append(rule)
    depth = {symbol: 0 for rule in lark.rules for symbol in rule.expansion if symbol.is_term}
    while len(depth) < len(rules) + sum(symbol.is_term for symbol in depth):
        depth |= {
            origin: 1 + min(_height(rule, depth) for rule in found if all(s in depth for s in rule.expansion))
            for origin, found in rules.items()
            if origin not in depth and any(all(s in depth for s in rule.expansion) for rule in found)
        }
    return rules, written, depth


def _height(rule: Rule, depth: dict[Symbol, int]) -> int:
    return max((depth[symbol] for symbol in rule.expansion), default=0)


def sentence(random: Random, size: int = 400) -> list[str]:
    """Return the symbols of a random rule file; the first `size` choices are free, then each construct takes its shortest form."""
    rules, written, depth = _language()
    words = sorted(keywords())
    found: list[str] = []
    open_symbols = [next(symbol for symbol in rules if symbol.name == "start")]
    while open_symbols:
        symbol = open_symbols.pop()
        if not symbol.is_term:
            size -= 1
            choices = rules[symbol]
            least = min(_height(rule, depth) for rule in choices)
            able = [rule for rule in choices if size > 0 or _height(rule, depth) == least]
            (rule,) = random.choices(able, [3 if symbol in rule.expansion else 1 for rule in able])  # rather one more than the last
            open_symbols += reversed(rule.expansion)
        elif symbol.name == "NAME" and found and found[-1] == ".":
            found.append(random.choice((*SAMPLES["NAME"], *words)))  # behind a dot every word is a name
        else:
            found.append(written.get(symbol.name) or random.choice(SAMPLES[symbol.name]))
    return found


def spaced(symbols: list[str], random: Random, *, comments: bool) -> str:
    """Return the symbols as text in random spacing, maybe with blank lines and comments, each of which has its own number."""
    parts: list[str] = []
    number = 0
    for before, after in zip(["(", *symbols], [*symbols, ")"], strict=True):
        kind = random.random()
        if comments and kind < 0.2:
            number += 1
            parts.append(random.choice(COMMENTS).replace("{}", str(number)))
        elif comments and kind < 0.3:
            parts.append(random.choice(BLANKS))
        elif kind < 0.5 and (before in TIGHT or after in TIGHT):
            parts.append("")
        else:
            parts.append(random.choice(SPACES))
        parts.append(after)
    return "".join(parts[:-1])
