// Small tensors are copied to where the reader is, others are downloaded.

#include "elements.h"

namespace tenon::python {

// Another thread may give the tensor other data while this one waits.
Elements::Elements(const Tensor& x) {
  size_t wanted = 0;
  do {
    dtype_ = x.dtype();
    shape_ = x.shape();
    wanted = static_cast<size_t>(x.nbytes());
    read(x);
  } while (bytes_.size() != wanted || x.shape() != shape_ || x.dtype() != dtype_);
}

void Elements::read(const Tensor& x) {
  constexpr size_t kSmall = 64 << 10;
  const auto bytes = static_cast<size_t>(x.nbytes());
  if (bytes <= kSmall) {
    if (bytes > few_.size()) many_.resize(bytes);
    bytes_ = bytes <= few_.size() ? std::span(few_).first(bytes) : std::span(many_);
    if (read_at_once(x, bytes_)) return;
  }
  const Released others_run;
  x.eval();
  if (bytes <= kSmall && read_at_once(x, bytes_)) return;
  compute(x);
  many_ = x.to_bytes();
  bytes_ = many_;
}

template <typename Stored>
PyObject* Elements::list(const Dims& shape, size_t depth, size_t& at) const {
  if (depth == shape.size()) return object_of(stored<Stored>(at++));
  py::list made(static_cast<size_t>(shape[depth]));
  for (int64_t i = 0; i < shape[depth]; ++i) {
    PyObject* const element = list<Stored>(shape, depth + 1, at);
    if (!element) throw py::error_already_set();
    PyList_SET_ITEM(made.ptr(), i, element);
  }
  return made.release().ptr();
}

PyObject* Elements::lists() const {
  size_t at = 0;
  return dispatch(dtype_, [&]<typename Stored>() { return list<Stored>(shape_, 0, at); });
}

}  // namespace tenon::python
