import numpy as np


def spread(x):
    return np.max(x) - np.min(x)
