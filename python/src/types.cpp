// Dtypes, devices and exceptions as objects of Python.

#include "types.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bind.h"
#include "functions.h"

namespace tenon::python {

const DTypeNames& names_of(DType dtype) {
  static constexpr DTypeNames kNames[] = {{DType::f32, "float32", "FloatTensor", "f"},
                                          {DType::f16, "float16", "HalfTensor", "e"},
                                          {DType::bf16, "bfloat16", "BFloat16Tensor", nullptr},
                                          {DType::f64, "float64", "DoubleTensor", "d"},
                                          {DType::i32, "int32", "IntTensor", "i"},
                                          {DType::i64, "int64", "LongTensor", "q"},
                                          {DType::u8, "uint8", "ByteTensor", "B"},
                                          {DType::boolean, "bool", "BoolTensor", "?"}};
  return *std::ranges::find(kNames, dtype, &DTypeNames::dtype);
}

namespace {

template <typename E>
bool is_a(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

/// What the library throws, as a class below tenon.Error.
struct ErrorClass {
  const char *name, *help;
  PyObject** other_base;
  bool (*is)(const std::exception&);
  PyObject* type = nullptr;
};
ErrorClass error_classes[] = {
    {"tenon.OutOfRange", "A position or a dim that is not there; an IndexError too.", &PyExc_IndexError,
     is_a<base::OutOfRange>},
    {"tenon.ZeroDivision", "Integers divided by the number 0; a ZeroDivisionError too.", &PyExc_ZeroDivisionError,
     is_a<base::ZeroDivision>},
    {"tenon.DeviceLost", "A device is gone, and what lay on it.", nullptr, is_a<device::Lost>},
    {"tenon.OutOfMemoryError", "A device has no memory for what is asked of it.", nullptr, is_a<device::OutOfMemory>},
    {"tenon.linalg.LinAlgError",
     "A matrix that an algorithm cannot do with: singular for inv(), or not positive-definite for cholesky().", nullptr,
     is_a<linalg::LinAlgError>}};

PyObject* error = nullptr;
PyObject* dtype_objects[std::size(kAllDTypes)] = {};

std::optional<DType> dtype_called(std::string_view name) {
  for (const DType dtype : kAllDTypes) {
    if (name == python_name(dtype) || name == tenon::name(dtype)) return dtype;
  }
  if (name == "float") return DType::f32;
  if (name == "half") return DType::f16;
  if (name == "double") return DType::f64;
  if (name == "int") return DType::i32;
  if (name == "long") return DType::i64;
  return {};
}

}  // namespace

PyObject* error_type() { return error; }
PyObject* error_type_of(const std::exception& thrown) {
  const auto known = std::ranges::find_if(error_classes, [&](const ErrorClass& one) { return one.is(thrown); });
  return known == std::end(error_classes) ? error : known->type;
}

py::object dtype_object(DType dtype) {
  return py::reinterpret_borrow<py::object>(dtype_objects[static_cast<size_t>(dtype)]);
}

std::optional<DType> dtype_of_object(PyObject* object) {
  for (const DType dtype : kAllDTypes) {  // there is one object for each
    if (object == dtype_objects[static_cast<size_t>(dtype)]) return dtype;
  }
  if (py::isinstance<DTypeObject>(object)) return held<DTypeObject>(object)->dtype;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f64;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  std::string name;
  if (PyUnicode_Check(object)) {
    name = py::cast<std::string>(py::handle(object));
  } else {  // numpy's dtypes, and its scalar types
    const py::object found =
        py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, PyType_Check(object) ? "__name__" : "name"));
    if (!found || !PyUnicode_Check(found.ptr())) {
      PyErr_Clear();
      return {};
    }
    name = py::cast<std::string>(found);
    if (name == "bool_") name = "bool";
  }
  if (const auto dtype = dtype_called(name)) return dtype;
  throw_value_error("there is no dtype '" + name +
                    "'; there are float32, float16, bfloat16, float64, int32, int64, uint8 and bool");
}

namespace {

/// Of a floating-point dtype with a mantissa of so many bits: the least number, the largest, the distance of 1 from the
/// next one, and the smallest normal one.
py::tuple real_limits(int fraction, int exponent) {
  const double eps = std::ldexp(1.0, -fraction), most = std::ldexp(2.0 - eps, exponent);
  return py::make_tuple(-most, most, eps, std::ldexp(1.0, 1 - exponent));
}
template <typename T>
py::tuple whole_limits() {
  return py::make_tuple(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

py::tuple limits_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return real_limits(23, 127);
    case DType::f16: return real_limits(10, 15);
    case DType::bf16: return real_limits(7, 127);
    case DType::f64: return real_limits(52, 1023);
    case DType::i32: return whole_limits<int32_t>();
    case DType::i64: return whole_limits<int64_t>();
    case DType::u8: return whole_limits<uint8_t>();
    default: throw_type_error("a dtype of bools has no limits");
  }
}

}  // namespace

void bind_types(Scope& m) {
  error =
      PyErr_NewExceptionWithDoc("tenon.Error", "What Tenon cannot do: one line that says what, where and what to do.",
                                PyExc_RuntimeError, nullptr);
  m.add_object("Error", py::handle(error));
  for (ErrorClass& one : error_classes) {
    const py::tuple bases = one.other_base ? py::make_tuple(py::handle(error), py::handle(*one.other_base))
                                           : py::make_tuple(py::handle(error));
    one.type = PyErr_NewExceptionWithDoc(one.name, one.help, bases.ptr(), nullptr);
    const std::string_view name(one.name);
    if (name.rfind('.') == name.find('.')) m.add_object(one.name + name.rfind('.') + 1, py::handle(one.type));
  }
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& found) {
      set_error(error_type_of(found), found);
    }
  });

  Class<DTypeObject>(m, "dtype", "The type of a tensor's elements: tenon.float32, tenon.int64, ...")
      .def("__repr__", [](const DTypeObject& self) { return fmt::format("tenon.{}", python_name(self.dtype)); })
      .def("__reduce__",
           [](const DTypeObject& self) {
             return py::make_tuple(py::module_::import("tenon").attr("_dtype_called"),
                                   py::make_tuple(python_name(self.dtype)));
           })
      .property("name", [](const DTypeObject& self) { return python_name(self.dtype); })
      .property("itemsize", [](const DTypeObject& self) { return size_of(self.dtype); })
      .property("is_floating_point", [](const DTypeObject& self) { return is_float(self.dtype); })
      .def("_limits", [](const DTypeObject& self) { return limits_of(self.dtype); });
  for (const DType dtype : kAllDTypes) {
    dtype_objects[static_cast<size_t>(dtype)] = py::cast(DTypeObject{dtype}).release().ptr();
    m.attr(python_name(dtype)) = dtype_object(dtype);
  }

  Class<DeviceObject>(m, "device", "Where tensors live: tenon.device(\"cpu\").")
      .init("name='cpu'",
            [](const std::string& name) { return DeviceObject{Convert<Device>::from(py::str(name).ptr())}; })
      .property("name", [](const DeviceObject& self) { return self.device.name(); })
      .property("type", "The kind of device: \"cpu\", \"cuda\", ...",
                [](const DeviceObject& self) { return self.device.name().substr(0, self.device.name().find(':')); })
      .property("index", "Which of its kind; None for the first.",
                [](const DeviceObject& self) -> std::optional<int> {
                  const std::string name = self.device.name();
                  const size_t colon = name.find(':');
                  return colon == name.npos ? std::nullopt : std::optional(std::stoi(name.substr(colon + 1)));
                })
      .def("__repr__", [](const DeviceObject& self) { return fmt::format("device('{}')", self.device.name()); })
      .def("__str__", [](const DeviceObject& self) { return self.device.name(); })
      .def("__eq__",
           [](const DeviceObject& self, py::object other) {
             if (PyUnicode_Check(other.ptr())) return self.device.name() == py::cast<std::string>(other);
             return py::isinstance<DeviceObject>(other) && held<DeviceObject>(other)->device == self.device;
           })
      .def("__hash__", [](const DeviceObject& self) { return py::hash(py::str(self.device.name())); });
}

}  // namespace tenon::python
