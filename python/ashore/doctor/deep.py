"""Let each framework try the GPU itself, in a process of its own: `ashore doctor --deep`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping

from ashore.doctor.builds import Build
from ashore.doctor.causes import Cause

SECONDS = 120.0

# Each prints one line that begins with "ok" or with what went wrong.
_PROGRAMS = {
    "torch": "import torch\nx = torch.ones(2, device='cuda').sum().item()\n"
    "print('ok', torch.cuda.get_device_name(0))",
    "jax": "import jax\nd = jax.devices('gpu')[0]\n"
    "print('ok', d.device_kind)",
    "cupy": "import cupy\ncupy.ones(2).sum().item()\n"
    "print('ok', cupy.cuda.runtime.getDeviceProperties(0)['name'].decode())",
}  # fmt: skip
_WRAPPER = (
    "import sys\ntry:\n    exec(sys.argv[1])\n"
    "except BaseException as error:\n"
    "    print(type(error).__name__ + ':', *str(error).split())"
)


def try_frameworks(
    builds: Iterable[Build], environment: Mapping[str, str], seconds: float = SECONDS
) -> dict[str, str]:
    """Return what each framework said."""
    return {build.name: _try(build.name, environment, seconds) for build in builds}


def _try(name: str, environment: Mapping[str, str], seconds: float) -> str:
    try:
        done = subprocess.run(
            [sys.executable, "-c", _WRAPPER, _PROGRAMS[name]],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            env=dict(environment),
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {seconds:.0f} s"
    except OSError as error:
        return str(error)
    said = done.stdout.decode(errors="replace").strip().split("\n")[-1]
    return said[:300] or f"it ended with exit code {done.returncode}"


def failures(said: Mapping[str, str]) -> list[Cause]:
    """Return a cause for a machine that looks well, if no framework could use it."""
    if not said or any(answer.startswith("ok") for answer in said.values()):
        return []
    name, answer = next(iter(said.items()))
    return [Cause("framework", f"{name} cannot use the GPU: {answer}", f"install {name} again")]
