"""`ashore doctor` on faked machines, each broken in one way, and on this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from faked_machine import DRIVER, Tree

HEAVY = ("numpy", "torch", "jax", "cupy", "ashore._core", "rich")


def doctor(tree: Tree, *options: str) -> subprocess.CompletedProcess[str]:
    hiding = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_HOME", "LD_LIBRARY_PATH")
    kept = {k: v for k, v in os.environ.items() if k not in hiding}
    return subprocess.run(
        [sys.executable, "-m", "ashore", "doctor", f"--root={tree.root}", *options],
        capture_output=True,
        text=True,
        timeout=60,
        env={**kept, **tree.env},
        stdin=subprocess.DEVNULL,
    )


def asked(tree: Tree, *options: str) -> dict[str, Any]:
    done = doctor(tree, "--json", *options)
    assert done.stderr == ""
    data: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if data["usable"] else 1)
    return data


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_machine_that_works(tree: Tree) -> None:
    data = asked(tree)
    assert data["usable"] and data["causes"] == []
    assert data["facts"]["driver"]["devices"] == [{"name": "NVIDIA Test", "major": 8, "minor": 0}]
    done = doctor(tree)
    assert done.returncode == 0 and done.stdout.startswith("A GPU can be used here.\n")
    assert "NVIDIA Test (8.0)" in done.stdout and "2.9.0+cu124 (built for CUDA 12.4)" in done.stdout


def no_gpu(tree: Tree) -> None:
    tree.no_driver()
    tree.remove("/sys/bus/pci/devices/0000:01:00.0")


def amd(tree: Tree) -> None:
    no_gpu(tree)
    tree.gpu("0000:03:00.0", "0x1002")


def bare_gpu(tree: Tree) -> None:
    tree.no_driver()


def nouveau(tree: Tree) -> None:
    tree.no_driver()
    tree.write("/proc/modules", "nouveau 2068480 1 - Live 0x0\n")


def module_not_loaded(tree: Tree) -> None:
    tree.remove("/proc/driver", "/proc/modules", "/dev")
    tree.libcuda(init=100)


def updated_in_use(tree: Tree) -> None:
    tree.libcuda(init=803, driver="555.42.02")


def no_libcuda(tree: Tree) -> None:
    tree.remove("/usr/lib/x86_64-linux-gnu")


def no_nodes(tree: Tree) -> None:
    tree.remove("/dev")
    tree.libcuda(init=100)


def no_uvm(tree: Tree) -> None:
    tree.remove("/dev/nvidia-uvm")
    tree.libcuda(init=999)


def container(tree: Tree) -> None:
    tree.write("/.dockerenv", "")
    tree.remove("/dev", "/usr/lib/x86_64-linux-gnu")


def container_void(tree: Tree) -> None:
    container(tree)
    tree.env["NVIDIA_VISIBLE_DEVICES"] = "void"


def kubernetes(tree: Tree) -> None:
    tree.no_driver()
    tree.remove("/sys")
    tree.write("/proc/1/cgroup", "0::/kubepods/besteffort/pod12\n")


def no_device(tree: Tree) -> None:
    tree.libcuda(init=100)


def fabric_manager(tree: Tree) -> None:
    tree.libcuda(init=802)


def unknown_error(tree: Tree) -> None:
    tree.libcuda(init=999)


def driver_hangs(tree: Tree) -> None:
    tree.libcuda(before="for (;;) sleep(1)")


def driver_crashes(tree: Tree) -> None:
    tree.libcuda(before="abort()")


def broken_library(tree: Tree) -> None:
    tree.write(f"/usr/lib/x86_64-linux-gnu/libcuda.so.{DRIVER}", "not a library")


def stub(tree: Tree) -> None:
    tree.env["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64/stubs"
    tree.libcuda(init=34, folder="/usr/local/cuda/lib64/stubs")


def off_the_bus(tree: Tree) -> None:
    tree.gpu("0000:01:00.0", "0x10de", b"\xff\xff\xff\xff")
    tree.libcuda(init=100)


def off_the_bus_by_the_log(tree: Tree) -> None:
    tree.write("/var/log/kern.log", "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus\n")
    tree.libcuda(init=999)


def cpu_build(tree: Tree) -> None:
    tree.torch(None)


def too_new_a_torch(tree: Tree) -> None:
    tree.torch("13.0")


def too_old_a_gpu(tree: Tree) -> None:
    tree.libcuda(version=13000, major=6)
    tree.torch("13.0")


def too_new_a_gpu(tree: Tree) -> None:
    tree.libcuda(version=12080, major=12)


def hidden(tree: Tree) -> None:
    tree.env["CUDA_VISIBLE_DEVICES"] = ""


def hidden_by_minus_one(tree: Tree) -> None:
    tree.env["CUDA_VISIBLE_DEVICES"] = "-1"


def hidden_by_number(tree: Tree) -> None:
    tree.env["CUDA_VISIBLE_DEVICES"] = "3"


def hidden_by_uuid(tree: Tree) -> None:
    tree.write("/proc/driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID: \t GPU-11aa22bb\n")
    tree.env["CUDA_VISIBLE_DEVICES"] = "GPU-99ff"


def wsl_one(tree: Tree) -> None:
    tree.no_driver()
    tree.write("/proc/version", "Linux version 4.4.0-19041-Microsoft\n")


def wsl_without_driver(tree: Tree) -> None:
    wsl_one(tree)
    tree.remove("/sys")
    tree.write("/dev/dxg", "")


def wsl_with_linux_driver(tree: Tree) -> None:
    wsl_without_driver(tree)
    tree.libcuda(init=100)


BROKEN = [
    (no_gpu, "no-gpu", "emulate one: ashore run SCRIPT"),
    (amd, "no-nvidia-gpu", "ROCm"),
    (bare_gpu, "no-driver", "install NVIDIA's driver"),
    (nouveau, "nouveau", "blacklist nouveau"),
    (module_not_loaded, "module-not-loaded", "modprobe nvidia"),
    (updated_in_use, "driver-mismatch", "reboot"),
    (no_libcuda, "no-libcuda", "libcuda1"),
    (no_nodes, "no-device-nodes", "nvidia-modprobe"),
    (no_uvm, "no-uvm", "nvidia-modprobe -u"),
    (container, "container-without-gpu", "--gpus all"),
    (container_void, "container-without-gpu", "--gpus all"),
    (kubernetes, "container-without-gpu", "nvidia.com/gpu"),
    (no_device, "no-device", "nvidia-smi -L"),
    (fabric_manager, "fabric-manager", "nvidia-fabricmanager"),
    (unknown_error, "driver-broken", "nvidia_uvm"),
    (driver_hangs, "driver-hangs", "dmesg"),
    (driver_crashes, "driver-crashes", "install the driver again"),
    (broken_library, "libcuda-broken", "install the driver again"),
    (stub, "stub-library", "LD_LIBRARY_PATH"),
    (off_the_bus, "fallen-off-the-bus", "shut the machine down"),
    (off_the_bus_by_the_log, "fallen-off-the-bus", "shut the machine down"),
    (cpu_build, "cpu-build", "build for CUDA 12"),
    (too_new_a_torch, "driver-too-old", "update the driver, or install torch for CUDA 12"),
    (too_old_a_gpu, "no-kernels", "for CUDA 12"),
    (too_new_a_gpu, "no-kernels", "12.8"),
    (hidden, "hidden", "unset CUDA_VISIBLE_DEVICES"),
    (hidden_by_minus_one, "hidden", "unset CUDA_VISIBLE_DEVICES"),
    (hidden_by_number, "hidden", "unset CUDA_VISIBLE_DEVICES"),
    (hidden_by_uuid, "hidden", "unset CUDA_VISIBLE_DEVICES"),
    (wsl_one, "wsl-without-gpu", "wsl --update"),
    (wsl_without_driver, "wsl-driver", "in Windows"),
    (wsl_with_linux_driver, "wsl-linux-driver", "purge"),
]


NAMES = [row[0].__name__ for row in BROKEN]


@pytest.mark.parametrize(("break_it", "name", "step"), BROKEN, ids=NAMES)
def test_the_cause_is_named_first(tree: Tree, break_it: Any, name: str, step: str) -> None:
    break_it(tree)
    data = asked(tree, "--seconds=2")
    assert not data["usable"]
    assert data["causes"][0]["name"] == name
    assert step in data["causes"][0]["next"]


def test_nodes_that_may_not_be_used(tree: Tree) -> None:
    tree.libcuda(init=304)
    for node in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        (tree.root / "dev" / node).chmod(0o660 if os.geteuid() == 0 else 0o400)
    first, *_ = asked(tree)["causes"]
    assert first["name"] == "permissions" and "usermod" in first["next"]


def test_the_root_from_the_environment(tree: Tree) -> None:
    tree.torch(None)
    command = [sys.executable, "-m", "ashore", "doctor"]
    env = {**os.environ, "ASHORE_DOCTOR_ROOT": str(tree.root)}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert "1  torch 2.9.0+cpu (built for CPUs) knows no GPU." in done.stdout


def test_a_minor_version_ahead_of_the_driver_is_only_a_note(tree: Tree) -> None:
    tree.torch("12.8")
    data = asked(tree)
    assert data["usable"] and "minor version compatibility" in data["notes"][0]


@pytest.mark.parametrize(
    ("package", "cuda"),
    [
        ("jaxlib-0.8.0.dist-info jax_cuda13_plugin-0.8.0.dist-info", [13, -1]),
        ("jaxlib-0.8.0.dist-info", None),
        ("cupy_cuda12x-13.4.1.dist-info", [12, -1]),
    ],
)
def test_other_frameworks(tree: Tree, package: str, cuda: list[int] | None) -> None:
    tree.remove("/usr/lib/python3/dist-packages/torch")
    for name in package.split():
        tree.write(f"/usr/lib/python3/dist-packages/{name}/METADATA", "")
    data = asked(tree)
    assert [build["cuda"] for build in data["facts"]["builds"]] == [cuda]
    assert data["usable"] == (cuda == [12, -1])


def test_mig_and_memory_errors_are_notes(tree: Tree) -> None:
    tree.write("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "")
    tree.write("/var/log/syslog", "kernel: NVRM: Xid (PCI:0000:01:00): 63, pid=1, Row Remapper\n")
    tree.write("/proc/self/limits", "Max locked memory         65536       65536     bytes\n")
    notes = " ".join(asked(tree)["notes"])
    assert "MIG is on" in notes and "ECC" in notes and "64 KiB" in notes


def test_an_empty_machine(tmp_path: Path) -> None:
    tree = Tree.__new__(Tree)
    tree.root, tree.env = tmp_path, {}
    data = asked(tree)
    assert data["causes"][0]["name"] == "no-gpu"
    assert doctor(tree).stdout.startswith("No GPU can be used here.\n\n  1  There is no NVIDIA GPU")


def test_hostile_files_reach_no_terminal_and_wait_for_nobody(tree: Tree) -> None:
    tree.write("/usr/lib/python3/dist-packages/torch/version.py", "__version__ = '\x1b[2J\x07'\n")
    tree.remove("/proc/modules")
    os.mkfifo(tree.root / "proc/modules")
    tree.env["CUDA_VISIBLE_DEVICES"] = "\x1b]0;x"
    done = doctor(tree)
    assert done.stdout.replace("\n", "").isprintable()


def test_this_machine() -> None:
    kept = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    command = [sys.executable, "-m", "ashore", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=kept)
    data = json.loads(done.stdout)
    if not Path("/dev/nvidia0").exists() and not Path("/dev/dxg").exists():
        assert done.returncode == 1 and data["causes"]
    try:
        import torch
    except ImportError:
        return
    (build,) = [row for row in data["facts"]["builds"] if row["name"] == "torch"]
    assert build["version"] == str(torch.__version__)
    assert (build["cuda"] is None) == (torch.version.cuda is None)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nothing_heavy_is_imported(options: list[str]) -> None:
    code = (
        "import sys\nfrom ashore.__main__ import main\n"
        f"main(['doctor', *{options!r}])\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"


def test_the_versions_for_the_emulator_are_those_of_the_emulator() -> None:
    from ashore.doctor.emulator import _TRIED
    from ashore.emulate._torch_info import TRIED

    assert _TRIED == TRIED


def test_deep_lets_frameworks_try(tree: Tree, tmp_path: Path) -> None:
    tree.remove("/usr/lib/python3/dist-packages/torch")
    tree.write("/usr/lib/python3/dist-packages/cupy_cuda12x-13.4.1.dist-info/METADATA", "")
    stand_in = tmp_path / "stand_in"
    stand_in.mkdir()
    (stand_in / "cupy.py").write_text("raise RuntimeError('no\\nluck')\n")
    paths = [str(stand_in), os.environ.get("PYTHONPATH", "")]
    tree.env["PYTHONPATH"] = os.pathsep.join(filter(None, [*paths, *sys.path]))
    data = asked(tree, "--deep")
    assert data["deep"] == {"cupy": "RuntimeError: no luck"}
    assert data["causes"][0]["name"] == "framework"
