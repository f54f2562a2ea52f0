// Arguments of bound functions put in their places, and what is said of those that do not fit.

#include "bind.h"

#include <algorithm>

namespace tenon::python {

void BoundFunction::complete(const std::vector<std::string>& types, const std::string& result) {
  std::vector<std::string> shown;
  if (shown_ == "__init__") shown.emplace_back("self");
  if (has_self_) parameters_.insert(parameters_.begin(), {"self", types[0], {}, false});
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].starts_with('*')) {
      (types[i] == "*" ? takes_rest_ : takes_keywords_) = true;
      shown.push_back(types[i] + (types[i] == "*" ? "args" : "kwargs"));
      continue;
    }
    if (i == parameters_.size()) parameters_.push_back({fmt::format("arg{}", i), "", {}, false});
    Parameter& one = parameters_[i];
    one.type = types[i];
    const std::string fallback =
        one.fallback ? fmt::format(" = {}", py::cast<std::string>(py::repr(one.fallback))) : "";
    shown.push_back(fmt::format("{}: {}{}", one.name, one.type, fallback));
  }
  doc_ =
      fmt::format("{}({}) -> {}\n\n{}", shown_, fmt::join(shown, ", "), shown_ == "__init__" ? "None" : result, doc_);
}

py::object BoundFunction::object(const std::shared_ptr<BoundFunction>& self, const py::object& module) {
  self->method_ = {self->shown_.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call)),
                   METH_FASTCALL | METH_KEYWORDS, self->doc_.c_str()};
  auto* kept = new std::shared_ptr<BoundFunction>(self);
  const py::capsule capsule(kept, [](void* held) { delete static_cast<std::shared_ptr<BoundFunction>*>(held); });
  return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&self->method_, capsule.ptr(), module.ptr()));
}

void BoundFunction::place(std::span<PyObject* const> positional, PyObject* names, PyObject* const* named, Slots& slots,
                          std::array<py::object, 2>& rest) const {
  const size_t count = parameters_.size(), self = has_self_ ? 1 : 0;
  const auto plain = static_cast<size_t>(
      std::ranges::find_if(parameters_, [](const Parameter& one) { return one.is_by_name; }) - parameters_.begin());
  const size_t taken = std::min(positional.size(), plain);
  for (size_t i = 0; i < count; ++i) slots[i] = i < taken ? positional[i] : nullptr;
  if (takes_rest_) {
    rest[0] = py::tuple(positional.size() - taken);
    for (size_t i = taken; i < positional.size(); ++i)
      PyTuple_SET_ITEM(rest[0].ptr(), static_cast<Py_ssize_t>(i - taken), Py_NewRef(positional[i]));
    slots[count] = rest[0].ptr();
  } else if (taken < positional.size()) {
    throw_type_error(
        fmt::format("{}() takes at most {} arguments, got {}", name_, plain - self, positional.size() - self));
  }
  if (takes_keywords_) {
    rest[1] = py::dict();
    slots[count + (takes_rest_ ? 1 : 0)] = rest[1].ptr();
  }
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    size_t at = self;
    while (at < count && PyUnicode_CompareWithASCIIString(name, parameters_[at].name.c_str()) != 0) ++at;
    if (at == count && takes_keywords_) {
      if (PyDict_SetItem(rest[1].ptr(), name, named[k]) != 0) throw py::error_already_set();
      continue;
    }
    if (at == count) {
      std::vector<std::string_view> known;
      for (size_t i = self; i < count; ++i) known.push_back(parameters_[i].name);
      throw_type_error(fmt::format("{}() has no argument '{}'; it has {}", name_, PyUnicode_AsUTF8(name),
                                   known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    if (slots[at]) throw_type_error(fmt::format("{}() is given its argument '{}' twice", name_, parameters_[at].name));
    slots[at] = named[k];
  }
  for (size_t i = 0; i < count; ++i) {
    if (!slots[i]) slots[i] = parameters_[i].fallback.ptr();
    if (!slots[i]) throw_type_error(fmt::format("{}() lacks its argument '{}'", name_, parameters_[i].name));
  }
}

void BoundFunction::rethrow(const py::builtin_exception& error, size_t argument) const {
  if (argument >= parameters_.size()) throw;
  rethrow_naming(error, name_.c_str(), parameters_[argument].name.c_str());
}

PyObject* BoundFunction::call(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const BoundFunction& self =
      **static_cast<std::shared_ptr<BoundFunction>*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  try {
    turn::await();
    Slots slots;
    std::array<py::object, 2> rest;
    self.place({args, static_cast<size_t>(count)}, names, args + count, slots, rest);
    return self.run(slots).release().ptr();
  } catch (const py::cast_error&) {  // inside of an argument that could be anything
    std::vector<std::string> given;
    for (Py_ssize_t i = self.has_self_ ? 1 : 0; i < count + (names ? PyTuple_GET_SIZE(names) : 0); ++i)
      given.push_back(type_name_of(args[i]));
    const std::string shown = self.doc_.substr(self.shown_.size(), self.doc_.find(" -> ") - self.shown_.size());
    PyErr_SetString(PyExc_TypeError,
                    fmt::format("{}() takes {}, not ({})", self.name_, shown, fmt::join(given, ", ")).c_str());
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

}  // namespace tenon::python
