"""`Signature`: author and request of a change, stored with the trials.

Several people may use a study through a server, and may repeat requests whose answers were lost. So
a change can be signed: the trial that it creates or changes keeps an entry in its ``log``
(`Trial.log`), written in the same transaction as the change itself. A request that is found there
has been carried out, whatever crashed afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from ..errors import InvalidInputError, StudyError
from ..trial import Trial, now

_LONGEST = 200  # characters of a name
_LONGEST_NOTE = 4000
_MOST_COMMENTS = 500  # of one trial


@final
@dataclass(frozen=True, kw_only=True)
class Signature:
    """Author, action and request of a change.

    Attributes:
        by: name of a person or a program.
        action: what is done, in a word.
        request: identifies the request; a repeated one changes nothing.
        content: a digest of the request. A request with the same identifier and other content is
            refused.
        note: a remark, for instance the conditions of a request.
    """

    by: str | None = None
    action: str = "change"
    request: str | None = None
    content: str | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        for name in ("by", "action", "request", "content"):
            text = getattr(self, name)
            if text is not None and not _is_short(text):
                raise InvalidInputError(
                    f"{name} must be a printable text of 1 to {_LONGEST} characters, got "
                    f"{text!r:.100}"
                )
        if self.note is not None:
            object.__setattr__(self, "note", as_note(self.note))

    def entry(self) -> dict[str, Any]:
        """The stored form."""
        known = {
            "time": now(),
            "action": self.action,
            "by": self.by,
            "request": self.request,
            "content": self.content,
            "note": self.note,
        }
        return {name: value for name, value in known.items() if value is not None}

    def on(self, trial: Trial) -> Trial:
        """The trial with an entry in its log."""
        return with_entry(trial, self.entry())

    def is_on(self, trial: Trial) -> bool:
        """True if this request has already changed the trial."""
        if self.request is None:
            return False
        found = next((e for e in trial.log if e.get("request") == self.request), None)
        if found is None:
            return False
        if (found.get("action"), found.get("content")) != (self.action, self.content):
            raise StudyError(
                f"the request {self.request!r} was used before, for something else "
                f"({found.get('action')!s:.60} of trial {trial.id}); give every request its "
                "own identifier"
            )
        return True


def commented(trial: Trial, text: object, signature: Signature | None) -> Trial:
    """The trial with a comment."""
    n_comments = sum(entry.get("action") == "comment" for entry in trial.log)
    if n_comments >= _MOST_COMMENTS:
        raise StudyError(f"trial {trial.id} has {n_comments} comments, which is the maximum")
    note = as_note(text)
    signed = replace(signature or Signature(), action="comment", note=note)
    return signed.on(trial)


def with_entry(trial: Trial, entry: dict[str, Any]) -> Trial:
    """The trial with one more entry in its log."""
    return replace(trial, details={**trial.details, "log": [*trial.log, entry]})


def of_request(trials: Sequence[Trial], signature: Signature) -> list[Trial]:
    """The trials that this request has already created or changed."""
    return [trial for trial in trials if signature.is_on(trial)]


def as_note(text: object) -> str:
    """A comment, checked and cleaned for all databases."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"expected a text that is not empty, got {text!r:.60}")
    if len(text) > _LONGEST_NOTE:
        raise InvalidInputError(
            f"expected a text of at most {_LONGEST_NOTE} characters, got {len(text)}"
        )
    plain = text.strip().replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\r\n", "\n")
    return plain.encode("utf-8", "replace").decode("utf-8")


def _is_short(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _LONGEST and text.isprintable()
