"""The main job, `ashore demo`: train a classifier, evaluate it, and bring the results ashore."""
