"""Show what the doctor found: one screen of text, or plain data for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ashore.cli.text import escape
from ashore.doctor.causes import Cause, works
from ashore.doctor.facts import Facts

Paint = Callable[[str, str], str]
_MOST_CAUSES = 5
_ECC_XIDS = {48, 63, 64, 92, 94, 95}


def as_data(facts: Facts, causes: list[Cause], deep: dict[str, str]) -> dict[str, Any]:
    """Return all as JSON has it."""
    data = facts._asdict()
    data["builds"] = [build._asdict() for build in facts.builds]
    if facts.driver is not None:
        data["driver"] = facts.driver._asdict()
        data["driver"]["devices"] = [device._asdict() for device in facts.driver.devices]
    return {
        "usable": not causes,
        "causes": [cause._asdict() for cause in causes],
        "notes": list(notes(facts)),
        "facts": data,
        "deep": deep,
    }


def as_text(facts: Facts, causes: list[Cause], deep: dict[str, str], paint: Paint) -> str:
    """Return all as one screen."""
    if causes:
        lines = [paint("No GPU can be used here.", "bold"), ""]
    else:
        lines = [paint("A GPU can be used here.", "green"), ""]
    for number, cause in enumerate(causes[:_MOST_CAUSES], 1):
        lines.append(f"  {number}  {paint(escape(cause.says), 'red' if number == 1 else 'yellow')}")
        lines.append(f"     next: {escape(cause.next)}")
    lines += [""] * bool(causes)
    rows = [*_rows(facts), *((f"{name} said", said) for name, said in deep.items())]
    lines += [f"  {name:<11} {escape(said)}" for name, said in rows]
    found = list(notes(facts))
    lines += ["", *(f"  note: {escape(note)}" for note in found)] if found else []
    return "\n".join(lines)


def _rows(facts: Facts) -> Iterator[tuple[str, str]]:
    yield "hardware", _hardware(facts)
    yield "driver", _driver(facts)
    if facts.driver is not None and facts.driver.devices:
        names = [f"{d.name} ({d.major}.{d.minor})" for d in facts.driver.devices]
        yield "devices", ", ".join(names)
    yield "toolkit", facts.toolkit or "none (programs in Python do not need it)"
    for build in facts.builds:
        yield build.name, build.spelled.removeprefix(f"{build.name} ")
    if not facts.builds:
        yield "frameworks", "none of torch, jax, cupy for this Python"
    visible = facts.visible
    yield "visible", "all" if visible is None else f"CUDA_VISIBLE_DEVICES={visible}"
    if facts.container:
        yield "container", facts.container
    if facts.wsl:
        yield "WSL", "with /dev/dxg" if facts.dxg else "without /dev/dxg"
    yield "emulated", facts.emulator or f"not ready: {facts.problem}"


def _hardware(facts: Facts) -> str:
    if facts.nvidia:
        nodes = f"; {len(facts.nodes)} device nodes" if facts.nodes else "; no /dev/nvidia*"
        return f"NVIDIA at {', '.join(facts.nvidia)}{nodes}"
    if facts.nodes:
        return ", ".join(f"/dev/{node}" for node in facts.nodes)
    return ", ".join(f"{kind} GPU" for kind in facts.other_gpus) or "no GPU"


def _driver(facts: Facts) -> str:
    parts = [facts.kernel_driver] if facts.kernel_driver else []
    parts += [module for module in facts.modules if module == "nouveau"]
    if facts.driver is not None and facts.driver.version is not None:
        parts.append("for CUDA {}.{}".format(*facts.driver.version))
    elif facts.library is None:
        parts.append("no libcuda.so.1")
    return ", ".join(parts) or "none"


def notes(facts: Facts) -> Iterator[str]:
    """Say what does no harm by itself but is worth knowing."""
    version = facts.driver.version if facts.driver is not None else None
    for build in facts.builds:
        if version is None or build.cuda is None:
            continue
        if build.cuda[0] == version[0] and build.cuda[1] > version[1]:
            yield (
                f"{build.spelled} on a driver for CUDA {version[0]}.{version[1]} works (minor "
                "version compatibility), except for kernels compiled at run time"
            )
    if _ECC_XIDS & set(facts.xids):
        yield "the kernel's log tells of memory errors (ECC): nvidia-smi -q -d ECC"
    if facts.mig:
        yield "MIG is on: CUDA shows one instance to a process; name it by its UUID (nvidia-smi -L)"
    if works(facts) and facts.locked_kib is not None and facts.locked_kib < 1 << 20:
        yield (
            f"only {facts.locked_kib} KiB may be locked (ulimit -l): pinned memory and RDMA may "
            "fail; raise memlock in /etc/security/limits.conf, or --ulimit memlock=-1"
        )
    if not facts.builds and works(facts):
        yield "no framework is installed for this Python"
