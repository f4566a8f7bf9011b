"""Building the emulator and finding it again: real processes and compilers, tiny sources."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ashore.emulate._build import CannotEmulate, ensure_built
from ashore.emulate._build_sources import SourceTree
from ashore.emulate._compiler import worker_count
from fake_torch import (
    end_builds,
    is_alive,
    start_build,
    wait_for_number,
    write_slow_compiler,
    write_sources,
    write_torch,
)


@pytest.fixture(scope="module")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_torch(tmp_path_factory.mktemp("site") / "torch")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return write_sources(tmp_path / "sources")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ASHORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    yield tmp_path / "cache" / "emulator"
    end_builds()


class Outcome:
    """What a building process said."""

    def __init__(self, torch: Path, sources: Path, *words: str, **env: str) -> None:
        process = start_build(torch, sources, *words, **env)
        out, self.err = process.communicate(timeout=120)
        self.code = process.returncode
        self.number, self.compiled, self.folder = (out.split() or ["", "", ""])[:3]


INTERRUPTED = (
    "ashore: interrupted while the emulated GPU was being compiled; nothing is left behind\n"
)


def entries(cache: Path) -> list[Path]:
    return [path.parent for path in cache.glob("*/manifest.json")]


def test_it_is_compiled_once_and_works(torch: Path, sources: Path, cache: Path) -> None:
    first, second = Outcome(torch, sources), Outcome(torch, sources)
    assert (first.code, first.number, first.compiled) == (0, "42", "True"), first.err
    assert (second.code, second.number, second.compiled) == (0, "42", "False")
    assert first.folder == second.folder
    assert second.err == "", "nothing is said when nothing is done"
    assert [path.name for path in cache.iterdir() if path.name != "lock"] == [
        Path(first.folder).name
    ], "no temporary folder and no log is left"
    assert cache.stat().st_mode & 0o777 == 0o700


def test_force_compiles_again(torch: Path, sources: Path, cache: Path) -> None:
    folder = Outcome(torch, sources).folder
    again = Outcome(torch, sources, "force")
    assert (again.compiled, again.folder) == ("True", folder)
    assert len(entries(cache)) == 1


def test_each_thing_in_the_key_counts(torch: Path, sources: Path, tmp_path: Path) -> None:
    seen = {Outcome(torch, sources).folder}

    def is_new(torch: Path, **env: str) -> bool:
        outcome = Outcome(torch, sources, **env)
        assert outcome.compiled == "True", outcome.err
        new = outcome.folder not in seen
        seen.add(outcome.folder)
        return new

    (sources / "emulator" / "numbers.hpp").write_text("constexpr int kNumber = 1;\n")
    assert is_new(torch), "a source"
    (sources / "src" / "device").mkdir(parents=True)
    (sources / "src" / "device" / "driver_api.hpp").write_text("#pragma once\n")
    assert is_new(torch), "a header of the driver"
    assert is_new(write_torch(tmp_path / "other" / "torch", "2.13.1+cpu")), "the version of torch"
    same = write_torch(tmp_path / "third" / "torch")
    library = same / "lib" / "libtorch_cpu.so"
    assert is_new(same), "where torch lies"
    library.write_bytes(library.read_bytes() + b"\0")  # the build id stays: the same build
    assert Outcome(same, sources).compiled == "False"
    compiler = tmp_path / "mine"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "g++ (mine) 12.9.9" && exit\n'
                        'exec g++ "$@"\n')  # fmt: skip
    compiler.chmod(0o755)
    assert is_new(torch, CXX=str(compiler)), "the compiler"


def test_a_changed_library_is_refused_and_built_again(torch: Path, sources: Path) -> None:
    folder = Path(Outcome(torch, sources).folder)
    library = folder / "libashore_emulator.so"
    library.write_bytes(library.read_bytes()[:-1] + b"!")
    again = Outcome(torch, sources)
    assert (again.number, again.compiled) == ("42", "True")
    assert again.err.startswith("ashore: the cached emulator is not what was built")
    assert str(library) in again.err
    assert Outcome(torch, sources).compiled == "False"


@pytest.mark.parametrize("damage", ["", "{}", '{"files": {"../x": ""}}', '{"files": 3}', "\0"])
def test_a_broken_manifest_is_no_entry(torch: Path, sources: Path, damage: str) -> None:
    folder = Path(Outcome(torch, sources).folder)
    (folder / "manifest.json").write_text(damage)
    assert Outcome(torch, sources).compiled == "True"


def test_a_library_that_became_a_link_is_refused(torch: Path, sources: Path) -> None:
    library = Path(Outcome(torch, sources).folder) / "libashore_emulator.so"
    library.rename(library.with_name("aside"))
    library.symlink_to("aside")
    assert Outcome(torch, sources).compiled == "True"


def test_two_at_once_compile_once(torch: Path, sources: Path, cache: Path) -> None:
    both = [start_build(torch, sources, FAKE_SECONDS="3") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert all(process.returncode == 0 for process in both), said
    assert sorted(out.split()[1] for out, _ in said) == ["False", "True"]
    assert sum("another process is compiling" in err for _, err in said) == 1
    assert len(entries(cache)) == 1


def test_killed_in_the_middle(torch: Path, sources: Path, cache: Path) -> None:
    process = start_build(torch, sources, FAKE_SECONDS="2")
    deadline = time.monotonic() + 60
    while not list(cache.glob("tmp-*/generated")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not entries(cache) and list(cache.glob("tmp-*"))
    again = Outcome(torch, sources)
    assert (again.number, again.compiled) == ("42", "True")
    assert not list(cache.glob("tmp-*")), "what the killed one left is gone"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_while_compilers_run(
    torch: Path, sources: Path, cache: Path, tmp_path: Path, number: signal.Signals
) -> None:
    compiler, child = write_slow_compiler(tmp_path)
    process = start_build(torch, sources, CXX=str(compiler))
    pid = wait_for_number(child, process)
    assert is_alive(pid)
    start = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == -number and time.monotonic() - start < 10
    assert (out, err) == ("", INTERRUPTED if number == signal.SIGINT else "")
    assert not is_alive(pid), "what the compiler started goes too"
    assert [path.name for path in cache.iterdir()] == ["lock"], "no folder, no log"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("signal.signal(signal.SIGTERM, lambda *a: sys.exit(7))", 7),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", -signal.SIGHUP),
        ("import threading; build = in_a_thread(build)", -signal.SIGTERM),
    ],
)
def test_the_signal_handlers_of_the_program_stay(
    torch: Path, sources: Path, cache: Path, tmp_path: Path, program: str, code: int
) -> None:
    compiler, child = write_slow_compiler(tmp_path)
    process = start_build(torch, sources, before=program, CXX=str(compiler), ASHORE_JOBS="1")
    pid = wait_for_number(child, process)
    process.send_signal(signal.SIGTERM)
    if code == -signal.SIGHUP:
        time.sleep(0.3)
        assert process.poll() is None and is_alive(pid)
        process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == code
    if "thread" in program:  # nobody may handle signals there; the next build removes the folder
        os.killpg(os.getpgid(pid), signal.SIGKILL)
        return
    assert not is_alive(pid) and [path.name for path in cache.iterdir()] == ["lock"]


def test_the_signal_handlers_are_those_from_before(torch: Path, sources: Path) -> None:
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.getsignal(number) for number in numbers]
    assert ensure_built(torch, sources=SourceTree(sources)).compiled
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_program_can_catch_the_interrupt(torch: Path, sources: Path, tmp_path: Path) -> None:
    compiler, child = write_slow_compiler(tmp_path)
    program = """
inner = build
def build():
    try:
        inner()
    except KeyboardInterrupt as error:
        print("caught:", error)
        raise ValueError("mine") from None
"""
    process = start_build(torch, sources, before=program, CXX=str(compiler))
    wait_for_number(child, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert out.startswith("caught: interrupted while the emulated GPU was being compiled")
    assert process.returncode == 1 and err.endswith("ValueError: mine\n")


def test_compiler_errors_are_short_and_kept_whole(torch: Path, sources: Path, cache: Path) -> None:
    (sources / "emulator" / "core.cpp").write_text("int f() { return nothing + at_all; }\n" * 9)
    failed = Outcome(torch, sources)
    assert failed.code == 1 and failed.err.count("\n") == 1
    assert "compiling core.cpp failed" in failed.err
    assert failed.err.count("error: ") == 3, "the first ones"
    log = Path(failed.err.strip().rpartition(" is in ")[2])
    assert log.read_text().count("error: ") > 10 and "-std=c++20" in log.read_text()
    assert not entries(cache) and not list(cache.glob("tmp-*"))
    write_sources(sources / "good")
    assert Outcome(torch, sources / "good").number == "42"
    assert not log.exists(), "the log of a failure lives until the next build"


def test_without_a_compiler(torch: Path, sources: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    none = {"PATH": str(tmp_path / "empty")}
    failed = Outcome(torch, sources, **none)
    assert failed.code == 1 and "there is no C++ compiler (g++ 12 or clang++ 14" in failed.err
    assert "install g++, or name one in CXX" in failed.err
    assert Outcome(torch, sources).compiled == "True"
    there = Outcome(torch, sources, **none)
    assert (there.number, there.compiled) == ("42", "False"), "what is built needs no compiler"


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        ("g++ (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", False),
        ("g++ (GCC) 12.2.0 20220819 (Red Hat 12.2.0-1)", True),
        ("Ubuntu clang version 13.0.1-2ubuntu2", False),
        ("Debian clang version 14.0.6", True),
        ("something else", True),
    ],
)
def test_compilers_that_are_too_old(tmp_path: Path, version: str, taken: bool) -> None:
    from ashore.emulate._compiler import find_compiler

    (tmp_path / "g++").write_text(f"#!/bin/sh\necho '{version}'\n")
    (tmp_path / "g++").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}")
        found = find_compiler()
    assert (found is not None) == taken


def test_a_compiler_that_is_not_there(torch: Path, sources: Path) -> None:
    wrong = {"CXX": "no-such-compiler -O1"}
    failed = Outcome(torch, sources, **wrong)
    assert failed.code == 1 and "CXX=no-such-compiler -O1 cannot be run; name a C++" in failed.err
    folder = Outcome(torch, sources).folder
    there = Outcome(torch, sources, **wrong)
    assert (there.number, there.compiled, there.folder, there.err) == ("42", "False", folder, "")
    assert "cannot be run" in Outcome(torch, sources, "force", **wrong).err
    assert "CXX=g++ ' is no command" in Outcome(torch, sources, CXX="g++ '").err


def test_a_compiler_that_is_none(torch: Path, sources: Path, cache: Path) -> None:
    failed = Outcome(torch, sources, CXX="/bin/true")
    assert failed.code == 1 and failed.err.count("\n") == 1
    assert "made nothing: /bin/true does not behave as a C++ compiler" in failed.err
    assert "name a C++ compiler in CXX, or unset it" in failed.err
    assert not entries(cache)


@pytest.mark.parametrize("jobs", ["x", "0", "-1", "1.5"])
def test_wrong_numbers_of_jobs(torch: Path, sources: Path, jobs: str) -> None:
    failed = Outcome(torch, sources, ASHORE_JOBS=jobs)
    assert failed.code == 1 and failed.err.count("\n") == 1
    assert f"ASHORE_JOBS is a number of compilers, 1 or more, not {jobs!r}" in failed.err


def test_full_disk(torch: Path, sources: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "full"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "g++ (full) 12.0.0" && exit\n'
                        'echo "fatal error: x.o: No space left on device"; exit 1\n')  # fmt: skip
    compiler.chmod(0o755)
    failed = Outcome(torch, sources, CXX=str(compiler))
    assert failed.code == 1 and "no space for the compiled emulator in" in failed.err
    assert "ASHORE_CACHE_DIR" in failed.err and failed.err.count("\n") == 1


def test_old_entries_go_and_the_last_few_stay(torch: Path, sources: Path, cache: Path) -> None:
    now = time.time()
    newest = Path(Outcome(torch, sources).folder)
    for age in range(8):
        folder = cache / f"{age:032d}"
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
        day = 0.5 if age < 4 else 3
        os.utime(folder, times=(now - day * 86400 - age,) * 2)
    Outcome(torch, sources, "force")
    kept = sorted(int(path.name) for path in entries(cache) if path.name != newest.name)
    assert kept == [0, 1, 2, 3], "used within a day, or among the last"


def test_the_build_leaves_the_cache_of_others_alone(torch: Path, sources: Path) -> None:
    with pytest.raises(CannotEmulate, match="no emulator sources"):
        ensure_built(torch, sources=SourceTree(sources / "nowhere"))


def test_workers_follow_affinity_quota_and_memory(tmp_path: Path) -> None:
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal: 1 kB\nMemAvailable: 900000000 kB\n")
    all_cores = len(os.sched_getaffinity(0))

    def count(quota: str | None, version: int = 2) -> int:
        folder = tmp_path / f"{quota}-{version}"
        folder.mkdir(exist_ok=True)
        if quota is not None and version == 2:
            (folder / "cpu.max").write_text(quota + "\n")
        elif quota is not None:
            (folder / "cpu").mkdir()
            for name, value in zip(("quota", "period"), quota.split(), strict=True):
                (folder / "cpu" / f"cpu.cfs_{name}_us").write_text(value + "\n")
        return worker_count(str(folder), str(memory))

    assert count(None) == count("max 100000") == count("-1 100000", 1) == all_cores
    assert count("100000 100000") == count("20000 100000") == count("100000 100000", 1) == 1
    memory.write_text("MemAvailable: 1000000 kB\n")
    assert count(None) == 1, "a compiler takes a gigabyte"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASHORE_JOBS", "7")
        assert count(None) == 7


def test_names_at_the_margin(tmp_path: Path) -> None:
    from ashore.emulate._build_groups import names_in

    text = """\
#define SHORT 1
using Entry = int (*)(int);
namespace {
constexpr int kRows[] = {1};
struct Line {
  int inside = 0;
};
std::uint64_t handle(int x) { return x; }
template <typename T>
T twice(T x) {
  return x + x;
}
const std::map<int, int> table = {};
}  // namespace
void Class::method() {}
"""
    assert {"SHORT", "kRows", "Line", "handle", "twice", "table", "method"} <= names_in(text)
    assert not {"inside", "namespace", "return", "using"} & names_in(text)


def test_files_with_the_same_names_are_kept_apart(torch: Path, sources: Path) -> None:
    for number in range(4):
        (sources / "emulator" / f"part{number}.cpp").write_text(
            f"namespace {{\nint own() {{ return {number}; }}\n}}\n"
            f"int part{number}() {{ return own(); }}\n"
        )
    (sources / "emulator" / "other.cpp").write_text("int other() { return 1; }\n")
    outcome = Outcome(torch, sources)
    assert outcome.number == "42", outcome.err


def test_what_does_not_compile_together_is_compiled_alone(torch: Path, sources: Path) -> None:
    """A clash that no list of names shows."""
    emulator = sources / "emulator"
    for name in ("a", "b"):
        (emulator / f"{name}.hpp").write_text("struct Same { int x; };\n")
        (emulator / f"{name}.cpp").write_text(
            f'#include "{name}.hpp"\nint {name}() {{ return 1; }}\n'
        )
    (emulator / "core.cpp").write_text('#include "a.hpp"\n' + (emulator / "core.cpp").read_text())
    outcome = Outcome(torch, sources, ASHORE_JOBS="1")
    assert outcome.number == "42", outcome.err
