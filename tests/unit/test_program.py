"""Saved programs: same program back, clear refusals, no parser."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path as File

import pytest
from attrs import evolve

from denpex_rules.backend import AhoCorasick, Backend
from denpex_rules.compiler import compile_rules
from denpex_rules.errors import ProgramError, UsageError
from denpex_rules.library import load_text
from denpex_rules.program import LiteralEntry, Pack, Program, RootClass, dumps, load_program, loads, save_program
from denpex_rules.rule import (
    Alternative,
    Anchor,
    Blame,
    Call,
    Capture,
    Condition,
    Constant,
    Count,
    Event,
    Let,
    LookUp,
    Moment,
    Path,
    Regex,
    Role,
    Rule,
    See,
    Sequence,
    Step,
    Template,
    Text,
    Verify,
    Window,
)
from denpex_rules.values import BUILTIN, CaptureType

LOST = Event(
    "hardware.lost",
    "lost",
    (Alternative((Sequence((Template(("NVRM: Xid (PCI:", Capture("device", "pci"), "): 79 é")), Regex("fallen|lost"))),)),),
    severity="error",
    kinds=("kernel",),
    captures=(("device", "pci"),),
)
TIMEOUT = Event(
    "lib.timeout",
    "timeout",
    (Alternative((Sequence((Template(("ran for ", Capture("ran", "ms"), " milliseconds")),)),)),),
    captures=(("ran", "ms"),),
    moments=(Moment("stalled", ((-1, "ran"), (1, 5))),),
)
INIT = evolve(LOST, id="lib.init", name="init", identity=True)

RULE = Rule(
    "hardware.lost",
    "base",
    "GPU lost",
    "gpu.fell_off_bus",
    ("job",),
    7_200_000_000_000,
    (
        Step("require", "lost", "hardware.lost"),
        Step(
            "confirm",
            "timeout",
            "lib.timeout",
            (
                Condition(Path("rank"), "!=", Path("bad")),
                Condition(Path("ran"), ">", Constant(3, "duration")),
                Condition(Path("device"), "==", Constant("mlx5_0", "device")),
            ),
            Window(Anchor("lost", "time", ((-1, 60), (1, Path("lost", "device")))), None, "stalled"),
            Count(2, "rank", 600),
        ),
        Step("confirm", "silence", "silence", duration=5),
    ),
    lets=(Let("bad", Call("rank_of", (Path("lost", "host"), Call("f", (Constant(1.5, "float"),))))),),
    blame=(Blame((Role("device", Path("lost", "device")), Role("rank", Path("bad")))), Blame((), "likely", ("timeout",))),
    onset=(LookUp("last", "lib.timeout", (), "before", Anchor("lost")), Anchor("lost")),
    why=Text(("device ", Path("lost", "device"), " fell")),
    verify=(Verify(Text(("dmesg",)), Path("lost", "host")),),
    see=(See("hardware.link", "a link comes back"),),
)

PROGRAM = Program(
    (RULE,),
    (LOST, TIMEOUT, INIT),
    (
        LiteralEntry("NVRM: Xid (PCI:", ("hardware.lost", "lib.init"), (1, 1), (1, 0)),
        LiteralEntry("): 79 é", ("hardware.lost",), (1,), (1,)),
        LiteralEntry(" milliseconds", ("lib.timeout",), (1,), (0,)),
    ),
    (RootClass("gpu.fell_off_bus", "GPU fell off", "cause", "hardware"),),
    (Pack("base", "1.0"),),
)


def test_a_saved_program_comes_back_equal(tmp_path: File) -> None:
    """Loading gives the same rules, events, literals and classes."""
    save_program(PROGRAM, tmp_path / "p.json")
    assert load_program(tmp_path / "p.json") == PROGRAM
    assert dumps(loads(dumps(PROGRAM))) == dumps(PROGRAM)


def test_a_saved_program_is_plain_json() -> None:
    """Header and body are one line of JSON each."""
    header, body = dumps(PROGRAM).splitlines()
    assert json.loads(header)["format"] == "denpex-program"
    assert json.loads(body)["rules"][0]["id"] == "hardware.lost"


def _edit(change: Callable[[dict[str, object]], None]) -> str:
    header, body = dumps(PROGRAM).splitlines()
    fields = json.loads(header)
    change(fields)
    return f"{json.dumps(fields)}\n{body}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a saved program"),
        ("rule x {}", "not a saved program"),
        ('{"rules": []}', "not a saved program"),
        ("[1]", "not a saved program"),
        (_edit(lambda h: h.update(version=1)), "version 1, this release reads version 2"),
        (_edit(lambda h: h.pop("checksum")), "header is damaged"),
        (dumps(PROGRAM)[:-100], "cut short"),
        (dumps(PROGRAM).splitlines()[0], "cut short"),
        (dumps(PROGRAM).replace("GPU lost", "GPU lust"), "checksum is off"),
        (dumps(PROGRAM) + "more", "checksum is off"),
    ],
)
def test_a_damaged_program_is_refused(text: str, words: str) -> None:
    """What is no program, of another version, cut or changed is refused, and the message says which."""
    with pytest.raises(ProgramError, match=words):
        loads(text)


@pytest.mark.parametrize("content", ["{}", '{"rules": 1, "events": [], "literals": []}', "[]", '{"rules":[],"events":[],"x":1}'])
def test_a_program_of_another_shape_is_refused(content: str) -> None:
    """A right checksum over content of the wrong shape is a clear refusal too."""
    header = {
        "format": "denpex-program",
        "version": 2,
        "bytes": len(content),
        "checksum": "sha256:" + hashlib.sha256(content.encode()).hexdigest(),
    }
    with pytest.raises(ProgramError, match="can't be read"):
        loads(f"{json.dumps(header)}\n{content}\n")


def test_load_names_the_file(tmp_path: File) -> None:
    """The refusal of a file says which file."""
    (tmp_path / "bad").write_bytes(b"\xff\xfe\x00")
    for name in ("bad", "absent"):
        with pytest.raises(ProgramError, match=name):
            load_program(tmp_path / name)


def test_types_of_plugins_are_asked_for() -> None:
    """A program that needs a capture type which is not installed says so; with it, it loads."""
    event = evolve(TIMEOUT, alternatives=(Alternative((Sequence((Template(("lid ", Capture("l", "lid"))),)),)),))
    saved = dumps(evolve(PROGRAM, events=(LOST, event, INIT)))
    with pytest.raises(ProgramError, match="lid"):
        loads(saved)
    lid = CaptureType("lid", "[0-9]+", int, "int", "3", "a port's local id")
    program = loads(saved, {**BUILTIN, "lid": lid})
    hit = program.matcher.pattern(1).match(b"lid 4")
    assert hit is not None
    assert hit.fields == {"l": 4}


def test_matcher_announces_events_by_their_literals() -> None:
    """Literals, overlapping ones and ones outside ASCII too, announce events at byte offsets."""
    text = "x NVRM: Xid (PCI:0000:41:00): 79 é 5 milliseconds".encode()
    found = list(PROGRAM.matcher.announced(text))
    assert [(end, [place for place, _ in events]) for end, events in found] == [
        (16, [0, 2]),
        (text.index("é".encode()) + 1, [0]),
        (len(text) - 1, [1]),
    ]
    assert list(Program((), (), ()).matcher.announced(text)) == []


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the backends that are chosen from now on."""
    names: list[str] = []

    def choose(name: str, literals: list[bytes]) -> Backend:
        names.append(name)
        return AhoCorasick(literals)

    monkeypatch.setattr("denpex_rules.program.choose", choose)
    return names


def test_the_chosen_backend_is_built_when_it_is_worth_it(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first bytes are looked through by what is built at once; what finds the literals makes no difference."""
    text = "x NVRM: Xid (PCI:0000:41:00): 79 é 5 milliseconds".encode()
    monkeypatch.setattr("denpex_rules.program.WORTH", 3 * len(text))
    matcher = evolve(PROGRAM, backend="auto").matcher
    first = matcher.hits(text)
    assert [matcher.hits(text) == first, built] == [True, []]
    assert [matcher.hits(text) == first, matcher.hits(text) == first, built] == [True, True, ["auto"]]


def test_the_chosen_backend_is_built_at_once_for_much(built: list[str]) -> None:
    """Where it is known that many bytes will come, nothing is looked through by anything else; for few, as if nothing was known."""
    matcher = evolve(PROGRAM, backend="auto").matcher
    matcher.expect(100)
    matcher.hits(b"x")
    assert built == []
    matcher.expect(1 << 20)
    matcher.hits(b"x")
    assert built == ["auto"]


def test_unknown_backend_is_refused_at_once() -> None:
    """A backend that there is none of is a mistake of the caller, however little is read."""
    with pytest.raises(UsageError, match="unknown backend 'grep'"):
        _ = evolve(PROGRAM, backend="grep").matcher


def test_lookups_are_what_no_requirement_or_guard_uses() -> None:
    """Events of look-ups and confirming steps are look-ups; triggers, guards and identity events are not."""
    assert PROGRAM.lookups == {"lib.timeout"}
    guarded = evolve(RULE, steps=(*RULE.steps, Step("unless", "t2", "lib.timeout")))
    assert evolve(PROGRAM, rules=(guarded,)).lookups == frozenset()


def test_rules_are_found_by_both_names() -> None:
    """A rule is found by its path and by pack and path; an unknown one is a KeyError."""
    assert PROGRAM.rule("hardware.lost") is PROGRAM.rule("base:hardware.lost") is RULE
    with pytest.raises(KeyError):
        PROGRAM.rule("other")


def test_loading_needs_no_parser(tmp_path: File) -> None:
    """Importing the package, loading a saved program and matching with it imports no Lark."""
    save_program(PROGRAM, tmp_path / "p.json")
    code = (
        "import sys, denpex_rules\n"
        "p = denpex_rules.load_program(sys.argv[1])\n"
        "assert p.matcher.pattern(1).match(b'ran for 5 milliseconds')\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] == 'lark'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "p.json")], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_literal_announces_the_alternatives_that_need_it() -> None:
    """An alternative is announced by its own literal only."""
    event = 'event seen any("first {n:int}", "second {n:int}")'
    body = f'  title "t"\n  class gpu.fell_off_bus\n  {event}\n  per job within 1h\n  require seen\n'
    program = compile_rules(load_text(f"language 1\nrule a.b {{\n{body}}}\n"))
    announced = [events for _, events in program.matcher.announced(b"first 1 second 2")]
    assert announced == [((0, 1),), ((0, 2),)]
