// Conversions that are more than a line, exceptions, and objects of Python's that C++ keeps.

#include "convert.h"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "bind.h"
#include "types.h"

namespace tenon::python {

// ---- errors ----

void throw_type_error(const std::string& text) { throw py::type_error(text); }
void throw_value_error(const std::string& text) { throw py::value_error(text); }

std::string type_name_of(PyObject* object) {
  if (object == Py_None) return "None";
  const std::string name = Py_TYPE(object)->tp_name;
  // Classes of the extension are known without its name.
  return name.starts_with("tenon._tenon.") ? "tenon." + name.substr(name.rfind('.') + 1) : name;
}

void sleep_until_the_end() {
  for (;;) pause();
}

Released::Released() {
  turn::take();
  state_ = PyEval_SaveThread();
}

Released::~Released() {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {
    turn::give();  // the program may still compute something before it ends
    sleep_until_the_end();
  }
  turn::give();
}

ReleasedAside::~ReleasedAside() {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {
    sleep_until_the_end();
  }
}

Locked::Locked() : had_turn_(turn::is_mine()), had_lock_(!had_turn_ && PyGILState_Check()) {
  if (had_turn_) turn::give();
  try {
    lock_.emplace();
  } catch (abi::__forced_unwind&) {
    sleep_until_the_end();
  }
  turn::await_quietly();
}

Locked::~Locked() {
  if (had_turn_)
    turn::take_quietly();
  else if (had_lock_)
    turn::await_quietly();
}

void compute(const Tensor& x) {
  x.eval();
  const turn::GivenWhileWaiting others_go_on;
  wait({x});
}

namespace {

/// The library's text with what Python calls it: tenon.float32 for DType::f32, no_grad() for NoGrad.
std::string in_words_of_python(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"DType::f32", "tenon.float32"},
      {"DType::f16", "tenon.float16"},
      {"DType::bf16", "tenon.bfloat16"},
      {"DType::f64", "tenon.float64"},
      {"DType::i32", "tenon.int32"},
      {"DType::i64", "tenon.int64"},
      {"DType::u8", "tenon.uint8"},
      {"DType::boolean", "tenon.bool"},
      {"NoGrad", "tenon.no_grad()"},
      {"an undefined tensor", "a tensor that is not there (None)"},
      {"undefined tensor", "tensor that is not there (None)"}};
  for (const auto& [word, ours] : kWords) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + ours.size()))
      text.replace(at, word.size(), ours);
  }
  return text;
}

}  // namespace

void set_error(PyObject* type, const std::exception& error) {
  const std::string text = in_words_of_python(error.what());
  // Names of files need not be UTF-8: what is not stands there as Python has it in its own names of files.
  const auto made = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
  if (made) PyErr_SetObject(type, made.ptr());
}

void set_python_error() {
  try {
    throw;
  } catch (abi::__forced_unwind&) {
    sleep_until_the_end();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::cast_error&) {  // of what stands inside of an argument
    PyErr_SetString(PyExc_TypeError, "an argument, or what is inside of one, is of a type or size that is not taken");
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const Error& error) {
    set_error(error_type_of(error), error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    set_error(error_type(), error);
  } catch (...) {
    PyErr_SetString(error_type(), "an unknown error");
  }
}

// ---- objects that C++ keeps ----

namespace {

// Whoever has no lock of Python's leaves objects here: to take it might wait for somebody who waits for a lock of ours.
struct Abandoned {
  std::mutex mutex;
  std::deque<PyObject*> objects;
};
Abandoned& abandoned() {
  static auto* all = new Abandoned;
  return *all;
}

int release_abandoned(void*) {
  std::deque<PyObject*> objects;
  {
    const std::lock_guard lock(abandoned().mutex);
    objects.swap(abandoned().objects);
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

}  // namespace

std::shared_ptr<PyObject> keep(py::handle object) {
  Py_INCREF(object.ptr());
  return {object.ptr(), [](PyObject* kept) {
            if (!Py_IsInitialized()) return;
            if (PyGILState_Check()) {
              Py_DECREF(kept);
              return;
            }
            {
              const std::lock_guard lock(abandoned().mutex);
              abandoned().objects.push_back(kept);
            }
            Py_AddPendingCall(release_abandoned, nullptr);
          }};
}

// ---- numbers ----

bool is_integer(PyObject* object) {
  if (PyLong_Check(object)) return !PyBool_Check(object);
  if (is_tensor(object) || !PyIndex_Check(object)) return false;
  if (!is_array(object)) return true;
  // Of numpy's arrays, those that are one integer; its own integers are arrays, too.
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object));
  if (!index) PyErr_Clear();
  return static_cast<bool>(index);
}

int64_t integer_of(PyObject* object, const char* what) {
  if (PyLong_CheckExact(object)) {
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      throw_value_error("an integer is beyond 64 bits");
    }
    return value;
  }
  if (is_tensor(object)) {  // x[i] of a tensor of sizes, say
    const Tensor& x = tensor_in(object);
    if (x.numel() == 1 && !is_float(x.dtype())) {
      const Released others_run;
      return x.item<int64_t>();
    }
  }
  if (!is_integer(object) && !PyBool_Check(object))
    throw_type_error(std::string(what) + " is needed, not " + type_name_of(object));
  const py::object index = owned(PyNumber_Index(object));
  return integer_of(index.ptr(), what);
}

std::optional<Number> number_of(PyObject* object) {
  if (PyFloat_Check(object)) return Number(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return Number(object == Py_True);
  if (PyLong_Check(object)) return Number(integer_of(object, "a number"));
  if (is_tensor(object) || PyUnicode_Check(object) || PyBytes_Check(object) || object == Py_None) return {};
  if (is_array(object)) {  // numpy's scalars are arrays of no dims
    const py::object shape = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, "shape"));
    if (!shape || !PyTuple_Check(shape.ptr()) || PyTuple_GET_SIZE(shape.ptr()) != 0) {
      PyErr_Clear();
      return {};
    }
    const py::object item = py::reinterpret_steal<py::object>(PyObject_CallMethod(object, "item", nullptr));
    if (!item) {
      PyErr_Clear();
      return {};
    }
    return item.ptr() == object ? std::nullopt : number_of(item.ptr());
  }
  if (PyIndex_Check(object) && !is_foreign_tensor(object)) return Number(integer_of(object, "a number"));
  return {};
}

// ---- tensors ----

std::optional<Operand> operand_of(PyObject* object) {
  if (is_tensor(object)) return Operand(tensor_in(object));
  if (const auto number = number_of(object)) return Operand(*number);
  if (py::isinstance<Scalar>(object)) return Operand(*held<Scalar>(object));
  if (is_array(object) || is_foreign_tensor(object)) return Operand(tensor_of_object(object));
  return {};
}

Dims dims_of(PyObject* object, const char* what) {
  Dims dims;
  if (PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      dims.push_back(integer_of(PyTuple_GET_ITEM(object, i), what));
    return dims;
  }
  if (PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {  // __index__ of an element may change the list
      const py::object one = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(object, i));
      dims.push_back(integer_of(one.ptr(), what));
    }
    return dims;
  }
  if (is_integer(object)) return Dims{integer_of(object, what)};
  if (PySequence_Check(object) && !PyUnicode_Check(object) && !is_tensor(object)) {
    const py::object list = owned(PySequence_List(object));
    return dims_of(list.ptr(), what);
  }
  return Dims{integer_of(object, what)};
}

py::tuple tuple_of(const Dims& dims) {
  py::tuple tuple(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
  return tuple;
}

std::vector<Tensor> Convert<std::vector<Tensor>>::from(PyObject* object) {
  if (is_tensor(object) || !PySequence_Check(object))
    throw_type_error("a list of tensors is needed, not " + type_name_of(object));
  const py::object list = owned(PySequence_Fast(object, "a list of tensors is needed"));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i)
    tensors.push_back(Convert<Tensor>::from(PySequence_Fast_GET_ITEM(list.ptr(), i)));
  return tensors;
}

Generator* Convert<Generator*>::from(PyObject* object) {
  if (object == Py_None) return nullptr;
  return held<Generator>(object).get();
}

Device Convert<Device>::from(PyObject* object) {
  if (object == Py_None) return Device();
  if (PyUnicode_Check(object)) {
    try {
      return Device(std::string_view(py::cast<std::string>(py::handle(object))));
    } catch (const Error& error) {
      throw_value_error(error.what());
    }
  }
  if (!py::isinstance<DeviceObject>(object))
    throw_type_error("a device such as \"cpu\" is needed, not " + type_name_of(object));
  return held<DeviceObject>(object)->device;
}

py::dict dict_of(const std::map<std::string, Tensor>& tensors) {
  py::dict dict;
  for (const auto& [name, tensor] : tensors) dict[py::str(name)] = object_of(tensor);
  return dict;
}

std::map<std::string, Tensor> tensors_in(const py::dict& dict) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : dict) {
    if (!PyUnicode_Check(name.ptr()) || !is_tensor(tensor.ptr()))
      throw_type_error("a dict of names and tensors is needed, not one of " + type_name_of(name.ptr()) + " and " +
                       type_name_of(tensor.ptr()));
    tensors[py::cast<std::string>(name)] = tensor_in(tensor.ptr());
  }
  return tensors;
}

PyObject* to_python(const std::vector<Tensor>& tensors) {
  py::tuple tuple(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), wrap_new(tensors[i]));
  return tuple.release().ptr();
}

PyObject* to_python(std::pair<Tensor, Tensor> pair) {
  static PyTypeObject* const type = [] {
    static PyStructSequence_Field fields[] = {
        {"values", "the elements"}, {"indices", "where they stand"}, {nullptr, nullptr}};
    static PyStructSequence_Desc description = {"tenon.ValuesAndIndices", "values and indices", fields, 2};
    return PyStructSequence_NewType(&description);
  }();
  PyObject* made = PyStructSequence_New(type);
  if (!made) throw py::error_already_set();
  PyStructSequence_SET_ITEM(made, 0, wrap_new(std::move(pair.first)));
  PyStructSequence_SET_ITEM(made, 1, wrap_new(std::move(pair.second)));
  return made;
}

}  // namespace tenon::python

namespace pybind11::detail {

handle type_caster<tenon::Device>::cast(const tenon::Device& device, return_value_policy, handle) {
  return pybind11::cast(tenon::python::DeviceObject{device}).release();
}

}  // namespace pybind11::detail
