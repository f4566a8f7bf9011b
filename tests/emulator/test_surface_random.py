"""Random numbers, automatic mixed precision and other users of the device's Python side."""

from __future__ import annotations

import pytest
from test_surface import emulated

torch = pytest.importorskip("torch")


@emulated
def test_seeds_and_states_of_each_device() -> None:
    torch.cuda.manual_seed_all(3)
    states = torch.cuda.get_rng_state_all()
    assert len(states) == 2 and all(state.device.type == "cpu" for state in states)
    first = [torch.rand(3, device=f"cuda:{i}") for i in range(2)]
    torch.cuda.set_rng_state_all(states)
    again = [torch.rand(3, device=f"cuda:{i}") for i in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))

    torch.cuda.manual_seed(5)
    assert torch.cuda.initial_seed() == 5
    state = torch.cuda.get_rng_state("cuda:0")
    x = torch.randn(2, device="cuda")
    torch.cuda.set_rng_state(state, 0)
    assert torch.equal(x, torch.randn(2, device="cuda"))
    torch.cuda.seed()
    torch.cuda.seed_all()
    assert torch.cuda.initial_seed() != 5


@emulated
def test_generators() -> None:
    torch.cuda.init()
    assert len(torch.cuda.default_generators) == 2
    assert torch.cuda.default_generators[1].device == torch.device("cuda:1")
    torch.manual_seed(11)
    assert torch.cuda.default_generators[1].initial_seed() == 11
    generator = torch.Generator("cuda").manual_seed(7)
    assert generator.device.type == "cuda"
    x = torch.rand(3, device="cuda", generator=generator)
    generator.manual_seed(7)
    assert torch.equal(x, torch.rand(3, device="cuda", generator=generator))
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.rand(3, device="cuda", generator=torch.Generator())


@emulated
def test_the_host_has_its_own_random_numbers() -> None:
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    torch.rand(5, device="cuda")
    assert torch.equal(torch.rand(2), expected)
    with torch.random.fork_rng(devices=[0]):
        torch.rand(5, device="cuda")


@emulated
def test_mixed_precision() -> None:
    model = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda"):
        output = model(torch.ones(3, 4, device="cuda"))
        assert output.dtype == torch.float16
        loss = output.float().sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() > 0
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert model(torch.ones(3, 4, device="cuda")).dtype == torch.bfloat16
    assert torch.amp.is_autocast_available("cuda")


@emulated
def test_recurrent_networks_run() -> None:
    network = torch.nn.LSTM(3, 4).cuda()
    output, _ = network(torch.ones(2, 1, 3, device="cuda"))
    output.sum().backward()
    assert network.weight_hh_l0.grad.is_cuda


@emulated
def test_interfaces_for_other_libraries() -> None:
    x = torch.arange(3.0, device="cuda:1")
    interface = x.__cuda_array_interface__
    assert interface["data"][0] == x.data_ptr()
    assert x.__dlpack_device__()[1] == 1
    stream = torch.cuda.Stream(1)
    with torch.cuda.device(1):
        assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
        x.__dlpack__(stream=stream.cuda_stream)
    with pytest.raises(TypeError, match="can't convert cuda:1 device type tensor to numpy"):
        x.numpy()
