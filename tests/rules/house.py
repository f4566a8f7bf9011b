"""The rules of the house as pure functions: a tree's root in, its faults out, one line each.

Called by test_house.py, which runs every rule in RULES on this tree and on small bad ones.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

# Which folder of src may include which others (itself always). The pipeline is one file.
MAY_INCLUDE = {
    "core": set(),
    "host": {"core"},
    "format": {"core", "host"},
    "device": {"core", "host"},
    "ingest": {"core", "host", "format", "device"},
    "plan": {"core"},
    "copy": {"core", "host", "device", "plan"},
    "convert": {"core", "host"},
    "emit": {"core", "host", "format"},
}
MAY_INCLUDE["pipeline"] = set(MAY_INCLUDE)
MAY_INCLUDE["collect"] = set(MAY_INCLUDE)

# The way that data walks: no stage includes a later one.
STAGES = ["ingest", "plan", "copy", "convert", "emit", "pipeline", "collect"]

# The stage that each public header speaks for.
PUBLIC_HEADERS = {
    "array": "core",
    "ashore": "collect",
    "dlpack": "core",
    "dtype": "core",
    "layout": "core",
    "plan": "plan",
    "result": "core",
    "threads": "host",
    "to_host": "pipeline",
    "torch": "collect",
    "version": "core",
}

# Headers of the system, beyond std, that a folder of src may include.
SYSTEM_HEADERS = {
    "host": {"fcntl.h", "pthread.h", "sched.h", "sys/mman.h", "sys/stat.h", "unistd.h"},
    "format": {"zlib.h"},
    "device": {"dlfcn.h"},
    "ingest": {"fcntl.h", "sys/mman.h", "sys/stat.h", "unistd.h"},
    "emit": {"fcntl.h", "sys/stat.h", "unistd.h"},
}
SIMD_HEADERS = {"arm_neon.h", "cpuid.h", "immintrin.h"}
SIMD_FOLDERS = {"host", "format", "copy", "convert"}

# C++20 as g++ 12 and clang 14 both take it: no <format>, <expected>, <mdspan>, <source_location>.
STD_HEADERS = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv
    chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
    coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar
    cwctype deque exception execution filesystem forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map
    memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio
    regex scoped_allocator semaphore set shared_mutex span sstream stack stdexcept stop_token
    streambuf string string_view strstream syncstream system_error thread tuple type_traits
    typeindex typeinfo unordered_map unordered_set utility valarray variant vector""".split()
)

# Every room, as patterns of paths; `*` crosses no slash, `**` does.
ROOMS = """
    dev .ci/run .gitignore .pre-commit-config.yaml .pre-commit-hooks.yaml .clang-format .clang-tidy
    CMakeLists.txt CMakePresets.json pyproject.toml
    README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE
    include/ashore/*.hpp
    src/core/*.[ch]pp src/host/*.[ch]pp src/format/*.[ch]pp src/device/*.[ch]pp src/device/*.inc
    src/ingest/*.[ch]pp src/plan/*.[ch]pp src/copy/*.[ch]pp src/convert/*.[ch]pp
    src/emit/*.[ch]pp src/collect/*.[ch]pp src/pipeline.cpp
    bindings/CMakeLists.txt bindings/*.[ch]pp
    emulator/**
    python/ashore/**.py python/ashore/fix/facts/*.toml python/ashore/fix/pages/*.md
    python/ashore/_core.pyi python/ashore/_core.pat python/ashore/py.typed
    tests/CMakeLists.txt tests/conftest.py tests/src/** tests/python/** tests/fix/** tests/record/**
    tests/emulator/** tests/torch/** tests/bench/** tests/examples/** tests/docs/**
    tests/support/** tests/data/** tests/rules/** tests/install/**
    bench/** fuzz/** examples/**
    docs/guide/** docs/images/** docs/design/** docs/formats/**
    docs/decisions/[0-9][0-9][0-9][0-9].md
    docs/images/*.png
""".split()

SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".cmake"}
TEXT_SUFFIXES = SOURCE_SUFFIXES | {".md", ".txt", ".toml", ".json", ".yaml", ".yml", ".pyi", ".in"}
MOST_LINES = 400


def tree_files(root: Path) -> list[str]:
    """List the files that git tracks or would add; outside a repository, all files."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
        names = [name for name in done.stdout.split("\0") if name and (root / name).is_file()]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return sorted(set(names))


def read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8", errors="replace")


def source_files(root: Path, suffixes: set[str] = SOURCE_SUFFIXES) -> Iterator[str]:
    for name in tree_files(root):
        if Path(name).suffix in suffixes or Path(name).name in {"dev", "run", "CMakeLists.txt"}:
            yield name


def includes(root: Path, name: str) -> list[tuple[str, str]]:
    """Return what a C++ file includes, as pairs of the opening mark and the path."""
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', read(root, name), re.M)


def cpp_files(root: Path) -> list[str]:
    return [name for name in tree_files(root) if Path(name).suffix in {".hpp", ".cpp", ".h"}]


def stage_of(name: str) -> str | None:
    """Return the stage of a file in src or of a public header, None for any other file."""
    parts = Path(name).parts
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else Path(name).stem
    if parts[:2] == ("include", "ashore"):
        return PUBLIC_HEADERS.get(Path(name).stem)
    return None


def included_stage(includer: str, path: str) -> str | None:
    """Return the stage that an include inside src or include/ashore reaches, None for any other."""
    if path.startswith("ashore/"):
        return PUBLIC_HEADERS.get(Path(path).stem)
    if "/" not in path:
        return stage_of(includer)
    return path.split("/")[0]


def include_table(root: Path) -> Iterator[str]:
    """Each folder of src includes only what the table gives it."""
    for name in cpp_files(root):
        if name.startswith("include/ashore/") and Path(name).stem not in PUBLIC_HEADERS:
            yield f"{name}: say in PUBLIC_HEADERS (tests/rules/house.py) which stage it speaks for"
        stage = stage_of(name)
        if stage is None:
            continue
        if stage not in MAY_INCLUDE:
            yield f"{name}: no row of the include table is called {stage}"
            continue
        for mark, path in includes(root, name):
            if mark == "<" and not path.startswith("ashore/"):
                continue
            reached = included_stage(name, path)
            if ".." in path or reached is None:
                yield f"{name}: {path} is no header of the house; write folder/header.hpp"
            elif reached != stage and reached not in MAY_INCLUDE[stage]:
                yield f"{name}: {stage} may not include {path} ({reached})"


def one_way(root: Path) -> Iterator[str]:
    """No stage includes a later one, whatever the table says."""
    for name in cpp_files(root):
        stage = stage_of(name)
        for _, path in includes(root, name) if stage in STAGES else []:
            reached = included_stage(name, path)
            if reached in STAGES and STAGES.index(reached) > STAGES.index(stage):
                yield f"{name}: {stage} includes {path} of the later stage {reached}"


def system_headers(root: Path) -> Iterator[str]:
    """src includes std and, folder by folder, few headers of the system."""
    for name in cpp_files(root):
        if not name.startswith("src/"):
            continue
        stage = stage_of(name)
        allowed = STD_HEADERS | SYSTEM_HEADERS.get(stage, set())
        if stage in SIMD_FOLDERS:
            allowed |= SIMD_HEADERS
        for mark, path in includes(root, name):
            if mark == "<" and not path.startswith("ashore/") and path not in allowed:
                yield f"{name}: {stage} may not include <{path}>"


def public_headers(root: Path) -> Iterator[str]:
    """Public headers include only std and <ashore/…>; ashore/torch.hpp is the one exception."""
    for name in cpp_files(root):
        if not name.startswith("include/") or name == "include/ashore/torch.hpp":
            continue
        for mark, path in includes(root, name):
            if mark == '"' or not (path in STD_HEADERS or path.startswith("ashore/")):
                yield f"{name}: a public header may not include {path}"


def python_headers(root: Path) -> Iterator[str]:
    """Only bindings and the emulator's Python side know CPython, nanobind and NumPy."""
    for name in cpp_files(root):
        for _, path in includes(root, name):
            if re.match(r"(Python\.h$|nanobind/|numpy/|pybind11/)", path) and not name.startswith(
                ("bindings/", "emulator/")
            ):
                yield f"{name}: only bindings may include {path}"


def torch_headers(root: Path) -> Iterator[str]:
    """Only ashore/torch.hpp, the emulator, examples and the tests of these know LibTorch.

    Other tests may look at its DLPack header, to compare our declarations with it.
    """
    friends = ("emulator/", "examples/", "tests/emulator/", "tests/install/", "tests/torch/")
    for name in cpp_files(root):
        if name == "include/ashore/torch.hpp" or name.startswith(friends):
            continue
        for _, path in includes(root, name):
            if path == "ATen/dlpack.h" and name.startswith("tests/"):
                continue
            if re.match(r"(torch|ATen|c10)/", path):
                yield f"{name}: {path} is for ashore/torch.hpp, emulator/ and examples/ alone"


def machine_flags(root: Path) -> Iterator[str]:
    """No compiler flag -m… anywhere: a function compiled with one leaks into the baseline."""
    for name in tree_files(root):
        base = Path(name).name
        if not base.endswith((".cmake", "CMakeLists.txt", "CMakePresets.json", "pyproject.toml")):
            continue
        for number, line in enumerate(read(root, name).splitlines(), 1):
            if flag := re.search(r"(?<![\w-])-m[a-z0-9]\S*", line):
                yield f"{name}:{number}: the flag {flag[0]}; use the target attribute per function"


def pragma_once(root: Path) -> Iterator[str]:
    """Each header says #pragma once."""
    for name in cpp_files(root):
        if name.endswith((".hpp", ".h")) and not re.search(
            r"^#pragma once$", read(root, name), re.M
        ):
            yield f"{name}: no #pragma once"


def one_version(root: Path) -> Iterator[str]:
    """The version stands in CMakeLists.txt alone; the changelog may tell of it."""
    found = re.search(r"^project\(ashore VERSION ([0-9.]+)", read(root, "CMakeLists.txt"), re.M)
    if not found:
        yield "CMakeLists.txt: no line project(ashore VERSION …)"
        return
    version = re.compile(rf"(?<![\w.=]){re.escape(found[1])}(?![\w]|\.\d)")
    for name in source_files(root, TEXT_SUFFIXES):
        if name == "CHANGELOG.md":
            continue
        lines = [
            n for n, line in enumerate(read(root, name).splitlines(), 1) if version.search(line)
        ]
        if name == "CMakeLists.txt":
            lines = lines[1:]
        for number in lines:
            yield f"{name}:{number}: the version {found[1]} once more; CMakeLists.txt has it"


def rooms(root: Path) -> Iterator[str]:
    """Each file lies in a room of the house."""
    for name in tree_files(root):
        if not any(in_room(name, room) for room in ROOMS):
            yield f"{name}: no room for it; see the map in CONTRIBUTING.md"


def in_room(name: str, room: str) -> bool:
    if "**" in room:
        return fnmatchcase(name, room.replace("**", "*"))
    return name.count("/") == room.count("/") and fnmatchcase(name, room)


def file_length(root: Path) -> Iterator[str]:
    """A source file past 400 lines says why in its first ten ("Past 400 lines because …")."""
    for name in source_files(root):
        lines = read(root, name).splitlines()
        if len(lines) > MOST_LINES and f"{MOST_LINES} lines because" not in "\n".join(lines[:10]):
            yield f"{name}: {len(lines)} lines; split it, or say at its top why not"


# Words that may not stand in any file are put together here, so that this one has none of them.
REGISTRY_HOSTS = [
    ".".join(host)
    for host in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("anaconda", "org"),
        ("debian", "org"),
        ("ubuntu", "com"),
        ("npmjs", "org"),
        ("crates", "io"),
    ]
]
MARKERS = ["TO" + "DO", "FIX" + "ME", "X" * 3]


def registry_hosts(root: Path) -> Iterator[str]:
    """No file names the host of a package registry: clients know where they fetch from."""
    for name in source_files(root, TEXT_SUFFIXES):
        text = read(root, name)
        for host in REGISTRY_HOSTS:
            if re.search(rf"(?<!\w){re.escape(host)}\b", text):
                yield f"{name}: names the host of a package registry ({host})"


def markers(root: Path) -> Iterator[str]:
    """No marker of unfinished work: finish it or file it."""
    marker = re.compile(rf"\b({'|'.join(MARKERS)})\b")
    for name in source_files(root, TEXT_SUFFIXES):
        for number, line in enumerate(read(root, name).splitlines(), 1):
            if found := marker.search(line):
                yield f"{name}:{number}: the marker {found[0]}"


RULES: list[Callable[[Path], Iterator[str]]] = [
    include_table,
    one_way,
    system_headers,
    public_headers,
    python_headers,
    torch_headers,
    machine_flags,
    pragma_once,
    one_version,
    rooms,
    file_length,
    registry_hosts,
    markers,
]
