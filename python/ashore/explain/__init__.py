"""Explain errors of the border between tensors and NumPy from the text of their traceback.

Used by `ashore explain`, `ashore run` and the IPython extension. Nothing is run; of files, only
regular ones below one folder are read.
"""

from __future__ import annotations
