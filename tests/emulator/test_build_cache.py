"""Whose folder the compiled emulator is loaded from: each refusal is one line with the way out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ashore.emulate._cache import BuildCache, CannotEmulate, cache_folder

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
needs_no_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def open_cache(base: Path) -> BuildCache:
    return BuildCache(base, lambda line: None)


def refusal(base: Path) -> str:
    with pytest.raises(CannotEmulate) as caught:
        open_cache(base)
    text = str(caught.value)
    assert "\n" not in text and "set ASHORE_CACHE_DIR to a folder of your own" in text
    return text


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASHORE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "ashore"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "ashore"
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(
        CannotEmulate, match=r"home folder /nonexistent is not there; set ASHORE_CACHE_DIR"
    ):
        cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/ashore")
    monkeypatch.setenv("ASHORE_CACHE_DIR", "/mine")
    assert cache_folder() == Path("/mine")
    monkeypatch.setenv("ASHORE_CACHE_DIR", "relative")
    with pytest.raises(CannotEmulate, match="must be an absolute path, not 'relative'"):
        cache_folder()


def test_all_that_is_made_is_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        cache = open_cache(tmp_path / "new" / "deep")
    finally:
        os.umask(old)
    for folder in (tmp_path / "new", tmp_path / "new" / "deep", cache.folder):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_read_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "emulator").mkdir(0o755)
    open_cache(tmp_path)
    assert (tmp_path / "emulator").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o722])
def test_a_folder_that_others_could_have_filled(tmp_path: Path, mode: int) -> None:
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator").chmod(mode)
    assert str(tmp_path / "emulator") in refusal(tmp_path)


def test_parents_that_all_can_write(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert f"{shared} is writable for all" in refusal(shared / "cache")
    shared.chmod(0o1777)  # as /tmp: what is mine there stays mine
    open_cache(shared / "cache")


def test_a_folder_such_as_tmp_is_mine_alone(tmp_path: Path) -> None:
    """As the guide says: what counts is the folder `emulator` in it, and whose it is."""
    tmp_path.chmod(0o1777)
    assert open_cache(tmp_path).folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "emulator").chmod(0o777)
    assert "is writable for all" in refusal(tmp_path)


@pytest.mark.parametrize("inner", [False, True])
def test_links_are_not_followed(tmp_path: Path, inner: bool) -> None:
    (tmp_path / "elsewhere").mkdir(0o700)
    base = tmp_path / "base"
    if inner:
        base.mkdir(0o700)
    (base / "emulator" if inner else base).symlink_to(tmp_path / "elsewhere")
    assert "is a symbolic link" in refusal(base)
    assert list((tmp_path / "elsewhere").iterdir()) in ([], [tmp_path / "elsewhere" / "emulator"])


def test_the_lock_is_no_link(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    (cache.folder / "lock").symlink_to(tmp_path / "made-by-a-link")
    with pytest.raises(CannotEmulate, match="cannot be used"), cache.lock():
        pass
    assert not (tmp_path / "made-by-a-link").exists()


@needs_root
@pytest.mark.parametrize("inner", [False, True])
def test_the_folder_of_somebody_else(tmp_path: Path, inner: bool) -> None:
    base = tmp_path / "base"
    (base / "emulator").mkdir(0o700, parents=True)
    os.chown(base / "emulator" if inner else base, 12345, -1)
    assert "belongs to user 12345, you are 0" in refusal(base)


@needs_no_root
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "Permission denied" in refusal(tmp_path / "cache")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a folder" in refusal(tmp_path / "file")
    assert "Not a directory" in refusal(tmp_path / "file" / "cache")


def test_a_file_system_that_is_read_only() -> None:
    if os.access("/proc", os.W_OK) and os.geteuid() != 0:
        pytest.skip("there is no file system here that nobody can write")
    assert "cannot be used" in refusal(Path("/proc/ashore"))
