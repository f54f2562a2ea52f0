// Signatures taken apart, and arguments put in their places.

#include "call.h"

#include <pybind11/eval.h>

#include <algorithm>
#include <cstdlib>

#include "functions.h"

namespace tenon::python {
namespace {

// None, True, False, numbers, 'texts', dtypes, and tuples and lists of numbers: all that defaults are.
PyObject* literal(std::string_view text) {
  if (text == "None") return Py_NewRef(Py_None);
  if (text == "True") return Py_NewRef(Py_True);
  if (text == "False") return Py_NewRef(Py_False);
  if (text.starts_with("tenon."))
    return dtype_object(*dtype_of_object(py::str(std::string(text.substr(6))).ptr())).release().ptr();
  const std::string number(text);
  if (text.find_first_of("([{") == 0) return py::eval(number).release().ptr();
  if (text.front() == '\'')
    return PyUnicode_FromStringAndSize(text.data() + 1, static_cast<Py_ssize_t>(text.size()) - 2);
  if (number.find_first_of(".e") != std::string::npos) return PyFloat_FromDouble(std::strtod(number.c_str(), nullptr));
  return PyLong_FromLongLong(std::strtoll(number.c_str(), nullptr, 10));
}

// Names of arguments, and what numpy and PyTorch call those.
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"dim", " axis "},
    {"keepdim", " keepdims "},
    {"x", " input self "},
    {"a", " input mat1 mat vec1 batch1 tensor1 x1 "},
    {"b", " other exponent mat2 vec vec2 batch2 tensor tensor2 x2 "},
    {"start", " input "},
    {"values", " input "},
    {"probabilities", " input "},
    {"weights", " input "},
    {"low", " from "},
    {"high", " to "},
    {"index", " tensor "},
    {"x", " tensor "},
    {"source", " src value "},
    {"sorted_sequence", " boundaries "},
    {"split_size", " split_size_or_sections "}};

}  // namespace

std::vector<std::string_view> parts_of(std::string_view signature) {
  std::vector<std::string_view> parts;
  while (!signature.empty()) {
    const size_t comma = signature.find(", ");
    parts.push_back(signature.substr(0, comma));
    signature = comma == std::string_view::npos ? std::string_view() : signature.substr(comma + 2);
  }
  return parts;
}

Parameters::Parameters(std::string_view signature, bool takes_rest, bool takes_keywords)
    : takes_rest_(takes_rest), takes_keywords_(takes_keywords) {
  for (std::string_view part : parts_of(signature)) {
    if (part == "*") {
      by_name_ = size_;
      continue;
    }
    if (part.front() == '*') {
      starred_ = size_;
      part.remove_prefix(1);
    }
    const size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    names_[size_] = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    PyUnicode_InternInPlace(&names_[size_]);
    if (equals != std::string_view::npos) defaults_[size_] = literal(part.substr(equals + 1));
    ++size_;
  }
  by_name_ = std::min(by_name_, size_);
}

size_t Parameters::find(PyObject* name) const {
  size_t found = 0;
  while (found < size_ && names_[found] != name) ++found;
  if (found < size_) return found;
  const auto called = [this](const char* text) {
    size_t at = 0;
    while (at < size_ && PyUnicode_CompareWithASCIIString(names_[at], text) != 0) ++at;
    return at;
  };
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) throw py::error_already_set();
  found = called(text);  // not interned, perhaps
  const std::string padded = fmt::format(" {} ", text);
  for (const auto& [ours, others] : kOtherNames) {
    if (found == size_ && std::string_view(others).find(padded) != std::string_view::npos) found = called(ours);
  }
  return found;
}

void Parameters::throw_unknown(const char* function, const char* name, size_t skipped) const {
  std::vector<std::string_view> known;
  for (size_t i = skipped; i < size_; ++i) {
    const std::string_view one = this->name(i);
    if (one != "size_average" && one != "reduce") known.push_back(one);  // words of PyTorch 0.4
  }
  throw_type_error(fmt::format("{}() has no argument '{}'; it has {}", function, name,
                               known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

void Parameters::place(const char* function, PyObject* first, PyObject* const* args, size_t positional,
                       PyObject* keywords, Slots& slots, Rest& rest) const {
  for (size_t i = 0; i < size_; ++i) slots[i] = defaults_[i];
  size_t at = 0;
  if (first) slots[at++] = first;
  const size_t plain = std::min({positional + at, starred_, by_name_});
  size_t taken = 0;
  for (; at < plain; ++at) slots[at] = args[taken++];
  const auto others = [&] {
    py::tuple tuple(positional - taken);
    for (size_t i = taken; i < positional; ++i)
      PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i - taken), Py_NewRef(args[i]));
    return rest[0] = tuple;
  };
  if (takes_rest_) {
    slots[size_] = others().ptr();
  } else if (taken < positional && starred_ < kMost) {
    slots[starred_] = positional - taken == 1 ? args[taken] : others().ptr();
  } else if (taken < positional) {
    throw_type_error(
        fmt::format("{}() takes at most {} arguments, got {}", function, by_name_ - (first ? 1 : 0), positional));
  }
  if (takes_keywords_) slots[size_ + (takes_rest_ ? 1 : 0)] = (rest[1] = py::dict()).ptr();
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject *name = PyTuple_GET_ITEM(keywords, k), *value = args[positional + static_cast<size_t>(k)];
    const size_t found = find(name);
    if (found == size_ && takes_keywords_) {
      if (PyDict_SetItem(rest[1].ptr(), name, value) != 0) throw py::error_already_set();
      continue;
    }
    if (found == size_) throw_unknown(function, PyUnicode_AsUTF8(name), first ? 1 : 0);
    if (found < at || (found == starred_ && taken < positional))
      throw_type_error(fmt::format("{}() is given its argument '{}' twice", function, PyUnicode_AsUTF8(name)));
    slots[found] = value;
  }
  for (size_t i = 0; i < size_; ++i) {
    if (!slots[i]) throw_type_error(fmt::format("{}() lacks its argument '{}'", function, name(i)));
  }
}

void rethrow_naming(const py::builtin_exception& error, const char* function, const char* argument) {
  constexpr std::string_view kNeeded = " is needed, not ";
  const std::string text = error.what();
  const size_t at = text.find(kNeeded);
  const std::string message = at == text.npos
                                  ? fmt::format("{}(): {}: {}", function, argument, text)
                                  : fmt::format("{}() needs {} for '{}', not {}", function, text.substr(0, at),
                                                argument, text.substr(at + kNeeded.size()));
  if (dynamic_cast<const py::type_error*>(&error)) throw_type_error(message);
  if (dynamic_cast<const py::value_error*>(&error)) throw_value_error(message);
  throw;  // as an index error
}

// ---- all functions ----

namespace {

struct Noted {
  Kind kind;
  std::string name, doc, stub_function, stub_method;
  PyCFunctionWithKeywords function, method;
};
std::deque<Noted>& noted() {
  static auto* all = new std::deque<Noted>;  // Python looks at names and docs as long as it runs
  return *all;
}

/// The parameters as help() shows them, or with their types, as stubs do: "x: Tensor, dim: int | None = None".
std::string shown(const char* signature, bool is_method, const std::vector<const char*>* types = nullptr) {
  std::vector<std::string> all;
  for (const std::string_view part : parts_of(signature)) {
    const size_t equals = part.find('=');
    if (all.empty() && is_method)
      all.emplace_back(types ? "self" : "$self");
    else if (!types)
      all.emplace_back(part);
    else
      all.push_back(
          fmt::format("{}: {}{}", part.substr(0, equals), part.front() == '*' ? "Any" : (*types)[all.size()],
                      equals == part.npos || part.front() == '*' ? "" : fmt::format(" = {}", part.substr(equals + 1))));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

void note_function(Kind kind, const char* name, const char* signature, const char* doc,
                   PyCFunctionWithKeywords function, PyCFunctionWithKeywords method, std::vector<const char*> types,
                   const char* result) {
  const bool is_method = (kind & kMethod) != 0;
  noted().push_back({kind, name, fmt::format("{}({})\n--\n\n{}", name, shown(signature, is_method), doc),
                     fmt::format("def {}({}) -> {}: ...", name, shown(signature, false, &types), result),
                     fmt::format("def {}({}) -> {}: ...", name, shown(signature, true, &types), result), function,
                     method});
}

std::vector<PyMethodDef> method_table(Kind kind) {
  std::vector<PyMethodDef> table;
  for (const Noted& one : noted()) {
    if ((one.kind & kind) == 0) continue;
    const PyCFunctionWithKeywords function = kind == kMethod ? one.method : one.function;
    table.push_back({one.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)),
                     METH_FASTCALL | METH_KEYWORDS, one.doc.c_str()});
  }
  table.push_back({nullptr, nullptr, 0, nullptr});
  return table;
}

py::module_ functions_below(py::module_& m, const char* name, Kind kind) {
  py::module_ made = m.def_submodule(name);
  static std::deque<std::vector<PyMethodDef>> tables;  // Python looks at them as long as it runs
  tables.push_back(method_table(kind));
  if (PyModule_AddFunctions(made.ptr(), tables.back().data()) != 0) throw py::error_already_set();
  return made;
}

py::list stubs(Kind kind) {
  py::list lines;
  for (const Noted& one : noted()) {
    if ((one.kind & kind) != 0) lines.append(kind == kMethod ? one.stub_method : one.stub_function);
  }
  return lines;
}

}  // namespace tenon::python
