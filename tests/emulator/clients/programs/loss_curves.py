"""Models of all kinds learn the same on the device as on the CPU, step by step."""

import copy

import torch
from torch import nn


class Sequence(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.embed = nn.Embedding(20, 12)
        self.rnn = cell(12, 16, num_layers=2, batch_first=True, bidirectional=True, dropout=0.0)
        self.head = nn.Linear(32, 4)

    def forward(self, tokens):
        out, _ = self.rnn(self.embed(tokens))
        return self.head(out[:, -1])


class Packed(Sequence):
    def forward(self, tokens):
        lengths = torch.arange(tokens.shape[0], 0, -1).clamp(1, tokens.shape[1])
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=True
        )
        out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.head(out.mean(1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.decoder = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, tokens):
        x = self.embed(tokens)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        memory = self.encoder(x, mask=mask, is_causal=True)
        return self.head(self.decoder(x, memory, tgt_mask=mask).mean(1))


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, stride=2, groups=4),
            nn.GroupNorm(4, 16),
            nn.SiLU(),
            nn.ConvTranspose2d(16, 8, 3, stride=2),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(32, 4),
        )

    def forward(self, x):
        return self.body(x)


def curve(model, x, y, device, make_optimizer):
    model = copy.deepcopy(model).to(device)
    x, y = x.to(device), y.to(device)
    optimizer = make_optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=9)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        losses.append(model(x).double().abs().sum().item())
    return losses


torch.manual_seed(0)
tokens, images = torch.randint(20, (6, 7)), torch.randn(6, 3, 16, 16)
cases = {
    "rnn": (Sequence(nn.RNN), tokens, torch.optim.SGD),
    "gru": (Sequence(nn.GRU), tokens, torch.optim.RMSprop),
    "lstm": (Sequence(nn.LSTM), tokens, torch.optim.Adam),
    "packed lstm": (Packed(nn.LSTM), tokens, torch.optim.AdamW),
    "transformer": (Attention(), tokens, torch.optim.AdamW),
    "vision": (Vision(), images, torch.optim.NAdam),
    "vision, channels last": (
        Vision().to(memory_format=torch.channels_last),
        images.contiguous(memory_format=torch.channels_last),
        lambda parameters: torch.optim.AdamW(parameters, fused=True),
    ),
}
target = torch.randint(4, (6,))
for name, (model, x, optimizer) in cases.items():
    make = lambda parameters, optimizer=optimizer: (  # noqa: E731
        optimizer(parameters) if optimizer is not torch.optim.SGD else optimizer(parameters, lr=0.1)
    )
    on_cpu, on_cuda = (curve(model, x, target, device, make) for device in ("cpu", "cuda"))
    assert on_cpu[7] < on_cpu[0], name
    assert all(abs(a - b) < 1e-3 * max(1, abs(a)) for a, b in zip(on_cpu, on_cuda, strict=True)), (
        name,
        on_cpu,
        on_cuda,
    )
