// ashore.to_image: a picture of any layout and dtype as row-major bytes, channels last (contract
// I1).
#include "functions.hpp"
#include "land.hpp"

#include "convert/image.hpp"

#include <cmath>
#include <string>

namespace ashore::python {
namespace {

enum class Channels { kAny, kFirst, kLast };

struct ImageRequest {
  Channels layout = Channels::kAny;
  bool has_range = false;
  ImageSpec spec;
};

bool equals(PyObject* text, const char* word) {
  return PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, word) == 0;
}

bool read_layout(PyObject* given, ImageRequest& request) {
  if (given == nullptr || given == Py_None) return true;
  if (equals(given, "CHW")) {
    request.layout = Channels::kFirst;
  } else if (equals(given, "HWC")) {
    request.layout = Channels::kLast;
  } else {
    raise(PyExc_ValueError, "layout= is neither 'CHW' (channels first) nor 'HWC' (channels last)");
    return false;
  }
  return true;
}

bool read_range(PyObject* given, ImageRequest& request) {
  if (given == nullptr || given == Py_None) return true;
  Ref pair = Ref::steal(PySequence_Tuple(given));
  if (pair && PyTuple_GET_SIZE(pair.get()) == 2) {
    request.spec.low = PyFloat_AsDouble(PyTuple_GET_ITEM(pair.get(), 0));
    request.spec.high = PyFloat_AsDouble(PyTuple_GET_ITEM(pair.get(), 1));
    request.has_range = true;
    const bool usable = !PyErr_Occurred() && std::isfinite(request.spec.low) &&
                        std::isfinite(request.spec.high) && request.spec.low < request.spec.high;
    if (usable) return true;
  }
  PyErr_Clear();
  raise(PyExc_ValueError, "value_range= is no pair (low, high) of finite numbers with low < high");
  return false;
}

bool read_channels(PyObject* given, ImageRequest& request) {
  if (given == nullptr || equals(given, "rgb")) return true;
  if (equals(given, "bgr")) {
    request.spec.swap_red_blue = true;
    return true;
  }
  raise(PyExc_ValueError, "channels= is neither 'rgb' nor 'bgr'");
  return false;
}

bool is_channel_count(std::int64_t length) { return length == 1 || length == 3 || length == 4; }

// Decide which axis holds the channels. Returns false with ValueError set.
bool choose_channels(LayoutView source, ImageRequest& request) {
  const int ndim = source.ndim;
  if (ndim == 2) return true;
  if (ndim != 3 && ndim != 4) {
    raise(PyExc_ValueError, "an image has 2, 3 or 4 axes (HW, CHW or HWC, a batch of those), not " +
                                std::to_string(ndim));
    return false;
  }
  const std::int64_t first = source.shape[ndim - 3];
  const std::int64_t last = source.shape[ndim - 1];
  const bool fits_first = is_channel_count(first);
  const bool fits_last = is_channel_count(last);
  if (request.layout == Channels::kAny) {
    if (fits_first && fits_last) {
      raise(PyExc_ValueError, "both ends of the shape could be channels (" + std::to_string(first) +
                                  " and " + std::to_string(last) +
                                  "); pass layout='CHW' or layout='HWC'");
      return false;
    }
    request.layout = fits_first ? Channels::kFirst : Channels::kLast;
  }
  const std::int64_t channels = request.layout == Channels::kFirst ? first : last;
  if (is_channel_count(channels)) return true;
  raise(PyExc_ValueError, "an image has 1, 3 or 4 channels, not " + std::to_string(channels));
  return false;
}

// The source's axes as image, row, column and channel; missing ones have length 1.
void order_axes(LayoutView source, Channels channels, Layout& out) {
  const int ndim = source.ndim;
  const int image_axis = ndim == 4 ? 0 : -1;
  const bool first = channels == Channels::kFirst;
  const int row_axis = ndim == 2 ? 0 : ndim - (first ? 2 : 3);
  const int channel_axis = ndim == 2 ? -1 : ndim - (first ? 3 : 1);
  const int axes[4] = {image_axis, row_axis, row_axis + 1, channel_axis};
  out.ndim = 4;
  for (int i = 0; i < 4; ++i) {
    out.shape[i] = axes[i] < 0 ? 1 : source.shape[axes[i]];
    out.strides_bytes[i] = axes[i] < 0 ? 0 : source.strides_bytes[axes[i]];
  }
}

// Whether the dtype is an image's, and scaled how.
bool choose_scale(DType dtype, ImageRequest& request) {
  const DTypeKind kind = info(dtype).kind;
  if (kind == DTypeKind::kFloat || request.has_range) return true;
  if (dtype == DType::kUInt8) {
    request.spec.scale = false;
    return true;
  }
  if (kind == DTypeKind::kComplex) return true;  // refused by the core, by name
  raise(PyExc_ValueError, "an image of dtype " + std::string(name(dtype)) +
                              " has no range of its own; pass value_range=(low, high)");
  return false;
}

PyObject* render(const Arrival& arrival, ImageRequest request) {
  const ArrayView& source = arrival.facts.view;
  if (!choose_channels(source.layout, request) || !choose_scale(source.dtype, request))
    return nullptr;
  Layout axes;
  order_axes(source.layout, request.layout, axes);
  ArrayView view = source;
  view.layout = axes.view();
  LayoutView shape = axes.view();
  if (source.layout.ndim != 4) {  // no batch: (H, W, C)
    shape = {3, axes.shape + 1, axes.strides_bytes + 1};
  }
  Layout layout;
  ArrayView destination;
  Ref image =
      Ref::steal(new_array(shape, Order::kRowMajor, DType::kUInt8, false, layout, destination));
  if (!image) return nullptr;
  Status status;
  {
    const WithoutGil released(static_cast<std::size_t>(count_elems(shape)));
    status = ashore::to_image(view, request.spec, static_cast<std::uint8_t*>(destination.data));
  }
  return status.ok() ? image.release() : raise(status);
}

// Bring whatever arrived into plain host memory: device tensors and those with conj or neg bits go
// through to_numpy.
PyObject* render_arrival(Arrival& arrival, const ImageRequest& request) {
  if (arrival.opaque) {
    return raise(
        PyExc_TypeError,
        "an array of dtype " +
            dtype_text(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(arrival.object.get()))) +
            " is no image");
  }
  const SourceFacts& facts = arrival.facts;
  if (!facts.on_device && !facts.negated && !facts.conjugated) return render(arrival, request);
  Ref host = Ref::steal(land_numpy(arrival, NumpyRequest{}));
  Arrival landed;
  if (!host || arrive_ndarray(host.get(), landed) != Arrived::kYes) return nullptr;
  return render(landed, request);
}

}  // namespace

PyObject* to_image(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* keyword_names) {
  if (!load_numpy()) return nullptr;
  PyObject *object = nullptr, *layout = nullptr, *value_range = nullptr, *channels = nullptr;
  PyObject** positional[] = {&object};
  const Keyword keywords[] = {{names().layout, &layout},
                              {names().value_range, &value_range},
                              {names().channels, &channels}};
  ImageRequest request;
  if (!read_arguments("to_image", arguments, count, keyword_names, positional, keywords) ||
      !read_layout(layout, request) || !read_range(value_range, request) ||
      !read_channels(channels, request)) {
    return nullptr;
  }
  Arrival arrival;
  Arrived arrived = arrive(object, false, arrival);
  if (arrived == Arrived::kNoArray) arrived = arrive_numbers(object, nullptr, arrival);
  if (arrived == Arrived::kNoArray) return raise_no_array(object);
  return arrived == Arrived::kYes ? render_arrival(arrival, request) : nullptr;
}

}  // namespace ashore::python
