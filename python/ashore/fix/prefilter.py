"""Decide from the bytes of a file whether parsing it can find anything; used by check and fix."""

from __future__ import annotations

import os
import re
from functools import cache

# Plain searches: a pattern with alternatives is ten times slower.
_TENSORS = [
    word.encode()
    for word in """torch lightning transformers timm ultralytics kornia diffusers
    .detach() .cpu() .cuda() .data.numpy()""".split()
]
_MEETS = [
    word.encode()
    for word in """numpy matplotlib seaborn pylab sklearn scipy skimage cv2 pandas PIL librosa
    soundfile imageio faiss umap statsmodels xgboost lightgbm h5py nibabel wandb plt.""".split()
]
_IMPORT = re.compile(rb"^(?:import|from) (\w+)", re.MULTILINE)
_DROPPED = (b".cpu(", b".detach(", b".to(", b".float(", b".half(")
_RECEIVER = re.compile(rb"[ \t]*[\w.\[\]'\"]+")


def may_have_sites(path: str, content: bytes) -> bool:
    """Tell whether there is a tensor in the file and something that it could meet."""
    if not any(word in content for word in _TENSORS):
        return False
    if any(word in content for word in _MEETS) or begins_with_conversion(content):
        return True
    return _imports_beside(os.path.dirname(path), content)


def begins_with_conversion(content: bytes) -> bool:
    """Tell whether a line begins with `x.cpu(` or its like, so that the result may be dropped."""
    for method in _DROPPED:
        at = content.find(method)
        while at >= 0:
            start = content.rfind(b"\n", 0, at) + 1
            if start < at and _RECEIVER.fullmatch(content, start, at):
                return True
            at = content.find(method, at + 1)
    return False


def _imports_beside(folder: str, content: bytes) -> bool:
    """Tell whether a script imports a helper that lies beside it, which may hand on to NumPy."""
    if _is_package(folder):
        return False
    return any(_lies_in(folder, name.decode()) for name in _IMPORT.findall(content))


@cache
def _is_package(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))


@cache
def _lies_in(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, f"{name}.py"))
