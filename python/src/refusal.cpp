// What a call of a bound function with wrong arguments says.
//
// pybind11 answers with every signature and with all arguments as they print, whole tensors among them. Here the first
// thing that is wrong is said in one line, as the ops of tensors say it (see call.cpp).

#include <algorithm>

#include "functions.h"

namespace tenon::python {
namespace {

using py::detail::function_record;

struct Parameter {
  std::string name, type;
  bool has_default, is_starred;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "Linear" of "tenon._tenon._nn.Linear".
std::string_view last_of(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

Parameter parameter_of(std::string_view part) {
  const size_t equals = part.find(" = ");
  const std::string_view plain = part.substr(0, equals);
  const size_t colon = plain.find(": ");
  return {std::string(trimmed(plain.substr(0, colon))),
          colon == std::string_view::npos ? "" : std::string(trimmed(plain.substr(colon + 2))),
          equals != std::string_view::npos, part.starts_with('*')};
}

// "(x: Tensor, dim: int = 0) -> Tensor" taken apart, at commas outside of brackets and texts.
std::vector<Parameter> parameters_of(std::string_view signature) {
  std::vector<Parameter> parameters;
  std::string_view inside = signature.substr(1);
  int depth = 0;
  bool is_quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < inside.size(); ++i) {
    const char letter = inside[i];
    if (letter == '\'') is_quoted = !is_quoted;
    if (is_quoted) continue;
    const bool is_end = letter == ')' && depth == 0;
    if (is_end || (letter == ',' && depth == 0)) {
      if (const auto part = trimmed(inside.substr(begin, i - begin)); !part.empty())
        parameters.push_back(parameter_of(part));
      begin = i + 1;
    }
    if (is_end) break;
    if (letter == '(' || letter == '[' || letter == '{') ++depth;
    if (letter == ')' || letter == ']' || letter == '}') --depth;
  }
  return parameters;
}

bool is_optional(std::string_view type) { return type.starts_with("Optional["); }
std::string_view without_optional(std::string_view type) {
  return is_optional(type) ? type.substr(9, type.size() - 10) : type;
}

bool is_of_class(PyObject* object, std::string_view name) {
  PyObject* bases = Py_TYPE(object)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    if (last_of(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i))->tp_name) == name) return true;
  }
  return false;
}

// Whether an object is what a type of a signature says, as far as one can tell.
bool fits(std::string_view type, PyObject* object) {
  if (is_optional(type) && object == Py_None) return true;
  type = without_optional(type);
  const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
  if (type == "Tensor") return object == Py_None || is_tensor(object);
  if (type == "int") return PyIndex_Check(object);
  if (type == "float") return PyIndex_Check(object) || (number && number->nb_float);
  if (type == "bool") return object == Py_None || (number && number->nb_bool);
  if (type == "str") return PyUnicode_Check(object) || PyBytes_Check(object);
  if (type == "DTypeLike") return dtype_of_object(object).has_value();
  if (type == "PathLike")
    return PyUnicode_Check(object) || PyBytes_Check(object) || PyObject_HasAttrString(object, "__fspath__");
  if (type == "dict" || type.starts_with("Dict[")) return PyDict_Check(object);
  if (type.starts_with("Callable")) return PyCallable_Check(object) || object == Py_None;
  if (type.starts_with("tenon.")) return object == Py_None || is_of_class(object, last_of(type));
  return true;
}

std::string in_words(std::string_view type) {
  const std::string or_none = is_optional(type) ? " or None" : "";
  type = without_optional(type);
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"Tensor", "a tensor"},    {"int", "an integer"}, {"float", "a number"},
      {"bool", "True or False"}, {"str", "a text"},     {"DTypeLike", "a dtype such as tenon.float32"},
      {"PathLike", "a path"},    {"dict", "a dict"}};
  for (const auto& [name, words] : kWords) {
    if (type == name) return std::string(words) + or_none;
  }
  if (type.starts_with("Dict[")) return "a dict" + or_none;
  if (type.starts_with("Callable")) return "a function" + or_none;
  return fmt::format("a {}{}", last_of(type), or_none);
}

std::string name_of(const function_record& function, PyObject* args) {
  const std::string_view name = function.name;
  if (!function.is_method) return std::string(name);
  const std::string scope(last_of(reinterpret_cast<PyTypeObject*>(function.scope.ptr())->tp_name));
  if (function.is_constructor) return scope;
  // Of a layer, the name of its own class: __call__ is bound once for all.
  const std::string_view self =
      PyTuple_GET_SIZE(args) > 0 ? last_of(Py_TYPE(PyTuple_GET_ITEM(args, 0))->tp_name) : scope;
  return fmt::format("{}.{}", self, name == "__call__" ? "forward" : name);
}

std::string types_of(PyObject* args, PyObject* keywords, Py_ssize_t first) {
  std::vector<std::string> types;
  for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(args); ++i) types.push_back(type_name_of(PyTuple_GET_ITEM(args, i)));
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &name, &value);)
    types.push_back(fmt::format("{}={}", PyUnicode_AsUTF8(name), type_name_of(value)));
  return fmt::format("({})", fmt::join(types, ", "));
}

// All that can be said where no single argument is wrong by itself.
std::string forms_of(const function_record& function, size_t first) {
  std::vector<std::string> forms;
  for (const function_record* one = &function; one; one = one->next) {
    std::vector<std::string> parts;
    const auto parameters = parameters_of(one->signature);
    for (size_t i = first; i < parameters.size(); ++i) {
      const std::string_view type = parameters[i].type;
      parts.push_back(
          type.empty() ? parameters[i].name
                       : fmt::format("{}: {}", parameters[i].name, type.starts_with("tenon.") ? last_of(type) : type));
    }
    forms.push_back(fmt::format("({})", fmt::join(parts, ", ")));
  }
  return fmt::format("{}", fmt::join(forms, " or "));
}

std::string what_is_wrong(const function_record& function, PyObject* args, PyObject* keywords) {
  const std::string called = name_of(function, args);
  const size_t first = function.is_method ? 1 : 0;
  const std::vector<Parameter> parameters = parameters_of(function.signature);
  const std::string all = fmt::format("{}() takes {}, not {}", called, forms_of(function, first),
                                      types_of(args, keywords, static_cast<Py_ssize_t>(first)));
  const bool is_plain = std::none_of(parameters.begin(), parameters.end(), [](const auto& p) { return p.is_starred; });
  if (function.next || !is_plain) return all;

  const auto positional = static_cast<size_t>(PyTuple_GET_SIZE(args));
  if (positional > parameters.size())
    return fmt::format("{}() takes at most {} arguments, got {}", called, parameters.size() - first,
                       positional - first);
  std::vector<PyObject*> given(parameters.size(), nullptr);
  for (size_t i = 0; i < positional; ++i) given[i] = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &key, &value);) {
    const std::string_view name = PyUnicode_AsUTF8(key);
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [name](const Parameter& p) { return p.name == name; });
    if (found == parameters.end()) {
      std::vector<std::string_view> names;
      for (size_t i = first; i < parameters.size(); ++i) names.push_back(parameters[i].name);
      return fmt::format("{}() has no argument '{}'; it has {}", called, name,
                         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    PyObject*& slot = given[static_cast<size_t>(found - parameters.begin())];
    if (slot) return fmt::format("{}() is given its argument '{}' twice", called, name);
    slot = value;
  }
  for (size_t i = first; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (!given[i] && !parameter.has_default) return fmt::format("{}() lacks its argument '{}'", called, parameter.name);
    if (given[i] && !fits(parameter.type, given[i]))
      return fmt::format("{}() needs {} for '{}', not {}", called, in_words(parameter.type), parameter.name,
                         type_name_of(given[i]));
  }
  return all;
}

}  // namespace

void refuse_arguments(const py::detail::function_call& call) {
  const py::tuple args(call.args.size());
  const function_record& function = call.func;
  // What stands in the place of a constructor's self is no object.
  for (size_t i = 0; i < call.args.size(); ++i)
    args[i] = call.args[i] && !(function.is_constructor && i == 0) ? call.args[i] : py::handle(Py_None);
  const size_t first = function.is_method ? 1 : 0;
  throw_type_error(fmt::format("{}() takes {}, not {}", name_of(function, args.ptr()), forms_of(function, first),
                               types_of(args.ptr(), nullptr, static_cast<Py_ssize_t>(first))));
}

void say_in_one_line(const function_record& function, PyObject* args, PyObject* keywords) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  const py::object text = py::reinterpret_steal<py::object>(PyObject_Str(error));
  const char* letters = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!letters) PyErr_Clear();
  const bool is_pybinds =
      letters && std::string_view(letters).starts_with(fmt::format("{}(): incompatible ", function.name));
  if (!is_pybinds) {
    PyErr_Restore(type, error, trace);
    return;
  }
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  try {
    PyErr_SetString(PyExc_TypeError, what_is_wrong(function, args, keywords).c_str());
  } catch (...) {  // what a conversion says that was tried again: that there is no such dtype, say
    set_python_error();
  }
}

}  // namespace tenon::python
