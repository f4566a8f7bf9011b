"""Start the emulated device before torch is imported, and complete torch while it is imported;
called by `ashore.emulate`.

The order is what matters. PyTorch asks once for its CUDA hooks and once for the number of devices,
so `libashore_emulator.so` is loaded and started before anything of torch runs. `torch._C` gets its
CUDA names as soon as it exists, because `torch.cuda` looks for them while it is imported. Each
patched module is patched right after its own code ran, before others take names out of it.

A PyTorch built with CUDA would differ here: `libtorch_cuda.so` and the libraries it needs must be
loaded before the emulator, whose kernels then take the place of the real ones, and `torch._C` has
all its names already.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._children import EMULATE, with_emulation
from ashore.emulate._options import Options
from ashore.emulate._unfinished_copy import UnfinishedCopy
from ashore.emulate._visible import count_visible, hide_real_devices, reveal

# For developers: libraries to take instead of compiling, and where the simulated driver lies.
EMULATOR_LIB = "ASHORE_EMULATOR_LIB"
EMULATOR_SURFACE = "ASHORE_EMULATOR_SURFACE"
SIMULATOR_LIB = "ASHORE_SIMULATOR_LIB"

SURFACE_NAME = "_ashore_cuda"


class _Libraries(NamedTuple):
    emulator: Path
    surface: Path
    simulator: Path


class _Running(NamedTuple):
    options: Options
    visible: int  # of the devices, by CUDA_VISIBLE_DEVICES
    poison: str
    torch_root: Path
    libraries: _Libraries
    emulator: ctypes.CDLL


_lock = threading.RLock()
_running: _Running | None = None
_surface: ModuleType | None = None
_wants_lines = False


def running_options() -> Options | None:
    """Return the options of the running device."""
    return _running.options if _running else None


def visible_devices() -> int:
    """Return how many devices the program sees."""
    return _running.visible if _running else 0


def surface() -> ModuleType | None:
    """Return the extension module, None until torch is imported."""
    return _surface


def start_device(options: Options, poison: str) -> None:
    """Start the device in this process, or raise CannotEmulate."""
    global _running
    with _lock:
        if _running is not None:
            if (_running.options, _running.poison) != (options, poison):
                raise CannotEmulate(
                    f"this process has an emulated GPU already, with {_running.options}; "
                    "start it once, or start another process"
                )
            return
        if "torch" in sys.modules:
            raise CannotEmulate(
                "torch is imported already: call ashore.emulate.start() before the first import "
                "of torch, or run the program with `ashore run`"
            )
        # Code of torch's C++ runs at exit; what was registered later, by the program, runs before.
        atexit.register(_stop_at_exit)
        _running = _start(options, poison)
        if EMULATE not in os.environ:  # the children of a program that started it by itself
            os.environ.update(with_emulation(os.environ, options))
        sys.meta_path.insert(0, _Completer(_after_import()))
        if options.strict_sync:
            request_lines()


def request_lines() -> None:
    """Let the surface remember lines, now or when it is loaded."""
    global _wants_lines
    with _lock:
        _wants_lines = True
        if _surface is not None and _running is not None:
            _watch_lines(_surface, _running)


def _start(options: Options, poison: str) -> _Running:
    from ashore.emulate._torch_info import find_torch, read_torch, refuse_untried

    root = find_torch()
    refuse_untried(read_torch(root))
    libraries = _find_libraries(root)
    reveal()
    visible = count_visible(options.devices)
    hide_real_devices()
    try:
        ctypes.CDLL(str(root / "lib" / "libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
        emulator = ctypes.CDLL(str(libraries.emulator))
        entry = emulator.ashore_emulator_start
    except (OSError, AttributeError) as error:
        raise CannotEmulate(
            f"the emulator does not fit this PyTorch ({error}); run `ashore emulate build --force`"
        ) from error
    entry.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    entry.restype = ctypes.c_char_p
    machine = f"{options};poison={poison};visible={visible}"
    problem = entry(os.fsencode(libraries.simulator), machine.encode())
    if problem is not None:
        raise CannotEmulate(problem.decode(errors="replace"))
    return _Running(options, visible, poison, root, libraries, emulator)


def _find_libraries(root: Path) -> _Libraries:
    simulator = Path(
        os.environ.get(SIMULATOR_LIB) or Path(__file__).resolve().parents[1] / "libashore_sim.so"
    )
    if not simulator.exists():
        raise CannotEmulate(
            f"the simulated driver is missing ({simulator}); build or install ashore again"
        )
    emulator, surface_path = os.environ.get(EMULATOR_LIB), os.environ.get(EMULATOR_SURFACE)
    if emulator and surface_path:
        return _Libraries(Path(emulator), Path(surface_path), simulator)
    if emulator or surface_path:
        raise CannotEmulate(f"set both of {EMULATOR_LIB} and {EMULATOR_SURFACE}, or none")
    from ashore.emulate._build import ensure_built

    build = ensure_built(root)
    return _Libraries(build.emulator, build.surface, simulator)


class _Completer:
    """A finder that does something to a module right after its code ran, once for each name."""

    def __init__(self, actions: dict[str, Callable[[ModuleType], None]]) -> None:
        self._actions = actions

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find the module as the other finders do, if it is one of ours."""
        action = self._actions.get(name)
        if action is None:
            return None
        spec = self._find_elsewhere(name, path, target)
        loader = spec.loader if spec is not None else None
        if loader is not None:

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # the class's own again
                loader.exec_module(module)
                action(module)
                self._actions.pop(name, None)
                if not self._actions and self in sys.meta_path:
                    sys.meta_path.remove(self)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _find_elsewhere(self, name: str, path: Any, target: Any) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


def _after_import() -> dict[str, Callable[[ModuleType], None]]:
    from ashore.emulate._patches import PATCHES

    return {"torch._C": _complete_native_module, **PATCHES}


def _complete_native_module(native: ModuleType) -> None:
    """Give torch._C what its CUDA build has."""
    global _surface
    assert _running is not None
    path = str(_running.libraries.surface)
    spec = spec_from_file_location(
        SURFACE_NAME, path, loader=ExtensionFileLoader(SURFACE_NAME, path)
    )
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.install(native, str(_running.libraries.simulator))
    module.report_misuse(UnfinishedCopy, _running.options.strict_sync)
    with _lock:
        _surface = module
        if _wants_lines:
            _watch_lines(module, _running)


def _watch_lines(module: ModuleType, running: _Running) -> None:
    ours = Path(__file__).resolve().parents[1]
    module.watch_lines((f"{running.torch_root}{os.sep}", f"{ours}{os.sep}"))


def _stop_at_exit() -> None:
    """Stop the autograd engine's device threads while the interpreter is whole.

    They drop Python references just after backward() has returned; a thread that does so while the
    interpreter ends dies in a destructor, and the process with it.
    """
    if _surface is not None:
        _surface.stop_autograd()
