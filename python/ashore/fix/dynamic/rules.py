"""Which rule a note falls under, and how it is told."""

from __future__ import annotations

from ashore.fix.dynamic.notes import Note, Target

_PLOTTING = ("plt.", "ax.", "axes", "axs", "sns.", "fig.")


# What only a run can find, with titles; the rest falls under the static rules.
RUN_RULES = {
    "TN206": "json is given a tensor",
    "TN207": "a NumPy array and a tensor are computed together",
    "TN208": "a gradient goes through NumPy",
    "TN302": "tensors of two devices meet",
    "TN303": "a tensor has another dtype than the model",
}


def rule_of(note: Note, target: Target | None) -> str:
    """Return the id of a note's rule."""
    how, needs = note.how, target.needs if target is not None else note.needs
    if how == "numpy":
        return "TN101" if "cpu" in needs else "TN103" if needs == {"float"} else "TN102"
    if how in _BY_HOW:
        return _BY_HOW[how]
    if note.callee in ("Subscript", "Attribute"):
        return "TN205"
    if note.callee.startswith(("np.", "numpy.")):
        return "TN202" if target is not None and target.container else "TN201"
    return "TN203" if note.callee.startswith(_PLOTTING) else "TN204"


_BY_HOW = {
    "gradient": "TN208",
    "json": "TN206",
    "operator": "TN207",
    "module": "TN301",
    "device": "TN302",
    "dtype": "TN303",
}


def message_of(note: Note, what: str) -> str:
    """Return what is told of an expression, whose text is `what`."""
    known = {
        "numpy": f"`{what}` {_state(note)}; `.numpy()` refuses it",
        "gradient": f"the gradient goes through `{note.callee or what}`: torch has to do it",
        "json": f"json cannot write the tensor `{what}`",
        "operator": f"an array and the tensor `{what}` are not computed together",
        "module": f"`{note.callee}` is given the array `{what}`",
        "device": f"`{what}` is on another device than what it meets in `{note.callee}`",
        "dtype": f"`{what}` has another dtype than the model",
    }
    other = f"`{note.callee}` is given the tensor `{what}`, which {_state(note)}"
    if note.callee == "Subscript":
        other = f"an array meets `{what}`, which {_state(note)}"
    return known.get(note.how, other)


def _state(note: Note) -> str:
    if "cpu" in note.needs:
        return "is on the GPU"
    if "detach" in note.needs:
        return "has a gradient"
    return "has no form that NumPy knows" if "float" in note.needs else "is no array"
