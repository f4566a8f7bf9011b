// The Python names of comm.hpp. Source of names and arguments: torch/csrc/cuda/python_comm.cpp.
#include <torch/csrc/utils/pybind.h>

#include "comm.hpp"
#include "parts.hpp"
#include "streams.hpp"

namespace ashore::emulator::surface {
namespace {

Streams to_streams(const py::object& streams) {
  if (streams.is_none()) return {};
  TORCH_CHECK_TYPE(py::isinstance<py::sequence>(streams), "Expected a sequence of streams");
  Streams result;
  for (const py::handle stream : streams) {
    if (stream.is_none()) {
      result.emplace_back();
    } else {
      result.emplace_back(stream_of(stream.ptr()));
    }
  }
  return result;
}

// Run a body without the interpreter's lock and with PyTorch's translation of exceptions.
template <typename Body>
py::object run(Body body) {
  PyObject* result = guarded([&] {
    auto value = [&] {
      const py::gil_scoped_release released;
      return body();
    }();
    return py::cast(std::move(value)).release().ptr();
  });
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace

void install_comm(PyObject* module_object) {
  auto module = py::reinterpret_borrow<py::module_>(module_object);
  using Devices = std::vector<std::int64_t>;
  module.def(
      "_broadcast",
      [](const at::Tensor& tensor, const Devices& devices) {
        return run([&] { return broadcast(tensor, devices); });
      },
      py::arg("tensor"), py::arg("devices"));
  module.def(
      "_broadcast_out",
      [](const at::Tensor& tensor, const Tensors& outputs) {
        return run([&] { return broadcast_out(tensor, outputs); });
      },
      py::arg("tensor"), py::arg("out"));
  module.def(
      "_broadcast_coalesced",
      [](const Tensors& tensors, const Devices& devices, std::size_t) {
        return run([&] { return broadcast_coalesced(tensors, devices); });
      },
      py::arg("tensors"), py::arg("devices"), py::arg("buffer_size"));
  module.def(
      "_scatter",
      [](const at::Tensor& tensor, const Devices& devices,
         const std::optional<Devices>& chunk_sizes, std::int64_t dim, const py::object& streams) {
        Streams on;
        if (guarded([&] { return on = to_streams(streams), Py_None; }) == nullptr) {
          throw py::error_already_set();
        }
        return run([&] { return scatter(tensor, devices, chunk_sizes, dim, on); });
      },
      py::arg("tensor"), py::arg("devices"), py::arg("chunk_sizes"), py::arg("dim"),
      py::arg("streams"));
  module.def(
      "_scatter_out",
      [](const at::Tensor& tensor, const Tensors& outputs, std::int64_t dim,
         const py::object& streams) {
        Streams on;
        if (guarded([&] { return on = to_streams(streams), Py_None; }) == nullptr) {
          throw py::error_already_set();
        }
        return run([&] { return scatter_out(tensor, outputs, dim, on); });
      },
      py::arg("tensor"), py::arg("out"), py::arg("dim"), py::arg("streams"));
  module.def(
      "_gather",
      [](const Tensors& tensors, std::int64_t dim, std::optional<std::int32_t> destination) {
        return run([&] { return gather(tensors, dim, destination); });
      },
      py::arg("tensors"), py::arg("dim"), py::arg("destination_index"));
  module.def(
      "_gather_out",
      [](const Tensors& tensors, const at::Tensor& output, std::int64_t dim) {
        return run([&] { return gather_out(tensors, output, dim); });
      },
      py::arg("tensors"), py::arg("out"), py::arg("dim"));
}

}  // namespace ashore::emulator::surface
