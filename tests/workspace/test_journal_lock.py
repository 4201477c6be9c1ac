"""One writer at a time, among processes and threads, and for no longer than it lives."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from scriptorium.errors import ConcurrentUpdate, InternalError
from scriptorium.workspace import journal, layout
from scriptorium.workspace.layout import Layout


@pytest.fixture
def place(tmp_path: Path) -> Layout:
    return layout.create(tmp_path / "memory", ignore=False)


def holding_child(place: Layout) -> int:
    """A child that holds the lock until it is killed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with journal.locked(place):
            os.write(writing, b"x")
            signal.pause()
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return pid


def test_a_second_writer_waits_and_is_then_told_who_holds_the_lock(place: Layout) -> None:
    pid = holding_child(place)
    try:
        with pytest.raises(ConcurrentUpdate) as held, journal.locked(place, timeout=0.05):
            pass
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert held.value.details["lock_held"] is True
    assert held.value.details["holder_pid"] in (pid, None)


def test_a_killed_holder_delays_the_next_writer_by_less_than_a_second(place: Layout) -> None:
    pid = holding_child(place)
    os.kill(pid, signal.SIGKILL)
    with journal.locked(place, timeout=1.0):
        os.waitpid(pid, 0)


def test_threads_of_one_process_exclude_each_other(place: Layout) -> None:
    inside: list[int] = []
    most: list[int] = []

    def write() -> None:
        for _ in range(5):
            with journal.locked(place):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_the_lock_file_is_never_deleted(place: Layout) -> None:
    with journal.locked(place):
        before = place.lock.stat().st_ino
    with journal.locked(place):
        assert place.lock.stat().st_ino == before


def test_a_lock_that_cannot_be_made_is_an_error_with_advice(place: Layout) -> None:
    place.lock.mkdir()
    with pytest.raises(InternalError) as refused, journal.locked(place):
        pass
    assert str(place.root) not in refused.value.message
