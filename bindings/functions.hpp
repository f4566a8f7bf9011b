// The functions of ashore._core that speak CPython's calling convention themselves, for the
// module's table.
#pragma once

#include "python.hpp"

namespace ashore::python {

// Vectorcall-style functions; their Python signatures stand in module.cpp and in docs of the
// package.
PyObject* to_numpy(PyObject* module, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* keyword_names);
PyObject* tensors_to_numpy(PyObject* module, PyObject* const* arguments, Py_ssize_t count,
                           PyObject* keyword_names);
PyObject* to_torch(PyObject* module, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* keyword_names);
PyObject* to_image(PyObject* module, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* keyword_names);
PyObject* plan_entries(PyObject* module, PyObject* const* arguments, Py_ssize_t count,
                       PyObject* keyword_names);

}  // namespace ashore::python
