"""Build a stranger's CMake project against the installed package, as find_package finds it."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "install"
STRANGER = Path(__file__).parent / "stranger"
VERSION = re.search(r"ashore VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def run(*command, **kwargs):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """Build and install the library as its README says, then move it, as a package would."""
    staged, moved = (tmp_path_factory.mktemp("prefix") / name for name in ("staged", "moved"))
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", BUILD, "--parallel", os.environ.get("ASHORE_JOBS", os.cpu_count()))
    run("cmake", "--install", BUILD, "--prefix", staged)
    return staged.rename(moved)


def configure(prefix, folder, *options):
    command = [
        "cmake",
        "-G",
        "Ninja",
        "-S",
        STRANGER,
        "-B",
        folder,
        f"-DCMAKE_PREFIX_PATH={prefix}",
    ]
    return [*command, "-DCMAKE_BUILD_TYPE=Release", *options]


def torch_cmake_path():
    spec = importlib.util.find_spec("torch")
    if spec is None:
        pytest.skip("no torch is installed")
    return Path(spec.origin).parent / "share" / "cmake"


def test_a_stranger_brings_a_view_ashore(prefix, tmp_path):
    run(*configure(prefix, tmp_path))
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "stranger") == f"1 4 2 5 3 6 with {VERSION}\n"


def test_the_package_knows_nothing_of_where_it_was_built(prefix):
    for config in prefix.rglob("*.cmake"):
        assert str(ROOT) not in config.read_text(), config


def test_only_public_headers_are_installed(prefix):
    public = {path.name for path in (ROOT / "include" / "ashore").iterdir()}
    assert {path.name for path in prefix.rglob("*.hpp")} == public


def test_the_torch_component_needs_torch(prefix, tmp_path):
    options = ["-DWITH_TORCH=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON"]
    done = subprocess.run(
        [*map(str, configure(prefix, tmp_path, *options))], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "Torch" in done.stderr


def test_a_stranger_brings_a_torch_tensor_ashore(prefix, tmp_path):
    options = ["-DWITH_TORCH=ON", f"-DTorch_ROOT={torch_cmake_path()}"]
    run(*configure(prefix, tmp_path, *options))
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "stranger_torch") == "1 2 3\n"
