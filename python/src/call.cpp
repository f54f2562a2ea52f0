// Signatures taken apart, and arguments put in their places.

#include "call.h"

#include <cstdlib>

#include "functions.h"

namespace tenon::python {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// None, True, False, numbers and 'texts': all that defaults are.
PyObject* literal(std::string_view text) {
  if (text == "None") return Py_NewRef(Py_None);
  if (text == "True") return Py_NewRef(Py_True);
  if (text == "False") return Py_NewRef(Py_False);
  if (text == "()") return PyTuple_New(0);
  if (text.front() == '\'')
    return PyUnicode_FromStringAndSize(text.data() + 1, static_cast<Py_ssize_t>(text.size()) - 2);
  const std::string number(text);
  if (number.find_first_of(".e") != std::string::npos) return PyFloat_FromDouble(std::strtod(number.c_str(), nullptr));
  return PyLong_FromLongLong(std::strtoll(number.c_str(), nullptr, 10));
}

// What numpy and PyTorch call arguments that have other names here.
constexpr std::pair<const char*, const char*> kOtherNames[] = {{"axis", "dim"},
                                                               {"keepdims", "keepdim"},
                                                               {"input", "x"},
                                                               {"input", "a"},
                                                               {"input", "start"},
                                                               {"input", "values"},
                                                               {"input", "probabilities"},
                                                               {"input", "weights"},
                                                               {"from", "low"},
                                                               {"to", "high"},
                                                               {"self", "x"},
                                                               {"other", "b"},
                                                               {"exponent", "b"},
                                                               {"mat1", "a"},
                                                               {"mat2", "b"},
                                                               {"mat", "a"},
                                                               {"vec", "b"},
                                                               {"vec1", "a"},
                                                               {"vec2", "b"},
                                                               {"batch1", "a"},
                                                               {"batch2", "b"},
                                                               {"tensor", "b"},
                                                               {"tensor", "index"},
                                                               {"tensor", "x"},
                                                               {"tensor1", "a"},
                                                               {"tensor2", "b"},
                                                               {"x1", "a"},
                                                               {"x2", "b"},
                                                               {"src", "source"},
                                                               {"value", "source"},
                                                               {"boundaries", "sorted_sequence"},
                                                               {"split_size_or_sections", "split_size"}};

std::vector<std::string_view> parts_of(std::string_view signature) {
  std::vector<std::string_view> parts;
  while (!signature.empty()) {
    const size_t comma = signature.find(", ");
    parts.push_back(trimmed(signature.substr(0, comma)));
    signature = comma == std::string_view::npos ? std::string_view() : signature.substr(comma + 2);
  }
  return parts;
}

}  // namespace

Parameters::Parameters(const char* signature) {
  for (std::string_view part : parts_of(signature)) {
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
}

void Parameters::throw_unknown(const char* function, const char* name, size_t skipped) const {
  std::vector<std::string_view> known;
  for (size_t i = skipped; i < size_; ++i) {
    const std::string_view one = this->name(i);
    if (one != "size_average" && one != "reduce") known.push_back(one);  // words of PyTorch 0.4
  }
  throw_type_error(fmt::format("{}() has no argument '{}'{}", function, name,
                               known.empty() ? "" : fmt::format("; it has {}", fmt::join(known, ", "))));
}

void Parameters::place(const char* function, PyObject* first, PyObject* const* args, size_t positional,
                       PyObject* keywords, std::array<PyObject*, kMost>& slots, py::object& rest) const {
  for (size_t i = 0; i < size_; ++i) slots[i] = defaults_[i];
  size_t at = 0;
  if (first) slots[at++] = first;
  const size_t plain = std::min(positional + at, starred_);
  size_t taken = 0;
  for (; at < plain && at < size_; ++at) slots[at] = args[taken++];
  if (taken < positional && starred_ < kMost) {
    if (positional - taken == 1) {
      slots[starred_] = args[taken];
    } else {
      rest = py::reinterpret_steal<py::object>(PyTuple_New(static_cast<Py_ssize_t>(positional - taken)));
      for (size_t i = taken; i < positional; ++i)
        PyTuple_SET_ITEM(rest.ptr(), static_cast<Py_ssize_t>(i - taken), Py_NewRef(args[i]));
      slots[starred_] = rest.ptr();
    }
  } else if (taken < positional) {
    throw_type_error(
        fmt::format("{}() takes at most {} arguments, got {}", function, size_ - (first ? 1 : 0), positional));
  }
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* name = PyTuple_GET_ITEM(keywords, k);
    size_t found = 0;
    while (found < size_ && names_[found] != name) ++found;
    if (found == size_) {  // not interned, perhaps
      found = 0;
      while (found < size_ && PyUnicode_Compare(names_[found], name) != 0) ++found;
    }
    if (found == size_) {
      for (const auto& [other, ours] : kOtherNames) {
        if (PyUnicode_CompareWithASCIIString(name, other) != 0) continue;
        found = 0;
        while (found < size_ && PyUnicode_CompareWithASCIIString(names_[found], ours) != 0) ++found;
        if (found < size_) break;
      }
    }
    if (found == size_) throw_unknown(function, PyUnicode_AsUTF8(name), first ? 1 : 0);
    if (found < at || (found == starred_ && taken < positional))
      throw_type_error(fmt::format("{}() is given its argument '{}' twice", function, PyUnicode_AsUTF8(name)));
    slots[found] = args[positional + static_cast<size_t>(k)];
  }
  for (size_t i = 0; i < size_; ++i) {
    if (!slots[i]) throw_type_error(fmt::format("{}() lacks its argument '{}'", function, PyUnicode_AsUTF8(names_[i])));
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

// "x: Tensor, dim: int | None = None" of "x, dim=None" and the types.
std::string with_types(const char* signature, const std::vector<const char*>& types, bool is_method) {
  std::string text;
  size_t i = 0;
  for (std::string_view part : parts_of(signature)) {
    const bool is_starred = part.front() == '*';
    const size_t equals = part.find('=');
    const std::string_view name = part.substr(is_starred ? 1 : 0, equals - (is_starred ? 1 : 0));
    if (!text.empty()) text += ", ";
    if (i == 0 && is_method)
      text += "self";
    else if (is_starred)
      text += fmt::format("*{}: Any", name);
    else
      text += fmt::format("{}: {}{}", name, types[i],
                          equals == std::string_view::npos ? "" : fmt::format(" = {}", part.substr(equals + 1)));
    ++i;
  }
  return text;
}

}  // namespace

void note_function(Kind kind, const char* name, const char* signature, const char* doc,
                   PyCFunctionWithKeywords function, PyCFunctionWithKeywords method, std::vector<const char*> types,
                   const char* result) {
  const auto plain = [&](bool is_method) {
    std::string text;
    size_t i = 0;
    for (std::string_view part : parts_of(signature)) {
      if (!text.empty()) text += ", ";
      text += i++ == 0 && is_method ? std::string_view("$self") : part;
    }
    return text;
  };
  const bool is_method = (kind & kMethod) != 0;
  noted().push_back({kind, name, fmt::format("{}({})\n--\n\n{}", name, plain(is_method), doc),
                     fmt::format("def {}({}) -> {}: ...", name, with_types(signature, types, false), result),
                     fmt::format("def {}({}) -> {}: ...", name, with_types(signature, types, true), result), function,
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
