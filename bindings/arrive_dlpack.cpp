// DLPack producers in, over Python's __dlpack__ (contract N9).
#include "arrival.hpp"

#include "ingest/dlpack.hpp"

#include <memory>
#include <string>

namespace ashore::python {
namespace {

constexpr const char kOwnerName[] = "ashore.dlpack_owner";

void drop_owner(PyObject* capsule) {
  auto* source = static_cast<ingest::Source*>(PyCapsule_GetPointer(capsule, kOwnerName));
  // The deleter may be Python code; an error that is on its way through here must survive it.
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  delete source;
  if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);
  PyErr_Restore(type, value, trace);
}

// Call the producer with the most that its signature takes.
Ref call_producer(PyObject* method, bool never_copy) {
  Ref keywords = Ref::steal(
      Py_BuildValue("{O:(ii)}", names().max_version, dlpack::kMajorVersion, dlpack::kMinorVersion));
  Ref nothing = Ref::steal(PyTuple_New(0));
  if (!keywords || !nothing) return {};
  if (never_copy) {
    if (PyDict_SetItem(keywords.get(), names().copy, Py_False) < 0) return {};
    Ref capsule = Ref::steal(PyObject_Call(method, nothing.get(), keywords.get()));
    if (capsule ||
        !(lacks_keyword(method, names().copy) || lacks_keyword(method, names().max_version))) {
      return capsule;
    }
    PyErr_Clear();
    if (PyDict_DelItem(keywords.get(), names().copy) < 0) return {};
  }
  Ref capsule = Ref::steal(PyObject_Call(method, nothing.get(), keywords.get()));
  if (capsule || !lacks_keyword(method, names().max_version)) return capsule;
  PyErr_Clear();
  return Ref::steal(PyObject_CallNoArgs(method));
}

// Read (device type, device id) from __dlpack_device__.
bool ask_device(PyObject* object, dlpack::Device& device) {
  Ref method = optional_attribute(object, names().dlpack_device);
  if (!method) {
    if (!PyErr_Occurred())
      raise(PyExc_TypeError, class_name(object) + " has __dlpack__ but no __dlpack_device__");
    return false;
  }
  Ref pair = Ref::steal(PyObject_CallNoArgs(method.get()));
  if (!pair) return false;
  Ref items = Ref::steal(PySequence_Tuple(pair.get()));
  if (items && PyTuple_GET_SIZE(items.get()) == 2) {
    Ref type = Ref::steal(PyNumber_Index(PyTuple_GET_ITEM(items.get(), 0)));
    Ref id = type ? Ref::steal(PyNumber_Index(PyTuple_GET_ITEM(items.get(), 1))) : Ref();
    const long long type_value = id ? PyLong_AsLongLong(type.get()) : -1;
    const long long id_value = id && !PyErr_Occurred() ? PyLong_AsLongLong(id.get()) : -1;
    if (id && !PyErr_Occurred() && type_value == static_cast<std::int32_t>(type_value) &&
        id_value == static_cast<std::int32_t>(id_value)) {
      device = {static_cast<std::int32_t>(type_value), static_cast<std::int32_t>(id_value)};
      return true;
    }
  }
  PyErr_Clear();
  raise(PyExc_TypeError,
        "__dlpack_device__ of " + class_name(object) + " gave no pair of two small integers");
  return false;
}

// Take the struct out of a capsule, which is used up by that.
Result<ingest::Source> take_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
    return ingest::take(managed);
  }
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    PyCapsule_SetName(capsule, "used_dltensor");
    return ingest::take(managed);
  }
  return Status(
      Code::kUnsupported,
      "__dlpack__ gave no unused DLPack capsule but an object of class " + class_name(capsule));
}

// JAX's arrays never change, but its DLPack structs do not say so.
bool is_immutable(PyObject* object) {
  PyObject* jax = loaded_module(names().jax);
  Ref kind = Ref::steal(jax != nullptr ? PyObject_GetAttrString(jax, "Array") : nullptr);
  const int is_one = kind ? PyObject_IsInstance(object, kind.get()) : 0;
  if (PyErr_Occurred()) PyErr_Clear();
  return is_one == 1;
}

}  // namespace

Arrived arrive_dlpack(PyObject* object, PyObject* method, bool never_copy, Arrival& arrival) {
  dlpack::Device device{};
  if (!ask_device(object, device)) return Arrived::kError;
  if (!ingest::is_host_memory(device.type)) {
    return arrive_device_object(object, ingest::device_name(device), never_copy, arrival);
  }
  Ref capsule = call_producer(method, never_copy);
  if (!capsule) {
    if (never_copy &&
        (PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_ValueError))) {
      const std::string text = take_error_text();
      raise(PyExc_ValueError,
            "copy=False, but " + class_name(object) + " cannot share its memory: " + text);
    }
    return Arrived::kError;
  }
  Result<ingest::Source> taken = take_capsule(capsule.get());
  if (!taken.ok()) {
    raise(taken.status());
    return Arrived::kError;
  }
  auto source = std::make_unique<ingest::Source>(std::move(*taken));
  // The deleter may be Python code, which must not meet an error: it runs before one is set.
  if (never_copy && (source->flags() & dlpack::kIsCopied) != 0) {
    source.reset();
    raise(PyExc_ValueError, "copy=False, but " + class_name(object) + " made a copy for DLPack");
    return Arrived::kError;
  }
  if (source->facts().on_device) {
    const std::string where = ingest::device_name(source->device());
    source.reset();
    raise(Status(Code::kUnreachable, "the memory is on " + where +
                                         ", which __dlpack_device__ did not say; it cannot be "
                                         "reached from here"));
    return Arrived::kError;
  }
  arrival.facts = source->facts();
  arrival.layout = Layout(source->facts().view.layout);
  arrival.facts.view.layout = arrival.layout.view();
  if (is_immutable(object)) arrival.facts.view.read_only = true;
  arrival.origin = Origin::kForeign;
  arrival.fresh = (source->flags() & dlpack::kIsCopied) != 0;
  arrival.object = Ref::steal(PyCapsule_New(source.get(), kOwnerName, drop_owner));
  if (!arrival.object) return Arrived::kError;
  (void)source.release();  // the capsule owns it now
  return Arrived::kYes;
}

}  // namespace ashore::python
