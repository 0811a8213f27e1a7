"""The canonical layout of rule files: what stands where, and what stays as its author wrote it."""

from __future__ import annotations

import pytest

from denpex_rules.errors import RuleError, Source
from denpex_rules.layout import WIDTH, format_text, format_tree
from denpex_rules.parser import parse

LONG = '"' + "x" * (WIDTH // 2) + '"'


def body(text: str) -> list[str]:
    """Return the lines of a rule's body in the canonical layout."""
    head, *lines, brace = format_text(f"language 1\nrule a {{\n{text}\n}}\n").splitlines()[2:]
    assert (head, brace) == ("rule a {", "}")
    return lines


def event(text: str) -> list[str]:
    """Return the lines below the head of an event that stands alone."""
    return format_text(f"language 1\nevent a in rank {text}\n").splitlines()[3:]


def test_a_whole_file() -> None:
    """Fields and clauses start in columns, lists are spaced, parts of the file stand apart."""
    text = """language 1
use   lib.c10d.timeout,lib.progress.step as progress
rule hardware.gpu.lost{title "GPU lost"
class gpu . fell_off_bus
event lost error in kernel "Xid 79" like "a" unlike "b"
per job,host within 2h
require lost
let bad=rank_of( lost.host,lost.device )
confirm timeout where rank!=bad distinct rank>=1 stalled between lost-2m and lost+10m
refute first alive=progress where code==-1,host!="a" within 0s..5m after lost
blame none when alive else device lost.device,host lost.host
onset last progress before lost else lost
verify "dmesg" on lost.host}
event other "x"
"""
    assert format_text(text.replace("first alive=progress", "alive=first progress")) == (
        """language 1

use lib.c10d.timeout, lib.progress.step as progress

rule hardware.gpu.lost {
  title   "GPU lost"
  class   gpu.fell_off_bus
  event lost error in kernel
    "Xid 79"
    like   "a"
    unlike "b"
  per job, host within 2h
  require lost
  let bad = rank_of(lost.host, lost.device)
  confirm timeout                 where rank != bad  distinct rank >= 1  stalled between lost - 2m and lost + 10m
  refute  alive = first progress  where code == -1, host != "a"  within 0s..5m after lost
  blame   none when alive
    else  device lost.device, host lost.host
  onset   last progress before lost else lost
  verify  "dmesg" on lost.host
}

event other
  "x"
"""
    )


def test_texts_are_not_touched() -> None:
    """What stands between quotes or slashes stays as it is, a # in it too."""
    assert event(r'"a  b\n # {x:int} \"c\"  "&/d  #\/ e/') == [r'  "a  b\n # {x:int} \"c\"  " & /d  #\/ e/']


def test_comments_stay_where_they_stand() -> None:
    """A comment above a line, behind one, in a list and at an end keeps its place; spaces behind it go."""
    assert body('# one  \n title "x" #two\n tags a, # three\n  # four\n b\n# five') == [
        "  # one",
        '  title   "x"  #two',
        "  tags    a,  # three",
        "          # four",
        "          b",
        "  # five",
    ]
    assert format_text("# one\nlanguage 1 # two\nrule a { # three\n} # four\n# five") == (
        "# one\nlanguage 1  # two\n\nrule a {  # three\n}  # four\n# five\n"
    )


def test_comments_in_a_pattern() -> None:
    """A pattern with comments between its parts is broken at each part."""
    assert event('any( # one\n "a", # two\n # three\n all("b", "c") # four\n )') == [
        "  any(  # one",
        '    "a",  # two',
        "    # three",
        '    all("b", "c")  # four',
        "  )",
    ]


def test_comments_in_a_step() -> None:
    """A step with comments between its clauses is broken at each clause; one before the first moves the clauses down."""
    assert body("require a where x == 1 # one\n # two\n count >= 2 # three\n confirm b # four\n after a") == [
        "  require a  where x == 1  # one",
        "             # two",
        "             count >= 2  # three",
        "  confirm b  # four",
        "             after a",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("let a # why\n = 5s", ["  # why", "  let a = 5s"]),
        ("causes # why\n a, b", ["  # why", "  causes  a, b"]),
        ("onset # why\n a else b", ["  # why", "  onset   a else b"]),
        ("require # why\n a where x == 1", ["  # why", "  require a  where x == 1"]),
        ("require a where x # why\n == 1", ["  require a", "             # why", "             where x == 1"]),
        ('event a any # why\n ("b")', ["  event a", "    # why", '    any("b")']),
        (
            'event a any("b", "c" # why\n , "d")',
            ["  event a", "    any(", '      "b",', "      # why", '      "c",', '      "d"', "    )"],
        ),
        ('event a any("b") like # why\n "b"', ["  event a", '    any("b")', "    # why", '    like   "b"']),
    ],
)
def test_comments_inside_of_a_line_move_above_it(text: str, lines: list[str]) -> None:
    """A comment where no line may be broken moves above the line."""
    assert body(text) == lines


def test_blank_lines() -> None:
    """Blank lines stay, one at a time; at the start and the end of a block they go; parts of a file get one."""
    assert body('\n\ntitle "x"\n\n\n\n# a\n\nper job within 1h\n\n') == ['  title   "x"', "", "  # a", "", "  per job within 1h"]
    assert format_text('\n\nlanguage 1\nevent a "x"\n# b\nevent b "y"\n\n') == (
        'language 1\n\nevent a\n  "x"\n\n# b\nevent b\n  "y"\n'
    )


def test_lists_are_filled() -> None:
    """A list takes as many items a line as fit, whatever lines it had; the next ones start below the first item."""
    names = [f"class.number_{n}" for n in range(20)]
    lines = body("causes\n" + ",\n".join(names))
    assert [line[:10] for line in lines] == ["  causes  ", " " * 10, " " * 10]
    assert all(WIDTH - len("class.number_19,") <= len(line) <= WIDTH for line in lines[:-1])
    assert [item.rstrip(",") for line in lines for item in line.removeprefix("  causes").split()] == names
    assert body("reporter " + ", ".join(names))[1].startswith(" " * 11 + "class")


def test_long_patterns_are_broken() -> None:
    """A pattern that fits stays on one line, else each alternative gets one, and so on inside."""
    assert event('any("a",\n"b")') == ['  any("a", "b")']
    assert event(f'any("a", all({LONG}, {LONG}), {LONG} & {LONG})') == [
        "  any(",
        '    "a",',
        "    all(",
        f"      {LONG},",
        f"      {LONG}",
        "    ),",
        f"    {LONG}",
        f"      & {LONG}",
        "  )",
    ]


def test_the_width_counts_the_comma() -> None:
    """A line may be as wide as the limit, with the comma at its end and not one column more."""
    room = WIDTH - len("    all(,),")
    for extra, lines in ((0, 1), (1, 4)):
        text = '"' + "x" * (room - 6 + extra) + '"'
        found = event(f'any(all("a", {text}), {LONG}, {LONG})')
        assert len(found) == lines + 4, found


def test_long_steps_are_broken() -> None:
    """A step that does not fit gets a line for each clause, and its conditions are filled."""
    conditions = ", ".join(f"captured_{n} == lost.captured_{n}" for n in range(5)) + " and rank == lost.rank"
    assert body(f"require lost\nconfirm again where {conditions} count >= 3 in 5m after lost") == [
        "  require lost",
        "  confirm again  where captured_0 == lost.captured_0, captured_1 == lost.captured_1, captured_2 == lost.captured_2,",
        "                       captured_3 == lost.captured_3, captured_4 == lost.captured_4 and rank == lost.rank",
        "                 count >= 3 in 5m",
        "                 after lost",
    ]


def test_clauses_align_within_a_group() -> None:
    """Steps that a blank line or another statement parts have columns of their own; a comment does not part them."""
    steps = "require a where x == 1\n# why\nunless b_c = d after a\n\nconfirm e after a\nlet x = 1\nrefute long_name after a"
    assert body(steps) == [
        "  require a        where x == 1",
        "  # why",
        "  unless  b_c = d  after a",
        "",
        "  confirm e  after a",
        "  let x = 1",
        "  refute  long_name  after a",
    ]


def test_long_onset() -> None:
    """Alternatives of an onset that don't fit on one line stand below each other, like those of the blame."""
    first, second = ".".join("x" * 40), ".".join("y" * 40)
    assert body(f"onset {first} else {second}") == [f"  onset   {first}", f"    else  {second}"]


def test_words_behind_a_dot_are_names() -> None:
    """`else` and `and` in a dotted name break no line."""
    assert body("blame rank a.else, host b.and else rank c.else") == ["  blame   rank a.else, host b.and", "    else  rank c.else"]


def test_windows_line_ends() -> None:
    """Line ends become those of the house; a comment keeps no carriage return."""
    assert format_text('language 1\r\n\r\n# a\r\nevent a "x"\r\n') == 'language 1\n\n# a\nevent a\n  "x"\n'


def test_syntax_mistakes() -> None:
    """A file with mistakes has no layout: all of them are raised, under the file's name."""
    text = "language 1\nrule a {\n  title 3\n  per job wihtin 1h\n}\n"
    with pytest.raises(RuleError) as caught:
        format_text(text, "my.rule")
    assert [(d.span.path, d.span.line) for d in caught.value.diagnostics] == [("my.rule", 3), ("my.rule", 4)]
    with pytest.raises(RuleError):
        format_tree(parse(Source("my.rule", "")))
