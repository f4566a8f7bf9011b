"""Decide from the bytes of a file whether parsing it can find anything; used by check and fix."""

from __future__ import annotations

import re

# Plain searches: a pattern with alternatives is ten times slower.
_TENSORS = [
    word.encode()
    for word in """torch lightning transformers timm ultralytics kornia diffusers
    .detach() .cpu() .cuda()""".split()
]
_MEETS = [
    word.encode()
    for word in """numpy matplotlib seaborn pylab sklearn scipy skimage cv2 pandas PIL librosa
    soundfile imageio faiss umap statsmodels xgboost lightgbm h5py nibabel wandb plt.""".split()
]
_DROPPED = re.compile(rb"^[ \t]*[\w.\[\]'\"]+\.(?:cpu|detach|to|float|half)\(", re.MULTILINE)


def may_have_sites(content: bytes) -> bool:
    """Tell whether there is a tensor in the file and something that it could meet."""
    if not any(word in content for word in _TENSORS):
        return False
    return any(word in content for word in _MEETS) or _DROPPED.search(content) is not None
