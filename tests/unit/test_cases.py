"""Reading fixture cases: what a `case.toml` may say, and the mistakes that it can't hide."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules.cases import Accused, find_cases, parse_onset, read_case
from denpex_rules.clock import SECOND
from denpex_rules.errors import UsageError
from denpex_rules.finding import Suspect

GOOD = """\
says       = "GPU of rank 5 drops off the bus"
outcome    = "confirmed"
rule       = "hardware.gpu.fell_off_bus"
verdict    = "failed"
initiators = [{ rank = 5, host = "node-02", device = "0000:41:00", certainty = "certain" }]
first      = "kern_node-02.log:118"
onset      = "2026-11-30T10:04:10Z/2026-11-30T10:04:12Z"
innocent   = [{ rank = 0 }, { host = "node-01" }]
explains   = ["collective.timeout"]
missing    = []
year       = 2026
timezone   = "Europe/Berlin"
skew       = "2s"
"""


def write(folder: Path, text: str, *logs: str) -> Path:
    """Write a case with empty logs and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.toml").write_text(text, encoding="utf-8")
    for log in logs:
        (folder / log).parent.mkdir(parents=True, exist_ok=True)
        (folder / log).write_text("", encoding="utf-8")
    return folder


def test_read_case(tmp_path: Path) -> None:
    """Every key is read; logs are all files beside and below, hidden ones and the case file aside."""
    case = read_case(write(tmp_path, GOOD, "b.log", "host/a.log", ".hidden"))
    assert case.logs == (tmp_path / "b.log", tmp_path / "host/a.log")
    assert case.expected.initiators == (Accused(5, "node-02", "0000:41:00", "certain"),)
    assert case.expected.innocent == (Accused(rank=0), Accused(host="node-01"))
    assert case.expected.missing == ()
    options = case.expected.options
    assert (options.year, options.timezone, options.skew_ns) == (2026, "Europe/Berlin", 2 * SECOND)


def test_defaults(tmp_path: Path) -> None:
    """What a case does not say is not compared, and scan options are the usual ones."""
    case = read_case(write(tmp_path, 'says = "x"\noutcome = "confirmed"\nrule = "a.b"\n', "a.log"))
    expected = case.expected
    assert (expected.initiators, expected.first, expected.onset, expected.explains, expected.missing) == (None,) * 5
    assert expected.options.skew_ns == 5 * SECOND


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("says       =", "sais       ="), "unknown key sais"),
        (('outcome    = "confirmed"\n', ""), "missing @ case.outcome"),
        (('says       = "GPU of rank 5 drops off the bus"\n', ""), "missing @ case.says"),
        (('"confirmed"', '"certain"'), "case.outcome"),
        (('"confirmed"', '"quiet"'), "initiators, first, onset, explains, missing can't be compared"),
        (('rule       = "hardware.gpu.fell_off_bus"\n', ""), "no rule is named"),
        (("rank = 5", "ranks = 5"), "unknown key ranks"),
        (("rank = 5", 'rank = "5"'), "expected a whole number, not '5'"),
        (("rank = 5", "rank = true"), "expected a whole number, not True"),
        (("{ rank = 0 }", "{}"), "fits everybody"),
        (("{ rank = 0 }", '{ certainty = "likely" }'), "fits everybody"),
        (('"2s"', '"2"'), "skew is no duration with a unit: '2'"),
        (("10:04:12Z", "10:04:12"), "onset: instant without a zone"),
        (("2026-11-30T10:04:10Z/", "yesterday/"), "onset: "),
        (('"failed"', '"broken"'), "case.verdict"),
        (("missing    = []", "missing    = [1]"), "expected a text, not 1"),
        (("missing    = []", "missing    = ["), "case.toml: "),
    ],
)
def test_mistakes(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    """Each mistake of a case file is refused, with the file and the mistake named."""
    assert GOOD.count(change[0]) == 1
    with pytest.raises(UsageError) as caught:
        read_case(write(tmp_path, GOOD.replace(*change), "a.log"))
    assert words in str(caught.value)
    assert str(tmp_path / "case.toml") in str(caught.value)


def test_case_without_logs(tmp_path: Path) -> None:
    """A case folder without a log proves nothing and is refused."""
    with pytest.raises(UsageError, match="no log stands beside it"):
        read_case(write(tmp_path, GOOD, ".hidden"))


def test_case_inside_a_case(tmp_path: Path) -> None:
    """A case below another would be read as its log and is refused."""
    write(tmp_path / "inner", GOOD, "a.log")
    with pytest.raises(UsageError, match="another case stands inside it"):
        read_case(write(tmp_path, GOOD, "a.log"))


def test_quiet_case_needs_no_rule(tmp_path: Path) -> None:
    """A quiet case without a rule means that no rule may report anything."""
    assert read_case(write(tmp_path, 'says = "healthy"\noutcome = "quiet"\n', "a.log")).expected.rule is None


def test_find_cases(tmp_path: Path) -> None:
    """All cases below a folder are found, in the order of their paths."""
    for name in ("b/two", "a/one", "b/one"):
        write(tmp_path / name, GOOD, "a.log")
    assert [case.folder.relative_to(tmp_path).as_posix() for case in find_cases(tmp_path)] == ["a/one", "b/one", "b/two"]


def test_find_cases_names_every_mistake(tmp_path: Path) -> None:
    """All malformed cases are named at once."""
    write(tmp_path / "one", GOOD)
    write(tmp_path / "two", "says = 1", "a.log")
    with pytest.raises(UsageError) as caught:
        find_cases(tmp_path)
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("name", ["", "no_such_folder"])
def test_no_cases(tmp_path: Path, name: str) -> None:
    """A folder without cases, or no folder at all, is an error: nothing was proven."""
    with pytest.raises(UsageError, match="no "):
        find_cases(tmp_path / name)


@pytest.mark.parametrize(
    ("accused", "fits"),
    [
        (Accused(rank=5), True),
        (Accused(rank=0), False),
        (Accused(host="NODE-02.cluster.example"), True),
        (Accused(host="node-01"), False),
        (Accused(device="00000000:41:00.0"), True),
        (Accused(device="0000:42:00"), False),
        (Accused(rank=5, host="node-01"), False),
        (Accused(rank=5, certainty="likely"), False),
        (Accused(rank=5, certainty="certain"), True),
    ],
)
def test_accused_fits(accused: Accused, *, fits: bool) -> None:
    """Only the given parts are compared; hosts and PCI addresses in canonical form."""
    assert accused.fits(Suspect(5, "node-02", "0000:41:00", "certain")) is fits


def test_unknown_part_fits_no_name() -> None:
    """A suspect whose rank, host or device is unknown is not the one that is asked for."""
    nobody = Suspect(None, None, None, "certain")
    assert not any(accused.fits(nobody) for accused in (Accused(rank=0), Accused(host="a"), Accused(device="b")))


def test_accused_label() -> None:
    """An expected initiator is shown in the words of the report."""
    assert Accused(5, "node-02", None, "likely").label() == "rank 5, host node-02 (likely)"
    assert Accused(rank=5).label() == "rank 5"


def test_parse_onset() -> None:
    """An onset is an interval, one instant, or unknown."""
    second = "1970-01-01T00:00:01Z"
    assert parse_onset(second) == (SECOND, SECOND)
    assert parse_onset(f"{second}/1970-01-01T00:00:02Z") == (SECOND, 2 * SECOND)
    assert parse_onset("unknown") is None
