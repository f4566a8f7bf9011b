"""The steps from sources to the two libraries: generate, compile, link; called by `_build`."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from ashore.emulate._build_error import CannotEmulate
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
    made.mkdir()
    generated.mkdir()
    files = sorted((*sources.core, *sources.surface), key=_size, reverse=True)
    objects = {path: folder / f"{path.parent.name}-{path.stem}.o" for path in files}
    compile_one = [*compiler.command, *FLAGS, *_include_flags(sources, torch, generated)]
    stages = [
        [_generate(sources, torch, generated)],
        [
            Job(f"compiling {path.name}", [*compile_one, "-c", str(path), "-o", str(made_of_it)])
            for path, made_of_it in objects.items()
        ],
        *_links(compiler, sources, torch, objects, made),
    ]
    what = f"compiling the emulated GPU for torch {torch.version} (once)"
    progress = Progress(what, sum(map(len, stages)))
    try:
        for stage in stages:
            run_jobs(stage, worker_count(), log, folder, progress)
    finally:
        progress.close()
    return made


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
    ]


def _generate(sources: SourceTree, torch: TorchBuild, generated: Path) -> Job:
    """Make the job that writes the tables of operators from what PyTorch's wheel brings."""
    from importlib.util import find_spec

    if find_spec("yaml") is None:
        raise CannotEmulate(
            "compiling the emulated GPU needs PyYAML: pip install 'ashore[emulate]'"
        )
    # -P: the folder of the script is no place to import from.
    command = [sys.executable, "-P", str(sources.generator), str(torch.root), str(generated)]
    return Job("reading PyTorch's operators", command)


def _links(
    compiler: Compiler,
    sources: SourceTree,
    torch: TorchBuild,
    objects: dict[Path, Path],
    made: Path,
) -> list[list[Job]]:
    libraries = torch.root / "lib"
    link = [*compiler.command, *LINK_FLAGS]
    torch_flags = [f"-L{libraries}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{libraries}"]
    emulator = [
        *link,
        "-Wl,--no-undefined",
        *(str(objects[path]) for path in sources.core),
        *torch_flags,
        "-ldl",
        "-lpthread",
        *("-o", str(made / EMULATOR)),
    ]
    surface = [
        *link,
        *(str(objects[path]) for path in sources.surface),
        *(f"-L{made}", f"-l:{EMULATOR}", "-Wl,-rpath,$ORIGIN"),
        *torch_flags,
        "-ltorch_python",
        *("-o", str(made / SURFACE)),
    ]
    return [
        [Job("linking the emulator", emulator)],
        [Job("linking its Python surface", surface)],
    ]


def _size(path: Path) -> int:
    return path.stat().st_size
