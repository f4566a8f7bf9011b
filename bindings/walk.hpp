// Walk: containers in, the same containers with converted leaves out (contract K1, K2). Used by
// every conversion.
#pragma once

#include "arrival.hpp"
#include "python.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace ashore::python {

/// Say whether the object is exactly a dict, list or tuple: the walk takes those apart by itself.
inline bool is_builtin_container(PyObject* object) {
  return PyList_CheckExact(object) || PyDict_CheckExact(object) || PyTuple_CheckExact(object);
}

/// Say whether the object is a dict, list or tuple, or of a subclass: a container, whatever
/// protocols it has besides (contract K1).
inline bool is_surely_container(PyObject* object) {
  return PyList_Check(object) || PyDict_Check(object) || PyTuple_Check(object);
}

/// One walk over nested containers. Dicts, lists and tuples are walked here; their subclasses,
/// dataclasses and registered node types are taken apart and rebuilt by ashore/_containers.py.
///
/// A container that is met twice is converted once, so the result keeps the sharing of the source;
/// one that is met inside itself is a cycle.
class Walk {
 public:
  explicit Walk() = default;
  virtual ~Walk() = default;
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// Convert a container, or give kNoArray where `object` is none. An error gets a note that says
  /// where it happened.
  Arrived run(PyObject* object, Ref& result);

 protected:
  /// Convert one leaf. kNoArray: it stays as it is.
  virtual Arrived convert(PyObject* leaf, Ref& result) = 0;

  /// Return where in the argument the walk is, such as "['batch'][0].mask"; empty at the top.
  std::string path() const;

 private:
  struct Step {
    PyObject* key;  // borrowed from the container; null for a position
    Py_ssize_t index;
    bool is_field;  // `key` is the name of a field
  };

  void remember_error_path();
  Arrived visit(PyObject* object, Ref& result);
  Arrived visit_container(PyObject* object, Ref& result);
  Arrived visit_sequence(PyObject* sequence, Ref& result);
  Arrived visit_dict(PyObject* dict, Ref& result);
  Arrived visit_parts(PyObject* parts, Ref& result);
  Arrived visit_child(PyObject* child, Step step, Ref& result);

  std::vector<Step> path_;
  std::string error_path_;
  // Containers met so far (kept alive) and what became of them; nothing while the walk is inside.
  std::unordered_map<PyObject*, std::pair<Ref, Ref>> met_;
};

}  // namespace ashore::python
