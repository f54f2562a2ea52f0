// Between Python's objects and Tenon's values: what functions take and what they return.
//
// `Convert<T>::from` makes a T of an object or throws TypeError or ValueError with one line; `Convert<T>::type` is what
// signatures call it.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "turn.h"

namespace tenon::python {

namespace py = pybind11;

// ---- tensors ----

/// A tensor as Python holds it: a handle, and nothing else.
struct PyTensor {
  PyObject ob_base;
  Tensor tensor;
  PyObject* weak_references;
  bool is_known;  // the one object of its tensor: whoever asks for that tensor gets this object
};

/// tenon.Tensor; there from prepare_tensor_type() on.
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyObject_TypeCheck(object, tensor_type);
}
inline Tensor& tensor_in(PyObject* object) { return reinterpret_cast<PyTensor*>(object)->tensor; }
/// A new object for a tensor that no object holds: the result of an op. None for an undefined one.
PyObject* wrap_new(Tensor tensor);
/// A new object of a class of tensors, Parameter say.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);
/// The object of a tensor that may have one already, a parameter say.
PyObject* wrap(const Tensor& tensor);
/// From now on wrap() gives this object for its tensor.
void make_known(PyObject* object);

// ---- threads and errors ----

/// Turns the exception that is being handled into Python's.
void set_python_error();

/// Python ends threads that come back for its lock when the interpreter is gone, by unwinding them: through
/// destructors, which ends the process, and through objects that nobody may touch then. Such a thread sleeps until the
/// process ends.
[[noreturn]] void sleep_until_the_end();

/// Lets other threads of Python run while this one computes; it keeps the turn, so that they leave tensors alone.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

/// The same for work that no other thread can meddle with: it touches no tensor that Python has.
class ReleasedAside {
 public:
  ReleasedAside() : state_(PyEval_SaveThread()) {}
  ~ReleasedAside();
  ReleasedAside(const ReleasedAside&) = delete;
  ReleasedAside& operator=(const ReleasedAside&) = delete;

 private:
  PyThreadState* state_;
};

/// Takes Python's lock, for a function of C++'s that calls one of Python's, and gives the turn away meanwhile.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  bool had_turn_, had_lock_;
  std::optional<py::gil_scoped_acquire> lock_;
};

/// What a function that touches no object of Python's gives; others run meanwhile.
template <typename F>
auto computed(F&& f) {
  const Released others_run;
  return f();
}

template <typename F>
auto computed_aside(F&& f) {
  const ReleasedAside others_run;
  return f();
}

/// What a function of C's that Python calls gives: what `f` does, or Python's exception and its nullptr or -1.
template <typename F>
auto guarded(F&& f) {
  using Result = std::invoke_result_t<F>;
  try {
    turn::await();
    return f();
  } catch (...) {
    set_python_error();
    if constexpr (std::is_pointer_v<Result>)
      return Result(nullptr);
    else
      return Result(-1);
  }
}

/// Computes a tensor inside of Released; others have their turn while this thread waits for it.
void compute(const Tensor& x);

/// An object of Python's that C++ keeps: any thread may let go of it, with or without Python's lock.
std::shared_ptr<PyObject> keep(py::handle object);

/// An object of whoever has made it; null is the exception that Python has raised.
inline py::object owned(PyObject* made) {
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}
/// A text; bytes that are no UTF-8 are shown as U+FFFD.
inline py::object text_object(std::string_view text) {
  return owned(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

[[noreturn]] void throw_type_error(const std::string& text);
[[noreturn]] void throw_value_error(const std::string& text);
/// What has a name, of "a", A, "b", B, ...; another is a ValueError: "there is no mode 'x'; there are 'a' and 'b'".
template <typename... All>
auto one_named(const char* what, const std::string& name, All... all) {
  std::vector<const char*> names;
  std::optional<std::tuple_element_t<1, std::tuple<All...>>> found;
  const auto take = [&]<typename T>(T one) {
    if constexpr (std::same_as<T, const char*>)
      names.push_back(one);
    else if (name == names.back())
      found = one;
  };
  (take(all), ...);
  if (found) return *found;
  const std::string last = names.back();
  names.pop_back();
  throw_value_error(
      fmt::format("there is no {} '{}'; there are '{}' and '{}'", what, name, fmt::join(names, "', '"), last));
}

/// "int", "numpy.ndarray": what messages call the type of an object.
std::string type_name_of(PyObject* object);

// ---- conversions ----

template <typename T>
struct Convert;

/// Any integer, numpy's among them, but no bool and no float.
int64_t integer_of(PyObject* object, const char* what);
bool is_integer(PyObject* object);
/// A number of Python's or numpy's, or nothing.
std::optional<Number> number_of(PyObject* object);
/// Whether another library's tensor is what this is: it has __dlpack__.
bool is_foreign_tensor(PyObject* object);
/// A tensor of an array, another library's tensor, a list or a number; copies.
Tensor tensor_of_object(PyObject* object, std::optional<DType> dtype = {}, std::optional<Device> device = {});
/// Whether an object is an array of another library's.
bool is_array(PyObject* object);
/// Something that an op takes beside a tensor, or nothing.
std::optional<Operand> operand_of(PyObject* object);
std::optional<DType> dtype_of_object(PyObject* object);
Dims dims_of(PyObject* object, const char* what);
py::tuple tuple_of(const Dims& dims);
py::object dtype_object(DType dtype);

template <>
struct Convert<Tensor> {
  static constexpr const char* type = "Tensor";
  static const Tensor& from(PyObject* object) {
    if (!is_tensor(object)) throw_type_error("a tensor is needed, not " + type_name_of(object));
    return tensor_in(object);
  }
};
template <>
struct Convert<std::optional<Tensor>> {
  static constexpr const char* type = "Tensor | None";
  static std::optional<Tensor> from(PyObject* object) {
    if (object == Py_None) return {};
    if (!is_tensor(object)) throw_type_error("a tensor or None is needed, not " + type_name_of(object));
    return tensor_in(object);
  }
};
template <>
struct Convert<Operand> {
  static constexpr const char* type = "Tensor | Number";
  static Operand from(PyObject* object) {
    if (auto operand = operand_of(object)) return *std::move(operand);
    throw_type_error("a tensor or a number is needed, not " + type_name_of(object));
  }
};
template <>
struct Convert<Number> {
  static constexpr const char* type = "Number";
  static Number from(PyObject* object) {
    if (const auto number = number_of(object)) return *number;
    throw_type_error("a number is needed, not " + type_name_of(object));
  }
};
template <>
struct Convert<int64_t> {
  static constexpr const char* type = "int";
  static int64_t from(PyObject* object) { return integer_of(object, "an integer"); }
};
template <>
struct Convert<uint64_t> {
  static constexpr const char* type = "int";
  static uint64_t from(PyObject* object) { return static_cast<uint64_t>(integer_of(object, "an integer")); }
};
template <>
struct Convert<double> {
  static constexpr const char* type = "float";
  static double from(PyObject* object) { return Convert<Number>::from(object).as_double(); }
};
template <>
struct Convert<bool> {
  static constexpr const char* type = "bool";
  static bool from(PyObject* object) {
    if (object == Py_True) return true;
    if (object == Py_False) return false;
    const int is_true = PyNumber_Check(object) && !is_tensor(object) ? PyObject_IsTrue(object) : -1;
    if (is_true < 0) {
      PyErr_Clear();
      throw_type_error("True or False is needed, not " + type_name_of(object));
    }
    return is_true != 0;
  }
};
template <>
struct Convert<std::string> {
  static constexpr const char* type = "str";
  static std::string from(PyObject* object) {
    if (!PyUnicode_Check(object)) throw_type_error("a text is needed, not " + type_name_of(object));
    return py::cast<std::string>(py::handle(object));
  }
};
template <>
struct Convert<Dims> {
  static constexpr const char* type = "Sequence[int] | int";
  static Dims from(PyObject* object) { return dims_of(object, "a size or a list of sizes"); }
};
template <>
struct Convert<Axes> {
  static constexpr const char* type = "int | Sequence[int] | None";
  static Axes from(PyObject* object) {
    return object == Py_None ? Axes() : Axes(dims_of(object, "a dim or a list of dims"));
  }
};
template <>
struct Convert<DType> {
  static constexpr const char* type = "DTypeLike";
  static DType from(PyObject* object) {
    if (const auto dtype = dtype_of_object(object)) return *dtype;
    throw_type_error("a dtype such as tenon.float32 is needed, not " + type_name_of(object));
  }
};
template <>
struct Convert<Device> {
  static constexpr const char* type = "DeviceLike | None";
  static Device from(PyObject* object);
};
template <>
struct Convert<std::vector<Tensor>> {
  static constexpr const char* type = "Sequence[Tensor]";
  static std::vector<Tensor> from(PyObject* object);
};
/// Tensors given one by one, or as a list: those of "*tensors".
struct SeveralTensors {
  std::vector<Tensor> all;
};
template <>
struct Convert<SeveralTensors> {
  static constexpr const char* type = "Tensor | Sequence[Tensor]";
  static SeveralTensors from(PyObject* object) {
    if (is_tensor(object)) return {{tensor_in(object)}};
    return {Convert<std::vector<Tensor>>::from(object)};
  }
};
template <>
struct Convert<Generator*> {
  static constexpr const char* type = "Generator | None";
  static Generator* from(PyObject* object);
};
/// What there is a conversion for, or None.
template <typename T>
requires requires { Convert<T>::type; }
struct Convert<std::optional<T>> {
  static constexpr auto text = [] {
    constexpr std::string_view known = Convert<T>::type;
    std::array<char, known.size() + sizeof(" | None")> made{};
    std::ranges::copy(std::string_view(" | None"), std::ranges::copy(known, made.begin()).out);
    return made;
  }();
  static constexpr const char* type = text.data();
  static std::optional<T> from(PyObject* object) {
    if (object == Py_None) return {};
    return Convert<T>::from(object);
  }
};

template <>
struct Convert<py::object> {
  static constexpr const char* type = "Any";
  static py::object from(PyObject* object) { return py::reinterpret_borrow<py::object>(object); }
};

/// Results.
inline PyObject* to_python(Tensor tensor) { return wrap_new(std::move(tensor)); }
inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
inline PyObject* to_python(int64_t value) { return PyLong_FromLongLong(value); }
inline PyObject* to_python(double value) { return PyFloat_FromDouble(value); }
py::dict dict_of(const std::map<std::string, Tensor>& tensors);
std::map<std::string, Tensor> tensors_in(const py::dict& dict);
PyObject* to_python(std::pair<Tensor, Tensor> pair);  // (values, indices)
PyObject* to_python(const std::vector<Tensor>& tensors);
PyObject* to_python(linalg::SignAndLog found);  // those of linalg have names as well
PyObject* to_python(linalg::Qr found);
PyObject* to_python(linalg::Svd found);
PyObject* to_python(linalg::Eigen found);
PyObject* to_python(linalg::LeastSquares found);
inline PyObject* to_python(py::object object) { return object.release().ptr(); }
template <typename T>
py::object object_of(T result) {
  return owned(to_python(std::move(result)));
}

}  // namespace tenon::python

// How pybind11's functions take and return the same.
namespace pybind11::detail {

template <>
struct type_caster<tenon::Tensor> {
  PYBIND11_TYPE_CASTER(tenon::Tensor, const_name("Tensor"));
  bool load(handle source, bool) {
    if (source.is_none()) {
      value = tenon::Tensor();
      return true;
    }
    if (!tenon::python::is_tensor(source.ptr())) return false;
    value = tenon::python::tensor_in(source.ptr());
    return true;
  }
  static handle cast(const tenon::Tensor& tensor, return_value_policy, handle) { return tenon::python::wrap(tensor); }
};

template <>
struct type_caster<tenon::Dims> {
  PYBIND11_TYPE_CASTER(tenon::Dims, const_name("Sequence[int]"));
  bool load(handle source, bool) {
    value = tenon::python::dims_of(source.ptr(), "a size or a list of sizes");
    return true;
  }
  static handle cast(const tenon::Dims& dims, return_value_policy, handle) {
    return tenon::python::tuple_of(dims).release();
  }
};

template <>
struct type_caster<tenon::DType> {
  PYBIND11_TYPE_CASTER(tenon::DType, const_name("DTypeLike"));
  bool load(handle source, bool) {
    const auto dtype = tenon::python::dtype_of_object(source.ptr());
    if (!dtype) return false;
    value = *dtype;
    return true;
  }
  static handle cast(tenon::DType dtype, return_value_policy, handle) {
    return tenon::python::dtype_object(dtype).release();
  }
};

template <>
struct type_caster<tenon::Device> {
  PYBIND11_TYPE_CASTER(tenon::Device, const_name("DeviceLike"));
  bool load(handle source, bool) {
    value = tenon::python::Convert<tenon::Device>::from(source.ptr());
    return true;
  }
  static handle cast(const tenon::Device& device, return_value_policy, handle);
};

template <>
struct type_caster<std::filesystem::path> {
  PYBIND11_TYPE_CASTER(std::filesystem::path, const_name("PathLike"));
  bool load(handle source, bool) {
    object text = reinterpret_steal<object>(PyOS_FSPath(source.ptr()));
    if (!text) {
      PyErr_Clear();
      return false;
    }
    value = cast_path(text);
    return true;
  }
  static handle cast(const std::filesystem::path& path, return_value_policy, handle) {
    const std::string text = path.string();  // any bytes
    return PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
  static std::filesystem::path cast_path(const object& text) {
    object bytes = text;
    if (PyUnicode_Check(text.ptr())) bytes = reinterpret_steal<object>(PyUnicode_EncodeFSDefault(text.ptr()));
    if (!bytes) throw error_already_set();  // a UnicodeEncodeError, which is a ValueError
    std::string path(PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr())));
    if (path.find('\0') != std::string::npos) tenon::python::throw_value_error("a path has no zero bytes");
    return path;
  }
};

}  // namespace pybind11::detail
