"""The comments that the API serves: the same on every machine."""

from __future__ import annotations

from typing import TypedDict

#: Columns of a comment, as Spark DDL.
SCHEMA = "postId INT, id INT, name STRING, email STRING, body STRING"

#: Names of the columns, in the same order.
COLUMNS = ("postId", "id", "name", "email", "body")

_SUBJECTS = (
    "offset",
    "epoch",
    "ledger",
    "checkpoint",
    "trigger",
    "watermark",
    "partition",
    "replay",
    "fence",
    "commit",
)
_VERBS = ("survives", "names", "keeps", "follows", "repeats", "closes", "meets", "counts")
_PEOPLE = ("ada", "grace", "edsger", "barbara", "leslie", "jim", "radia", "donald", "søren", "mária")
_PER_POST = 5


class Comment(TypedDict):
    """One record of the API."""

    postId: int
    id: int
    name: str
    email: str
    body: str


def comment(number: int) -> Comment:
    """The comment with the id ``number``, counted from 1."""
    subject = _SUBJECTS[number * 7 % len(_SUBJECTS)]
    verb = _VERBS[number * 3 % len(_VERBS)]
    object_ = _SUBJECTS[(number * 3 + 1) % len(_SUBJECTS)]
    person = _PEOPLE[number * 11 % len(_PEOPLE)]
    return {
        "postId": (number - 1) // _PER_POST + 1,
        "id": number,
        "name": f"The {subject} {verb} the {object_}",
        "email": f"{person}.{number}@example.org",
        "body": f'“{subject}” is what {person} wrote,\nand then: it\'s {number} × "{verb}";\ta tab, a \\ and a 😀 too.',
    }


def comments(count: int) -> list[Comment]:
    """The first ``count`` comments, by id."""
    return [comment(number) for number in range(1, count + 1)]
