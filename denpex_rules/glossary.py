"""One sentence on each word of the rule language, for whoever points at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WORDS: Final[Mapping[str, str]] = {
    # the file
    "language": "The version of the rule language that the file is written in; it stands first.",
    "use": "Takes building blocks, events that rules share, from a `lib/` of this pack or of the shipped one.",
    "as": "Gives a building block another name in this file.",
    "rule": "A fingerprint of one failure; its name is the path of its file.",
    # what the rule is
    "title": "One sentence: the headline of an incident.",
    "summary": "More than the title says, for lists of rules.",
    "class": "The root cause, one of the taxonomy's classes.",
    "impact": "How bad it is: critical, major (the default), minor or none.",
    "level": "What it is: a failure (the default), a stop (the job's own end), a warning or info.",
    "status": "How far the rule is proven: draft, preview (the default), stable or deprecated.",
    "since": "The release from which on the status holds.",
    "tags": "Words to search by.",
    "causes": "The classes whose findings this rule explains; the only way in which one finding explains another.",
    # events
    "event": "A named pattern over one record: a line and the lines that continue it.",
    "identity": "The event tells who is who: its captures and its record's actor are one process.",
    "expensive": "The event has no literal of three characters and is tried on every line.",
    "in": "In which logs the event stands (`event`), or how much time a count may take (`count`).",
    "any": "One of several patterns.",
    "all": "Several patterns on one record, in any order.",
    "like": "A line that the event must match.",
    "unlike": "A line that the event must not match.",
    "with": "Gives the capture of a regex its type.",
    "moment": "A named instant of the event: its time, plus or minus captured durations.",
    "time": "The time of the record.",
    "debug": "The lowest severity that the event accepts; a record of unknown severity passes.",
    "info": "The lowest severity that the event accepts; a record of unknown severity passes.",
    "warning": "The lowest severity that the event accepts; a record of unknown severity passes.",
    "error": "The lowest severity that the event accepts; a record of unknown severity passes.",
    "fatal": "The lowest severity that the event accepts; a record of unknown severity passes.",
    # scope
    "per": "What one match is about: a job, host, device or rank.",
    "quiet": "How long a trigger must be gone before another one starts a second match (default 10m).",
    "let": "Names a value.",
    # steps
    "require": "Decides the outcome: without it the rule is quiet. The first one is the trigger.",
    "confirm": "Adds proof when it is true; undetermined, it becomes a missing fact.",
    "refute": "Speaks against the match when it is true.",
    "unless": "Decides the outcome: the match holds only where no such event is found.",
    "silence": "A step without an event: the named rank or host said nothing for that long.",
    "first": "The first of several sightings, which is the default of a step.",
    "last": "The last of several sightings.",
    "next": "The first sighting after an instant.",
    "where": "Conditions on the sighting; a bare name is one of its own fields.",
    "and": "Joins conditions, or the two ends of a window.",
    "count": "How many sightings there must be.",
    "distinct": "How many different values of a field there must be.",
    "before": "Everything up to the instant, which belongs to the window.",
    "after": "Everything from the instant on, which belongs to the window.",
    "between": "From the first instant to the second; both belong to the window.",
    "within": "How far from an instant at most (`5m`), or at least and at most (`1m..5m`); in `per`, the rule's whole span.",
    "at": "Around an instant, with the tolerance that `give` says.",
    "give": "The tolerance around an instant, or one for each side (`30s..2m`).",
    "for": "How long the silence lasts.",
    # the report
    "blame": "Who failed first; the first alternative that applies is taken.",
    "none": "Nobody is accused.",
    "each": "Accuses the actor of every trigger that may have been the first, instead of leaving that undecided.",
    "rank": "The global rank of the initiator.",
    "host": "The host of the initiator.",
    "device": "The device of the initiator.",
    "certain": "The accusation is proven (the default).",
    "likely": "The accusation is not proven, and nothing speaks against it.",
    "when": "Steps that must be true for this alternative.",
    "else": "The next alternative, where the one above does not apply.",
    "onset": "When it began: a step's instant, or a look-up around one.",
    "victim": "Who was hurt: a field of a step, of all its sightings.",
    "reporter": "Who printed the error: a field of a step, of all its sightings.",
    "why": "What happened, in words for the person on call; `{step.field}` is filled in.",
    "do": "What to do about it; `{step.field}` is filled in.",
    "verify": "A command that checks the finding.",
    "on": "The host on which the command runs.",
    "see": "A rule that this one is confused with.",
    "because": "How to tell the two rules apart.",
    "ref": "Where to read more.",
}

# What a word that stands behind another one means there, where that is not what it means elsewhere.
CHOICES: Final[Mapping[str, str]] = {
    "in": "a kind of log: only records of that kind, and of unknown kind, are the event",
    "per": "what one match is about",
    "impact": "how bad it is",
    "level": "what the incident is",
    "status": "how far the rule is proven",
}
NATURES: Final[Mapping[str, str]] = {
    "cause": "a cause: it may be the initiator's class",
    "symptom": "a symptom: its causes are sought upstream",
}
FIELDS: Final[Mapping[str, str]] = {
    "rank": "the global rank that the record speaks for; may be unknown",
    "local_rank": "the rank on its host that the record speaks for; may be unknown",
    "host": "the host that the record speaks for; may be unknown",
    "device": "the device that the record speaks for; may be unknown",
    "pid": "the process id that the record speaks for; may be unknown",
    "job": "the job that the record speaks for; may be unknown",
}
