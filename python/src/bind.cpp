// Bound functions: what help() says of them, and their calls.

#include "bind.h"

#include <algorithm>

namespace tenon::python {
namespace {

/// All parameters, with names for those that have none; "*args" and "**kwargs" are types.
Parameters parameters_of(const std::string& given, bool has_self, const std::vector<std::string>& types) {
  std::string signature = has_self ? "self" : "";
  if (!given.empty()) signature += (has_self ? ", " : "") + given;
  const auto starred = [&](const char* stars) { return std::ranges::count(types, stars) > 0; };
  auto named = static_cast<size_t>(
      std::ranges::count_if(parts_of(signature), [](std::string_view part) { return part != "*"; }));
  for (; named + starred("*") + starred("**") < types.size(); ++named)
    signature += fmt::format("{}arg{}", signature.empty() ? "" : ", ", named);
  return Parameters(signature, starred("*"), starred("**"));
}

}  // namespace

Head::Head(const std::string& text) : name(text.substr(0, text.find('('))) {
  if (name.size() < text.size()) signature = text.substr(name.size() + 1, text.size() - name.size() - 2);
}

BoundFunction::BoundFunction(const Head& head, std::string in_messages, bool has_self, const char* help,
                             const std::vector<std::string>& types, const std::string& result)
    : shown_(head.name),
      name_(std::move(in_messages)),
      has_self_(has_self),
      parameters_(parameters_of(head.signature, has_self, types)) {
  std::vector<std::string> shown;
  const bool is_constructor = shown_ == "__init__";
  if (is_constructor) shown.emplace_back("self");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].starts_with('*')) {
      shown.push_back(types[i] == "*" ? "*args" : "**kwargs");
      continue;
    }
    shown.push_back(fmt::format("{}: {}", parameters_.name(i), types[i]));
    if (PyObject* fallback = parameters_.fallback(i))
      shown.back() += " = " + py::cast<std::string>(py::repr(py::handle(fallback)));
  }
  doc_ = fmt::format("{}({}) -> {}\n\n{}", shown_, fmt::join(shown, ", "), is_constructor ? "None" : result, help);
}

py::object BoundFunction::object(const std::shared_ptr<BoundFunction>& self, const py::object& module) {
  self->method_ = {self->shown_.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call)),
                   METH_FASTCALL | METH_KEYWORDS, self->doc_.c_str()};
  auto* kept = new std::shared_ptr<BoundFunction>(self);
  const py::capsule capsule(kept, [](void* held) { delete static_cast<std::shared_ptr<BoundFunction>*>(held); });
  return owned(PyCFunction_NewEx(&self->method_, capsule.ptr(), module.ptr()));
}

void BoundFunction::rethrow(const py::builtin_exception& error, size_t argument) const {
  if (argument >= parameters_.size()) throw;
  rethrow_naming(error, name_.c_str(), parameters_.name(argument));
}

PyObject* BoundFunction::call(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const BoundFunction& self =
      **static_cast<std::shared_ptr<BoundFunction>*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  const Py_ssize_t own = self.has_self_ && count > 0 ? 1 : 0;
  try {
    turn::await();
    Slots slots;
    Parameters::Rest rest;
    self.parameters_.place(self.name_.c_str(), own ? args[0] : nullptr, args + own, static_cast<size_t>(count - own),
                           names, slots, rest);
    return self.run(slots).release().ptr();
  } catch (const py::cast_error&) {  // inside of an argument that could be anything
    std::vector<std::string> given;
    for (Py_ssize_t i = own; i < count + (names ? PyTuple_GET_SIZE(names) : 0); ++i)
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
