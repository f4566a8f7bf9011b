"""torchmetrics on the device gives the CPU's values; its mistakes give PyTorch's messages."""

import warnings

import torch
import torchmetrics as tm

warnings.filterwarnings("ignore")
torch.manual_seed(0)
probabilities, labels = torch.rand(60, 5).softmax(1), torch.randint(5, (60,))
scores, binary = torch.rand(60), torch.randint(2, (60,))
x, y = torch.rand(60), torch.rand(60)
images = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
many = {"task": "multiclass", "num_classes": 5}
cases = [
    (tm.Accuracy(**many), probabilities, labels),
    (tm.F1Score(**many, average="macro"), probabilities, labels),
    (tm.AUROC(**many), probabilities, labels),
    (tm.AveragePrecision(**many), probabilities, labels),
    (tm.ConfusionMatrix(**many), probabilities, labels),
    (tm.CalibrationError(**many), probabilities, labels),
    (tm.AUROC(task="binary"), scores, binary),
    (tm.ROC(task="binary", thresholds=20), scores, binary),
    (tm.PrecisionRecallCurve(task="binary"), scores, binary),
    (tm.MatthewsCorrCoef(task="binary"), scores, binary),
    (tm.MeanSquaredError(), x, y),
    (tm.R2Score(), x, y),
    (tm.PearsonCorrCoef(), x, y),
    (tm.SpearmanCorrCoef(), x, y),
    (tm.KendallRankCorrCoef(), x, y),
    (tm.CosineSimilarity(), x[None], y[None]),
    (tm.image.PeakSignalNoiseRatio(data_range=1.0), *images),
    (tm.image.StructuralSimilarityIndexMeasure(data_range=1.0), *images),
    (tm.image.TotalVariation(), images[0]),
    (tm.text.Perplexity(), torch.rand(2, 6, 5), torch.randint(5, (2, 6))),
    (tm.retrieval.RetrievalMAP(), scores, binary),
    (tm.aggregation.CatMetric(), x),
    (tm.audio.SignalNoiseRatio(), x, y),
]


def values(metric, inputs):
    extra = {}
    for half in (slice(0, 1), slice(1, None)) if inputs[0].shape[0] > 1 else (slice(None),):
        parts = [i[half] for i in inputs]
        if isinstance(metric, tm.retrieval.RetrievalMAP):
            extra = {"indexes": torch.zeros_like(parts[0], dtype=torch.long)}
        metric.update(*parts, **extra)
    result = metric.compute()
    return result if isinstance(result, (tuple, list)) else [result]


for metric, *inputs in cases:
    expected = values(metric.clone(), inputs)
    on_cuda = metric.clone().cuda()
    found = values(on_cuda, [i.cuda() for i in inputs])
    for a, b in zip(expected, found, strict=True):
        assert b.is_cuda, metric
        assert torch.allclose(a, b.cpu(), atol=1e-5, equal_nan=True), (metric, a, b)
    on_cuda.reset()

together = tm.MetricCollection(
    [tm.Accuracy(**many), tm.Precision(**many), tm.Recall(**many)]
).cuda()
together(probabilities.cuda(), labels.cuda())
assert set(together.compute()) == {"MulticlassAccuracy", "MulticlassPrecision", "MulticlassRecall"}
try:
    tm.MeanSquaredError()(x.cuda(), y.cuda())
except RuntimeError as error:
    assert "device" in str(error), error
else:
    raise AssertionError("the metric was on the CPU")
