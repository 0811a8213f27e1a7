"""The text, JSON and JSON-lines forms of a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from attrs import evolve

from denpex_rules import plugins, render
from denpex_rules.errors import PluginError, UsageError
from denpex_rules.finding import (
    ClauseResult,
    CoverageReport,
    Explanation,
    MissingFact,
    Moment,
    Report,
    Suspect,
    Unexplained,
    Who,
)
from denpex_rules.page import WIDTH
from samples import HOSTILE, TIMEOUT, XID, coverage, evidence, incident, nested, report

WHOLE = """\
FAILED: GPU fell off the bus; its rank goes silent
  failed first  rank 5, host node-02, device 0000:41:00 (certain)
  since         2026-11-30 10:04:10 .. 10:04:12 UTC
  finding       confirmed, gpu.fell_off_bus, impact critical, job 4711;
                core:hardware.gpu.fell_off_bus; id 4f1c revision 0
  why rank 5, host node-02, device 0000:41:00:
    - the kernel log of node-02 names the device
  evidence:
    kern_node-02.log:118  2026-11-30 10:04:12Z +1 s  host node-02, device 0000:41:00  [lost]
      | NVRM: Xid (PCI:0000:41:00): 79, pid=4242, GPU has fallen off the bus.
    rank0.log:77  2026-11-30 10:04:12Z +1 s, stalled 600 s earlier  rank 0  [timeout]
      | [rank0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8412,
        OpType=ALLREDUCE) ran for 600000 milliseconds
  only reported 40: ranks 0-31 on host node-01; and 8 more
  victims       1: rank 0
  what happened The driver can't reach the GPU over PCIe.
  what to do:
    1. drain node-02
    2. power-cycle node-02
  how to check:
    on node-02: dmesg -T | grep -i xid
  see           https://example.org/xid
  explains 1 further finding:
    > A collective timed out
      failed first  undecided
      possible      rank 5 (undecided: not an accusation)
      since         unknown
      finding       confirmed, collective.timeout, impact major, job 4711;
                    core:framework.collective_timeout; id 77aa revision 0
      why rank 5:
        - it is missing among the reporters
      evidence:
        rank0.log:77  2026-11-30 10:04:12Z +1 s  rank 0  [timeout]
          | [rank0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8412,
            OpType=ALLREDUCE) ran for 600000 milliseconds
      speaks against it:
        - refute progress after timeout: rank 3 logged a step
      what is missing:
        - kernel log of node-02, 10:00 to 10:10
          why: it would name the device
          get it: journalctl -k -S 10:00

1 kind of error records that no rule explains:
  rank3.log:9  no time  rank 3  1,200 times
    | ERROR: odd thing

Read: 2 sources (1,021 lines); 7 of 8 ranks; 2 actors; 2026-11-30 09:00:00 .. 10:14:12 UTC; clocks
      of hosts within 5 s; 1 source cut; 4 lines merged by a source; 7 sightings dropped; 1 note
      (see --coverage)
"""


def test_whole_report() -> None:
    """The text leads with verdict, initiator and onset, then proof, reporters, remedy, and what is missing."""
    assert render.render_text(report()) == WHOLE


def test_width() -> None:
    """A report of ordinary words fits the width."""
    assert max(map(len, render.render_text(report()).splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("sample", "first"),
    [
        (Report("healthy"), "HEALTHY: no rule found a failure"),
        (Report("no_data"), "NO DATA: nothing that could be read as a log"),
        (report(verdict="undecided", incidents=()), "UNDECIDED: 1 kind of error records that no rule explains"),
        (report(verdict="stopped"), "STOPPED: GPU fell off the bus; its rank goes silent"),
        (report(incidents=(incident(), nested())), "FAILED: GPU fell off the bus; its rank goes silent (and 1 further incident)"),
    ],
)
def test_first_line(sample: Report, first: str) -> None:
    """The first line is the verdict and what happened."""
    assert render.render_text(sample).splitlines()[0] == first


def test_every_root_has_its_heading() -> None:
    """A second root incident is numbered and has a block of its own."""
    text = render.render_text(report(incidents=(incident(), evolve(nested(), level="warning"))))
    assert "\n\n[2 of 2] WARNING: A collective timed out\n  failed first  undecided\n" in text


def test_nobody_is_accused_without_initiator() -> None:
    """Candidates are called possible and undecided; no line says that one of them failed first."""
    alike = tuple(Suspect(rank, None, None, "undecided", ("its log was not read",)) for rank in (5, 6))
    undecided = incident(initiators=(), candidates=(*alike, Suspect(8, None, None, "undecided", ("it is behind",))))
    lines = render.render_text(report(incidents=(undecided,))).splitlines()
    assert [line for line in lines if line.startswith("  failed first")] == ["  failed first  undecided"]
    assert [line for line in lines if line.startswith("  possible")] == [
        "  possible      ranks 5, 6 (undecided: not an accusation)",
        "  possible      rank 8 (undecided: not an accusation)",
    ]
    assert lines[lines.index("  why ranks 5, 6:") + 1] == "    - its log was not read"


def test_onset_without_zone() -> None:
    """An onset that was read from a clock without a zone does not claim to be UTC."""
    local = evidence(instant=Moment("2026-11-30T10:04:12Z", "2026-11-30T10:04:12Z", "local"))
    text = render.render_text(report(incidents=(incident(evidence=(local,)),)))
    assert "  since         2026-11-30 10:04:10 .. 10:04:12 (zone unknown)\n" in text


def test_hostile_log_text() -> None:
    """Escapes, bidi overrides, forged lines and markup of a log are shown as text wherever the report has log text."""
    hostile = Unexplained(HOSTILE, 1, (0, 1), Moment(None, None, "none"), Who(host=HOSTILE), HOSTILE, 1)
    sample = report(
        incidents=(
            incident(
                title=HOSTILE,
                job=HOSTILE,
                evidence=(evidence(HOSTILE, source=HOSTILE),),
                missing=(MissingFact(HOSTILE, HOSTILE, HOSTILE),),
                initiators=(Suspect(1, HOSTILE, HOSTILE, "likely", (HOSTILE,)),),
            ),
        ),
        unexplained=(hostile,),
    )
    for text in (render.render_text(sample), render.explanation_page([explanation(HOSTILE)]).plain()):
        assert all(line.isprintable() for line in text.split("\n"))
        assert not any(line.strip().startswith("forged") for line in text.split("\n"))
        assert "[bold red]not markup[/]" in " ".join(text.split())
    for text in (render.render_json(sample), render.render_jsonl(sample)):
        assert all(c == "\n" or " " <= c <= "~" for c in text)


def test_many_records_of_one_step_are_counted() -> None:
    """Of one step the text shows a few records and counts the rest; other steps stay visible, nested findings are shorter."""
    many = tuple(evidence(f"timeout {n}", step="timeout", line=n) for n in range(1, 201))
    inner = evolve(nested(), evidence=many)
    text = render.render_text(report(incidents=(incident(evidence=(*many, evidence(line=900)), explains=(inner,)),)))
    assert text.count("| timeout 1\n") == 2
    assert text.count("| timeout 3\n") == 1
    assert text.count("| timeout 4\n") == 0
    assert "    and 197 more records (--format json shows all)\n" in text
    assert "        and 199 more records (--format json shows all)\n" in text
    assert f"| {XID}\n" in text


def test_record_of_several_steps_is_shown_once() -> None:
    """A record that speaks for several steps stands once, with all of them."""
    both = (evidence(step="timed_out"), evidence(step="caught", moments={"stalled": -1.5, "due": 2.0}))
    text = render.render_text(report(incidents=(incident(evidence=both, explains=()),)))
    assert text.count(XID) == 1
    assert "due 2 s later, stalled 1.5 s earlier host node-02, device 0000:41:00 [timed_out, caught] |" in " ".join(text.split())


def test_many_unexplained_are_counted() -> None:
    """Unexplained records beyond the bound are counted."""
    records = tuple(Unexplained("a.log", n, (0, 1), Moment(None, None, "none"), Who(), f"odd {n}", 1) for n in range(25))
    text = render.render_text(report(unexplained=records))
    assert "25 kinds of error records" in text
    assert "and 15 more kinds (--format json shows all)" in text


def test_coverage_pages() -> None:
    """With coverage, every actor, source, gap, cut and note is listed, and the one line stays."""
    page = render.report_page(report(), coverage=True).plain()
    alone = render.coverage_page(coverage()).plain()
    assert page.endswith(alone)
    for words in (
        "rank 0, rank\n",
        "900 lines, 3 without a time; in rank0.log",
        "silent 2026-11-30 10:04:10 .. 10:14:10 UTC (10m)",
        "host node-02, kernel\n",
        "no line with a time",
        "rank0.log  c10d",
        "4 lines merged, no zone: UTC assumed",
        "118 lines, 9,070 bytes, cut, 7 sightings dropped",
    ):
        assert words in alone


def test_coverage_line_without_data() -> None:
    """The coverage line of an empty scan claims no interval and no ranks."""
    assert render.coverage_line(CoverageReport()) == "0 sources (0 lines); 0 actors; clocks of hosts within 5 s"


def explanation(text: str = TIMEOUT) -> Explanation:
    """Return an explanation with a clause of each truth."""
    clauses = (
        ClauseResult("require", "lost", "require lost", "true"),
        ClauseResult("require", "timeout", "require timeout within 5m after lost", "false", f"the closest came late: {text}", 12.3),
        ClauseResult("confirm", "silence", "confirm silence for 60s after lost", "undetermined", "the rank is unknown"),
    )
    return Explanation("core:hardware.gpu.fell_off_bus", "job 4711", "quiet", clauses, (evidence(),))


def test_explanation() -> None:
    """Each clause shows its truth, reason and nearest miss, and the evidence of its own step."""
    lines = render.explanation_page([explanation("x")]).plain().splitlines()
    assert lines == [
        "core:hardware.gpu.fell_off_bus for job 4711: quiet",
        "  true          require lost",
        "                kern_node-02.log:118  2026-11-30 10:04:12Z +1 s  host node-02, device 0000:41:00",
        "                [lost]",
        f"                  | {XID}",
        "  false         require timeout within 5m after lost",
        "                the closest came late: x; nearest miss 12.3 s",
        "  undetermined  confirm silence for 60s after lost",
        "                the rank is unknown",
    ]


def test_jsonl() -> None:
    """One line an incident, then one with the verdict; together they hold what the JSON document holds."""
    sample = report(incidents=(incident(), nested()))
    rows = [json.loads(line) for line in render.render_jsonl(sample).splitlines()]
    whole = json.loads(render.render_json(sample))
    assert [row.pop("type") for row in rows] == ["incident", "incident", "report"]
    assert [{k: v for k, v in row.items() if k != "schema"} for row in rows[:-1]] == whole["incidents"]
    assert {**rows[-1], "incidents": whole["incidents"]} == whole
    assert all(row["schema"] == "denpex-report/1" for row in rows)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Give a function that installs one renderer plug-in named `short`."""

    def install(value: str) -> None:
        points = EntryPoints([EntryPoint("short", value, plugins.RENDERERS)])
        monkeypatch.setattr(plugins, "entry_points", lambda group: points.select(group=group))

    plugins.load.cache_clear()
    yield install
    plugins.load.cache_clear()


def test_plugin_renderer(plugin: Callable[[str], None]) -> None:
    """A plug-in is found by its name and given the report."""
    plugin("denpex_rules.schema:to_json")
    assert render.find_renderer("short")(report()) + "\n" == render.render_json(report())


@pytest.mark.parametrize("value", ["no_such_module:f", "denpex_rules.schema:nothing", "denpex_rules.page:WIDTH"])
def test_broken_plugin_renderer(plugin: Callable[[str], None], value: str) -> None:
    """A plug-in that does not load, or is no function, is named in the error."""
    plugin(value)
    with pytest.raises(PluginError, match="`short`"):
        render.find_renderer("short")


def test_unknown_renderer(plugin: Callable[[str], None]) -> None:
    """An unknown form is refused with the list of those that exist, plug-ins among them."""
    plugin("denpex_rules.schema:to_json")
    with pytest.raises(UsageError, match="known: text, json, jsonl, short"):
        render.find_renderer("yaml")
