"""The steps from sources to the two libraries: generate, compile, link; called by `_build`."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._build_groups import make_groups, write_group
from ashore.emulate._build_progress import Progress
from ashore.emulate._build_sources import SourceTree
from ashore.emulate._compiler import Compiler, Job, run_jobs, worker_count
from ashore.emulate._torch_info import TorchBuild

EMULATOR = "libashore_emulator.so"
SURFACE = "_ashore_cuda" + (sysconfig.get_config_var("EXT_SUFFIX") or ".so")
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w")
LINK_FLAGS = ("-shared", "-Wl,-s", "-Wl,--no-as-needed")


def compile_all(
    compiler: Compiler, sources: SourceTree, torch: TorchBuild, folder: Path, log: Path
) -> Path:
    """Compile in `folder` and return the folder in it that holds the libraries and nothing else."""
    made, generated = folder / "made", folder / "generated"
    for new in (made, generated, folder / "core", folder / "surface"):
        new.mkdir()
    workers = worker_count()
    command = [*compiler.command, *FLAGS, *_include_flags(sources, torch, generated), "-c"]
    stages: list[list[Job]] = [
        [_generate(sources, torch, generated)],
        [
            *_compile(command, sources.core, workers, folder / "core"),
            *_compile(command, sources.surface, workers, folder / "surface"),
        ],
    ]
    what = f"compiling the emulated GPU for torch {torch.version} (once)"
    progress = Progress(what, sum(map(len, stages)) + 2)
    try:
        for stage in stages:
            run_jobs(stage, workers, log, folder, progress)
        for link in _links(compiler, torch, folder, made):
            run_jobs([link], workers, log, folder, progress)
    finally:
        progress.close()
    return made


def _compile(command: list[str], files: list[Path], workers: int, folder: Path) -> list[Job]:
    """Make the jobs that leave all objects of a library in the folder."""

    def one(source: Path, name: str, *instead: Job) -> Job:
        made = folder / f"{name}.o"
        whole = [*command, str(source), "-o", str(made)]
        return Job(f"compiling {source.name}", whole, made, instead)

    jobs = []
    for number, members in enumerate(make_groups(files, max(2, workers))):
        singly = [one(path, path.stem) for path in members]
        if len(members) > 1:
            together = folder / f"group-{number}.cpp"
            write_group(members, together)
            singly = [one(together, together.stem, *singly)]
        jobs += singly
    return jobs


def _include_flags(sources: SourceTree, torch: TorchBuild, generated: Path) -> list[str]:
    python = Path(sysconfig.get_path("include"))
    if not (python / "Python.h").exists():
        raise CannotEmulate(f"the headers of Python are missing ({python}): install python3-dev")
    headers = torch.root / "include"
    if not headers.is_dir():
        raise CannotEmulate(f"torch {torch.version} came without its C++ headers ({headers})")
    system = (headers, headers / "torch/csrc/api/include", python)
    return [
        f"-I{generated}",
        *(f"-I{path}" for path in sources.include_folders),
        *(f"-isystem{path}" for path in system),
        # Warnings of PyTorch name the file that they come from: not by where it lay here.
        *(f"-ffile-prefix-map={path}/=" for path in sources.include_folders),
    ]


def _generate(sources: SourceTree, torch: TorchBuild, generated: Path) -> Job:
    """Make the job that writes the tables of operators from what PyTorch's wheel brings."""
    from importlib.util import find_spec

    if find_spec("yaml") is None:
        raise CannotEmulate(
            "compiling the emulated GPU needs PyYAML: pip install 'ashore[emulate]'"
        )
    # The script imports others that lie beside it.
    command = [sys.executable, str(sources.generator), str(torch.root), str(generated)]
    return Job("reading PyTorch's operators", command, generated)


def _links(compiler: Compiler, torch: TorchBuild, folder: Path, made: Path) -> Iterator[Job]:
    libraries = torch.root / "lib"
    link = [*compiler.command, *LINK_FLAGS]
    torch_flags = [f"-L{libraries}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{libraries}"]
    emulator = [
        *link,
        "-Wl,--no-undefined",
        *_objects(folder / "core"),
        *torch_flags,
        "-ldl",
        "-lpthread",
        *("-o", str(made / EMULATOR)),
    ]
    yield Job("linking the emulator", emulator, made / EMULATOR)
    surface = [
        *link,
        *_objects(folder / "surface"),
        *(f"-L{made}", f"-l:{EMULATOR}", "-Wl,-rpath,$ORIGIN"),
        *torch_flags,
        "-ltorch_python",
        *("-o", str(made / SURFACE)),
    ]
    yield Job("linking its Python surface", surface, made / SURFACE)


def _objects(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.glob("*.o"))
