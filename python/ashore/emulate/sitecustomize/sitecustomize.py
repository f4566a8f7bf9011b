"""Give this process an emulated GPU when it imports torch; Python imports this file at its start.

It is first on PYTHONPATH in the processes below `ashore run`, `pytest --emulate-gpu` and whoever
evaluates `ashore emulate env`. It takes its folder off sys.path, runs the sitecustomize that it
shadows, and costs no more than a finder until torch is imported. Any Python 3 may meet this file,
so it imports nothing that is not there anyway.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TorchHook:
    """Find torch as the other finders do, with one thing to be done before it is made."""

    ashore_hook = True
    _asking = False

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """Return the spec of torch; asking for it (without an import) starts nothing."""
        if name != "torch" or self._asking:
            return None
        self._asking = True
        try:
            spec = _find_spec(name, path, target)
        finally:
            self._asking = False
        loader = getattr(spec, "loader", None)
        if loader is not None:

            def create_module(spec: "Any") -> "Any":
                del loader.create_module
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                return _start(spec)

            # Not exec_module: tracebacks of what goes wrong in torch would show it.
            loader.create_module = create_module
        return spec


def _find_spec(name: str, path: "Any", target: "Any") -> "Any":
    for finder in list(sys.meta_path):
        find_spec = getattr(finder, "find_spec", None)
        spec = find_spec(name, path, target) if find_spec is not None else None
        if spec is not None:
            return spec
    return None


def _start(spec: "Any") -> "Any":
    """Start the emulated GPU; return the module if that has imported torch already."""
    _load("ashore.emulate._children").start_here()
    module = sys.modules.get("torch")
    if module is not None:
        loader = spec.loader

        def exec_module(module: "Any") -> None:
            del loader.exec_module

        loader.exec_module = exec_module
    return module


def _load(name: str) -> "Any":
    """Import a module of ashore, which may lie where only the first process looked."""
    try:
        __import__(name)
    except ImportError:
        home = os.path.abspath(__file__)
        for _ in range(4):
            home = os.path.dirname(home)
        sys.path.append(home)
        try:
            __import__(name)
        except (ImportError, SyntaxError) as error:
            sys.stderr.write(
                f"ashore: {sys.executable} has no ashore to emulate a GPU for its torch "
                f"({error}); install it there, or unset ASHORE_EMULATE\n"
            )
            raise SystemExit(2) from None
        finally:
            sys.path.remove(home)
    return sys.modules[name]


def _reveal_visible_devices() -> None:
    """Do what _visible.reveal() does, without an import."""
    word, colon, own = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(":")
    if word == "ashore":
        if colon:
            os.environ["CUDA_VISIBLE_DEVICES"] = own
        else:
            del os.environ["CUDA_VISIBLE_DEVICES"]


def _install() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != here]
    if os.environ.get("ASHORE_EMULATE", "0") not in ("", "0"):
        sys.meta_path.insert(0, TorchHook())
        _reveal_visible_devices()
        process, _, where = os.environ.get("ASHORE_EMULATE_REPORT", "").partition(":")
        if process == str(os.getpid()):
            _load("ashore.emulate._report").promise_report(where)
        if os.environ.get("ASHORE_EXPLAIN", "") not in ("", "0"):
            _explain_errors()
    if os.environ.get("ASHORE_RECORD"):
        _load("ashore.fix.record.start").start()


def _explain_errors() -> None:
    """Print what is known of the error that ends the program, below its traceback."""
    show = sys.excepthook

    def excepthook(kind: "Any", error: "Any", trace: "Any") -> None:
        show(kind, error, trace)
        if issubclass(kind, (TypeError, ValueError, RuntimeError, AttributeError, AssertionError)):
            _load("ashore.explain.live").explain_error(error)

    sys.excepthook = excepthook


def _run_the_shadowed_one() -> None:
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if ours is not None:
            sys.modules["sitecustomize"] = ours
        if error.name != "sitecustomize":
            raise


if __name__ == "sitecustomize":
    _install()
    _run_the_shadowed_one()
