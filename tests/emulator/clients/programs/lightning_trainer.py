"""Lightning's Trainer on accelerator="gpu": one device, mixed precision, callbacks, a checkpoint,
evaluation and prediction; then two devices as processes of their own (ddp over gloo)."""

import logging
import os
import sys
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(L.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.ReLU())
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.net(x))

    def training_step(self, batch, number):
        x, y = batch
        assert x.device == self.device and self.device.type == "cuda"
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("loss", loss, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, number):
        x, y = batch
        self.log("right", (self(x).argmax(1) == y).float().mean(), sync_dist=True)

    test_step = validation_step

    def predict_step(self, batch, number):
        return self(batch[0]).softmax(1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.02)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2)]


class Memory(Callback):
    def on_train_batch_end(self, trainer, module, *_):
        assert torch.cuda.memory_allocated(module.device) > 0
        assert trainer.strategy.root_device == module.device


def loaders():
    torch.manual_seed(0)
    x = torch.randn(96, 4)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    return DataLoader(data, 16, shuffle=True, pin_memory=True), DataLoader(data, 16)


def trainer(folder, **options):
    return L.Trainer(
        accelerator="gpu",
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        **options,
    )


def one_device(folder):
    L.seed_everything(0, verbose=False)
    train, valid = loaders()
    best = ModelCheckpoint(folder, monitor="right", mode="max")
    run = trainer(
        folder,
        devices=1,
        max_epochs=5,
        precision="16-mixed",
        gradient_clip_val=1.0,
        accumulate_grad_batches=2,
        callbacks=[
            best,
            Memory(),
            EarlyStopping("loss", patience=5, check_on_train_epoch_end=True),
        ],
    )
    model = Model()
    run.fit(model, train, valid)
    assert run.test(model, valid, verbose=False)[0]["right"] > 0.8
    assert torch.cat(run.predict(model, valid)).shape == (96, 2)
    again = Model.load_from_checkpoint(best.best_model_path)
    assert again.device.type == "cuda", again.device  # where it was saved
    assert Model.load_from_checkpoint(best.best_model_path, map_location="cpu").device.type == "cpu"
    resumed = trainer(folder, devices=[1], max_epochs=6, precision="16-mixed")
    resumed.fit(again, train, ckpt_path=best.best_model_path)
    assert again.device.type == "cpu" or again.device.index == 1


def two_devices(folder):
    """Run in a process of its own; Lightning starts the second one, with the same arguments."""
    os.environ["PL_TORCH_DISTRIBUTED_BACKEND"] = "gloo"
    L.seed_everything(0, verbose=False)
    train, valid = loaders()
    from lightning.pytorch.strategies import DDPStrategy

    run = trainer(
        folder, devices=2, max_epochs=2, strategy=DDPStrategy(process_group_backend="gloo")
    )
    model = Model()
    run.fit(model, train, valid)
    assert run.world_size == 2
    total = model.head.weight.detach().clone()
    torch.distributed.all_reduce(total)
    assert torch.allclose(total, 2 * model.head.weight), "the processes have different weights"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        two_devices(folder) if sys.argv[1:] == ["2"] else one_device(folder)
