"""Build CMake projects against the installed package, as strangers do."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = Path(os.environ.get("ASHORE_BUILD", ROOT / "build" / "dev"))
# Kept between runs, since LibTorch's headers take their time: a second run compiles what changed.
WORK = ROOT / "build" / "examples"


def run(*command, **options):
    """Run a command to its end and return what it printed; fail with all of it where it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def build(source, folder, *paths):
    """Configure the project in `source` and build it in `folder`; return that."""
    run(
        *("cmake", "-G", "Ninja", "-S", source, "-B", folder),
        *("-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={';'.join(map(str, paths))}"),
    )
    run("cmake", "--build", folder, "-j", os.environ.get("ASHORE_JOBS", "2"))
    return folder


@pytest.fixture(scope="session")
def prefix():
    """Install what ./dev built, or skip, saying what is missing."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("compilers do not run under a preloaded AddressSanitizer")
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if not (BUILT / "build.ninja").exists():
        pytest.skip(f"nothing is built in {BUILT}; type: ./dev test")
    run("cmake", "--install", BUILT, "--prefix", WORK / "prefix")
    return WORK / "prefix"


@pytest.fixture(scope="session")
def torch_cmake():
    """Return the folder of the installed torch that CMake looks into."""
    spec = importlib.util.find_spec("torch")
    if spec is None:
        pytest.skip("torch is not installed")
    return Path(spec.origin).parent / "share" / "cmake"
