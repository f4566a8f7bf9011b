// ashore.plan: what to_numpy would do with each array of the argument, as rows for ashore/_plan.py.
// Moves nothing.
#include "functions.hpp"
#include "land.hpp"
#include "walk.hpp"

#include "convert/convert.hpp"

#include <string>

namespace ashore::python {
namespace {

// What happens on the way, in words that a reader of the table knows.
Ref steps_of(const Arrival& arrival, const Plan& plan) {
  const struct {
    std::uint32_t reasons;
    const char* word;
  } rows[] = {{kConjugate | kNegate, "resolve"},
              {kCast, "cast"},
              {kByteOrder, "swap bytes"},
              {kReorder, "reorder"}};
  Ref steps = Ref::steal(PyList_New(0));
  if (!steps) return {};
  const auto add = [&steps](const char* word) {
    Ref text = Ref::steal(PyUnicode_FromString(word));
    return text && PyList_Append(steps.get(), text.get()) == 0;
  };
  if (arrival.facts.requires_grad && !add("detach")) return {};
  for (const auto& row : rows) {
    if ((plan.reasons & row.reasons) != 0 && !add(row.word)) return {};
  }
  return Ref::steal(PyList_AsTuple(steps.get()));
}

const char* action_of(const Arrival& arrival, const Plan& plan) {
  if (arrival.fetched || plan.path == Path::kFramework) return "framework";
  if (plan.path == Path::kHostCopy) return "copy";
  return arrival.fresh ? "new" : "share";
}

std::string why(const Arrival& arrival, const Plan& plan) {
  if (arrival.fetched) return "memory on a device";
  if (plan.reasons != 0) return describe_reasons(plan);
  if (arrival.fresh) return "numbers without an array yet";
  if (arrival.facts.view.read_only) return "nothing has to change; read-only as its source";
  return plan.read_only ? "nothing has to change; read-only, for elements overlap"
                        : "nothing has to change";
}

// How a host copy is carried out; empty where there is none.
std::string kernels_of(const Arrival& arrival, const Plan& plan) {
  if (plan.path != Path::kHostCopy) return {};
  const SourceFacts& facts = arrival.facts;
  Layout layout;
  compact_layout(facts.view.layout, plan.order, static_cast<std::int64_t>(size_bytes(plan.to)),
                 layout);
  const ArrayView destination{nullptr, plan.to, plan.to_byte_swapped, false, layout.view()};
  return describe_kernels(facts.view, destination, {facts.conjugated, facts.negated});
}

class PlanWalk final : public Walk {
 public:
  PlanWalk(const NumpyRequest& request, PyObject* rows) : request_(request), rows_(rows) {}

  Arrived plan_argument(PyObject* object) {
    Ref same;
    Arrived arrived = Arrived::kNoArray;
    if (!is_surely_container(object)) arrived = convert(object, same);
    if (arrived == Arrived::kNoArray) {
      Arrival arrival;
      arrived = arrive_numbers(object, nullptr, arrival);
      if (arrived == Arrived::kYes) return add_row(arrival);
    }
    return arrived == Arrived::kNoArray ? run(object, same) : arrived;
  }

 private:
  Arrived convert(PyObject* leaf, Ref& result) override {
    Arrival arrival;
    const Arrived arrived = arrive(leaf, request_.never_copies(), arrival);
    if (arrived != Arrived::kYes) return arrived;
    if (arrival.origin == Origin::kTensor) {
      const int requires_grad = loaded_torch()->facts.requires_grad(leaf);
      if (requires_grad < 0) PyErr_Clear();  // a subclass that does not say
      arrival.facts.requires_grad = requires_grad == 1;
    }
    result = Ref::borrow(leaf);
    return add_row(arrival);
  }

  Arrived add_row(Arrival& arrival) {
    Ref row = arrival.opaque ? opaque_row(arrival) : row_of(arrival);
    return row && PyList_Append(rows_, row.get()) == 0 ? Arrived::kYes : Arrived::kError;
  }

  // (path, action, steps, shape, from dtype, to dtype, bytes, copied bytes, read-only, kernels,
  // why)
  Ref row_of(Arrival& arrival) {
    Options options = request_.options;
    if (!settle_options(arrival, options) || !check_numpy_dtype(arrival, options)) return {};
    const Result<Plan> plan = make_plan(arrival.facts, options, numpy_target(arrival));
    if (!plan.ok()) {
      raise(plan.status());
      return {};
    }
    const LayoutView layout = arrival.facts.view.layout;
    Ref shape = Ref::steal(
        PyArray_IntTupleFromIntp(layout.ndim, reinterpret_cast<const npy_intp*>(layout.shape)));
    Ref steps = steps_of(arrival, *plan);
    if (!shape || !steps) return {};
    const std::string from(name(plan->from)), to(name(plan->to));
    return Ref::steal(Py_BuildValue(
        "ssOOssKKNss", path().c_str(), action_of(arrival, *plan), steps.get(), shape.get(),
        from.c_str(), to.c_str(), static_cast<unsigned long long>(plan->bytes),
        static_cast<unsigned long long>(plan->copied_bytes), PyBool_FromLong(plan->read_only),
        kernels_of(arrival, *plan).c_str(), why(arrival, *plan).c_str()));
  }

  Ref opaque_row(const Arrival& arrival) {
    auto* array = reinterpret_cast<PyArrayObject*>(arrival.object.get());
    const bool copies =
        request_.options.copy == Copy::kAlways ||
        (request_.options.order == Order::kRowMajor && !PyArray_IS_C_CONTIGUOUS(array));
    const auto bytes = static_cast<unsigned long long>(PyArray_NBYTES(array));
    Ref shape = Ref::steal(PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array)));
    if (!shape) return {};
    const std::string dtype = dtype_text(PyArray_DESCR(array));
    return Ref::steal(
        Py_BuildValue("ss()OssKKNss", path().c_str(), copies ? "copy" : "share", shape.get(),
                      dtype.c_str(), dtype.c_str(), bytes, copies ? bytes : 0ull,
                      PyBool_FromLong(!copies && !PyArray_ISWRITEABLE(array)), "",
                      copies ? "a copy or another order was asked for" : "nothing has to change"));
  }

  const NumpyRequest& request_;
  PyObject* rows_;
};

}  // namespace

PyObject* plan_entries(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                       PyObject* keyword_names) {
  if (!load_numpy()) return nullptr;
  NumpyRequest request;
  PyObject *object = nullptr, *copy = nullptr, *dtype = nullptr, *order = nullptr;
  PyObject** positional[] = {&object};
  const Keyword keywords[] = {
      {names().copy, &copy}, {names().dtype, &dtype}, {names().order, &order}};
  if (!read_arguments("plan", arguments, count, keyword_names, positional, keywords) ||
      !read_copy(copy, request.options.copy) || !read_order(order, request.options.order) ||
      !read_numpy_dtype(dtype, request)) {
    return nullptr;
  }
  Ref rows = Ref::steal(PyList_New(0));
  if (!rows) return nullptr;
  PlanWalk walk(request, rows.get());
  const Arrived arrived = walk.plan_argument(object);
  if (arrived == Arrived::kNoArray) return raise_no_array(object);
  return arrived == Arrived::kYes ? rows.release() : nullptr;
}

}  // namespace ashore::python
