"""Find every syntax mistake of a file: cut it into statements, parse each alone, report the first mistake of each.

A file that parses as a whole never comes here. Statements are told apart by a keyword at the start of a line, so a mistake
in one can't spill into the next. What failed stays in the tree as `Broken`, with the words that it mentions: the name and
type checks then know what not to complain about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from attrs import define, evolve, field, frozen

from denpex_rules.errors import Diagnostic, Edit, Patch, Source, Span
from denpex_rules.mistake import Failure, Token, explain, nearest


@frozen
class Leaf:
    """One symbol: `kind` is its terminal in the grammar, `text` how it is written."""

    kind: str
    text: str
    span: Span


@frozen
class Broken:
    """A statement that did not parse: its keyword and every word in it."""

    keyword: str
    words: frozenset[str]
    span: Span


@frozen
class Node:
    """One construct of the grammar (`kind` is its rule or alias) with its parts in order."""

    kind: str
    children: tuple[Node | Leaf | Broken, ...]
    span: Span

    def leaf(self, kind: str) -> Leaf | None:
        """Return the first symbol of a kind among the direct parts."""
        return next((c for c in self.children if isinstance(c, Leaf) and c.kind == kind), None)

    def leaves(self, *kinds: str) -> tuple[Leaf, ...]:
        """Return the symbols of these kinds among the direct parts (all symbols without kinds)."""
        return tuple(c for c in self.children if isinstance(c, Leaf) and (not kinds or c.kind in kinds))

    def node(self, *kinds: str) -> Node | None:
        """Return the first construct of one of these kinds among the direct parts."""
        return next(iter(self.nodes(*kinds)), None)

    def nodes(self, *kinds: str) -> tuple[Node, ...]:
        """Return the constructs of these kinds among the direct parts (all constructs without kinds)."""
        return tuple(c for c in self.children if isinstance(c, Node) and (not kinds or c.kind in kinds))

    def broken(self) -> tuple[Broken, ...]:
        """Return the direct parts that did not parse."""
        return tuple(c for c in self.children if isinstance(c, Broken))


Attempt = Callable[[int, int, str], Node | Failure]  # start, end (offsets), the construct to parse


@frozen
class Words:
    """The grammar's reserved words, and how its texts, regexes, comments and names look."""

    keywords: frozenset[str]
    statements: frozenset[str]
    details: frozenset[str]
    tokens: re.Pattern[str]


_TOP: Final = frozenset({"language", "use", "rule"})
_WINDOW: Final = frozenset({"before", "after", "between", "within", "at"})
_OPERATORS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", ".", ",", ")"})


def scan(text: str, words: Words) -> list[Token]:
    """Return the pieces of a text without spaces and comments."""
    tokens: list[Token] = []
    line_end = -1
    for match in words.tokens.finditer(text):
        kind = str(match.lastgroup)
        if kind == "comment":
            continue
        first = line_end < 0 or "\n" in text[line_end : match.start()]
        tokens.append(Token(kind, match[0], match.start(), match.end(), first))
        line_end = match.end()
    return tokens


@define
class _Chunk:
    keyword: str
    tokens: list[Token]


def _chunks(tokens: Sequence[Token], words: Words) -> list[_Chunk]:
    """Cut the file into statements, rule heads and closing braces."""
    chunks: list[_Chunk] = []
    current: _Chunk | None = None
    nested = 0
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else None
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        if token.text == "}" and not nested:
            chunks.append(_Chunk("}", [token]))
            current = None
        elif current is None or _starts(token, before, after, words):
            current = _Chunk(token.text, [token])
            chunks.append(current)
        else:
            current.tokens.append(token)
        if token.text == "{" and current is not None:
            if _opens_rule(current):
                current, nested = None, 0
            else:
                nested += 1
        elif token.text == "}" and nested:
            nested -= 1
    return chunks


@frozen
class Start:
    """The start of a statement: its pieces up to somebody who writes it.

    Args:
        tokens: what stands there; the last one has no end where `open`.
        open: whether the place is inside a text or a regex.
        ruled: whether the place is inside a rule.
    """

    tokens: tuple[Token, ...]
    open: bool
    ruled: bool


def statement_before(text: str, block: int, offset: int, words: Words) -> Start | None:
    """Return the statement in which an offset lies, up to there; None inside a comment.

    Args:
        text: the file.
        block: where to start to read: at a place at which a rule or an event outside of rules starts.
        offset: the place.
        words: the grammar's words.
    """
    line = text.rfind("\n", 0, offset) + 1
    for match in words.tokens.finditer(text, line, offset):
        if match.lastgroup == "comment":
            return None
    tokens = [evolve(t, start=t.start + block, end=t.end + block) for t in scan(text[block:offset], words)]
    inside = bool(tokens) and tokens[-1].kind == "unclosed"
    chunks = _chunks(tokens, words)
    ruled = False
    for chunk in chunks:
        ruled = (ruled or _opens_rule(chunk)) and chunk.keyword != "}"
    last = chunks[-1] if chunks else None
    if last is None or last.keyword == "}" or (_opens_rule(last) and last.tokens[-1].text == "{"):
        return Start((), inside, ruled)
    return Start(tuple(last.tokens), inside, ruled and not _opens_rule(last))


def _opens_rule(chunk: _Chunk) -> bool:
    return chunk.keyword == "rule" or nearest(chunk.keyword, _TOP) == "rule"


def _starts(token: Token, before: Token | None, after: Token | None, words: Words) -> bool:
    """Whether a statement starts here: a keyword at the start of a line, or a word that can't continue the line before."""
    if token.kind != "word" or not token.first:
        return False
    follows = after.text if after else ""
    if token.text in words.statements | _TOP:
        joined = before is not None and before.text in {",", "and"} and follows in _OPERATORS
        return follows != "." and not joined
    if token.text in words.keywords or follows in _WINDOW or before is None or before.kind == "sign":
        return before is None
    if before.text in words.keywords:
        return False
    return nearest(token.text, words.keywords) in words.statements | _TOP | {""}


@define
class _Recovery:
    source: Source
    attempt: Attempt
    words: Words
    diagnostics: list[Diagnostic] = field(factory=list)
    items: list[Node | Leaf | Broken] = field(factory=list)
    head: Node | Broken | None = None  # of the rule whose block is open
    opener: Token | None = None
    body: list[Node | Leaf | Broken] = field(factory=list)
    junk: bool = False  # the chunk before was no statement and resembled none
    lost: bool = False  # a statement stood outside of a rule: the block's braces do not add up

    def run(self) -> tuple[Node, tuple[Diagnostic, ...]]:
        tokens = scan(self.source.text, self.words)
        for token in tokens:
            if token.kind == "unclosed":
                self._unclosed(token)
        chunks = _chunks(tokens, self.words)
        self._header(chunks)
        for chunk in chunks:
            self._chunk(chunk)
        if self.head is not None:
            self._close(closed=self.lost)
        root = Node("start", tuple(self.items), self.source.span(0, len(self.source.text)))
        return root, tuple(sorted(self.diagnostics, key=lambda d: d.span.start))

    def _error(self, code: str, message: str, token: Token, expected: str = "", hint: str = "") -> None:
        span = self.source.span(token.start, token.end)
        self.diagnostics.append(self.source.diagnostic(code, message, span, expected, hint))

    def _unclosed(self, token: Token) -> None:
        what, sign = ("text", '"') if token.text.startswith('"') else ("regex", "/")
        hint = f"write \\{sign} for a {'quote' if what == 'text' else 'slash'} inside a {what}"
        self._error("E0102", f"this {what} is never closed", token, f"a `{sign}` on the same line", hint)

    def _header(self, chunks: list[_Chunk]) -> None:
        if chunks and chunks[0].keyword == "language":
            return
        start = self.source.span(chunks[0].tokens[0].start, chunks[0].tokens[0].end) if chunks else self.source.span(0, 1)
        message = "the file does not start with the version of the language"
        hint = "write `language 1` on the first line"
        top = Edit(self.source.span(0, 0), "language 1\n\n")
        sure = bool(chunks) and chunks[0].keyword in {"use", "rule", "event", "identity"}
        patch = Patch("say which language this is", (top,), safe=True) if sure else None
        self.diagnostics.append(self.source.diagnostic("E0103", message, start, "`language 1`", hint, patch=patch))

    def _chunk(self, chunk: _Chunk) -> None:
        first = chunk.tokens[0]
        self.junk = self.junk and chunk.keyword not in self.words.statements | _TOP
        if chunk.keyword == "}":
            self._brace(first)
        elif chunk.keyword == "rule":
            if self.head is not None:
                self._close(closed=self.lost)
            self._open(chunk)
        elif chunk.keyword in {"language", "use"}:
            self._top(chunk)
        elif self.head is not None:
            self._statement(chunk)
        elif chunk.keyword in {"event", "identity"}:
            self.items += self._parse(chunk, "event")
        elif chunk.keyword in self.words.statements:
            self._outside(chunk)
        elif _opens_rule(chunk) and chunk.tokens[-1].text == "{":
            self._unknown(chunk, "rule")
            self._start(_broken(self.source, chunk), first)
        else:
            self._unknown(chunk, nearest(chunk.keyword, _TOP | {"event", "identity"}))

    def _brace(self, token: Token) -> None:
        if self.head is not None:
            self._close(closed=True)
        elif not self.lost:
            self._error("E0101", "this `}` closes nothing", token, "", "remove it, or look for one too many above")

    def _open(self, chunk: _Chunk) -> None:
        parsed = self._parse(chunk, "rule_head")
        head = parsed[0] if parsed else _broken(self.source, chunk)
        self._start(head if isinstance(head, Node | Broken) else _broken(self.source, chunk), chunk.tokens[0])

    def _start(self, head: Node | Broken, opener: Token) -> None:
        self.head, self.opener, self.body, self.lost = head, opener, [], False

    def _close(self, *, closed: bool) -> None:
        if self.head is None or self.opener is None:
            return
        if not closed:
            self._error("E0102", "the block of this rule is never closed", self.opener, "a `}` at the end of the rule")
        span = self.head.span
        self.items.append(Node("rule", (self.head, Node("body", tuple(self.body), span)), span))
        self.head = self.opener = None

    def _top(self, chunk: _Chunk) -> None:
        late = self.head is not None or any(isinstance(i, Node) and i.kind in {"rule", "event"} for i in self.items)
        if late or (chunk.keyword == "language" and self.items):
            self._error("E0101", f"`{chunk.keyword}` belongs at the top of the file", chunk.tokens[0])
            (self.body if self.head is not None else self.items).append(_broken(self.source, chunk))
        else:
            self.items += self._parse(chunk, "header" if chunk.keyword == "language" else "use")

    def _outside(self, chunk: _Chunk) -> None:
        """Report a statement outside of a rule once; it and those below belong to the rule above, if there is one."""
        if not self.lost:
            self._error("E0101", f"`{chunk.keyword}` belongs inside a rule", chunk.tokens[0], "", "is there a `}` too many above?")
        self.lost = True
        last = self.items[-1] if self.items else None
        if isinstance(last, Node) and last.kind == "rule":
            self.items.pop()
            head, body = last.children
            self.head = head if isinstance(head, Node | Broken) else None
            self.body = list(body.children) if isinstance(body, Node) else []
            self.opener = chunk.tokens[0]
            self._statement(chunk)
        else:
            self.items.append(_broken(self.source, chunk))

    def _statement(self, chunk: _Chunk) -> None:
        if chunk.keyword not in self.words.statements:
            meant = nearest(chunk.keyword, self.words.statements)
            self._unknown(chunk, meant)
            self.body.append(evolve(_broken(self.source, chunk), keyword=meant or chunk.keyword))
            return
        parsed = self._parse(chunk, "body")
        for item in parsed:
            self.body += item.children if isinstance(item, Node) and item.kind == "body" else (item,)

    def _unknown(self, chunk: _Chunk, meant: str) -> None:
        """Report a line that starts with no keyword; of a run of such lines that resemble nothing, only the first."""
        token = chunk.tokens[0]
        repeated, self.junk = self.junk and not meant, not meant
        where = "a statement such as `title`, `event` or `require`" if self.head is not None else "`use`, `rule` or `event`"
        hint = f"did you mean {meant}?" if meant else ""
        if repeated or _unclosed(chunk.tokens):
            return
        self._error("E0101", f"`{token.text}` does not start a statement", token, where, hint)

    def _parse(self, chunk: _Chunk, construct: str) -> list[Node | Leaf | Broken]:
        """Parse one chunk; on failure report its first mistake (for an event: of its head and of each detail)."""
        tokens = chunk.tokens
        if not _unclosed(tokens):
            result = self.attempt(tokens[0].start, tokens[-1].end, construct)
            if isinstance(result, Node):
                return [result]
        if chunk.keyword in {"event", "identity"}:
            block = any(t.text == "{" for t in tokens)  # what follows would only repeat that there is none
            head, *details = _details(tokens, self.words)
            self._explain(head, "event")
            for detail in [] if block else details:
                self._detail(detail)
        else:
            self._explain(tokens, construct)
        return [_broken(self.source, chunk)]

    def _detail(self, tokens: Sequence[Token]) -> None:
        word = tokens[0]
        if word.text in self.words.details:
            self._explain(tokens, "detail")
        else:
            hint = f"did you mean {nearest(word.text, self.words.details)}?"
            message = f"`{word.text}` does not start a line of an event"
            self._error("E0101", message, word, "`like`, `unlike`, `with` or `moment`", hint)

    def _explain(self, tokens: Sequence[Token], construct: str) -> None:
        """Report why tokens do not parse, unless that was said already."""
        if _unclosed(tokens):
            return
        result = self.attempt(tokens[0].start, tokens[-1].end, construct)
        if isinstance(result, Failure):
            self.diagnostics.append(explain(self.source, tokens, result, self.words.keywords))


def _unclosed(tokens: Sequence[Token]) -> bool:
    return any(t.kind == "unclosed" for t in tokens)


def _details(tokens: Sequence[Token], words: Words) -> list[list[Token]]:
    """Cut an event into its head and its detail lines, misspelt ones included."""
    parts: list[list[Token]] = [[tokens[0]]]
    for token in tokens[1:]:
        misspelt = token.text not in words.keywords and nearest(token.text, words.keywords) in words.details
        if token.first and token.kind == "word" and (token.text in words.details or misspelt):
            parts.append([])
        parts[-1].append(token)
    return parts


def _broken(source: Source, chunk: _Chunk) -> Broken:
    words = frozenset(t.text for t in chunk.tokens if t.kind == "word")
    return Broken(chunk.keyword, words, source.span(chunk.tokens[0].start, chunk.tokens[-1].end))


def recover(source: Source, attempt: Attempt, words: Words) -> tuple[Node, tuple[Diagnostic, ...]]:
    """Return what can be made of a file that does not parse, and every syntax mistake in it, in order.

    Args:
        source: the file.
        attempt: parses [start, end) of it as one construct of the grammar.
        words: the grammar's words.
    """
    return _Recovery(source, attempt, words).run()
