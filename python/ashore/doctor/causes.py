"""Why no GPU can be used, from facts alone: the causes in order, each with the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ashore.doctor.builds import Build
from ashore.doctor.codes import CODES
from ashore.doctor.facts import Facts


class Cause(NamedTuple):
    """What is wrong, by a name for programs and in words, and what to do next."""

    name: str
    says: str
    next: str


def causes(facts: Facts) -> list[Cause]:
    """Return what keeps programs from a GPU, the likeliest first; nothing if one can be used."""
    found: list[Cause] = []
    if not works(facts):
        found += _wsl(facts) if facts.wsl else _hardware(facts)
        found += [] if facts.wsl and found else _driver(facts, found)
    found += _hidden(facts)
    found += _frameworks(facts)
    return found


def works(facts: Facts) -> bool:
    """Tell whether the driver sees a GPU."""
    return facts.driver is not None and facts.driver.init == 0 and bool(facts.driver.devices)


def _has_hardware(facts: Facts) -> bool:
    return bool(facts.nvidia or facts.nodes or facts.kernel_driver)


def _hardware(facts: Facts) -> Iterator[Cause]:
    if facts.dead or 79 in facts.xids:
        where = f" ({', '.join(facts.dead)})" if facts.dead else ""
        yield Cause(
            "fallen-off-the-bus",
            f"The GPU{where} has fallen off the bus: it no longer answers.",
            "shut the machine down and start it again; if it comes back, look at power and cooling",
        )
    if facts.container and not facts.nodes:
        yield from _container(facts)
    if _has_hardware(facts):
        return
    if facts.other_gpus:
        kinds = " and ".join(sorted(set(facts.other_gpus)))
        amd = "AMD" in facts.other_gpus
        yield Cause(
            "no-nvidia-gpu",
            f"There is no NVIDIA GPU in this machine, but one of {kinds}, which CUDA cannot use.",
            ("install PyTorch's build for ROCm" if amd else "install PyTorch's build for XPU")
            + "; or emulate a GPU: ashore run SCRIPT",
        )
    else:
        looked = f" (of {facts.pci_count} PCI devices)" if facts.pci_count else ""
        yield Cause(
            "no-gpu",
            f"There is no NVIDIA GPU in this machine{looked}.",
            "emulate one: ashore run SCRIPT",
        )


def _container(facts: Facts) -> Iterator[Cause]:
    chosen = facts.container_devices
    if chosen in ("void", "none", ""):
        yield Cause(
            "container-without-gpu",
            f"This {facts.container} container was given no GPU: NVIDIA_VISIBLE_DEVICES={chosen}.",
            "start it with --gpus all, or NVIDIA_VISIBLE_DEVICES=all",
        )
    elif facts.nvidia or chosen is not None or not facts.pci_count:
        yield Cause(
            "container-without-gpu",
            f"This {facts.container} container was started without a GPU: it has no /dev/nvidia*.",
            "install nvidia-container-toolkit on the host and start with `docker run --gpus all` "
            "(Kubernetes: ask for nvidia.com/gpu)",
        )


def _wsl(facts: Facts) -> Iterator[Cause]:
    if not facts.dxg:
        yield Cause(
            "wsl-without-gpu",
            "This is WSL without /dev/dxg: WSL 1, or a Windows that gives it no GPU.",
            "in Windows: wsl --update, wsl --set-version DISTRIBUTION 2, and NVIDIA's driver",
        )
    elif facts.library is None:
        yield Cause(
            "wsl-driver",
            "WSL has no /usr/lib/wsl/lib/libcuda.so.1: NVIDIA's driver is missing in Windows.",
            "install NVIDIA's driver in Windows (none in Linux), then: wsl --shutdown",
        )
    elif "/wsl/lib" not in facts.library:
        yield Cause(
            "wsl-linux-driver",
            f"A driver for Linux ({facts.library}) hides the one that Windows gives to WSL.",
            "remove it: apt purge 'libnvidia-*' 'nvidia-driver-*'",
        )


def _driver(facts: Facts, earlier: list[Cause]) -> Iterator[Cause]:
    here = _has_hardware(facts) and not any(c.name == "container-without-gpu" for c in earlier)
    if here and not facts.kernel_driver:
        yield _no_module(facts)
        return
    if here and facts.library_version and facts.library_version != facts.kernel_driver:
        yield Cause(
            "driver-mismatch",
            f"The kernel runs driver {facts.kernel_driver}, and libcuda is of "
            f"{facts.library_version}: it was updated while in use.",
            "reboot" if not facts.container else "update the host's driver, or start again",
        )
        return
    if here and facts.library is None:
        yield Cause(
            "no-libcuda",
            f"The driver {facts.kernel_driver} is loaded, but there is no libcuda.so.1.",
            "in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility"
            if facts.container
            else "install the driver's library (libcuda1, or nvidia-driver-libs-cuda)",
        )
        return
    if here and not any(re.match(r"nvidia\d", node) for node in facts.nodes):
        yield Cause(
            "no-device-nodes",
            "The driver is loaded, but there is no /dev/nvidia0.",
            "sudo nvidia-modprobe -c 0 -u",
        )
    if facts.forbidden:
        nodes = ", ".join(f"/dev/{node}" for node in facts.forbidden)
        yield Cause(
            "permissions",
            f"You may not read and write {nodes}.",
            "sudo usermod -aG video,render $USER, then log in again",
        )
    if here and "nvidia-uvm" not in facts.nodes and facts.nodes and not facts.wsl:
        yield Cause(
            "no-uvm",
            "There is no /dev/nvidia-uvm, which CUDA needs.",
            "sudo nvidia-modprobe -u -c 0"
            if not facts.container
            else "start the container with --gpus all",
        )
    yield from _answer(facts, here)


def _no_module(facts: Facts) -> Cause:
    if "nouveau" in facts.modules:
        return Cause(
            "nouveau",
            "The open driver nouveau holds the GPU, and CUDA needs NVIDIA's.",
            "install NVIDIA's driver, blacklist nouveau, rebuild the initramfs and reboot",
        )
    if "vfio_pci" in facts.modules:
        return Cause(
            "passed-through",
            "The GPU is set aside for a virtual machine (vfio-pci).",
            "use it there, or give it back to the driver nvidia",
        )
    if facts.library is not None or "nvidia" in facts.modules:
        return Cause(
            "module-not-loaded",
            "NVIDIA's driver is installed, but its kernel module is not loaded.",
            "sudo modprobe nvidia; if that fails: dkms status; mokutil --sb-state (Secure Boot)",
        )
    return Cause(
        "no-driver",
        f"There is an NVIDIA GPU ({', '.join(facts.nvidia)}) and no driver for it.",
        "install NVIDIA's driver (ubuntu-drivers install, or your distribution's package), reboot",
    )


def _answer(facts: Facts, here: bool) -> Iterator[Cause]:
    """Say what is wrong by the answer of the driver's library."""
    driver = facts.driver
    if driver is None:
        return
    if driver.ended == "hung":
        yield Cause(
            "driver-hangs",
            "The driver does not answer: cuInit was still waiting when its time was up.",
            "look at dmesg for NVRM and Xid; end what holds the GPU, or reboot",
        )
    elif driver.ended == "crashed":
        yield Cause(
            "driver-crashes",
            "The driver's library ends the process that loads it.",
            "install the driver again; look at dmesg",
        )
    elif not driver.loaded:
        yield Cause(
            "libcuda-broken",
            f"{facts.library} cannot be loaded: {driver.error}.",
            "install the driver again, for this architecture",
        )
    elif driver.init is None:
        yield Cause(
            "libcuda-broken",
            f"{facts.library} is no driver's library: {driver.error}.",
            "remove it, and install the driver again",
        )
    elif driver.init:
        name, says, step = CODES.get(
            driver.init, ("cuda-error", "The driver cannot start.", "look at dmesg, then reboot")
        )
        if here or driver.init not in (100, 999, 304):
            yield Cause(name, f"{says} (cuInit: {driver.init})", step)
    elif not driver.devices:
        yield Cause(
            "no-devices",
            "The driver runs and finds no GPU.",
            "nvidia-smi -L; with MIG: make an instance (nvidia-smi mig -cgi …)",
        )


def _hidden(facts: Facts) -> Iterator[Cause]:
    visible = facts.visible
    if visible is None:
        return
    name = f"CUDA_VISIBLE_DEVICES={visible}"
    count = len(facts.driver.devices) if facts.driver is not None else 0
    words = [word.strip() for word in visible.split(",")]
    first = words[0]
    bad = ""
    if not first or first.startswith("-") or first.lower() in ("none", "nodevfiles"):
        bad = f"{name} hides every GPU."
    elif first.isdecimal():
        if works(facts) and int(first) >= count:
            bad = f"{name} names a GPU that is not there; there are {count}, from 0."
    elif first.startswith("GPU-"):
        if facts.uuids and not any(uuid.startswith(first) for uuid in facts.uuids):
            bad = f"{name} names a GPU that is not there."
    elif not first.startswith("MIG-"):
        bad = f"{name} is neither a number nor a UUID, and hides every GPU."
    if bad:
        yield Cause("hidden", bad, "unset CUDA_VISIBLE_DEVICES")


def _frameworks(facts: Facts) -> Iterator[Cause]:
    faults = {build.name: cause for build in facts.builds if (cause := _fault(build, facts))}
    others = [build for build in facts.builds if build.name not in faults]
    torch = faults.get("torch")
    # A framework that works makes the GPU usable; PyTorch is the one that people ask about.
    if torch is not None or (faults and not others):
        yield from ([torch] if torch else [])
        yield from (cause for name, cause in faults.items() if name != "torch" and not others)


def _fault(build: Build, facts: Facts) -> Cause | None:
    driver = facts.driver.version if facts.driver is not None else None
    if build.cuda is None:
        if build.other:
            return Cause(
                "wrong-build",
                f"{build.spelled} does not use NVIDIA GPUs.",
                _install(build, driver),
            )
        return Cause("cpu-build", f"{build.spelled} knows no GPU.", _install(build, driver))
    if driver is not None and build.cuda[0] > driver[0]:
        return Cause(
            "driver-too-old",
            f"{build.spelled} needs a driver for CUDA {build.cuda[0]}, and this one is for CUDA "
            f"{driver[0]}.{driver[1]}.",
            f"update the driver, or install {build.name} for CUDA {driver[0]}",
        )
    devices = facts.driver.devices if facts.driver is not None else ()
    for device in devices[:1]:
        capability = (device.major, device.minor)
        too_old = build.cuda[0] >= 13 and (0, 0) < capability < (7, 5)
        too_new = build.cuda[1] >= 0 and build.cuda < (12, 8) and capability >= (10, 0)
        if too_old or too_new:
            fitting = "12" if too_old else "12.8 or newer"
            return Cause(
                "no-kernels",
                f"{build.spelled} has no code for {device.name or 'this GPU'} (compute capability "
                f"{device.major}.{device.minor}).",
                f"install {build.name} for CUDA {fitting}",
            )
    return None


def _install(build: Build, driver: tuple[int, int] | None) -> str:
    which = f"CUDA {driver[0]}" if driver is not None else "CUDA"
    if build.name == "jax":
        return f"pip install -U 'jax[cuda{driver[0] if driver else 12}]'"
    if build.name == "torch":
        return f"install PyTorch's build for {which}: pytorch.org/get-started names the command"
    return f"install {build.name} for {which}"
