// Shapes, views, picking and arranging.

#include "arithmetic.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

template <typename F>
auto computed(F&& f) {
  const Released others_run;
  return f();
}

template <typename T>
int64_t address_in(const Tensor& x) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(x.data_ptr<T>()));
}
int64_t address_of(const Tensor& x) {
  return computed([&]() -> int64_t {
    switch (x.dtype()) {
      case DType::f32: return address_in<float>(x);
      case DType::f64: return address_in<double>(x);
      case DType::i32: return address_in<int32_t>(x);
      case DType::i64: return address_in<int64_t>(x);
      case DType::u8: return address_in<uint8_t>(x);
      case DType::boolean: return address_in<bool>(x);
      case DType::f16: return address_in<base::Half>(x);
      case DType::bf16: return address_in<base::BFloat16>(x);
    }
    return 0;
  });
}

Tensor squeezed(Tensor x, const Dims& dims) {
  std::vector<bool> goes(static_cast<size_t>(x.dim()));
  for (const int64_t dim : dims) {
    const Tensor without = x.squeeze(dim);  // or an error that names the dim
    if (without.dim() < x.dim()) goes[static_cast<size_t>(dim < 0 ? dim + x.dim() : dim)] = true;
  }
  for (size_t i = goes.size(); i-- > 0;) {
    if (goes[i]) x = x.squeeze(static_cast<int64_t>(i));
  }
  return x;
}

Tensor rolled(Tensor x, const Dims& shifts, const Dims& dims) {
  if (dims.empty() && shifts.size() == 1) return roll(x.flatten(0, -1), shifts[0], 0).reshape(x.shape());
  if (shifts.empty() || shifts.size() != dims.size())
    throw_value_error(
        fmt::format("roll() needs one shift for each dim, not {} for {} dims", shifts.size(), dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) x = roll(x, shifts[i], dims[i]);
  return x;
}

bool is_right(bool right, const py::object& side) {
  if (side.is_none()) return right;
  const std::string name = Convert<std::string>::from(side.ptr());
  if (name != "left" && name != "right")
    throw_value_error(fmt::format("there is no side '{}'; there are 'left' and 'right'", name));
  if (right && name == "left") throw_value_error("searchsorted() is asked for right=True and for side='left'");
  return name == "right";
}

// The same object of Python's with another tensor: shape and history of a tensor itself are not to be changed.
py::object replaced(const char* op, const py::object& self, Tensor made) {
  Tensor& held = tensor_in(self.ptr());
  if (reinterpret_cast<PyTensor*>(self.ptr())->is_known || (held.is_leaf() && held.requires_grad()))
    base::fail(op, "a parameter, or another leaf that requires grad, cannot be changed in place; use its .data");
  held = std::move(made);
  return self;
}

}  // namespace

void note_shapes() {
  define<"squeeze_", "x, dim=None", [](const py::object& self, const py::object& dim) {
    const Tensor& x = tensor_in(self.ptr());
    return replaced("squeeze_", self,
                    dim.is_none() ? x.squeeze() : squeezed(x, dims_of(dim.ptr(), "a dim or a list of dims")));
  }>("squeeze in place.", kMethod);
  define<"unsqueeze_", "x, dim", [](const py::object& self, int64_t dim) {
    return replaced("unsqueeze_", self, tensor_in(self.ptr()).unsqueeze(dim));
  }>("unsqueeze in place.", kMethod);
  define<"t_", "x", [](const py::object& self) { return replaced("t_", self, tensor_in(self.ptr()).t()); }>(
      "t in place.", kMethod);
  define<"detach_", "x", [](const py::object& self) -> py::object {
    Tensor& x = tensor_in(self.ptr());
    if (!x.is_leaf()) return replaced("detach_", self, x.detach());
    x.requires_grad_(false);
    return self;
  }>("Cuts it from its history.", kMethod);
  define<"reshape", "x, *shape", [](const Tensor& x, const Dims& shape) { return x.reshape(shape); }>(
      "The same elements in another shape; one size may be -1.\n\n>>> import tenon\n"
      ">>> tenon.arange(4).reshape(2, -1)\ntensor([[0, 1],\n        [2, 3]])");
  define<"view", "x, *shape", [](const Tensor& x, const Dims& shape) { return x.view(shape); }>(
      "As reshape, but fails where it would have to copy.", kMethod);
  define<"permute", "x, *dims", [](const Tensor& x, const Dims& dims) { return x.permute(dims); }>(
      "The dims in another order.");
  define<"transpose", "x, dim0, dim1", [](const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }>(
      "Two dims changed over.");
  define<"t", "x", [](const Tensor& x) { return x.t(); }>("A matrix with rows and columns changed over.");
  define<"movedim", "x, source, destination", [](const Tensor& x, const Axes& from, const Axes& to) {
    return movedim(x, from, to);
  }>("Moves dims to other places; the rest keep their order.");
  define<"expand", "x, *shape", [](const Tensor& x, const Dims& shape) { return x.expand(shape); }>(
      "Dims of size 1 repeated without memory; -1 keeps a size.", kMethod);
  define<"expand_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.expand_as(other); }>(
      "Expanded to the shape of another.", kMethod);
  define<"broadcast_to", "x, shape", [](const Tensor& x, const Dims& shape) { return broadcast_to(x, shape); }>(
      "Expanded to a shape.");
  define<"view_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.view(other.shape()); }>(
      "As view, in the shape of another.", kMethod);
  define<"reshape_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.reshape(other.shape()); }>(
      "In the shape of another.", kMethod);
  define<"ravel", "x", [](const Tensor& x) { return x.flatten(0, -1); }>("All elements in one dim.");
  define<"swapaxes", "x, axis0, axis1", [](const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }>(
      "As transpose.");
  define<"flip", "x, *dims", [](const Tensor& x, const Axes& dims) { return flip(x, dims); }>(
      "Elements along dims in the other order.");
  define<"fliplr", "x", [](const Tensor& x) {
    if (x.dim() < 2) throw_value_error("fliplr() needs two dims or more, not " + ir::to_string(x.shape()));
    return flip(x, 1);
  }>("Elements along dim 1 in the other order.");
  define<"flipud", "x", [](const Tensor& x) {
    if (x.dim() < 1) throw_value_error("flipud() needs a dim");
    return flip(x, 0);
  }>("Elements along dim 0 in the other order.");
  define<"squeeze", "x, dim=None", [](const Tensor& x, const py::object& dim) {
    return dim.is_none() ? x.squeeze() : squeezed(x, dims_of(dim.ptr(), "a dim or a list of dims"));
  }>("Without dims of size 1, or without those of them that are named.");
  define<"unsqueeze", "x, dim", [](const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }>(
      "With one more dim of size 1.");
  define<"flatten", "x, start_dim=0, end_dim=-1",
         [](const Tensor& x, int64_t first, int64_t last) { return x.flatten(first, last); }>("Joins dims.");
  define<"unflatten", "x, dim, sizes",
         [](const Tensor& x, int64_t dim, const Dims& sizes) { return x.unflatten(dim, sizes); }>("Takes a dim apart.");
  define<"diagonal", "x, offset=0, dim1=0, dim2=1", [](const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal(x, offset, dim1, dim2);
  }>("Elements (i, i + offset) of two dims, as a last one.");
  define<"diag", "x, diagonal=0", [](const Tensor& x, int64_t diagonal) { return diag(x, diagonal); }>(
      "A matrix's diagonal, or a matrix with this one.");
  define<"trace", "x", [](const Tensor& x) { return trace(x); }>("The sum of a matrix's diagonal.");
  define<"unfold", "x, dimension, size, step", [](const Tensor& x, int64_t dim, int64_t size, int64_t step) {
    return unfold(x, dim, size, step);
  }>("Windows along a dim, as a last one.", kMethod);
  define<"select", "x, dim, index", [](const Tensor& x, int64_t dim, int64_t index) { return x.select(dim, index); }>(
      "One position along a dim, which disappears.");
  define<"narrow", "x, dim, start, length", [](const Tensor& x, int64_t dim, const py::object& start, int64_t length) {
    if (is_tensor(start.ptr())) {
      const Tensor& given = tensor_in(start.ptr());
      if (given.dim() != 0 || !is_integer(given.dtype()))
        throw_type_error("start is an integer or a tensor of one integer without dims");
    }
    return x.narrow(dim, integer_of(start.ptr(), "start"), length);
  }>("A part along a dim.");
  define<"split", "x, split_size, dim=0", [](const Tensor& x, const py::object& sizes, int64_t dim) {
    if (is_integer(sizes.ptr())) return x.split(integer_of(sizes.ptr(), "a size"), dim);
    return x.split(dims_of(sizes.ptr(), "a size or a list of sizes"), dim);
  }>("Parts of a size, or of several sizes, along a dim.");
  define<"split_with_sizes", "x, split_sizes, dim=0", [](const Tensor& x, const Dims& sizes, int64_t dim) {
    return x.split(sizes, dim);
  }>("Parts of several sizes along a dim.");
  define<"chunk", "x, chunks, dim=0", [](const Tensor& x, int64_t chunks, int64_t dim) {
    return x.chunk(chunks, dim);
  }>("So many parts along a dim.");
  define<"unbind", "x, dim=0", [](const Tensor& x, int64_t dim) { return x.unbind(dim); }>(
      "All positions along a dim.");
  define<"repeat", "x, *repeats", [](const Tensor& x, const Dims& repeats) { return x.repeat(repeats); }>(
      "The tensor side by side, so often along each dim.", kMethod);
  define<"tile", "x, *dims", [](const Tensor& x, Dims dims) {
    while (static_cast<int64_t>(dims.size()) < x.dim()) dims.insert(dims.begin(), 1);
    return x.repeat(dims);
  }>("As repeat; dims that are not named stay as they are.");
  define<"repeat_interleave", "x, repeats, dim=None",
         [](const Tensor& x, const Operand& repeats, std::optional<int64_t> dim) {
           return computed([&] { return repeat_interleave(x, repeats, dim); });
         }>("Each element, or slice along dim, so many times in a row.");
  define<"roll", "x, shifts, dims=None", [](const Tensor& x, const Dims& shifts, const py::object& dims) {
    return rolled(x, shifts, dims.is_none() ? Dims() : dims_of(dims.ptr(), "a dim or a list of dims"));
  }>("Elements moved along dims, those beyond the end to the begin; without dims, of the tensor laid flat.");
  define<"tril", "x, diagonal=0", [](const Tensor& x, int64_t diagonal) { return tril(x, diagonal); }>(
      "The lower triangle; the rest is 0.");
  define<"triu", "x, diagonal=0", [](const Tensor& x, int64_t diagonal) { return triu(x, diagonal); }>(
      "The upper triangle; the rest is 0.");
  define<"cat", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) { return cat(tensors, dim); }>(
      "Tensors one behind the other along a dim.", kFunction);
  define<"concat", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) { return cat(tensors, dim); }>(
      "As cat.", kFunction);
  define<"concatenate", "tensors, dim=0",
         [](const std::vector<Tensor>& tensors, int64_t dim) { return cat(tensors, dim); }>("As cat.", kFunction);
  define<"stack", "tensors, dim=0", [](const std::vector<Tensor>& tensors, int64_t dim) {
    return stack(tensors, dim);
  }>("Tensors along a new dim.", kFunction);
  define<"hstack", "tensors", [](const std::vector<Tensor>& tensors) { return hstack(tensors); }>("Side by side.",
                                                                                                  kFunction);
  define<"vstack", "tensors", [](const std::vector<Tensor>& tensors) { return vstack(tensors); }>("As rows.",
                                                                                                  kFunction);
  define<"column_stack", "tensors", [](const std::vector<Tensor>& tensors) { return column_stack(tensors); }>(
      "Side by side; vectors are columns.", kFunction);
  define<"dstack", "tensors", [](const std::vector<Tensor>& tensors) { return dstack(tensors); }>("Along dim 2.",
                                                                                                  kFunction);
  define<"meshgrid", "*tensors, indexing='ij'", [](const py::object& tensors, const std::string& indexing) {
    if (is_tensor(tensors.ptr())) return meshgrid({tensor_in(tensors.ptr())}, indexing);
    return meshgrid(Convert<std::vector<Tensor>>::from(tensors.ptr()), indexing);
  }>("Vectors as coordinates of a grid.", kFunction);
  define<"pad", "x, pad, value=0.0", [](const Tensor& x, const Dims& sizes, Number value) {
    return pad(x, sizes, value);
  }>("More elements before and after, last dim first; negative sizes cut.");

  define<"gather", "x, dim, index", [](const Tensor& x, int64_t dim, const Tensor& index) {
    return gather(x, dim, index);
  }>("out[i][j] = x[i][index[i][j]] for dim 1, and so on.");
  define<"take", "x, index", [](const Tensor& x, const Tensor& index) { return take(x, index); }>(
      "x laid flat, picked by an index of any shape.");
  define<"take_along_dim", "x, indices, dim=None",
         [](const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
           return dim ? take_along_dim(x, index, *dim) : take_along_dim(x.flatten(), index.flatten(), 0);
         }>("gather, with both broadcast along the other dims; without a dim, of both laid flat.");
  define<"index_select", "x, dim, index", [](const Tensor& x, int64_t dim, const Tensor& index) {
    return index_select(x, dim, index);
  }>("Slices along a dim, picked by a vector.");
  define<"index_add", "x, dim, index, source, alpha=1",
         [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Number alpha) {
           return index_add(x, dim, index, source, alpha);
         }>("A copy with alpha * source added to the slices named.");
  define<"index_copy", "x, dim, index, source",
         [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
           return index_copy(x, dim, index, source);
         }>("A copy with slices replaced.");
  define<"index_fill", "x, dim, index, value",
         [](const Tensor& x, int64_t dim, const Tensor& index, const Operand& value) {
           return index_fill(x, dim, index, value);
         }>("A copy with slices filled.");
  define<"scatter", "x, dim, index, source, reduce=None",
         [](const Tensor& x, int64_t dim, const Tensor& index, const Operand& source, const py::object& reduce) {
           if (reduce.is_none()) return scatter(x, dim, index, source);
           return scatter_reduce(x, dim, index, arithmetic::spread(x, index, source), arithmetic::reduce_of(reduce));
         }>(
      "A copy with x[index[i][j]][j] = source[i][j] for dim 0, and so on; with reduce 'add' or 'multiply' += or *=.");
  define<"scatter_add", "x, dim, index, source",
         [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
           return scatter_add(x, dim, index, source);
         }>("The same with +=.");
  define<"scatter_reduce", "x, dim, index, source, reduce, include_self=True",
         [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
            bool self) { return scatter_reduce(x, dim, index, source, reduce, self); }>(
      "The same with reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'.");
  define<"select_scatter", "x, src, dim, index", [](const Tensor& x, const Tensor& source, int64_t dim, int64_t index) {
    return select_scatter(x, source, dim, index);
  }>("A copy with one position along a dim replaced.");
  define<"slice_scatter", "x, src, dim=0, start=None, end=None, step=1",
         [](const Tensor& x, const Tensor& source, int64_t dim, std::optional<int64_t> start,
            std::optional<int64_t> end, int64_t step) { return slice_scatter(x, source, dim, start, end, step); }>(
      "A copy with a slice along a dim replaced.");
  define<"diagonal_scatter", "x, src, offset=0, dim1=0, dim2=1",
         [](const Tensor& x, const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2) {
           return diagonal_scatter(x, source, offset, dim1, dim2);
         }>("A copy with a diagonal replaced.");
  define<"unravel_index", "indices, shape", [](const Tensor& index, const Dims& shape) {
    return unravel_index(index, shape);
  }>("Positions in a tensor laid flat as one tensor of positions for each dim.", kFunction);
  define<"masked_select", "x, mask", [](const Tensor& x, const Tensor& mask) {
    return computed([&] { return masked_select(x, mask); });
  }>("The elements where the mask is true, as a vector.");
  define<"masked_scatter", "x, mask, source", [](const Tensor& x, const Tensor& mask, const Tensor& source) {
    return masked_scatter(x, mask, source);
  }>("A copy with the elements of source, in order, where the mask is true.");
  define<"nonzero", "x, as_tuple=False", [](const Tensor& x, bool as_tuple) -> py::object {
    const bool as_vector = as_tuple && x.dim() == 0;  // the positions of a single number are those of a vector of one
    const Tensor found = computed([&] { return nonzero(as_vector ? x.reshape({1}) : x); });
    return py::reinterpret_steal<py::object>(as_tuple ? to_python(found.unbind(1)) : wrap_new(found));
  }>("The positions of all elements that are not 0, one a row; as a tuple, one tensor for each dim.");
  define<"unique", "x, sorted=True, return_inverse=False, return_counts=False, dim=None",
         [](const Tensor& x, bool, bool with_inverse, bool with_counts, const py::object& dim) -> py::object {
           std::optional<int64_t> along;  // read before others run: Python's objects need its lock
           if (!dim.is_none()) along = integer_of(dim.ptr(), "a dim or None");
           const Unique found = computed([&] { return along ? unique(x, *along) : unique(x); });
           std::vector<Tensor> results{found.values};
           if (with_inverse) results.push_back(found.inverse);
           if (with_counts) results.push_back(found.counts);
           return py::reinterpret_steal<py::object>(results.size() == 1 ? wrap_new(results[0]) : to_python(results));
         }>("The different elements, sorted; with a dim, the different slices along it.");
  define<"bincount", "x, weights=None, minlength=0",
         [](const Tensor& x, const std::optional<Tensor>& weights, int64_t minlength) {
           return computed([&] { return bincount(x, weights.value_or(Tensor()), minlength); });
         }>("How often each of 0, 1, ... occurs.");
  define<"searchsorted", "sorted_sequence, values, out_int32=False, right=False, side=None, sorter=None",
         [](const Tensor& given, const Operand& values, bool as_i32, bool right, const py::object& side,
            const std::optional<Tensor>& sorter) {
           if (sorter && sorter->shape() != given.shape())
             throw_value_error(fmt::format("a sorter of shape {} does not fit values of shape {}",
                                           ir::to_string(sorter->shape()), ir::to_string(given.shape())));
           const Tensor sorted = sorter ? gather(given, -1, *sorter) : given;
           const Tensor found = searchsorted(sorted, values, is_right(right, side));
           return as_i32 ? found.to(DType::i32) : found;
         }>("Where values would have to be inserted: before equal ones, or behind them with side='right'.");
  define<"isin", "elements, test_elements, assume_unique=False, invert=False",
         [](const Tensor& x, const Operand& wanted, bool, bool invert) {
           const Tensor found = wanted.is_tensor() ? isin(x, wanted.tensor()) : tenon::eq(x, wanted);
           return invert ? tenon::logical_not(found) : found;
         }>("Whether each element is one of the others, or with invert none of them.");
  define<"one_hot", "index, num_classes=-1", [](const Tensor& index, int64_t classes) {
    if (classes == -1) classes = computed([&] { return tenon::max(index).item<int64_t>(); }) + 1;
    return one_hot(index, classes);
  }>("1 at each index, else 0; num_classes is one more than the largest index unless given.");

  // What a tensor is and how it is converted.
  define<"size", "x, dim=None", [](const Tensor& x, std::optional<int64_t> dim) -> py::object {
    if (dim) return py::int_(x.size(*dim));
    return shape_object(x.shape());
  }>("The shape, or one of its sizes.", kMethod);
  define<"dim", "x", [](const Tensor& x) { return x.dim(); }>("The number of dims.", kMethod);
  define<"numel", "x", [](const Tensor& x) { return x.numel(); }>("The number of elements.");
  define<"nelement", "x", [](const Tensor& x) { return x.numel(); }>("The number of elements.", kMethod);
  define<"element_size", "x", [](const Tensor& x) { return static_cast<int64_t>(size_of(x.dtype())); }>(
      "The bytes of one element.", kMethod);
  define<"stride", "x, dim=None", [](const Tensor& x, std::optional<int64_t> dim) -> py::object {
    if (dim) return py::int_(x.stride(*dim));
    return tuple_of(x.strides());
  }>("How many elements of memory lie between neighbours.", kMethod);
  define<"storage_offset", "x", [](const Tensor& x) { return x.storage_offset(); }>(
      "How many elements of memory lie before the first one.", kMethod);
  define<"data_ptr", "x", [](const Tensor& x) { return address_of(x); }>(
      "Where its first element lies in memory that the host can address, computed; valid until it is written or gone.",
      kMethod);
  define<"is_contiguous", "x", [](const Tensor& x) { return x.is_contiguous(); }>(
      "Whether elements lie one behind the other.", kMethod);
  define<"contiguous", "x, memory_format=None", [](const Tensor& x, const py::object&) { return x.contiguous(); }>(
      "Itself, or a copy in order. The memory format is taken and not needed.", kMethod);
  define<"clone", "x, memory_format=None", [](const Tensor& x, const py::object&) { return x.clone(); }>(
      "A copy. The memory format is taken and not needed.");
  define<"detach", "x", [](const Tensor& x) { return x.detach(); }>("The same values, cut from their history.");
  define<"to", "x, *what=(), dtype=None, device=None, non_blocking=False, copy=False, memory_format=None",
         [](const Tensor& given, const py::object& what, std::optional<DType> dtype, const py::object& device, bool,
            bool copies, const py::object&) {
           const Tensor x = copies ? given.clone() : given;
           std::optional<Device> where;
           if (!device.is_none()) where = Convert<Device>::from(device.ptr());
           const auto take = [&](PyObject* one) {
             if (is_tensor(one)) {
               dtype = tensor_in(one).dtype();
               where = tensor_in(one).device();
             } else if (PyUnicode_Check(one)) {
               where = Convert<Device>::from(one);
             } else if (const auto type = py::isinstance(one, py::type::of(dtype_object(DType::f32)))
                                              ? dtype_of_object(one)
                                              : std::nullopt) {
               dtype = type;
             } else {
               try {
                 where = Convert<Device>::from(one);
               } catch (const py::type_error&) {
                 dtype = Convert<DType>::from(one);
               }
             }
           };
           if (PyTuple_Check(what.ptr())) {
             for (const py::handle one : py::reinterpret_borrow<py::tuple>(what)) take(one.ptr());
           } else {
             take(what.ptr());
           }
           if (where && dtype) return x.to(*where, *dtype);
           return where ? x.to(*where) : dtype ? x.to(*dtype) : x;
         }>("In another dtype or on another device.", kMethod);
  define<"type", "x, dtype", [](const Tensor& x, DType dtype) { return x.to(dtype); }>("In another dtype.", kMethod);
  define<"type_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.to(other.dtype()); }>(
      "In the dtype of another.", kMethod);
  define<"float", "x", [](const Tensor& x) { return x.to(DType::f32); }>("As float32.", kMethod);
  define<"double", "x", [](const Tensor& x) { return x.to(DType::f64); }>("As float64.", kMethod);
  define<"half", "x", [](const Tensor& x) { return x.to(DType::f16); }>("As float16.", kMethod);
  define<"bfloat16", "x", [](const Tensor& x) { return x.to(DType::bf16); }>("As bfloat16.", kMethod);
  define<"int", "x", [](const Tensor& x) { return x.to(DType::i32); }>("As int32.", kMethod);
  define<"long", "x", [](const Tensor& x) { return x.to(DType::i64); }>("As int64.", kMethod);
  define<"bool", "x", [](const Tensor& x) { return x.to(DType::boolean); }>("As bool.", kMethod);
  define<"cpu", "x", [](const Tensor& x) { return x.to(Device("cpu")); }>("On the cpu.", kMethod);
  define<"promote_types", "type1, type2", [](DType a, DType b) -> py::object { return dtype_object(promote(a, b)); }>(
      "The dtype that holds the values of both.", kFunction);
  define<"is_floating_point", "x", [](const Tensor& x) { return is_float(x.dtype()); }>(
      "Whether elements are real numbers.");
}

}  // namespace tenon::python
