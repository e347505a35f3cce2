"""Optuna's storage in a SQLite file, made safe for several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optuna.storages import RDBStorage
from sqlalchemy import event
from sqlalchemy.orm import ORMExecuteState

from ...errors import InvalidInputError

_PATIENCE = 60.0  # seconds to wait for the file while other processes use it


class SQLiteStorage(RDBStorage):
    """An Optuna storage in a SQLite file that several processes can share.

    Optuna reads the state of a trial and then changes it, and asks the database to lock the trial
    in between. SQLite ignores that, so two processes may take the same waiting trial, or both
    retry the trial of a dead process. This storage locks the file instead.

    Args:
        path: path of the file, which is created if it does not exist.
        settings: further arguments of Optuna's ``RDBStorage``, such as ``heartbeat_interval``.
    """

    def __init__(self, path: str | Path, **settings: Any) -> None:
        if "://" in str(path):
            raise InvalidInputError(
                f"expected the path of a SQLite file, such as 'study.db', got {str(path)!r:.80}; "
                "try optuna.storages.RDBStorage for other databases, which lock trials themselves"
            )
        if not Path(path).absolute().parent.is_dir():
            raise InvalidInputError(f"there is no folder {str(Path(path).parent)!r} for {path!s}")
        engine = dict(settings.pop("engine_kwargs", None) or {})
        engine["connect_args"] = {"timeout": _PATIENCE, **engine.get("connect_args", {})}
        super().__init__(f"sqlite:///{path}", engine, **settings)
        self._lock_when_asked()

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self._lock_when_asked()

    def _lock_when_asked(self) -> None:
        event.listen(self.scoped_session, "do_orm_execute", _lock_for_update)


def _lock_for_update(state: ORMExecuteState) -> None:
    """Begin a transaction that locks the file, where other databases would lock a row."""
    if getattr(state.statement, "_for_update_arg", None) is None:
        return
    connection = state.session.connection()
    driver = connection.connection.driver_connection
    if driver is not None and not driver.in_transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
