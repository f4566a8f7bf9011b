// torch.cuda.tunable: its settings are kept; nothing is tuned, so there are never results.
#include <c10/util/Exception.h>

#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

// PyTorch's defaults (aten/src/ATen/cuda/tunable).
struct Tunable {
  bool is_enabled = false;
  bool is_tuning = true;
  bool records_untuned = false;
  std::int64_t max_duration_ms = 30;
  std::int64_t max_iterations = 100;
  std::int64_t rotating_buffer_bytes = 0;
  std::string filename = "tunableop_results0.csv";
};
Tunable& tunable() {
  static auto& state = *new Tunable;
  return state;
}

bool truth(PyObject* argument) { return PyObject_IsTrue(argument) == 1; }
constexpr const char* kNotAnInt = "expected int, but got something else";

void enable(PyObject* value) { tunable().is_enabled = truth(value); }
bool is_enabled() { return tunable().is_enabled; }
void enable_tuning(PyObject* value) { tunable().is_tuning = truth(value); }
bool is_tuning() { return tunable().is_tuning; }
void enable_record(PyObject* value) { tunable().records_untuned = truth(value); }
bool is_recording() { return tunable().records_untuned; }
void set_duration(PyObject* value) { tunable().max_duration_ms = to_int(value, kNotAnInt); }
std::int64_t get_duration() { return tunable().max_duration_ms; }
void set_iterations(PyObject* value) { tunable().max_iterations = to_int(value, kNotAnInt); }
std::int64_t get_iterations() { return tunable().max_iterations; }
// Megabytes in, bytes out, as in PyTorch.
void set_buffer(PyObject* value) {
  tunable().rotating_buffer_bytes = to_int(value, kNotAnInt) * 1024 * 1024;
}
std::int64_t get_buffer() { return tunable().rotating_buffer_bytes; }
void set_filename(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"filename", "insert_device_ordinal", nullptr};
  const char* filename = nullptr;
  int insert_ordinal = 0;
  parse(args, kwargs, "s|p", kNames, &filename, &insert_ordinal);
  tunable().filename = filename;
}
std::string_view get_filename() { return tunable().filename; }
bool read_file(PyObject*) { return false; }
Object results() { return Object(PyTuple_New(0)); }
void set_tolerances(PyObject*, PyObject*) {}

}  // namespace

void install_tunable(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&enable>("_cuda_tunableop_enable"),
      function<&is_enabled>("_cuda_tunableop_is_enabled"),
      function<&enable_tuning>("_cuda_tunableop_tuning_enable"),
      function<&is_tuning>("_cuda_tunableop_tuning_is_enabled"),
      function<&enable_record>("_cuda_record_untuned_enable"),
      function<&is_recording>("_cuda_record_untuned_is_enabled"),
      function<&set_duration>("_cuda_tunableop_set_max_tuning_duration"),
      function<&get_duration>("_cuda_tunableop_get_max_tuning_duration"),
      function<&set_iterations>("_cuda_tunableop_set_max_tuning_iterations"),
      function<&get_iterations>("_cuda_tunableop_get_max_tuning_iterations"),
      function<&set_buffer>("_cuda_tunableop_set_rotating_buffer_size"),
      function<&get_buffer>("_cuda_tunableop_get_rotating_buffer_size"),
      function<&set_filename>("_cuda_tunableop_set_filename"),
      function<&get_filename>("_cuda_tunableop_get_filename"),
      function<&read_file>("_cuda_tunableop_read_file"),
      function<&results>("_cuda_tunableop_get_results"),
      function<&results, 1>("_cuda_tunableop_get_validators"),
      function<&set_tolerances>("_cuda_tunableop_set_numerical_check_tolerances"),
      {},
  };
  add_functions(module, functions);
}

}  // namespace ashore::emulator::surface
