// tenon.Tensor: the type itself, its operators, its indexing and its attributes. All other methods are functions that
// files beside this one have noted.

#include <algorithm>
#include <new>
#include <unordered_map>

#include "elements.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// Objects whose tensors C++ hands out again, parameters say, by the tensor's identity. Guarded by Python's lock.
std::unordered_map<const void*, PyObject*>& known_objects() {
  static auto* objects = new std::unordered_map<const void*, PyObject*>;
  return *objects;
}

PyTensor* of(PyObject* object) { return reinterpret_cast<PyTensor*>(object); }

}  // namespace

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) throw py::error_already_set();
  new (&of(object)->tensor) Tensor(std::move(tensor));
  of(object)->weak_references = nullptr;
  of(object)->is_known = false;
  return object;
}

PyObject* wrap_new(Tensor tensor) {
  return tensor.defined() ? wrap_as(tensor_type, std::move(tensor)) : Py_NewRef(Py_None);
}

PyObject* wrap(const Tensor& tensor) {
  if (!tensor.defined()) return Py_NewRef(Py_None);
  const auto known = known_objects().find(tensor.identity());
  return known != known_objects().end() ? Py_NewRef(known->second) : wrap_new(tensor);
}

void make_known(PyObject* object) {
  if (of(object)->is_known) return;
  of(object)->is_known = known_objects().emplace(tensor_in(object).identity(), object).second;
}

namespace {

// ---- life ----

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    Tensor tensor;
    const Py_ssize_t given = PyTuple_GET_SIZE(args);
    const bool has_sizes = !keywords && (given != 1 || PyLong_Check(PyTuple_GET_ITEM(args, 0)));
    if (has_sizes) {  // Tensor(2, 3), as PyTorch has it
      tensor = zeros(given == 0 ? Dims{0} : dims_of(args, "a size"));
    } else {
      PyObject* data = nullptr;
      static const char* names[] = {"data", nullptr};
      if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", const_cast<char**>(names), &data)) return nullptr;
      tensor = is_tensor(data) ? tensor_in(data) : tensor_of_object(data).to(DType::f32);
    }
    return wrap_as(type, std::move(tensor));
  });
}

void tensor_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (of(self)->weak_references) PyObject_ClearWeakRefs(self);
  if (of(self)->is_known) known_objects().erase(tensor_in(self).identity());
  of(self)->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- operators ----

template <Tensor (*F)(const Operand&, const Operand&)>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (is_tensor(a) && is_tensor(b)) return wrap_new(F(tensor_in(a), tensor_in(b)));
    const auto left = operand_of(a), right = operand_of(b);
    if (!left || !right) return Py_NewRef(Py_NotImplemented);
    turn::await();  // conversions may have called code of the user's
    return wrap_new(F(*left, *right));
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject*) { return binary<&tenon::pow>(a, b); }

template <auto F>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    const auto operand = operand_of(other);
    if (!operand) return Py_NewRef(Py_NotImplemented);
    turn::await();
    F(tensor_in(self), *operand);
    return Py_NewRef(self);
  });
}
PyObject* power_in_place(PyObject* self, PyObject* other, PyObject*) {
  return in_place<[](Tensor& x, const Operand& y) { x.pow_(y); }>(self, other);
}

template <Tensor (*F)(const Tensor&)>
PyObject* unary(PyObject* self) {
  return guarded([&] { return wrap_new(F(tensor_in(self))); });
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }

template <Tensor (*F)(const Operand&, const Operand&)>
PyObject* shift(PyObject* a, PyObject* b) {
  return is_tensor(a) ? binary<F>(a, b) : Py_NewRef(Py_NotImplemented);
}

PyObject* product(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const auto left = operand_of(a), right = operand_of(b);
    if (!left || !right || !left->is_tensor() || !right->is_tensor()) return Py_NewRef(Py_NotImplemented);
    turn::await();
    return wrap_new(matmul(left->tensor(), right->tensor()));
  });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT: return binary<&lt>(a, b);
    case Py_LE: return binary<&le>(a, b);
    case Py_GT: return binary<&gt>(a, b);
    case Py_GE: return binary<&ge>(a, b);
    case Py_EQ: return binary<&eq>(a, b);
    default: return binary<&ne>(a, b);
  }
}

Py_hash_t hash(PyObject* self) {
  const auto address = reinterpret_cast<uintptr_t>(tensor_in(self).identity());
  return static_cast<Py_hash_t>((address >> 4) | (address << 60)) >> 1;
}

void require_one(const Tensor& x, const char* what) {
  if (x.numel() != 1)
    throw_value_error(fmt::format("a tensor of shape {} is not a single {}", ir::to_string(x.shape()), what));
}

int truth(PyObject* self) {
  return guarded([&]() -> int {
    const Tensor& x = tensor_in(self);
    if (x.numel() != 1)
      throw_value_error(fmt::format("the truth of a tensor of shape {} is not defined; use any() or all()",
                                    ir::to_string(x.shape())));
    return Elements(x).number<double>(0) != 0;
  });
}
PyObject* as_int(PyObject* self) {
  return guarded([&] {
    const Tensor& x = tensor_in(self);
    require_one(x, "integer");
    if (!is_float(x.dtype())) return PyLong_FromLongLong(Elements(x).number<int64_t>(0));
    return PyLong_FromDouble(Elements(x).number<double>(0));
  });
}
PyObject* as_float(PyObject* self) {
  return guarded([&] {
    require_one(tensor_in(self), "number");
    return PyFloat_FromDouble(Elements(tensor_in(self)).number<double>(0));
  });
}
PyObject* as_index(PyObject* self) {
  return guarded([&] {
    const Tensor& x = tensor_in(self);
    if (is_float(x.dtype())) throw_type_error("only a tensor of integers is an index");
    require_one(x, "integer");
    return PyLong_FromLongLong(Elements(x).number<int64_t>(0));
  });
}

// ---- indexing ----

Slice slice_of(PyObject* object) {
  const auto* slice = reinterpret_cast<PySliceObject*>(object);
  const auto part = [](PyObject* value) -> std::optional<int64_t> {
    if (value == Py_None) return {};
    return integer_of(value, "an integer");
  };
  const std::optional<int64_t> step = part(slice->step);
  if (step == 0) throw_value_error("the step of a slice cannot be 0");
  return Slice(part(slice->start), part(slice->stop), step.value_or(1));
}

// A list in an index is a tensor of positions or a mask.
Tensor positions_of(PyObject* object) {
  Tensor positions = is_tensor(object) ? tensor_in(object) : tensor_of_object(object);
  if (is_float(positions.dtype()) && positions.numel() == 0) return positions.to(DType::i64);  // []
  if (positions.dtype() == DType::u8 && is_tensor(object))
    return positions.to(DType::boolean);  // PyTorch's older masks
  return positions;
}

bool needs_tensors(PyObject* object) {
  return !PySlice_Check(object) && !PyLong_Check(object) && object != Py_None && object != Py_Ellipsis &&
         !PyTuple_Check(object);
}

void add_entry(PyObject* object, std::vector<IndexEntry>& entries) {
  if (PySlice_Check(object))
    entries.emplace_back(slice_of(object));
  else if (object == Py_None)
    entries.emplace_back(NewAxis());
  else if (object == Py_Ellipsis)
    entries.emplace_back(Ellipsis());
  else if (PyBool_Check(object))
    entries.emplace_back(scalar(object == Py_True));
  else if (is_integer(object))
    entries.emplace_back(integer_of(object, "an index"));
  else if (is_tensor(object) || PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object) ||
           is_array(object))
    entries.emplace_back(positions_of(object));
  else
    throw py::type_error("an index is an integer, a slice, None, ..., a tensor or a list of these, not " +
                         type_name_of(object));
}

std::vector<IndexEntry> entries_of(PyObject* key) {
  std::vector<IndexEntry> entries;
  if (!PyTuple_Check(key)) {
    add_entry(key, entries);
    return entries;
  }
  entries.reserve(static_cast<size_t>(PyTuple_GET_SIZE(key)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) add_entry(PyTuple_GET_ITEM(key, i), entries);
  return entries;
}

bool computes(PyObject* key) {  // a mask is read at once
  if (!PyTuple_Check(key)) return needs_tensors(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    if (needs_tensors(PyTuple_GET_ITEM(key, i))) return true;
  }
  return false;
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const Tensor& x = tensor_in(self);
    if (PyLong_CheckExact(key)) return wrap_new(x.select(0, integer_of(key, "an index")));
    if (PySlice_Check(key)) return wrap_new(x[slice_of(key)]);
    const std::vector<IndexEntry> entries = entries_of(key);
    turn::await();
    return wrap_new(computes(key) ? computed([&] { return x.index(entries); }) : x.index(entries));
  });
}

PyObject* item_at(PyObject* self, Py_ssize_t i) {
  return guarded([&] { return wrap_new(tensor_in(self).select(0, i)); });
}

// They say nothing where values are broadcast, and would be one dim too many where the place has fewer.
Operand without_leading_ones(const Operand& operand) {
  if (!operand.is_tensor() || operand.tensor().dim() == 0 || operand.tensor().size(0) != 1) return operand;
  Tensor x = operand.tensor();
  while (x.dim() > 0 && x.size(0) == 1) x = x.squeeze(0);
  return Operand(x);
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded([&] {
    if (!value) throw_type_error("elements of a tensor cannot be deleted");
    Tensor& x = tensor_in(self);
    auto operand = operand_of(value);
    if (!operand && (PyList_Check(value) || PyTuple_Check(value) || PyRange_Check(value)))
      operand = Operand(tensor_of_object(value, x.dtype()));
    if (!operand) throw_type_error("a tensor, a number or a list is needed, not " + type_name_of(value));
    const std::vector<IndexEntry> entries = entries_of(key);
    const Released others_run;
    x.index_put_(entries, without_leading_ones(*operand));
    return 0;
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    const Dims& shape = tensor_in(self).shape();
    if (shape.empty()) throw_type_error("a tensor of a single number has no len()");
    return shape[0];
  });
}

int contains(PyObject* self, PyObject* element) {
  return guarded([&]() -> int {
    const auto operand = operand_of(element);
    if (!operand) return 0;
    turn::await();
    return Elements(any(eq(tensor_in(self), *operand))).number<bool>(0);
  });
}

// ---- text ----

// The rows of an array below each other, behind "tensor(".
std::string text_of(const Tensor& x, bool is_parameter) {
  std::string text = is_parameter ? "Parameter(" : "tensor(";
  std::vector<double> real;
  std::vector<int64_t> whole;
  x.eval();
  if (is_float(x.dtype()))
    real = x.to_vector<double>();
  else
    whole = x.to_vector<int64_t>();
  text += format_array(x.shape(), x.dtype(), real, whole, {true, text.size()});
  const DType dtype = x.dtype();
  const bool is_usual =
      x.numel() > 0 ? dtype == DType::f32 || dtype == DType::i64 || dtype == DType::boolean : dtype == DType::f32;
  if (x.numel() == 0 && x.dim() > 1) text += fmt::format(", shape={}", ir::to_string(x.shape()));
  if (!is_usual) text += fmt::format(", dtype={}", python_name(dtype));
  if (x.device().name() != "cpu") text += fmt::format(", device='{}'", x.device().name());
  if (x.requires_grad() && !is_parameter) text += ", requires_grad=True";
  return text + ")";
}

PyObject* printer = nullptr;  // of the user's options, which Python keeps: set_printoptions()

PyObject* repr(PyObject* self) {
  if (printer) return PyObject_CallOneArg(printer, self);
  return guarded([&] {
    const bool is_parameter = Py_TYPE(self) != tensor_type && std::string_view(Py_TYPE(self)->tp_name) == "Parameter";
    const std::string text = computed([&] {
      compute(tensor_in(self));
      return text_of(tensor_in(self), is_parameter);
    });
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

// ---- attributes ----

template <auto F>
PyObject* get(PyObject* self, void*) {
  return guarded([&] { return F(tensor_in(self)); });
}

template <auto F>
int set(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    F(tensor_in(self), value ? value : Py_None);
    return 0;
  });
}
void set_data(Tensor& x, PyObject* value) { x.set_data(Convert<Tensor>::from(value)); }
void set_grad(Tensor& x, PyObject* value) {
  if (value == Py_None)
    x.zero_grad();
  else
    x.set_grad(Convert<Tensor>::from(value));
}
void set_requires_grad(Tensor& x, PyObject* value) {
  if (!PyBool_Check(value)) throw_type_error("requires_grad is True or False");
  x.requires_grad_(value == Py_True);
}

Tensor turned(const Tensor& x) {
  Dims dims = ir::iota_dims(x.shape().size());
  std::reverse(dims.begin(), dims.end());
  return x.permute(dims);
}

PyGetSetDef attribute(const char* name, const char* help, getter get, setter set = nullptr) {
  return {name, get, set, help, nullptr};
}
PyGetSetDef never(const char* name) {
  return attribute(name, "False: there are no such tensors.", [](PyObject*, void*) { return Py_NewRef(Py_False); });
}

PyGetSetDef attributes[] = {
    attribute("shape", "The sizes.", get<[](const Tensor& x) { return shape_object(x.shape()).release().ptr(); }>),
    attribute("dtype", "The type of the elements.",
              get<[](const Tensor& x) { return dtype_object(x.dtype()).release().ptr(); }>),
    attribute("device", "Where the tensor lives.",
              get<[](const Tensor& x) { return py::cast(DeviceObject{x.device()}).release().ptr(); }>),
    attribute("ndim", "The number of dims.", get<[](const Tensor& x) { return PyLong_FromLongLong(x.dim()); }>),
    attribute("nbytes", "The bytes of all elements.",
              get<[](const Tensor& x) { return PyLong_FromLongLong(x.nbytes()); }>),
    attribute("itemsize", "The bytes of one element.",
              get<[](const Tensor& x) { return PyLong_FromSize_t(size_of(x.dtype())); }>),
    attribute("T", "All dims in the other order.", get<[](const Tensor& x) { return wrap_new(turned(x)); }>),
    attribute("mT", "The last two dims changed over.",
              get<[](const Tensor& x) { return wrap_new(x.transpose(-2, -1)); }>),
    attribute("requires_grad", "Whether gradients are collected or passed on.",
              get<[](const Tensor& x) { return PyBool_FromLong(x.requires_grad()); }>, set<set_requires_grad>),
    attribute("is_leaf", "Whether it is no result of ops that are recorded.",
              get<[](const Tensor& x) { return PyBool_FromLong(x.is_leaf()); }>),
    attribute("grad", "The gradient that backward() has left, or None.",
              get<[](const Tensor& x) { return wrap(x.grad()); }>, set<set_grad>),
    attribute("is_cuda", "Whether it lives on a GPU of NVIDIA's.",
              get<[](const Tensor& x) { return PyBool_FromLong(x.device().name().starts_with("cuda")); }>),
    attribute("is_cpu", "Whether it lives in the memory of the host.",
              get<[](const Tensor& x) { return PyBool_FromLong(x.device().name() == "cpu"); }>),
    never("is_xpu"),
    never("is_mps"),
    never("is_meta"),
    never("is_sparse"),
    never("is_quantized"),
    never("is_nested"),
    never("is_mkldnn"),
    attribute("data", "The values without their history; set it to give the tensor other memory.",
              get<[](const Tensor& x) { return wrap_new(x.detach()); }>, set<set_data>),
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak_references), READONLY, nullptr},
                         {}};

template <typename F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

// ---- tenon.Size ----

PyTypeObject* size_type = nullptr;

PyObject* made_size(Py_ssize_t count) { return size_type->tp_alloc(size_type, count); }

PyObject* numel_of_size(PyObject* self, PyObject*) {
  int64_t elements = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    const int64_t size = PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
    if (size == -1 && PyErr_Occurred()) return nullptr;
    elements *= size;
  }
  return PyLong_FromLongLong(elements);
}

/// Parts of a shape are shapes.
PyObject* part_of_size(PyObject* self, PyObject* key) {
  PyObject* part = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  if (!part || !PySlice_Check(key)) return part;
  const py::object plain = py::reinterpret_steal<py::object>(part);
  PyObject* made = made_size(PyTuple_GET_SIZE(part));
  for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(part); ++i)
    PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(part, i)));
  return made;
}

void prepare_size_type(py::module_& m) {
  static PyMethodDef methods[] = {{"numel", numel_of_size, METH_NOARGS, "numel()\n\nThe number of elements."},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("The sizes of a tensor: a tuple.")},
                                {Py_tp_methods, methods},
                                {Py_mp_subscript, reinterpret_cast<void*>(&part_of_size)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tenon.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const py::tuple bases = py::make_tuple(py::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)));
  size_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases.ptr()));
  if (!size_type) throw py::error_already_set();
  m.add_object("Size", py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(size_type)));
}

}  // namespace

py::object shape_object(const Dims& shape) {
  py::object made = owned(made_size(static_cast<Py_ssize_t>(shape.size())));
  if (!made) throw py::error_already_set();
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return made;
}

void note_printing() {
  define<"_set_printer", "function", [](const py::object& function) -> py::object {
    Py_XDECREF(std::exchange(printer, function.is_none() ? nullptr : Py_NewRef(function.ptr())));
    return py::none();
  }>("Another function that prints tensors, or None for the usual one.", kFunction);
}

void prepare_tensor_type(py::module_& m) {
  prepare_size_type(m);
  static const std::vector<PyMethodDef> methods = method_table(kMethod);
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>("A tensor: numbers in any number of dims, recorded lazily and computed when read.\n\n"
                         ">>> import tenon\n>>> x = tenon.tensor([[1., 2.], [3., 4.]])\n"
                         ">>> x.sum(0)\ntensor([4., 6.])\n")},
      {Py_tp_new, slot(tensor_new)},
      {Py_tp_dealloc, slot(tensor_dealloc)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_hash, slot(hash)},
      {Py_tp_richcompare, slot(compare)},
      {Py_tp_methods, const_cast<PyMethodDef*>(methods.data())},
      {Py_tp_getset, attributes},
      {Py_tp_members, members},
      {Py_nb_add, slot(binary < &tenon::operator+>)},
      {Py_nb_subtract, slot(binary<(&tenon::operator-)>)},
      {Py_nb_multiply, slot(binary < &tenon::operator*>)},
      {Py_nb_true_divide, slot(binary<&true_divide>)},
      {Py_nb_floor_divide, slot(binary<&tenon::floor_divide>)},
      {Py_nb_remainder, slot(binary<&tenon::remainder>)},
      {Py_nb_power, slot(power)},
      {Py_nb_matrix_multiply, slot(product)},
      {Py_nb_and, slot(binary<&bitwise_and>)},
      {Py_nb_or, slot(binary<&bitwise_or>)},
      {Py_nb_xor, slot(binary<&bitwise_xor>)},
      {Py_nb_lshift, slot(shift<&bitwise_left_shift>)},
      {Py_nb_rshift, slot(shift<&bitwise_right_shift>)},
      {Py_nb_negative, slot(unary<&neg>)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_absolute, slot(unary<&tenon::abs>)},
      {Py_nb_invert, slot(unary<&bitwise_not>)},
      {Py_nb_bool, slot(truth)},
      {Py_nb_int, slot(as_int)},
      {Py_nb_float, slot(as_float)},
      {Py_nb_index, slot(as_index)},
      {Py_nb_inplace_add, slot(in_place<[](Tensor& x, const Operand& y) { x.add_(y); }>)},
      {Py_nb_inplace_subtract, slot(in_place<[](Tensor& x, const Operand& y) { x.sub_(y); }>)},
      {Py_nb_inplace_multiply, slot(in_place<[](Tensor& x, const Operand& y) { x.mul_(y); }>)},
      {Py_nb_inplace_true_divide, slot(in_place<[](Tensor& x, const Operand& y) { x.div_(y); }>)},
      {Py_nb_inplace_remainder, slot(in_place<[](Tensor& x, const Operand& y) { x.remainder_(y); }>)},
      {Py_nb_inplace_floor_divide, slot(in_place<[](Tensor& x, const Operand& y) { x.floor_divide_(y); }>)},
      {Py_nb_inplace_power, slot(power_in_place)},
      {Py_nb_inplace_lshift, slot(in_place<[](Tensor& x, const Operand& y) { x.bitwise_left_shift_(y); }>)},
      {Py_nb_inplace_rshift, slot(in_place<[](Tensor& x, const Operand& y) { x.bitwise_right_shift_(y); }>)},
      {Py_nb_inplace_and, slot(in_place<[](Tensor& x, const Operand& y) { x.bitwise_and_(y); }>)},
      {Py_nb_inplace_or, slot(in_place<[](Tensor& x, const Operand& y) { x.bitwise_or_(y); }>)},
      {Py_nb_inplace_xor, slot(in_place<[](Tensor& x, const Operand& y) { x.bitwise_xor_(y); }>)},
      {Py_mp_subscript, slot(get_item)},
      {Py_mp_ass_subscript, slot(set_item)},
      {Py_mp_length, slot(length)},
      {Py_sq_item, slot(item_at)},
      {Py_sq_length, slot(length)},
      {Py_sq_contains, slot(contains)},
      {Py_bf_getbuffer, slot(get_buffer)},
      {Py_bf_releasebuffer, slot(release_buffer)},
      {0, nullptr}};
  static PyType_Spec spec = {"tenon.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) throw py::error_already_set();
  py::object type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(tensor_type));
  py::setattr(type, "__array_priority__", py::int_(1000));  // array + tensor is a tensor
  m.add_object("Tensor", type);
}

}  // namespace tenon::python
