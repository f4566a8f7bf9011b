"""Whose code a frame is: the user's, a library's, or that of the libraries where tensors meet."""

from __future__ import annotations

import re

from ashore.explain.frames import Frame

_INSTALLED = re.compile(
    r"site-packages|dist-packages|[/\\]lib(?:64)?[/\\]python\d|[/\\]Lib[/\\](?!.*[/\\]Lib[/\\])\w+\.py$|"
    r"^<(?:__array_function__|frozen|string|decorator|attrs|generated|eval_with)|[/\\]pyenv[/\\]|\.egg[/\\]",
)
# Checkouts of these lie anywhere, and some reports shorten paths.
_LIBRARIES = re.compile(
    r"(?:^|[/\\])(?:"
    r"torch[/\\](?:_|nn|utils|functional|tensor|autograd|cuda|optim|distributed|serialization|jit|overrides|storage|fx|amp|"
    r"func|linalg|multiprocessing|random|hub|onnx|special|ao)"
    r"|numpy[/\\](?:core|_core|lib|linalg|ma|random|matrixlib|fft|testing|polynomial)"
    r"|matplotlib[/\\](?:_|axes|pyplot|cbook|artist|units|image|lines|figure|text|colors|collections|transforms|patches|__init__)"
    r"|sklearn[/\\]\w+|scipy[/\\](?:_lib|stats|signal|linalg|spatial|optimize|sparse|ndimage|interpolate|special|integrate|fft|cluster|io)"
    r"|pandas[/\\](?:core|io|plotting|_libs)|seaborn[/\\]_?\w+\.py|PIL[/\\]\w+\.py|json[/\\](?:__init__|encoder|decoder)\.py"
    r"|(?:pytorch_)?lightning[/\\](?:pytorch|fabric|trainer|core|loops|strategies|accelerators|plugins|utilities)"
    r"|torchvision[/\\](?:transforms|models|ops|utils|datasets)|accelerate[/\\](?:utils|accelerator|hooks)"
    r"|_pytest[/\\]|pluggy[/\\]|runpy\.py$|concurrent[/\\]futures|multiprocessing[/\\]\w+\.py|threading\.py$|contextlib\.py$"
    r"|IPython[/\\]|ipykernel[/\\])"
)
_CORE = re.compile(
    r"[/\\](?:torch|numpy|matplotlib|sklearn|scipy|pandas|seaborn|PIL|cv2|json|functools|contextlib|threading|"
    r"multiprocessing|concurrent|torchvision|runpy)(?:[/\\.]|$)|^<"
)


def user_frame(frames: tuple[Frame, ...]) -> int | None:
    """Return the index of the innermost frame that is the user's own code, or None.

    Where there is none, a library that hands tensors on is nearer to the cause than PyTorch is.
    """
    for foreign in ((_INSTALLED, _LIBRARIES), (_INSTALLED,), (_CORE,)):
        for at in range(len(frames) - 1, -1, -1):
            file = frames[at].file
            if file and not any(pattern.search(file) for pattern in foreign):
                return at
    return None


def is_installed(frame: Frame) -> bool:
    """Tell whether the frame is of an installed package or of Python itself."""
    return bool(_INSTALLED.search(frame.file) or _LIBRARIES.search(frame.file))
