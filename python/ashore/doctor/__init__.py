"""Say whether a GPU can be used here and, if not, why: `ashore doctor`.

`machine` reads files, `probe` asks the driver's library in a process of its own, `facts` gathers
both, and `causes` judges the facts without looking at anything else. No framework is imported.
"""

from __future__ import annotations
