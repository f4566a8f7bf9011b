"""From the device to scikit-learn: skorch's estimator in a grid search, and ashore.to_numpy."""

import pickle
import warnings

import ashore
import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EpochScoring
from torch import nn

warnings.filterwarnings("ignore", category=FutureWarning)
torch.manual_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(120, 6)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        assert x.is_cuda
        return self.body(x).softmax(-1)


net = NeuralNetClassifier(
    Net, max_epochs=10, lr=0.5, device="cuda", verbose=0, iterator_train__shuffle=True,
    iterator_train__pin_memory=True, callbacks=[EpochScoring("accuracy", lower_is_better=False)],
)  # fmt: skip
search = GridSearchCV(net, {"module__width": [4, 32]}, cv=2, scoring="accuracy")
search.fit(x, y)
assert search.best_score_ > 0.6
assert cross_val_score(make_pipeline(StandardScaler(), net), x, y, cv=2).mean() > 0.6
again = pickle.loads(pickle.dumps(search.best_estimator_))
assert np.allclose(again.predict_proba(x), search.predict_proba(x), atol=1e-6)
assert isinstance(again.predict(x), np.ndarray)
regressor = NeuralNetRegressor(nn.Linear(6, 1).cuda(), device="cuda", verbose=0, max_epochs=3)
assert regressor.fit(x, x[:, :1]).predict(x).shape == (120, 1)

# Features of a network on the device go to estimators of the CPU.
body = search.best_estimator_.module_.body
features = body[:2](torch.from_numpy(x).cuda())
labels = torch.from_numpy(y).cuda()
try:
    LogisticRegression().fit(features.detach(), labels)
except (TypeError, RuntimeError) as error:
    assert "cuda" in str(error), error
else:
    raise AssertionError("scikit-learn read device memory")
on_host = ashore.to_numpy({"x": features, "y": labels})
assert isinstance(on_host["x"], np.ndarray) and on_host["x"].dtype == np.float32
assert np.array_equal(on_host["x"], features.detach().cpu().numpy())
model = LogisticRegression(max_iter=500).fit(on_host["x"], on_host["y"])
assert model.score(on_host["x"], on_host["y"]) > 0.6
assert confusion_matrix(ashore.to_numpy(labels), model.predict(on_host["x"])).sum() == 120
assert KMeans(3, n_init=1).fit(ashore.to_numpy(features)).labels_.shape == (120,)
half = ashore.to_numpy(features.bfloat16())
assert np.allclose(half.astype(np.float32), on_host["x"], rtol=0.01, atol=0.01)
