"""Say of each expression of a module what its value is, and where values meet NumPy.

`passes.infer` is the entry. A newcomer finds: statements (flow), expressions (what is no call),
calls and the files `of_*` (what a call gives), narrowing (tests), models and devices (the judgement
of names), functions (parameters, returns), scope (what is known where).
"""
