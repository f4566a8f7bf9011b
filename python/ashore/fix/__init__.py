"""Find the places where tensors and NumPy meet wrongly, and repair them in the text.

Data walks one way: files → source (parse) → infer (what each expression is) → rules (sites) →
policy (what may be changed) → planner (edits) → write. Runs on the standard library alone.
"""
