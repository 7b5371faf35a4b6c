from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sottovoce.errors import DataError
from sottovoce.files import is_stream, read_json, require_writable, write


def test_a_file_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write(target, "old")
    write(target, b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_users_umask_decides_who_may_read(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask


def test_a_failed_write_leaves_the_old_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    write(target, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        write(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    require_writable(tmp_path / "a")
    for place in (tmp_path / "none" / "a", tmp_path):
        with pytest.raises(DataError, match="cannot be written"):
            require_writable(place)
    with pytest.raises(DataError, match="cannot be written"):
        write(tmp_path / "none" / "a", "x")


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        require_writable(pipe)
        write(pipe, "new")
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]
    assert not any(map(is_stream, (tmp_path, tmp_path / "none", __file__)))


def test_json_that_is_missing_or_broken_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no thing at"):
        read_json(tmp_path / "none", "thing")
    (tmp_path / "bad").write_bytes(b"\xff{")
    with pytest.raises(DataError, match="cannot be read as a thing"):
        read_json(tmp_path / "bad", "thing")
