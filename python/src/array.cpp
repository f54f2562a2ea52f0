// Arrays of other libraries: numpy by the buffer protocol, everything else by DLPack. Nothing is copied unless the
// function says so; what both sides may do with shared memory stands in tenon/tensor/share.h.

#include <cstring>

#include "elements.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

// ---- what a buffer holds ----

struct Format {
  std::optional<DType> dtype;
  std::string problem;  // why there is none
  bool is_type = true;  // of the elements' type, not of their bytes
};

Format format_of(const char* text, Py_ssize_t itemsize) {
  std::string_view format = text ? text : "B";
  if (format.empty()) format = "B";
  if (format[0] == '>' || format[0] == '!')
    return {{}, "the array is big-endian; convert it with a.astype(a.dtype.newbyteorder('='))", false};
  if (format[0] == '<' || format[0] == '=' || format[0] == '@') format.remove_prefix(1);
  if (format == "f") return {DType::f32, {}};
  if (format == "d") return {DType::f64, {}};
  if (format == "e") return {DType::f16, {}};
  if (format == "?") return {DType::boolean, {}};
  if (format == "B") return {DType::u8, {}};
  if ((format == "i" || format == "l" || format == "q") && itemsize == 4) return {DType::i32, {}};
  if ((format == "l" || format == "q") && itemsize == 8) return {DType::i64, {}};
  if (format == "O")
    return {{}, "an array of objects has no numbers to share; convert it with a.astype(numpy.float32)"};
  return {{},
          fmt::format("Tenon has no dtype for elements of format '{}'; convert it, with a.astype(numpy.float32) say",
                      text)};
}

/// A buffer while somebody looks at it.
struct Buffer {
  Py_buffer view;
  explicit Buffer(PyObject* object) {
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) throw py::error_already_set();
  }
  ~Buffer() {
    if (view.obj) PyBuffer_Release(&view);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

// Elements one behind the other, whatever the strides.
void pack(const Py_buffer& view, int dim, const char* from, std::byte*& to) {
  if (dim == view.ndim) {
    std::memcpy(to, from, static_cast<size_t>(view.itemsize));
    to += view.itemsize;
    return;
  }
  for (Py_ssize_t i = 0; i < view.shape[dim]; ++i) pack(view, dim + 1, from + i * view.strides[dim], to);
}

Dims shape_of(const Py_buffer& view) {
  Dims shape;
  for (int i = 0; i < view.ndim; ++i) shape.push_back(view.shape[i]);
  return shape;
}

Tensor copied(const Py_buffer& view, const Format& format, const Options& options) {
  Options own = options;
  own.dtype = format.dtype;
  Tensor made;
  if (PyBuffer_IsContiguous(&view, 'C')) {
    made = from_bytes({static_cast<const std::byte*>(view.buf), static_cast<size_t>(view.len)}, shape_of(view), own);
  } else {
    std::vector<std::byte> packed(static_cast<size_t>(view.len));
    std::byte* to = packed.data();
    pack(view, 0, static_cast<const char*>(view.buf), to);
    made = from_bytes(packed, shape_of(view), own);
  }
  return options.dtype ? made.to(*options.dtype) : made;
}

Tensor from_numpy(const py::object& array) {
  if (is_tensor(array.ptr()) || !PyObject_CheckBuffer(array.ptr()))
    throw_type_error("a numpy array is needed, not " + type_name_of(array.ptr()));
  auto buffer = std::make_unique<Buffer>(array.ptr());
  const Py_buffer& view = buffer->view;
  const Format format = format_of(view.format, view.itemsize);
  if (!format.dtype) {
    if (format.is_type) throw_type_error(format.problem);
    throw_value_error(format.problem);
  }
  if (view.readonly)
    throw_value_error("the array is read-only, and tensors may be written; share a copy of it, with a.copy()");
  Dims strides;  // in elements
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0 && view.shape[i] > 1)
      throw_value_error("the array has negative strides; share a copy of it, with a.copy()");
    if (view.strides[i] % view.itemsize != 0)
      throw_value_error("the strides of the array are no whole elements; share a copy of it, with a.copy()");
    strides.push_back(view.strides[i] / view.itemsize);
  }
  const Dims shape = shape_of(view);
  const Options options(*format.dtype, Device("cpu"));
  if (view.len == 0) return zeros(shape, options);
  auto* first = static_cast<std::byte*>(view.buf);
  buffer.reset();
  if (const auto made = over_strided_memory(first, keep(array), shape, strides, options)) return *made;
  throw_value_error(
      "the strides of the array are not those of slices of a contiguous one; share numpy.ascontiguousarray(a)");
}

// ---- lists ----

struct Flat {
  std::vector<double> real;
  std::vector<int64_t> whole;
  bool has_real = false, has_whole = false, has_bool = false;
  std::optional<DType> typed;  // of what has a dtype: arrays, their scalars and tensors
  Dims shape;

  void note(DType dtype) { typed = typed ? promote(*typed, dtype) : dtype; }
};

constexpr size_t kMostNested = 128;

// Nothing for numbers of Python's, and for arrays of dtypes that Tenon has not.
std::optional<DType> dtype_held_by(PyObject* object) {
  if (is_tensor(object)) return tensor_in(object).dtype();
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) || !is_array(object)) return {};
  const Buffer buffer(object);
  return format_of(buffer.view.format, buffer.view.itemsize).dtype;
}

// `is_typed`: inside of an array, whose dtype is noted.
void flatten(PyObject* object, size_t depth, Flat& into, bool is_typed = false) {
  if (PyRange_Check(object)) {
    const py::object list = owned(PySequence_List(object));
    return flatten(list.ptr(), depth, into, is_typed);
  }
  if (PyList_Check(object) || PyTuple_Check(object)) {
    if (depth == kMostNested)
      throw_value_error(fmt::format("lists are nested more than {} deep, or one holds itself", kMostNested));
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
    if (into.shape.size() == depth) into.shape.push_back(size);
    if (depth >= into.shape.size() || into.shape[depth] != size)
      throw_value_error(fmt::format("lists of {} and {} elements stand side by side",
                                    depth < into.shape.size() ? into.shape[depth] : 0, size));
    for (Py_ssize_t i = 0; i < size; ++i) {
      const py::object one = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(object, i));
      flatten(one.ptr(), depth + 1, into, is_typed);
      if (PySequence_Fast_GET_SIZE(object) != size) throw_value_error("a list was changed while it was read");
    }
    return;
  }
  const std::optional<DType> dtype = is_typed ? std::nullopt : dtype_held_by(object);
  if (dtype) into.note(*dtype);
  const auto number = number_of(object);
  if ((is_array(object) || is_tensor(object)) && !number) {
    const py::object list = owned(PyObject_CallMethod(object, "tolist", nullptr));
    return flatten(list.ptr(), depth, into, is_typed || dtype);
  }
  if (!number) throw_type_error("numbers, lists of numbers or an array are needed, not " + type_name_of(object));
  if (depth != into.shape.size()) throw_value_error("a number stands where the others are lists");
  into.real.push_back(number->as_double());
  into.whole.push_back(number->as_int());
  if (is_typed || dtype) return;
  if (number->kind() == Number::Kind::real) into.has_real = true;
  if (number->kind() == Number::Kind::integer) into.has_whole = true;
  if (number->kind() == Number::Kind::boolean) into.has_bool = true;
}

}  // namespace

bool is_array(PyObject* object) {
  if (is_tensor(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) return false;
  return PyObject_CheckBuffer(object) != 0;
}

namespace {
Tensor of_dlpack(const py::object& source);
}

bool is_foreign_tensor(PyObject* object) {
  if (is_tensor(object) || PyCapsule_CheckExact(object)) return false;
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__dlpack__") != 0;
}

Tensor tensor_of_object(PyObject* object, std::optional<DType> dtype, std::optional<Device> device) {
  Options options(device.value_or(Device()));
  options.dtype = dtype;
  if (is_tensor(object)) {
    const Tensor copy = tensor_in(object).detach().clone();
    return copy.to(device.value_or(copy.device()), dtype.value_or(copy.dtype()));
  }
  if (is_array(object)) {
    const Buffer buffer(object);
    Format format = format_of(buffer.view.format, buffer.view.itemsize);
    if (format.dtype) return copied(buffer.view, format, options);
    if (format.is_type) throw_type_error(format.problem);
    throw_value_error(format.problem);
  }
  if (is_foreign_tensor(object)) {
    py::object source = py::reinterpret_borrow<py::object>(object);
    if (py::hasattr(source, "detach")) source = source.attr("detach")();
    const Tensor copy = of_dlpack(source).clone();
    wait({copy});  // the other library may write its memory
    return copy.to(device.value_or(copy.device()), dtype.value_or(copy.dtype()));
  }
  Flat flat;
  flatten(object, 0, flat);
  if (flat.typed && !options.dtype) {
    if (flat.has_bool) flat.note(DType::boolean);
    if (flat.has_whole) flat.note(DType::i64);
    if (flat.has_real) flat.note(DType::f32);
    options.dtype = flat.typed;
    flat.has_real = is_float(*flat.typed);
  }
  if (flat.has_real || (flat.real.empty() && !flat.shape.empty())) {
    if (!options.dtype) options.dtype = DType::f32;
    return from_vector(flat.real, flat.shape, options);
  }
  if (flat.has_bool && !flat.has_whole && !options.dtype) options.dtype = DType::boolean;
  return from_vector(flat.whole, flat.shape, options);
}

// ---- the buffer protocol of tensors ----

namespace {

struct Shown {
  SharedMemory memory;
  std::vector<Py_ssize_t> shape, strides;
  bool repeats = false;  // several elements are one of memory
};

Shown shown(const Tensor& x) {
  if (x.requires_grad()) throw_type_error("a tensor that requires grad is not shared; call detach() first");
  Shown made;
  made.memory = computed([&] {
    compute(x);
    return share_memory(x);
  });
  const Dims strides = x.strides();
  for (size_t i = 0; i < x.shape().size(); ++i) {
    made.shape.push_back(x.shape()[i]);
    made.strides.push_back(strides[i] * static_cast<Py_ssize_t>(size_of(x.dtype())));
    if (strides[i] == 0 && x.shape()[i] > 1) made.repeats = true;
  }
  return made;
}

Shown on_host(const Tensor& x) {
  if (x.device().name() != "cpu")
    throw_type_error(fmt::format("a tensor on {} is not shared with the host; call cpu() first", x.device().name()));
  return shown(x);
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded([&] {
    const Tensor& x = tensor_in(self);
    auto made = std::make_unique<Shown>(on_host(x));
    const char* letter = names_of(x.dtype()).letter;
    if (!letter) throw_type_error("numpy has no bfloat16; convert the tensor first, with float()");
    if ((flags & PyBUF_WRITABLE) && made->repeats)
      throw py::buffer_error("an expanded tensor cannot be written; clone() it first");
    view->buf = made->memory.address;
    view->len = x.nbytes();
    view->itemsize = static_cast<Py_ssize_t>(size_of(x.dtype()));
    view->readonly = made->repeats;
    view->ndim = static_cast<int>(x.dim());
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(letter) : nullptr;
    view->shape = made->shape.data();
    view->strides = made->strides.data();
    view->suboffsets = nullptr;
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !x.is_contiguous())
      throw py::buffer_error("the elements do not lie one behind the other; call contiguous() first");
    if ((flags & PyBUF_ND) != PyBUF_ND) view->shape = nullptr;
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) view->strides = nullptr;
    view->internal = made.release();
    view->obj = Py_NewRef(self);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Shown*>(view->internal); }

// ---- DLPack ----

namespace {

constexpr const char *kCapsule = "dltensor", *kVersionedCapsule = "dltensor_versioned";
constexpr int64_t kHostOfDlpack = 1;  // kDLCPU

py::object dlpack_of(const Tensor& x) {
  static_cast<void>(on_host(x));  // computed, while others run
  PyObject* capsule = PyCapsule_New(to_dlpack(x), kCapsule, [](PyObject* unused) {
    if (!PyCapsule_IsValid(unused, kCapsule)) return;  // somebody took it
    release_dlpack(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(unused, kCapsule)));
  });
  return owned(capsule);
}

void require_host(const py::object& source) {
  if (!py::hasattr(source, "__dlpack_device__")) return;
  const py::tuple where = source.attr("__dlpack_device__")();
  if (py::cast<int64_t>(where[0]) != kHostOfDlpack)
    throw_type_error("only tensors in the memory of the host are shared; move it to the cpu first");
}

// A capsule that was taken has another name.
template <typename Managed>
Tensor taken_from(PyObject* capsule, const char* name, const char* name_of_used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  PyCapsule_SetName(capsule, name_of_used);
  try {
    return from_dlpack(managed);
  } catch (const Error& error) {
    throw_value_error(error.what());
  }
}

Tensor of_dlpack(const py::object& source) {
  py::object capsule = source;
  if (!PyCapsule_CheckExact(source.ptr())) {
    if (!py::hasattr(source, "__dlpack__"))
      throw_type_error("an object with __dlpack__ is needed, not " + type_name_of(source.ptr()));
    if (is_array(source.ptr())) return from_numpy(source);
    require_host(source);
    capsule = source.attr("__dlpack__")();
    if (!PyCapsule_CheckExact(capsule.ptr()))
      throw_type_error(fmt::format("__dlpack__() of {} gives no capsule, but {}", type_name_of(source.ptr()),
                                   type_name_of(capsule.ptr())));
  }
  if (PyCapsule_IsValid(capsule.ptr(), kCapsule))
    return taken_from<DLManagedTensor>(capsule.ptr(), kCapsule, "used_dltensor");
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedCapsule))
    return taken_from<DLManagedTensorVersioned>(capsule.ptr(), kVersionedCapsule, "used_dltensor_versioned");
  const char* name = PyCapsule_GetName(capsule.ptr());
  if (name && std::string_view(name).starts_with("used_dltensor"))
    throw_value_error("the DLPack capsule was used already");
  throw_value_error(fmt::format("a capsule named '{}' is none of DLPack's", name ? name : ""));
}

/// Of a leaf, with its class and its flags.
py::object copied(const py::object& self, const char* name, bool is_deep) {
  const Tensor& x = tensor_in(self.ptr());
  if (!x.is_leaf()) base::fail(name, "only leaves are copied with their flags; call detach() first");
  const Tensor values = is_deep ? x.detach().clone() : x.detach();
  const py::object made = py::type::of(self)(object_of(values));
  tensor_in(made.ptr()).requires_grad_(x.requires_grad());
  return made;
}

}  // namespace

void note_arrays() {
  define<"from_numpy", "array", [](const py::object& array) { return from_numpy(array); }>(
      "A tensor over the memory of a numpy array; nothing is copied.\n\n>>> import numpy, tenon\n"
      ">>> a = numpy.zeros(2, numpy.float32)\n>>> x = tenon.from_numpy(a)\n>>> a[0] = 5\n>>> x\ntensor([5., 0.])",
      kFunction);
  define<"from_dlpack", "source", [](const py::object& source) { return of_dlpack(source); }>(
      "A tensor over the memory of another library's tensor, by DLPack; nothing is copied.", kFunction);
  define<"__dlpack__", "x, stream=None, max_version=None, dl_device=None, copy=None",
         [](const Tensor& x, const py::object&, const py::object&, const py::object&, const py::object&) {
           return dlpack_of(x);
         }>("The tensor for other libraries.", kMethod);
  define<"__dlpack_device__", "x", [](const Tensor& x) -> py::object {
    if (x.device().name() != "cpu") throw_type_error("only tensors on the cpu are shared; call cpu() first");
    return py::make_tuple(kHostOfDlpack, 0);
  }>("Where it lies, for other libraries.", kMethod);
  define<"numpy", "x, force=False",
         [](const Tensor& given, bool force) -> py::object {
           Tensor x = force ? given.detach().to(Device("cpu")) : given;
           if (force && x.dtype() == DType::bf16) x = x.to(DType::f32);
           const py::object object = object_of(x);
           return py::module_::import("numpy").attr("asarray")(py::memoryview(object));
         }>(
      "A numpy array over the memory of the tensor, which is not copied; force: of whatever tensor, copied where it "
      "has to be.",
      kMethod);
  define<"__array__", "x, dtype=None, copy=None", [](const Tensor& x, const py::object& dtype, const py::object&) {
    const py::object object = object_of(x);
    py::object array = py::module_::import("numpy").attr("asarray")(py::memoryview(object));
    return dtype.is_none() ? array : py::object(array.attr("astype")(dtype, py::arg("copy") = false));
  }>("What numpy.asarray() gives.", kMethod);
  define<"item", "x", [](const Tensor& x) -> py::object {
    if (x.numel() != 1)
      throw_value_error(fmt::format("a tensor of shape {} is not a single number", ir::to_string(x.shape())));
    return owned(Elements(x).object(0));
  }>("The number that a tensor of one element holds.", kMethod);
  define<"tolist", "x", [](const Tensor& x) -> py::object { return owned(Elements(x).lists()); }>(
      "The elements as nested lists.", kMethod);
  define<"_to_bytes", "x", [](const Tensor& x) -> py::object {
    const std::vector<std::byte> bytes = computed([&] {
      compute(x);
      return x.to_bytes();
    });
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }>("The elements one behind the other.", kMethod);
  define<"_from_bytes", "data, shape, dtype", [](const py::object& data, const Dims& shape, DType dtype) {
    const std::string_view bytes = py::reinterpret_borrow<py::bytes>(data);
    return from_bytes(std::as_bytes(std::span(bytes)), shape, Options(dtype));
  }>("The tensor that _to_bytes() was called of.", kFunction);
  define<"__reduce_ex__", "x, protocol", [](const py::object& self, const py::object&) -> py::object {
    const Tensor& x = tensor_in(self.ptr());
    const bool is_parameter = py::isinstance(self, py::module_::import("tenon.nn").attr("Parameter"));
    return py::make_tuple(py::module_::import("tenon").attr("_rebuild"),
                          py::make_tuple(self.attr("detach")().attr("_to_bytes")(), shape_object(x.shape()),
                                         dtype_object(x.dtype()), x.requires_grad() && x.is_leaf(), is_parameter));
  }>("What pickle keeps.", kMethod);
  define<"__copy__", "x", [](const py::object& self) { return copied(self, "copy", false); }>(
      "Another tensor over the same memory.", kMethod);
  define<"__deepcopy__", "x, memo", [](const py::object& self, const py::object&) {
    return copied(self, "deepcopy", true);
  }>("A copy with the same flags.", kMethod);
  define<"__format__", "x, spec", [](const py::object& self, const std::string& spec) -> py::object {
    const bool is_number = Py_TYPE(self.ptr()) == tensor_type && tensor_in(self.ptr()).dim() == 0;
    const py::module_ builtins = py::module_::import("builtins");
    if (is_number) return builtins.attr("format")(self.attr("item")(), spec);
    return builtins.attr("object").attr("__format__")(self, spec);
  }>("A single number as Python formats it.", kMethod);
  define<"is_shared", "x", [](const Tensor& x) { return is_shared(x); }>("Whether others see the memory of the tensor.",
                                                                         kMethod);
}

}  // namespace tenon::python
