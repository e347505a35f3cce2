"""`Ledger`: the stored state of one study, as far as this process has read it.

Each change is one transaction of the storage, and is applied to the ledger only afterwards, so a
refused or interrupted call changes neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, final

from ..checks import is_whole
from ..errors import InvalidInputError, SettingsDiffer, StorageError, StudyError, UnsupportedError
from ..graph import Graph
from ..space import GraphSpace
from ..storage import InMemoryStorage, Storage, open_storage
from ..storage.protocol import check_name, no_such_study
from ..trial import Origin, Trial, now, package_version
from .settings import StudySettings
from .signature import Signature, commented
from .transitions import as_reason, check_holder, failed, taken


@final
class Ledger:
    """Settings and trials of one study, and the only way to change them.

    Created by `Ledger.open` or `Ledger.load`.

    Attributes:
        storage: where the study is kept.
        name: of the study within its storage.
        settings: of the study, as last read or written here.
        signature: of the current changes; each leaves an entry in its trial's log.
    """

    def __init__(
        self, storage: Storage, name: str, settings: StudySettings, recorded: dict[str, Any]
    ) -> None:
        self.storage = storage
        self.name = name
        self.signature: Signature | None = None
        self._revision = 0
        self._trials: list[Trial] = []
        self._use(settings, recorded)

    @classmethod
    def open(
        cls,
        storage: Storage | str | None,
        name: str,
        settings: StudySettings,
        given: Collection[str] | None = None,
    ) -> Ledger:
        """The study of this name, created if it does not exist; its settings must be these.

        Those that are not ``given`` (by default all are) may be earlier defaults instead.
        """
        check_name(name)
        if not isinstance(settings, StudySettings):
            raise InvalidInputError(
                f"settings must be a StudySettings, got {type(settings).__name__}"
            )
        if storage is None:
            memory, recorded = InMemoryStorage(), {}
            with suppress(UnsupportedError):  # a user-defined acquisition
                recorded = settings.to_dict()
            memory.create(name, recorded)
            return cls(memory, name, settings, recorded)
        opened = open_storage(storage)
        recorded, is_new = opened.create(name, settings.to_dict())
        there = settings if is_new else StudySettings.from_dict(recorded)
        if given is not None:
            settings = settings.as_made(there, given)
        different = there.differences(settings)
        if different:
            raise SettingsDiffer(
                f"study {name!r} exists with other settings ({', '.join(different)}); use "
                "Study.load(storage, name) to continue with its settings (study.change changes "
                "them for later trials), or another name",
                different,
            )
        return cls(opened, name, settings, recorded)

    @classmethod
    def load(cls, storage: Storage | str, name: str) -> Ledger:
        """The study of this name, with its stored settings."""
        check_name(name)
        opened = open_storage(storage, create=False)
        recorded = opened.settings(name)
        if recorded is None:
            raise no_such_study(name, opened.names())
        return cls(opened, name, StudySettings.from_dict(recorded), recorded)

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""
        return self.settings.space

    # -- settings -----------------------------------------------------------------------------

    def _use(self, settings: StudySettings, recorded: dict[str, Any]) -> None:
        self.settings = settings
        # As stored: an earlier version of this package may have recorded fewer settings.
        self._recorded = recorded
        self.storage.use_keys(self.name, self.space.identity_version, self.space.identity)
        self._trials = [self._dressed(trial) for trial in self._trials]

    def take_up_settings(self) -> None:
        """Reload the settings from the storage if another process changed them."""
        recorded = self.storage.settings(self.name)
        if recorded and recorded != self._recorded:
            self._use(StudySettings.from_dict(recorded), recorded)

    def change_settings(self, change: Callable[[StudySettings], StudySettings]) -> None:
        """Continue with other settings; start over if another process changed them meanwhile."""
        while True:
            self.take_up_settings()
            old = self.settings
            new = change(old)
            old.check_successor(new)
            different = old.differences(new)
            if not different:
                return
            before, after = old.to_dict(), new.to_dict()
            record = {
                "from_trial": len(self.trials()),
                "time": now(),
                "changed": {name: [before[name], after[name]] for name in different},
            }
            if self.storage.change_settings(self.name, after, self._recorded, record):
                self._use(new, after)
                return

    # -- trials -------------------------------------------------------------------------------

    def trials(self) -> list[Trial]:
        """All trials by id, as currently stored."""
        self._revision, changed = self.storage.changes(self.name, self._revision)
        for trial in changed:
            if trial.id == len(self._trials):
                self._trials.append(self._dressed(trial))
            elif trial.id > len(self._trials):
                self._revision, missing = 0, len(self._trials)
                raise StorageError(
                    f"trial {missing} of study {self.name!r} is missing from the storage, while "
                    f"trial {trial.id} is there; open the study again"
                )
            else:
                # The graph of a trial never changes: keep the object that has its key cached.
                known = self._trials[trial.id]
                self._trials[trial.id] = self._dressed(replace(trial, graph=known.graph))
        return self._trials

    @property
    def revision(self) -> int:
        """A number that grows with every change of a trial."""
        self.trials()
        return self._revision

    def find(self, trial: Trial | int) -> Trial:
        """The current state of a trial, given as `Trial` or id."""
        number = trial.id if isinstance(trial, Trial) else trial
        if not is_whole(number):
            raise InvalidInputError(f"trial must be a Trial or its id, got {trial!r}")
        trials = self.trials()
        if not 0 <= number < len(trials):
            raise StudyError(
                f"there is no trial {number}; the study {self.name!r} has {len(trials)}, "
                "numbered from 0"
            )
        found = trials[int(number)]
        if isinstance(trial, Trial) and trial.graph != found.graph:
            raise StudyError(
                f"trial {number} of study {self.name!r} has another graph: is this a trial of "
                "another study?"
            )
        return found

    def change(self, trial: Trial | int, transition: Callable[[Trial], Trial]) -> Trial:
        """Make a transition; start over if another process changed the trial meanwhile."""
        while True:
            current = self.find(trial)
            if isinstance(trial, Trial):
                check_holder(current, trial)
            if self.signature is not None and self.signature.is_on(current):
                return current
            changed = transition(current)
            if changed is current:
                return self._dressed(changed)
            changed = self._signed(changed)
            if self._update(changed, current):
                return self._dressed(changed)

    def comment(self, trial: Trial | int, text: str) -> Trial:
        """Add a comment to the log of a trial; start over if it was changed meanwhile."""
        while True:
            current = self.find(trial)
            if self.signature is not None and self.signature.is_on(current):
                return current
            changed = commented(current, text, self.signature)
            if self._update(changed, current):
                return self._dressed(changed)

    def _signed(self, trial: Trial) -> Trial:
        return trial if self.signature is None else self.signature.on(trial)

    def take_queued(self, worker: str | None, within: GraphSpace | None = None) -> Trial | None:
        """Take a queued trial, if there is one; with ``within``, only one in that space."""
        while True:
            waiting = next(
                (
                    t
                    for t in self.trials()
                    if t.state == "queued"
                    and (within is None or t.outside or within.contains(t.graph))
                ),
                None,
            )
            if waiting is None:
                return None
            trial = self._signed(taken(waiting, worker))
            if waiting.outside:  # a rule was added meanwhile
                words = f"no longer in the space: {'; '.join(waiting.outside)}"
                trial = failed(trial, as_reason(words), retries=0, about_graph=False)
            if self._update(trial, waiting) and trial.state == "pending":
                return trial

    def draft(self, graph: Graph, origin: Origin) -> Trial:
        """A trial that is not in the storage yet."""
        return Trial(
            id=-1,  # the storage assigns the next one
            graph=graph,
            state="queued",
            origin=origin,
            created=now(),
            version=package_version(),
            space=self.space,
        )

    def append(self, drafts: Sequence[Trial]) -> list[Trial]:
        """Add trials, all or none; a known graph counts as a repeat."""
        if not drafts:
            return []
        bare = [_bare(self._signed(draft)) for draft in drafts]
        inserted = self.storage.insert(self.name, bare, self._keys(drafts), distinct=False)
        assert inserted is not None  # only distinct inserts can be refused
        return list(map(self._dressed, inserted))

    def append_new(self, draft: Trial, *, most: int | None = None) -> Trial | None:
        """Add a trial, unless its graph already exists or the budget is spent.

        A repeat may have an existing graph.
        """
        draft = self._signed(draft)
        distinct = draft.origin != "repeat"
        inserted = self.storage.insert(
            self.name, [draft], self._keys([draft]), distinct=distinct, most=most
        )
        return None if inserted is None else inserted[0]

    def _update(self, changed: Trial, expected: Trial) -> bool:
        return self.storage.update(self.name, _bare(changed), _bare(expected))

    def _dressed(self, trial: Trial) -> Trial:
        """The trial with its space, and with its score if it has several properties."""
        goals = self.settings.goals
        if goals is None or not trial.values:
            return replace(trial, space=self.space)
        return replace(trial, space=self.space, value=goals.score(trial.values))

    def _keys(self, drafts: Sequence[Trial]) -> list[str]:
        return [self.space.identity(draft.graph) for draft in drafts]


def _bare(trial: Trial) -> Trial:
    """The stored form: without the score of several properties, which settings determine."""
    return replace(trial, value=None) if trial.values else trial
