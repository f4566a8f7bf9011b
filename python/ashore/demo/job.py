"""The main job from start to end: data, training, evaluation, picture, arrays, conversions."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ashore._atomic import atomic_file
from ashore._extras import MATPLOTLIB, SCIKIT_LEARN, TORCH, load, require
from ashore.cli.errors import CannotRun, JobFailed
from ashore.cli.text import escape, paint
from ashore.demo.gpu import emulate_where_none
from ashore.demo.talk import Talk

_WHO = "the demo"
_FILES = {
    "picture": "evaluation_results.png",
    "predictions": "predictions.npy",
    "probabilities": "probabilities.npy",
}
_NEEDS = (TORCH, SCIKIT_LEARN, MATPLOTLIB)


def run(out: Path, *, epochs: int, seed: int, quiet: bool) -> dict[str, Any]:
    """Do the job, with the files in the folder `out`, and return its result as plain values."""
    start = time.perf_counter()
    talk = Talk(quiet)
    try:
        require(_WHO, _NEEDS, suggest=("torch", "eval"))
        import_module("ashore._core")
        _prepare(out)
        # matplotlib's remarks on where it keeps its font cache are nothing to act on here.
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        no_emulation = emulate_where_none(talk.say)
        talk.say("loading PyTorch, scikit-learn and matplotlib")
        load(_WHO, _NEEDS)
    except ImportError as error:
        raise CannotRun(str(error)) from error

    from ashore.demo.device import device_failures, pick_device

    device, name, note = pick_device(no_emulation)
    if note:
        talk.say(paint(note, "yellow"))
    with device_failures(device):
        result = _story(talk, device, out, epochs, seed)
    result["device"] = str(device)
    result["device_name"] = name
    result["note"] = note
    result["seconds"] = round(time.perf_counter() - start, 3)
    talk.say()
    talk.say(f"done in {result['seconds']:.1f} s")
    return result


def _story(talk: Talk, device: Any, out: Path, epochs: int, seed: int) -> dict[str, Any]:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    import ashore
    from ashore.demo import data
    from ashore.demo.conversions import six
    from ashore.demo.evaluate import evaluate
    from ashore.demo.model import Classifier
    from ashore.demo.train import train
    from ashore.evaluation import report

    torch.manual_seed(seed)
    pinned = device.type == "cuda"
    seen, unseen = data.make(seed)
    train_set, test_set = (TensorDataset(*ashore.to_torch(list(split))) for split in (seen, unseen))
    batches = DataLoader(train_set, batch_size=64, shuffle=True, pin_memory=pinned)
    test_batches = DataLoader(test_set, batch_size=250, pin_memory=pinned)
    model = Classifier(data.FEATURES, data.CLASSES).to(device)

    talk.title(f"Training on {device}")
    with talk.training(epochs, len(batches)) as progress:
        losses = train(model, batches, device, epochs, progress)

    talk.title("Evaluation")
    results = evaluate(model, test_batches, device)
    files = {kind: out / name for kind, name in _FILES.items()}
    scores = report(results.target, results.probability, files["picture"])
    _save(files["predictions"], results.predicted)
    _save(files["probabilities"], results.probability)
    talk.say(scores.text.rstrip("\n"))
    talk.say()
    talk.say("confusion matrix (rows: true class, columns: predicted)")
    for row in scores.confusion:
        talk.say("  " + " ".join(f"{count:5d}" for count in row))

    talk.title("Files")
    for path in files.values():
        talk.say(f"  {escape(str(path))}")

    talk.title("Six everyday conversions, and what ashore did")
    conversions = six(model, ashore.to_torch(unseen.features[:8], device=device))
    for line in _table(conversions):
        talk.say(line)
    talk.say("  (each compared with what PyTorch's own conversion gives)")

    wrong = [conversion.name for conversion in conversions if not conversion.right]
    if wrong:
        raise JobFailed(f"these conversions gave wrong values: {', '.join(wrong)}")
    if scores.accuracy < 1.5 / data.CLASSES:
        raise JobFailed(
            f"the model learned nothing: accuracy {scores.accuracy:.3f}, guessing gives "
            f"{1 / data.CLASSES:.3f}"
        )
    return {
        "ashore": str(ashore.__version__),
        "accuracy": scores.accuracy,
        "macro_f1": scores.macro_f1,
        "confusion_matrix": scores.confusion.tolist(),
        "loss": losses,
        "epochs": epochs,
        "seed": seed,
        "files": {name: str(path.absolute()) for name, path in files.items()},
        "conversions": [vars(conversion) for conversion in conversions],
    }


def _prepare(out: Path) -> None:
    """Make the folder and prove that each file can be made in it, before anything slow starts."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in _FILES.values():
            with suppress(_Proved), atomic_file(out / name):
                raise _Proved
    except FileExistsError as error:
        raise CannotRun(f"--out {out}: a file is there, not a folder") from error
    except OSError as error:
        where = error.filename if error.filename is not None else out
        raise CannotRun(f"--out {out}: {where}: {error.strerror or error}") from error


class _Proved(Exception):
    """End the trial write without a file."""


def _save(path: Path, array: Any) -> None:
    import numpy as np

    with atomic_file(path) as file:
        np.save(file, array, allow_pickle=False)


def _table(conversions: list[Any]) -> list[str]:
    rows = [("what", "call", "result", "ashore did", "copied")]
    rows += [(c.name, c.call, c.result, c.did, f"{c.copied_bytes} B") for c in conversions]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join(["", *map(str.ljust, row[:4], widths), row[4].rjust(len("copied"))])
        for row in rows
    ]
    for index, conversion in enumerate(conversions, start=1):
        if not conversion.right:
            lines[index] += "  WRONG"
    return lines
