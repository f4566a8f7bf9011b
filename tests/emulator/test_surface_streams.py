"""Streams and events of torch.cuda."""

from __future__ import annotations

import time

import pytest
from test_surface import emulated

torch = pytest.importorskip("torch")


@emulated
def test_a_stream_is_a_torch_stream_with_numbers() -> None:
    stream = torch.cuda.Stream()
    assert isinstance(stream, torch.Stream)
    assert isinstance(stream, torch._C._CudaStreamBase)
    assert stream.device == torch.device("cuda:0")
    assert (stream.device_index, stream.device_type) == (0, 1)
    assert stream.stream_id != 0
    assert stream.cuda_stream not in (0, 1, 2)
    assert stream.priority == 0
    assert torch.cuda.Stream.priority_range() == (0, -3)
    assert torch.cuda.Stream(priority=-1).priority == -1
    assert torch.cuda.Stream(1).device == torch.device("cuda:1")
    assert torch.cuda.Stream(device="cuda:1").device.index == 1
    assert repr(stream).startswith("<torch.cuda.Stream device=cuda:0 cuda_stream=0x")
    assert stream.__cuda_stream__() == (0, stream.cuda_stream)
    assert stream._as_parameter_.value == stream.cuda_stream


@emulated
def test_streams_are_equal_by_what_they_are() -> None:
    stream = torch.cuda.Stream()
    same = torch.cuda.Stream(
        stream_id=stream.stream_id, device_index=stream.device_index, device_type=1
    )
    assert stream == same and hash(stream) == hash(same)
    assert stream != torch.cuda.Stream()
    assert stream != torch.cuda.Stream(1)
    assert stream != "stream"
    assert stream in {same}


@emulated
def test_the_default_stream() -> None:
    stream = torch.cuda.default_stream()
    assert stream.cuda_stream == 0 and stream.stream_id == 0
    assert stream.query()
    assert torch.cuda.default_stream(1).device.index == 1
    assert torch.cuda.current_stream() == stream
    assert torch._C._cuda_getCurrentRawStream(0) == 0


@emulated
def test_the_current_stream_follows_contexts_and_devices() -> None:
    before = torch.cuda.current_stream()
    stream = torch.cuda.Stream(1)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        assert torch.cuda.current_device() == 1
        assert torch.ones(1, device="cuda").get_device() == 1
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == stream
    assert torch.cuda.current_stream() == before
    assert torch.cuda.current_device() == 0
    with torch.cuda.StreamContext(stream):
        assert torch.cuda.current_stream(1) == stream
    with stream:
        assert torch.cuda.current_stream(1) == stream
    torch.cuda.set_stream(stream)
    assert torch.cuda.current_device() == 1
    assert torch.accelerator.current_stream().stream_id == stream.stream_id


@emulated
def test_the_current_stream_is_each_threads_own() -> None:
    import threading

    torch.cuda.set_stream(torch.cuda.Stream())
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
    thread.start()
    thread.join()
    assert seen == [torch.cuda.default_stream()]


@emulated
def test_external_streams_keep_their_handle() -> None:
    stream = torch.cuda.Stream()
    external = torch.cuda.ExternalStream(stream.cuda_stream)
    assert external.cuda_stream == stream.cuda_stream
    assert torch.cuda.get_stream_from_external(stream.cuda_stream).cuda_stream == stream.cuda_stream
    external.synchronize()
    with pytest.raises(RuntimeError, match="Priority was explicitly set for a external stream"):
        torch._C._CudaStreamBase(stream_ptr=stream.cuda_stream, priority=-1)


@emulated
def test_wrong_streams_are_refused() -> None:
    with pytest.raises(RuntimeError, match="less than or equal to 0, got 1"):
        torch.cuda.Stream(priority=1)
    with pytest.raises(TypeError):
        torch._C._CudaStreamBase(colour=1)
    with pytest.raises(RuntimeError, match=r"stream_\.device_type\(\) == "):
        torch._C._cuda_setStream(stream_id=0, device_index=0, device_type=0)
    with pytest.raises(RuntimeError, match="out of index range"):
        torch._C._cuda_getCurrentStream(5)
    with pytest.raises(RuntimeError, match="invalid argument to getCurrentStream"):
        torch._C._cuda_getCurrentStream("0")


@emulated
def test_streams_order_late_copies() -> None:
    source = torch.arange(4.0, device="cuda")
    target = torch.zeros(4, pin_memory=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        target.copy_(source, non_blocking=True)
    source.record_stream(side)
    torch.cuda.default_stream().synchronize()
    assert target.isnan().all()
    side.synchronize()
    assert torch.equal(target, torch.arange(4.0))
    assert side.query()


@emulated
def test_an_event_is_a_torch_event() -> None:
    event = torch.cuda.Event()
    assert isinstance(event, torch.Event)
    assert event.device is None
    assert event.cuda_event == 0
    assert event.query()
    event.synchronize()
    event.wait()
    assert repr(event) == "<torch.cuda.Event uninitialized>"
    event.record()
    assert event.device == torch.device("cuda:0")
    assert event.cuda_event == event.event_id != 0
    assert repr(event) == f"<torch.cuda.Event {event.cuda_event:#x}>"
    event.record(torch.cuda.Stream())
    event.record(torch.Stream("cuda"))
    assert isinstance(torch.cuda.current_stream().record_event(), torch.cuda.Event)


@emulated
def test_events_measure_time() -> None:
    first = torch.cuda.Event(enable_timing=True)
    second = torch.cuda.Event(enable_timing=True)
    first.record()
    time.sleep(0.02)
    second.record()
    torch.cuda.synchronize()
    assert 15 < first.elapsed_time(second) < 5000
    with pytest.raises(ValueError, match="must be created with argument 'enable_timing=True'"):
        first.elapsed_time(torch.cuda.Event())
    with pytest.raises(ValueError, match="must be recorded before calculating elapsed time"):
        first.elapsed_time(torch.cuda.Event(enable_timing=True))
    with pytest.raises(TypeError):
        first.elapsed_time(1)


@emulated
def test_events_wait_for_late_copies() -> None:
    source = torch.arange(4.0, device="cuda")
    target = torch.zeros(4, pin_memory=True)
    copied = torch.cuda.Event()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        target.copy_(source, non_blocking=True)
        copied.record()
    assert target.isnan().all()
    torch.cuda.current_stream().wait_event(copied)
    assert target.isnan().all()
    torch.cuda.current_stream().synchronize()
    assert torch.equal(target, torch.arange(4.0))


@emulated
def test_events_belong_to_a_device() -> None:
    event = torch.cuda.Event()
    event.record()
    other = torch.cuda.Stream(1)
    with pytest.raises(
        RuntimeError, match=r"Event device 0 does not match recording stream's device 1\."
    ):
        event.record(other)
    event.wait(other)
    with pytest.raises(TypeError, match=r"expected torch[.]cuda[.]Stream"):
        torch._C._CudaEventBase.record(event, 3)
    with pytest.raises(TypeError):
        torch._C._CudaEventBase(colour=True)


@emulated
def test_events_are_not_shared_between_processes() -> None:
    event = torch.cuda.Event(interprocess=True)
    with pytest.raises(torch.AcceleratorError, match="CUDA error: operation not supported"):
        event.ipc_handle()
    with pytest.raises(RuntimeError, match="byte-like object of size 64, but got 3"):
        torch.cuda.Event.from_ipc_handle(torch.device("cuda"), b"abc")
    with pytest.raises(torch.AcceleratorError, match="CUDA error: operation not supported"):
        torch.cuda.Event.from_ipc_handle(torch.device("cuda"), b"x" * 64)
    with pytest.raises(RuntimeError, match="can only be created on CUDA devices"):
        torch.cuda.Event.from_ipc_handle(torch.device("cpu"), b"x" * 64)


@emulated
def test_streams_and_events_of_torch_itself() -> None:
    stream = torch.Stream("cuda:1")
    event = torch.Event("cuda:1")
    event.record(stream)
    event.synchronize()
    stream.wait_event(event)
    stream.wait_stream(torch.cuda.Stream(1))
    torch.cuda.Stream(1).wait_stream(stream)
    assert stream.query()
    assert not stream.is_capturing()
