// The hooks behind origins.hpp. They are called by any thread, with or without the interpreter's
// lock.
#include "origins.hpp"

#include <frameobject.h>

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "emulator.hpp"

namespace ashore::emulator::surface {
namespace {

struct Line {
  std::string file;
  int number = 0;
  auto operator<=>(const Line&) const = default;
};

struct Book {
  std::mutex mutex;  // never held while Python runs
  std::vector<std::string> foreign_prefixes;
  std::map<Line, std::uint64_t> numbers;
  std::deque<Line> lines;  // the line of number n is at n - 1
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> waits;
};
Book& book() {
  static auto& state = *new Book;
  return state;
}

bool is_foreign(std::string_view file) {
  if (file.starts_with("<frozen")) return true;
  for (const std::string& prefix : book().foreign_prefixes) {
    if (file.starts_with(prefix)) return true;
  }
  return false;
}

// The innermost line of the user's program; file is empty where there is none.
Line current_line() {
  Line result;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (file == nullptr) {
      PyErr_Clear();
    } else if (!is_foreign(file)) {
      result = {file, PyFrame_GetLineNumber(frame)};
    }
    Py_DECREF(code);
    PyFrameObject* caller = result.file.empty() ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = caller;
  }
  return result;
}

std::uint64_t current_origin() {
  // A thread that Python does not know runs no line of the user's.
  if (!Py_IsInitialized() || PyGILState_GetThisThreadState() == nullptr) return 0;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* error[3];
  PyErr_Fetch(&error[0], &error[1], &error[2]);
  Line line = current_line();
  PyErr_Restore(error[0], error[1], error[2]);
  PyGILState_Release(state);
  if (line.file.empty()) return 0;
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  const auto [entry, is_new] = all.numbers.try_emplace(line, all.lines.size() + 1);
  if (is_new) all.lines.push_back(std::move(line));
  return entry->second;
}

void note_wait(const char* what, std::uint64_t origin) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  ++all.waits[{what, origin}];
}

}  // namespace

void name_failing_lines() {
  const Object torch(PyImport_ImportModule("torch"));  // on its way in: it has its path already
  const Object path(PyObject_GetAttrString(torch.get(), "__path__"));
  const Object folder(PySequence_GetItem(path.get(), 0));
  book().foreign_prefixes = {to_string(folder.get(), "expected the folder of torch") + "/"};
  set_line_hook([] { return origin_text(current_origin()); });
}

void watch_lines(PyObject* prefixes) {
  std::vector<std::string> names;
  const Py_ssize_t count = PySequence_Size(prefixes);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Object item(PySequence_GetItem(prefixes, i));
    names.push_back(to_string(item.get(), "expected the names of folders"));
  }
  book().foreign_prefixes = std::move(names);
  set_origin_hook(&current_origin);
  set_wait_hook(&note_wait);
}

Object list_waits() {
  std::vector<std::tuple<std::string, Line, std::int64_t>> rows;
  {
    Book& all = book();
    const std::lock_guard lock(all.mutex);
    for (const auto& [key, count] : all.waits) {
      rows.emplace_back(key.first, key.second == 0 ? Line{} : all.lines[key.second - 1], count);
    }
  }
  Object list(PyList_New(0));
  for (const auto& [what, line, count] : rows) {
    const Object row = tuple(what, line.file, line.number, count);
    if (PyList_Append(list.get(), row.get()) < 0) throw PythonErrorSet();
  }
  return list;
}

std::string origin_text(std::uint64_t number) {
  Book& all = book();
  const std::lock_guard lock(all.mutex);
  if (number == 0 || number > all.lines.size()) return {};
  const Line& line = all.lines[number - 1];
  return line.file + ":" + std::to_string(line.number);
}

}  // namespace ashore::emulator::surface
