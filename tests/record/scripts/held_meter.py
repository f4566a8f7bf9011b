# part of held_shared_meter.py
import numpy as np


class Meter:
    def __init__(self):
        self.seen = []

    def update(self, predicted, wanted):
        hits = np.equal(np.asarray(predicted), np.asarray(wanted))
        self.seen.append(hits.mean())

    def result(self):
        return float(np.mean(self.seen))
