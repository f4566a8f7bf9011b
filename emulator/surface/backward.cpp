// Backward passes in the calling thread where nobody can tell. PyTorch hands the nodes of a CUDA
// device to a thread of that device: two wake-ups, which a small model's step feels. Whether the
// thread is another one shows in Python alone (hooks, Functions, thread-local state), so that a
// graph of PyTorch's own nodes without hooks may stay here. torch._C._ImperativeEngine is replaced
// by a subtype that looks at the graph first.
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <array>
#include <cstring>
#include <typeinfo>

#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

using torch::autograd::Node;

PyCFunctionWithKeywords g_run_backward = nullptr;  // PyTorch's own
bool g_saves_by_hooks = false;  // the program saved tensors by functions of its own; for good

// The nodes behind some tensors, each once; few, for a long pass does not feel the wake-ups.
class Graph {
 public:
  /// Add a node; false: there are too many.
  bool add(Node* node) {
    for (std::size_t place = std::hash<Node*>()(node) / sizeof(Node*);; ++place) {
      Node*& slot = slots_[place % slots_.size()];
      if (slot == node) return true;
      if (slot != nullptr) continue;
      if (count_ == nodes_.size()) return false;
      slot = nodes_[count_++] = node;
      return true;
    }
  }
  std::size_t count() const { return count_; }
  const Node& operator[](std::size_t index) const { return *nodes_[index]; }

 private:
  std::array<Node*, 512> slots_{};
  std::array<Node*, 256> nodes_;
  std::size_t count_ = 0;
};

// Whether running it calls nothing but PyTorch's own C++ code.
bool is_pure(const Node& node) {
  const char* name = typeid(node).name();
  constexpr std::string_view kGenerated = "N5torch8autograd9generated";
  const bool is_known = std::strncmp(name, kGenerated.data(), kGenerated.size()) == 0 ||
                        std::string_view(name) == "N5torch8autograd14AccumulateGradE";
  Node& hooked = const_cast<Node&>(node);  // some accessors of hooks are not const
  return is_known && node.pre_hooks().empty() && node.post_hooks().empty() &&
         hooked.tensor_pre_hooks().empty() && node.tensor_post_acc_grad_hooks() == nullptr;
}

bool is_watched() {
  return g_saves_by_hooks || torch::autograd::AnomalyMode::is_enabled() ||
         torch::profiler::impl::profilerEnabled() || c10::impl::dispatch_mode_enabled() ||
         c10::impl::tls_is_dispatch_key_included(
             c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
         torch::autograd::get_current_graph_task_id() != -1;  // within a pass
}

// Whether the backward pass from these tensors runs no Python.
bool is_pure(PyObject* tensors) {
  if (tensors == nullptr || !PyTuple_Check(tensors) || is_watched()) return false;
  Graph graph;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
    PyObject* object = PyTuple_GET_ITEM(tensors, i);
    if (!THPVariable_CheckExact(object)) return false;
    const auto& node = THPVariable_Unpack(object).grad_fn();
    if (node == nullptr || !graph.add(node.get())) return false;
  }
  for (std::size_t i = 0; i < graph.count(); ++i) {
    if (!is_pure(graph[i])) return false;
    for (const auto& edge : graph[i].next_edges()) {
      if (edge.is_valid() && !graph.add(edge.function.get())) return false;
    }
  }
  return true;
}

// While it lives, the engine keeps backward passes of this thread in it.
class StayInThread {
 public:
  StayInThread() : before_(state().get_multithreading_enabled()) {
    state().set_multithreading_enabled(false);
  }
  ~StayInThread() { state().set_multithreading_enabled(before_); }
  StayInThread(const StayInThread&) = delete;
  StayInThread& operator=(const StayInThread&) = delete;

 private:
  static c10::AutogradState& state() { return c10::AutogradState::get_tls_state(); }
  bool before_;
};

PyObject* run_backward(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* tensors = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0)
                      : kwargs != nullptr        ? PyDict_GetItemString(kwargs, "tensors")
                                                 : nullptr;
  if (!is_pure(tensors)) return g_run_backward(self, args, kwargs);
  const StayInThread here;
  return g_run_backward(self, args, kwargs);
}

// Stands for torch._C._autograd._push_saved_tensors_default_hooks.
PyObject* push_hooks(PyObject* original, PyObject* args) {
  g_saves_by_hooks = true;
  return PyObject_CallObject(original, args);
}

// Make it so; torch._C._autograd is there once torch.autograd is.
void note_saved_tensor_hooks(PyObject* module) {
  static PyMethodDef ours{"_push_saved_tensors_default_hooks", &push_hooks, METH_VARARGS, nullptr};
  const Object original(PyObject_GetAttrString(module, ours.ml_name));
  set_attribute(module, ours.ml_name, Object(PyCFunction_New(&ours, original.get())));
}

}  // namespace

void install_backward(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&note_saved_tensor_hooks>("_ashore_note_saved_tensor_hooks"),
      {},
  };
  add_functions(module, functions);

  const Object engine(PyObject_GetAttrString(module, "_ImperativeEngine"));
  const Object method(PyObject_GetAttrString(engine.get(), "run_backward"));
  TORCH_INTERNAL_ASSERT(Py_IS_TYPE(method.get(), &PyMethodDescr_Type));
  const PyMethodDef& native = *reinterpret_cast<PyMethodDescrObject*>(method.get())->d_method;
  TORCH_INTERNAL_ASSERT(native.ml_flags == (METH_VARARGS | METH_KEYWORDS));
  g_run_backward =
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(native.ml_meth));
  static PyMethodDef methods[] = {
      {"run_backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&run_backward)),
       METH_VARARGS | METH_KEYWORDS, nullptr},
      {},
  };
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {}};
  static PyType_Spec spec{"torch._C._EngineBase", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          slots};
  const Object bases(PyTuple_Pack(1, engine.get()));
  const Object type(PyType_FromSpecWithBases(&spec, bases.get()));
  set_attribute(module, "_ImperativeEngine", Object::borrow(type.get()));
}

}  // namespace ashore::emulator::surface
