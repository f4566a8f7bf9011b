"""All that is known of a machine and its GPUs; gathered by `gather`, judged by `causes`."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ashore.doctor.builds import Build, find_builds
from ashore.doctor.machine import Machine
from ashore.doctor.probe import Driver, ask, find_library

_NVIDIA, _AMD, _INTEL = "0x10de", "0x1002", "0x8086"
_WSL_LIBRARY = "/usr/lib/wsl/lib"
_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia",
    "/lib/x86_64-linux-gnu",
    _WSL_LIBRARY,
    "/run/opengl-driver/lib",
)
_LOGS = ("/var/log/kern.log", "/var/log/dmesg", "/var/log/messages", "/var/log/syslog")
_CONTAINERS = re.compile(r"docker|kubepods|containerd|libpod|lxc|garden|ecs/")


class Facts(NamedTuple):
    """What was found; empty or None where nothing is there."""

    nvidia: tuple[str, ...] = ()  # PCI addresses
    other_gpus: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()  # of these, those that no longer answer on the bus
    modules: tuple[str, ...] = ()  # kernel modules that matter
    kernel_driver: str = ""
    nodes: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    library: str | None = None
    library_version: str = ""
    driver: Driver | None = None
    toolkit: str = ""
    builds: tuple[Build, ...] = ()
    visible: str | None = None  # CUDA_VISIBLE_DEVICES
    container: str = ""
    container_devices: str | None = None  # NVIDIA_VISIBLE_DEVICES
    container_toolkit: bool = False
    wsl: bool = False
    dxg: bool = False
    mig: bool = False
    pci_count: int = 0
    uuids: tuple[str, ...] = ()
    xids: tuple[int, ...] = ()
    locked_kib: int | None = None
    emulator: str = ""
    problem: str = ""  # why the emulator cannot be used


def gather(machine: Machine, seconds: float) -> Facts:
    """Look at the machine."""
    from ashore.doctor.emulator import emulator_state

    nvidia, others, dead = _pci(machine)
    nodes = tuple(n for n in machine.names("/dev") if re.match(r"nvidia(\d+|ctl|-uvm)$", n))
    library = find_library(_library_folders(machine))
    builds = tuple(find_builds(machine))
    torch = next((build for build in builds if build.name == "torch"), None)
    emulator, problem = emulator_state(machine, torch)
    kernel = re.search(r"(?:Kernel Module[^\n]*?)\s(\d+\.\d+(?:\.\d+)?)", _driver_file(machine))
    version = machine.read("/proc/version").lower()
    mig = any(
        name.startswith("gi")
        for gpu in machine.names("/proc/driver/nvidia/capabilities")
        for name in machine.names(f"/proc/driver/nvidia/capabilities/{gpu}/mig")
    )
    return Facts(
        nvidia=nvidia,
        other_gpus=others,
        dead=dead,
        modules=_modules(machine),
        kernel_driver=kernel[1] if kernel else "",
        nodes=nodes,
        forbidden=tuple(n for n in nodes if not machine.may_use(f"/dev/{n}")),
        library=library,
        library_version=_library_version(library),
        driver=ask(library, _unhidden(machine), seconds) if library else None,
        toolkit=_toolkit(machine),
        builds=builds,
        visible=machine.environment.get("CUDA_VISIBLE_DEVICES"),
        container=_container(machine),
        container_devices=machine.environment.get("NVIDIA_VISIBLE_DEVICES"),
        container_toolkit=any(
            machine.exists(f"{folder}/{name}")
            for folder in ("/usr/bin", "/usr/local/bin")
            for name in ("nvidia-container-cli", "nvidia-container-runtime", "nvidia-ctk")
        ),
        wsl="microsoft" in version or machine.exists("/proc/sys/fs/binfmt_misc/WSLInterop"),
        dxg=machine.exists("/dev/dxg"),
        mig=mig,
        pci_count=len(machine.names("/sys/bus/pci/devices")),
        uuids=_uuids(machine),
        xids=_xids(machine),
        locked_kib=_locked_kib(machine),
        emulator=emulator,
        problem=problem,
    )


def _pci(machine: Machine) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    nvidia, others, dead = [], [], []
    base = "/sys/bus/pci/devices"
    for address in machine.names(base):
        vendor = machine.read(f"{base}/{address}/vendor").strip().lower()
        kind = machine.read(f"{base}/{address}/class").strip().lower()
        if not kind.startswith(("0x0300", "0x0302", "0x0380", "0x1200")):
            continue
        if vendor == _NVIDIA:
            nvidia.append(address)
            if _is_dead(machine, f"{base}/{address}/config"):
                dead.append(address)
        elif vendor in (_AMD, _INTEL):
            others.append("AMD" if vendor == _AMD else "Intel")
    return tuple(nvidia), tuple(others), tuple(dead)


def _is_dead(machine: Machine, config: str) -> bool:
    """Tell whether the device's registers read as all ones, as those of a lost device do."""
    try:
        with open(machine.path(config), "rb") as file:
            return file.read(4) == b"\xff\xff\xff\xff"
    except OSError:
        return False


def _modules(machine: Machine) -> tuple[str, ...]:
    loaded = {line.split(" ")[0] for line in machine.read("/proc/modules").splitlines()}
    loaded |= {name for name in ("nouveau", "nvidia") if machine.exists(f"/sys/module/{name}")}
    return tuple(sorted(loaded & {"nouveau", "nvidia", "nvidia_uvm", "vfio_pci"}))


def _unhidden(machine: Machine) -> dict[str, str]:
    """Return an environment in which the driver shows all GPUs; what hides them is judged later."""
    hiding = ("CUDA_VISIBLE_DEVICES", "LD_PRELOAD")
    return {k: v for k, v in machine.environment.items() if k not in hiding}


def _uuids(machine: Machine) -> tuple[str, ...]:
    base = "/proc/driver/nvidia/gpus"
    texts = [machine.read(f"{base}/{name}/information") for name in machine.names(base)]
    found = [re.search(r"GPU UUID:\s*(GPU-\S+)", text) for text in texts]
    return tuple(uuid[1] for uuid in found if uuid)


def _driver_file(machine: Machine) -> str:
    return machine.read("/proc/driver/nvidia/version")


def _library_folders(machine: Machine) -> list[str]:
    chosen = machine.environment.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    folders = [machine.path(folder) for folder in [*filter(os.path.isabs, chosen), *_LIBRARIES]]
    cached = re.search(r"\0(/[^\0]+)/libcuda\.so\.1\0", machine.read("/etc/ld.so.cache"))
    return [*folders, machine.path(cached[1])] if cached else folders


def _library_version(library: str | None) -> str:
    found = re.search(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$", os.path.realpath(library or ""))
    return found[1] if found else ""


def _toolkit(machine: Machine) -> str:
    home = machine.environment.get("CUDA_HOME") or machine.environment.get("CUDA_PATH") or ""
    for folder in filter(None, [home, "/usr/local/cuda"]):
        text = machine.read(f"{folder}/version.json")
        found = re.search(r'"cuda"\s*:\s*{[^}]*"version"\s*:\s*"([\d.]+)"', text)
        if found:
            return f"CUDA {found[1]} in {folder}"
        if machine.exists(f"{folder}/bin/nvcc"):
            return f"nvcc in {folder}"
    nvcc = machine.which("nvcc")
    return f"nvcc in {os.path.dirname(nvcc)}" if nvcc else ""


def _container(machine: Machine) -> str:
    for name, kind in (("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")):
        if machine.exists(name):
            return kind
    if "KUBERNETES_SERVICE_HOST" in machine.environment:
        return "Kubernetes"
    if named := machine.environment.get("container"):  # as systemd, Podman and LXC say it
        return named
    found = _CONTAINERS.search(machine.read("/proc/1/cgroup"))
    return found[0].strip("/") if found else ""


def _xids(machine: Machine) -> tuple[int, ...]:
    found = []
    for log in _LOGS:
        text = machine.read(log, end=True)
        found += [int(n) for n in re.findall(r"NVRM: Xid \([^)]*\): (\d+)", text)]
        if "fallen off the bus" in text:
            found.append(79)
    return tuple(sorted(set(found)))


def _locked_kib(machine: Machine) -> int | None:
    """Return how much memory a process may lock, None for no limit."""
    limits = machine.read("/proc/self/limits")
    found = re.search(r"Max locked memory\s+(\d+)", limits)
    return int(found[1]) // 1024 if found else None
