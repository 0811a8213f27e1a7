"""The JSON form of a report and its JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from attrs import evolve

from denpex_rules import schema
from denpex_rules.errors import UsageError
from denpex_rules.finding import Report
from samples import HOSTILE, evidence, incident, report

SCHEMA_FILE = Path(__file__).parents[2] / "docs/reference/report-schema.json"
VALIDATOR = jsonschema.Draft202012Validator(schema.report_schema())


@pytest.mark.parametrize("sample", [report(), Report("no_data"), report(incidents=(incident(onset=None, job=None),))])
def test_round_trip(sample: Report) -> None:
    """Reading what was written gives an equal report."""
    assert schema.from_json(schema.to_json(sample)) == sample


def test_report_fits_schema() -> None:
    """A report with every kind of part validates, and the schema itself is a valid draft 2020-12 schema."""
    jsonschema.Draft202012Validator.check_schema(schema.report_schema())
    VALIDATOR.validate(schema.to_dict(report()))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("verdict",), "broken"),
        (("schema",), "denpex-report/0"),
        (("incidents", 0, "class"), None),
        (("incidents", 0, "initiators", 0, "rank"), "5"),
        (("incidents", 0, "initiators", 0, "certainty"), "sure"),
        (("incidents", 0, "evidence", 0, "bytes"), [1]),
        (("incidents", 0, "evidence", 0, "bytes"), [1, 2, 3]),
        (("incidents", 0, "explains", 0, "level"), "panic"),
        (("incidents", 0, "onset", "lo"), None),
        (("coverage", "world_size"), 8.5),
    ],
)
def test_schema_refuses(place: tuple[str | int, ...], value: object) -> None:
    """The schema refuses a report with one wrong value at any depth."""
    data = schema.to_dict(report())
    spot = data
    for key in place[:-1]:
        spot = spot[key]  # type: ignore[index]
    spot[place[-1]] = value  # type: ignore[index]
    assert not VALIDATOR.is_valid(data)


def test_schema_requires_every_field() -> None:
    """A report that lacks a field is refused, because every field is always written."""
    data = schema.to_dict(report())
    del data["incidents"][0]["remedy"]
    assert not VALIDATOR.is_valid(data)


def test_schema_file_is_current() -> None:
    """The schema in the reference documentation is the one that the classes give."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema.report_schema_text()


def test_contract_names() -> None:
    """The top level and an incident have the promised keys, in the promised order; `class` is spelled so."""
    data = schema.to_dict(report())
    assert list(data) == ["schema", "verdict", "incidents", "unexplained", "coverage", "ending", "recurrences"]
    promised = ["id", "revision", "rule", "class", "title", "level", "outcome", "job", "initiators", "candidates", "onset"]
    promised += ["evidence", "against", "reporters", "victims", "explains", "missing", "remedy"]
    assert [key for key in data["incidents"][0] if key in promised] == promised
    assert "cls" not in data["incidents"][0]
    assert data["incidents"][0]["evidence"][0]["bytes"] == [9_000, 9_070]


def test_equal_reports_give_equal_texts() -> None:
    """The order in which moments were put into an evidence line does not show."""
    one, two = evidence(moments={"a": 1.0, "b": 2.0}), evidence(moments={"b": 2.0, "a": 1.0})
    assert one == two
    assert schema.to_json(report(incidents=(incident(evidence=(one,)),))) == schema.to_json(
        report(incidents=(incident(evidence=(two,)),)),
    )


def test_json_is_safe_for_terminals() -> None:
    """JSON holds hostile text as escapes only, and gives it back unchanged."""
    sample = report(incidents=(incident(evidence=(evidence(HOSTILE),)),))
    text = schema.to_json(sample)
    assert all(c == "\n" or " " <= c <= "~" for c in text)
    assert schema.from_json(text).incidents[0].evidence[0].text == HOSTILE


def test_unknown_keys_are_ignored() -> None:
    """A report of a later release, with a key that this one does not know, is read."""
    data = schema.to_dict(report())
    data["incidents"][0]["novelty"] = 1
    assert schema.from_json(json.dumps(data)) == report()
    assert VALIDATOR.is_valid(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "no JSON object"),
        ("[" * 100_000, "not JSON"),
        ("{}", "`schema` is None"),
        ('{"schema": "denpex-report/2", "verdict": "failed"}', "denpex-report/2"),
        ('{"schema": "denpex-report/1"}', "report.verdict"),
        ('{"schema": "denpex-report/1", "verdict": "broken"}', "report.verdict"),
        ('{"schema": "denpex-report/1", "verdict": "failed", "incidents": [{"id": "x"}]}', "report.incidents[0]"),
    ],
)
def test_from_json_refuses(text: str, words: str) -> None:
    """What is no report of this version is refused with the place of the mistake."""
    with pytest.raises(UsageError) as caught:
        schema.from_json(text)
    assert words in str(caught.value)


def test_numbers_must_be_finite() -> None:
    """A number that JSON can't hold is an error, not invalid JSON."""
    sample = report()
    broken = evolve(sample, coverage=evolve(sample.coverage, skew_s=float("nan")))
    with pytest.raises(ValueError, match="JSON"):
        schema.to_json(broken)
