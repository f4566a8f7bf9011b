// Implements numpy_bridge.hpp; the one place that imports NumPy and ml_dtypes.
#define ASHORE_NUMPY_BRIDGE_CPP
#include "numpy_bridge.hpp"

#include <array>
#include <type_traits>

namespace ashore::python {
namespace {

// NumPy's dtype objects by DType, native byte order; filled on first use and kept for good.
std::array<PyArray_Descr*, kDTypeCount> g_descrs{};
bool g_ml_dtypes_known = false;

constexpr DType kMlDtypes[] = {
    DType::kBFloat16,      DType::kFloat8E3M4,     DType::kFloat8E4M3,   DType::kFloat8E4M3B11FNUZ,
    DType::kFloat8E4M3FN,  DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,   DType::kFloat8E5M2FNUZ,
    DType::kFloat8E8M0FNU, DType::kFloat6E2M3FN,   DType::kFloat6E3M2FN, DType::kFloat4E2M1FN,
    DType::kInt1,          DType::kInt2,           DType::kInt4,         DType::kUInt1,
    DType::kUInt2,         DType::kUInt4,          DType::kComplex32,    DType::kBComplex32,
};

bool is_ml_dtype(DType dtype) {
  for (DType known : kMlDtypes) {
    if (known == dtype) return true;
  }
  return false;
}

int builtin_type_number(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return NPY_BOOL;
    case DType::kInt8:
      return NPY_INT8;
    case DType::kInt16:
      return NPY_INT16;
    case DType::kInt32:
      return NPY_INT32;
    case DType::kInt64:
      return NPY_INT64;
    case DType::kUInt8:
      return NPY_UINT8;
    case DType::kUInt16:
      return NPY_UINT16;
    case DType::kUInt32:
      return NPY_UINT32;
    case DType::kUInt64:
      return NPY_UINT64;
    case DType::kFloat16:
      return NPY_HALF;
    case DType::kFloat32:
      return NPY_FLOAT;
    case DType::kFloat64:
      return NPY_DOUBLE;
    case DType::kLongDouble:
      return NPY_LONGDOUBLE;
    case DType::kComplex64:
      return NPY_CFLOAT;
    case DType::kComplex128:
      return NPY_CDOUBLE;
    case DType::kComplexLongDouble:
      return NPY_CLONGDOUBLE;
    default:
      return -1;
  }
}

// Look up ml_dtypes' types; those that the installed version lacks stay null.
bool learn_ml_dtypes(PyObject* module) {
  for (DType dtype : kMlDtypes) {
    const std::string text(name(dtype));
    Ref type = Ref::steal(PyObject_GetAttrString(module, text.c_str()));
    if (!type) {
      PyErr_Clear();
      continue;
    }
    PyArray_Descr* descr = nullptr;
    if (PyArray_DescrConverter(type.get(), &descr) == NPY_FAIL) return false;
    g_descrs[static_cast<std::size_t>(dtype)] = descr;
  }
  g_ml_dtypes_known = true;
  return true;
}

// Make ml_dtypes' types known if somebody has imported the package.
void notice_ml_dtypes() {
  if (g_ml_dtypes_known) return;
  PyObject* module = loaded_module(names().ml_dtypes);
  if (module != nullptr && !learn_ml_dtypes(module)) PyErr_Clear();
}

// Say whether a dtype's text has "a", the old name of bytes, as in "a5": NumPy warns about it.
bool names_old_bytes(std::string_view text) {
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  for (std::size_t i = text.find('a'); i != text.npos; i = text.find('a', i + 1)) {
    const bool starts = i == 0 || !is_letter(text[i - 1]);
    const bool ends = i + 1 == text.size() || !is_letter(text[i + 1]);
    if (starts && ends) return true;
  }
  return false;
}

template <typename T>
constexpr DType integer_of() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? DType::kInt8 : DType::kUInt8;
    case 2:
      return is_signed ? DType::kInt16 : DType::kUInt16;
    case 4:
      return is_signed ? DType::kInt32 : DType::kUInt32;
    default:
      return is_signed ? DType::kInt64 : DType::kUInt64;
  }
}

std::optional<DType> builtin_dtype(int type_number) {
  switch (type_number) {
    case NPY_BOOL:
      return DType::kBool;
    case NPY_BYTE:
      return integer_of<npy_byte>();
    case NPY_UBYTE:
      return integer_of<npy_ubyte>();
    case NPY_SHORT:
      return integer_of<npy_short>();
    case NPY_USHORT:
      return integer_of<npy_ushort>();
    case NPY_INT:
      return integer_of<npy_int>();
    case NPY_UINT:
      return integer_of<npy_uint>();
    case NPY_LONG:
      return integer_of<npy_long>();
    case NPY_ULONG:
      return integer_of<npy_ulong>();
    case NPY_LONGLONG:
      return integer_of<npy_longlong>();
    case NPY_ULONGLONG:
      return integer_of<npy_ulonglong>();
    case NPY_HALF:
      return DType::kFloat16;
    case NPY_FLOAT:
      return DType::kFloat32;
    case NPY_DOUBLE:
      return DType::kFloat64;
    case NPY_LONGDOUBLE:
      return DType::kLongDouble;
    case NPY_CFLOAT:
      return DType::kComplex64;
    case NPY_CDOUBLE:
      return DType::kComplex128;
    case NPY_CLONGDOUBLE:
      return DType::kComplexLongDouble;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool load_numpy() {
  if (PyArray_API != nullptr) return true;
  return _import_array() == 0;
}

std::optional<NumpyType> numpy_type(PyArray_Descr* descr) {
  if (const auto builtin = builtin_dtype(descr->type_num)) {
    return NumpyType{*builtin, PyArray_ISNBO(descr->byteorder) == 0};
  }
  if (descr->type_num < NPY_USERDEF) return std::nullopt;
  notice_ml_dtypes();
  for (DType dtype : kMlDtypes) {
    PyArray_Descr* known = g_descrs[static_cast<std::size_t>(dtype)];
    if (known != nullptr && known->type_num == descr->type_num) {
      return NumpyType{dtype, PyArray_ISNBO(descr->byteorder) == 0};
    }
  }
  return std::nullopt;
}

PyArray_Descr* descr_for(DType dtype, bool byte_swapped) {
  PyArray_Descr*& known = g_descrs[static_cast<std::size_t>(dtype)];
  if (known == nullptr) {
    if (const int number = builtin_type_number(dtype); number >= 0) {
      known = PyArray_DescrFromType(number);
    } else if (is_ml_dtype(dtype)) {
      Ref module = Ref::steal(PyImport_Import(names().ml_dtypes));
      if (!module) {
        PyErr_Clear();
        raise(PyExc_TypeError,
              std::string(name(dtype)) +
                  " needs the package ml_dtypes (pip install ml_dtypes); without it pass "
                  "dtype='float32' or another NumPy dtype");
        return nullptr;
      }
      if (!learn_ml_dtypes(module.get())) return nullptr;
    }
    if (known == nullptr) {
      raise(PyExc_TypeError,
            "NumPy has no dtype for " + std::string(name(dtype)) + "; pass a dtype= that it has");
      return nullptr;
    }
  }
  if (byte_swapped) return PyArray_DescrNewByteorder(known, NPY_SWAP);
  Py_INCREF(known);
  return known;
}

bool knows_descr(DType dtype) {
  return g_descrs[static_cast<std::size_t>(dtype)] != nullptr || builtin_type_number(dtype) >= 0;
}

PyArray_Descr* parse_numpy_dtype(PyObject* given) {
  if (PyArray_DescrCheck(given)) {
    Py_INCREF(given);
    return reinterpret_cast<PyArray_Descr*>(given);
  }
  if (PyUnicode_Check(given)) {
    const char* text = PyUnicode_AsUTF8(given);
    if (text == nullptr) PyErr_Clear();  // no name of anything; NumPy says so
    const auto dtype = text != nullptr ? dtype_from_name(text) : std::nullopt;
    if (dtype && is_ml_dtype(*dtype)) return descr_for(*dtype, false);
    if (text != nullptr && names_old_bytes(text)) {
      raise(PyExc_TypeError, std::string("dtype='") + text +
                                 "' is an old name of bytes, to which no number converts");
      return nullptr;
    }
  }
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(given, &descr) == NPY_FAIL) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_SyntaxError))
      PyErr_Clear();
    if (!PyErr_Occurred()) {
      Ref text = Ref::steal(PyObject_Repr(given));
      const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
      if (shown == nullptr) return nullptr;
      raise(PyExc_TypeError,
            std::string("dtype=") + shown + " is no dtype that NumPy or ml_dtypes knows");
    }
    return nullptr;
  }
  return descr;
}

void view_array(PyArrayObject* array, NumpyType type, Layout& layout, ArrayView& view) {
  layout = Layout(layout_of(array));
  view = ArrayView{PyArray_DATA(array), type.dtype, type.byte_swapped, !PyArray_ISWRITEABLE(array),
                   layout.view()};
}

PyObject* wrap_memory(const ArrayView& view, bool read_only, Ref base) {
  PyArray_Descr* descr = descr_for(view.dtype, view.byte_swapped);
  if (descr == nullptr) return nullptr;
  // A null pointer (an array without elements) would make NumPy allocate; any address serves.
  static char no_elements[16];
  void* data = view.data != nullptr ? view.data : no_elements;
  PyObject* array = PyArray_NewFromDescr(
      &PyArray_Type, descr, view.layout.ndim,
      reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(view.layout.shape)),
      reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(view.layout.strides_bytes)), data,
      read_only ? 0 : NPY_ARRAY_WRITEABLE, nullptr);
  if (array == nullptr) return nullptr;
  if (base && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), base.release()) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

PyObject* new_array(LayoutView shape, Order order, DType dtype, bool byte_swapped, Layout& layout,
                    ArrayView& view) {
  PyArray_Descr* descr = descr_for(dtype, byte_swapped);
  if (descr == nullptr) return nullptr;
  compact_layout(shape, order, static_cast<std::int64_t>(size_bytes(dtype)), layout);
  PyObject* array = PyArray_NewFromDescr(
      &PyArray_Type, descr, layout.ndim, reinterpret_cast<npy_intp*>(layout.shape),
      reinterpret_cast<npy_intp*>(layout.strides_bytes), nullptr, 0, nullptr);
  if (array == nullptr) return nullptr;
  view = ArrayView{PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), dtype, byte_swapped,
                   false, layout.view()};
  return array;
}

std::string dtype_text(PyArray_Descr* descr) {
  Ref text = Ref::steal(PyObject_Str(reinterpret_cast<PyObject*>(descr)));
  const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (shown == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return shown;
}

bool has_object_items(PyArray_Descr* descr) {
  return descr->type_num == NPY_OBJECT ||
         (descr->type_num == NPY_VOID && PyDataType_REFCHK(descr) != 0);
}

}  // namespace ashore::python
