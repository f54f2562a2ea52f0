// Arrays of other libraries: numpy by the buffer protocol, everything else by DLPack. Nothing is copied unless the
// function says so; what both sides may do with shared memory stands in tenon/tensor/share.h.

#include <cstring>

#include "dlpack.h"
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

// ---- memory with strides as a view of memory without ----

struct Strided {
  Dims shape, strides;  // in elements
};

// The dims from the largest stride to the smallest; of sizes of 1 the stride says nothing.
Dims by_stride(const Strided& array) {
  Dims order = ir::iota_dims(array.shape.size());
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto stride = [&](int64_t i) {
      return array.shape[static_cast<size_t>(i)] == 1 ? INT64_MAX : array.strides[static_cast<size_t>(i)];
    };
    return stride(a) > stride(b);
  });
  return order;
}

/// How one dim of an array runs through memory: memory is rows of `unit` elements, and the dim takes every `step`-th of
/// them from `first` on.
struct Run {
  int64_t unit, first, step, size;
};

// Smallest first.
std::vector<int64_t> divisors_of(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    small.push_back(i);
    if (i != number / i) large.push_back(number / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// Finds runs for the dims from `at` on, from the outside in, inside of a block of `block` elements, `offset` of which
// come before the array. A unit is a divisor of the stride that holds all that lies further inside.
bool find_runs(const Dims& sizes, const Dims& strides, size_t at, int64_t block, int64_t offset,
               std::vector<Run>& runs) {
  if (at == sizes.size()) return true;
  int64_t inside = 1;
  for (size_t i = at + 1; i < sizes.size(); ++i) inside += (sizes[i] - 1) * strides[i];
  for (const int64_t unit : divisors_of(strides[at])) {
    if (at > 0 && block % unit != 0) continue;
    const int64_t first = offset / unit, step = strides[at] / unit;
    if (offset % unit + inside > unit || first + (sizes[at] - 1) * step >= block / unit) continue;
    runs.push_back({unit, first, step, sizes[at]});
    if (find_runs(sizes, strides, at + 1, unit, offset % unit, runs)) return true;
    runs.pop_back();
  }
  return false;
}

/// An array, `offset` elements behind the begin of `flat`, as slices and permutations of it; nothing where they cannot
/// express it.
std::optional<Tensor> view_of(const Tensor& flat, int64_t offset, const Strided& array) {
  const Dims order = by_stride(array);
  Dims sizes, strides;  // from the outside in, without those of size 1
  for (const int64_t i : order) {
    if (array.shape[static_cast<size_t>(i)] == 1) continue;
    sizes.push_back(array.shape[static_cast<size_t>(i)]);
    strides.push_back(array.strides[static_cast<size_t>(i)]);
    if (strides.back() == 0) return {};
  }
  std::vector<Run> runs;
  if (!find_runs(sizes, strides, 0, flat.numel(), offset, runs)) return {};
  Tensor view = flat;
  int64_t rest = offset;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    const auto dim = static_cast<int64_t>(i);
    const int64_t rows = view.size(dim) / run.unit;
    view = view.slice(dim, 0, rows * run.unit).unflatten(dim, {rows, run.unit});
    view = view.slice(dim, run.first, run.first + (run.size - 1) * run.step + 1, run.step);
    rest -= run.first * run.unit;
  }
  view = view.select(static_cast<int64_t>(runs.size()), rest);
  Dims shape;  // with those of size 1 again
  for (const int64_t i : order) shape.push_back(array.shape[static_cast<size_t>(i)]);
  return view.reshape(shape).permute(ir::inverse_permutation(order));
}

bool is_dense(const Strided& array) {
  int64_t expected = 1;
  for (size_t i = array.shape.size(); i-- > 0;) {
    if (array.shape[i] != 1 && array.strides[i] != expected) return false;
    expected *= array.shape[i];
  }
  return true;
}

/// A tensor over memory of an array: `first` is its first element, and all memory that belongs to it is
/// [begin, end).
Tensor over(std::byte* first, std::byte* begin, std::byte* end, const std::shared_ptr<const void>& owner,
            const Strided& array, DType dtype) {
  const Options options(dtype, Device("cpu"));
  if (ir::count(array.shape) == 0) return zeros(array.shape, options);
  if (is_dense(array)) return over_shared_memory(first, owner, array.shape, options);
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t offset = (first - begin) / size;
  if ((first - begin) % size == 0) {
    const Tensor flat = over_shared_memory(begin, owner, {(end - begin) / size}, options);
    if (const auto view = view_of(flat, offset, array)) return *view;
  }
  throw_value_error(
      "the strides of the array are not those of slices of a contiguous one; share "
      "numpy.ascontiguousarray(a)");
}

// The memory of the array that an array is a part of: a slice a[:, 2:] needs the rows around it to be seen as a slice.
std::pair<std::byte*, std::byte*> memory_around(PyObject* object, const Py_buffer& view, std::byte* low,
                                                std::byte* high) {
  py::object base = py::reinterpret_borrow<py::object>(object);
  for (int depth = 0; depth < 8; ++depth) {
    const py::object next = py::getattr(base, "base", py::none());
    if (next.is_none() || !PyObject_CheckBuffer(next.ptr())) break;
    base = next;
    const Buffer whole(base.ptr());
    if (!PyBuffer_IsContiguous(&whole.view, 'A') || whole.view.itemsize != view.itemsize) continue;
    auto* begin = static_cast<std::byte*>(whole.view.buf);
    if (begin <= low && begin + whole.view.len >= high) return {begin, begin + whole.view.len};
  }
  return {low, high};
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
  Strided strided;
  std::byte* first = static_cast<std::byte*>(view.buf);
  std::byte* high = first + view.itemsize;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0 && view.shape[i] > 1)
      throw_value_error("the array has negative strides; share a copy of it, with a.copy()");
    if (view.strides[i] % view.itemsize != 0)
      throw_value_error("the strides of the array are no whole elements; share a copy of it, with a.copy()");
    strided.shape.push_back(view.shape[i]);
    strided.strides.push_back(view.strides[i] / view.itemsize);
    if (view.shape[i] > 1) high += (view.shape[i] - 1) * view.strides[i];
  }
  const auto [begin, end] =
      is_dense(strided) || view.len == 0 ? std::pair(first, high) : memory_around(array.ptr(), view, first, high);
  buffer.reset();
  return over(first, begin, end, keep(array), strided, *format.dtype);
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
    const py::object list = py::reinterpret_steal<py::object>(PySequence_List(object));
    if (!list) throw py::error_already_set();
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
    const py::object list = py::reinterpret_steal<py::object>(PyObject_CallMethod(object, "tolist", nullptr));
    if (!list) throw py::error_already_set();
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
Tensor from_dlpack(const py::object& source);
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
    const Tensor copy = from_dlpack(source).clone();
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

const char* format_letter(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f";
    case DType::f16: return "e";
    case DType::f64: return "d";
    case DType::i32: return "i";
    case DType::i64: return "q";
    case DType::u8: return "B";
    case DType::boolean: return "?";
    default: return nullptr;
  }
}

struct Shown {
  SharedMemory memory;
  std::vector<Py_ssize_t> shape, strides;
  bool repeats = false;  // several elements are one of memory
};

Shown shown(const Tensor& x) {
  if (x.requires_grad()) throw_type_error("a tensor that requires grad is not shared; call detach() first");
  Shown made;
  {
    const Released others_run;
    compute(x);
    made.memory = share_memory(x);
  }
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
  try {
    turn::await();
    const Tensor& x = tensor_in(self);
    auto made = std::make_unique<Shown>(on_host(x));
    const char* letter = format_letter(x.dtype());
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
  } catch (...) {
    set_python_error();
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Shown*>(view->internal); }

// ---- DLPack ----

namespace {

struct Exported {
  DLManagedTensor managed;
  SharedMemory memory;
  std::vector<int64_t> shape, strides;
};

DLDataType dl_type(DType dtype) {
  const auto bits = static_cast<uint8_t>(size_of(dtype) * 8);
  switch (dtype) {
    case DType::bf16: return {kDLBfloat, bits, 1};
    case DType::u8: return {kDLUInt, bits, 1};
    case DType::boolean: return {kDLBool, bits, 1};
    case DType::i32:
    case DType::i64: return {kDLInt, bits, 1};
    default: return {kDLFloat, bits, 1};
  }
}

std::optional<DType> dtype_of(const DLDataType& type) {
  for (const DType dtype : kAllDTypes) {
    const DLDataType known = dl_type(dtype);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
  }
  return {};
}

py::object to_dlpack(const Tensor& x) {
  auto made = std::make_unique<Exported>();
  const Shown shown = on_host(x);
  made->memory = shown.memory;
  for (size_t i = 0; i < shown.shape.size(); ++i) {
    made->shape.push_back(shown.shape[i]);
    made->strides.push_back(shown.strides[i] / static_cast<int64_t>(size_of(x.dtype())));
  }
  DLTensor& tensor = made->managed.dl_tensor;
  tensor = {made->memory.address,
            {kDLCPU, 0},
            static_cast<int32_t>(made->shape.size()),
            dl_type(x.dtype()),
            made->shape.data(),
            made->strides.data(),
            0};
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](DLManagedTensor* managed) { delete static_cast<Exported*>(managed->manager_ctx); };
  PyObject* capsule = PyCapsule_New(&made->managed, "dltensor", [](PyObject* unused) {
    if (!PyCapsule_IsValid(unused, "dltensor")) return;  // somebody took it
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(unused, "dltensor"));
    managed->deleter(managed);
  });
  if (!capsule) throw py::error_already_set();
  made.release();
  return py::reinterpret_steal<py::object>(capsule);
}

constexpr int64_t kMostBytes = int64_t{1} << 47;  // more than a process can address
constexpr int32_t kMostDims = 64;                 // numpy's, and more than anybody's

// Shape and strides of a capsule, which anybody may have made.
Strided strided_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMostDims)
    throw_value_error(fmt::format("a tensor has 0 to {} dims, the DLPack capsule has {}", kMostDims, tensor.ndim));
  if (tensor.ndim > 0 && !tensor.shape) throw_value_error("the DLPack capsule has no shape");
  Strided array;
  for (int32_t i = 0; i < tensor.ndim; ++i) array.shape.push_back(tensor.shape[i]);
  if (!ir::checked_count(array.shape))
    throw_value_error(fmt::format("no tensor has the shape {} of the DLPack capsule", ir::to_string(array.shape)));
  if (!tensor.strides) {
    array.strides = ir::row_major_strides(array.shape);
    return array;
  }
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    array.strides.push_back(tensor.strides[i]);
    if (tensor.strides[i] < 0 && tensor.shape[i] > 1) throw_value_error("the tensor has negative strides; copy it");
  }
  return array;
}

// How many elements of memory lie from the first one to the last one.
int64_t reach_of(const Strided& array) {
  if (ir::count(array.shape) == 0) return 0;
  int64_t reach = 1;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    int64_t distance = 0;
    if (array.shape[i] == 1) continue;
    if (__builtin_mul_overflow(array.shape[i] - 1, array.strides[i], &distance) ||
        __builtin_add_overflow(reach, distance, &reach) || reach > ir::kMostElements)
      throw_value_error("the strides of the DLPack capsule reach beyond all memory");
  }
  return reach;
}

Tensor from_dlpack(const py::object& source) {
  py::object capsule = source;
  if (!PyCapsule_CheckExact(source.ptr())) {
    if (!py::hasattr(source, "__dlpack__"))
      throw_type_error("an object with __dlpack__ is needed, not " + type_name_of(source.ptr()));
    if (is_array(source.ptr())) return from_numpy(source);  // which says more of the memory around it
    capsule = source.attr("__dlpack__")();
    if (!PyCapsule_CheckExact(capsule.ptr()))
      throw_type_error(fmt::format("__dlpack__() of {} gives no capsule, but {}", type_name_of(source.ptr()),
                                   type_name_of(capsule.ptr())));
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor")) throw_value_error("the DLPack capsule was used already");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const DLTensor& tensor = managed->dl_tensor;
  if (tensor.device.device_type != kDLCPU)
    throw_type_error("only tensors in the memory of the host are shared; move it to the cpu first");
  const auto dtype = dtype_of(tensor.dtype);
  if (!dtype)
    throw_type_error(
        fmt::format("Tenon has no dtype for DLPack's type {} of {} bits", tensor.dtype.code, tensor.dtype.bits));
  const Strided array = strided_of(tensor);
  const int64_t bytes = reach_of(array) * static_cast<int64_t>(size_of(*dtype));
  if (bytes > 0 && !tensor.data) throw_value_error("the DLPack capsule has elements, and no memory");
  if (bytes > kMostBytes || tensor.byte_offset > static_cast<uint64_t>(kMostBytes))
    throw_value_error("the strides of the DLPack capsule reach beyond all memory");
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  const std::shared_ptr<DLManagedTensor> owner(managed, [](DLManagedTensor* kept) {
    if (kept->deleter) kept->deleter(kept);
  });
  auto* first = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return over(first, first, first + bytes, owner, array, *dtype);
}

}  // namespace

void note_arrays() {
  define<"from_numpy", "array", [](const py::object& array) { return from_numpy(array); }>(
      "A tensor over the memory of a numpy array; nothing is copied.\n\n>>> import numpy, tenon\n"
      ">>> a = numpy.zeros(2, numpy.float32)\n>>> x = tenon.from_numpy(a)\n>>> a[0] = 5\n>>> x\ntensor([5., 0.])",
      kFunction);
  define<"from_dlpack", "source", [](const py::object& source) { return from_dlpack(source); }>(
      "A tensor over the memory of another library's tensor, by DLPack; nothing is copied.", kFunction);
  define<"__dlpack__", "x, stream=None, max_version=None, dl_device=None, copy=None",
         [](const Tensor& x, const py::object&, const py::object&, const py::object&, const py::object&) {
           return to_dlpack(x);
         }>("The tensor for other libraries.", kMethod);
  define<"__dlpack_device__", "x", [](const Tensor& x) -> py::object {
    if (x.device().name() != "cpu") throw_type_error("only tensors on the cpu are shared; call cpu() first");
    return py::make_tuple(static_cast<int>(kDLCPU), 0);
  }>("Where it lies, for other libraries.", kMethod);
  define<"numpy", "x", [](const Tensor& x) -> py::object {
    const py::object object = py::reinterpret_steal<py::object>(wrap_new(x));
    return py::module_::import("numpy").attr("asarray")(py::memoryview(object));
  }>("A numpy array over the memory of the tensor; nothing is copied.", kMethod);
  define<"__array__", "x, dtype=None, copy=None", [](const Tensor& x, const py::object& dtype, const py::object&) {
    const py::object object = py::reinterpret_steal<py::object>(wrap_new(x));
    py::object array = py::module_::import("numpy").attr("asarray")(py::memoryview(object));
    return dtype.is_none() ? array : py::object(array.attr("astype")(dtype, py::arg("copy") = false));
  }>("What numpy.asarray() gives.", kMethod);
  define<"item", "x", [](const Tensor& x) -> py::object {
    if (x.numel() != 1)
      throw_value_error(fmt::format("a tensor of shape {} is not a single number", ir::to_string(x.shape())));
    return py::reinterpret_steal<py::object>(Elements(x).object(0));
  }>("The number that a tensor of one element holds.", kMethod);
  define<"tolist", "x", [](const Tensor& x) -> py::object {
    return py::reinterpret_steal<py::object>(Elements(x).lists(x.shape()));
  }>("The elements as nested lists.", kMethod);
  define<"_to_bytes", "x", [](const Tensor& x) -> py::object {
    std::vector<std::byte> bytes;
    {
      const Released others_run;
      compute(x);
      bytes = x.to_bytes();
    }
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }>("The elements one behind the other.", kMethod);
  define<"_from_bytes", "data, shape, dtype", [](const py::object& data, const Dims& shape, DType dtype) {
    const std::string_view bytes = py::reinterpret_borrow<py::bytes>(data);
    return from_bytes(std::as_bytes(std::span(bytes)), shape, Options(dtype));
  }>("The tensor that _to_bytes() was called of.", kFunction);
  define<"is_shared", "x", [](const Tensor& x) { return is_shared(x); }>("Whether others see the memory of the tensor.",
                                                                         kMethod);
}

}  // namespace tenon::python
