// Reading a tensor: computes what is needed, waits for it, and copies it to the host.

#include <algorithm>
#include <cstring>
#include <ostream>

#include "tenon/exec/eval.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/host_read.h"
#include "tenon/tensor/kept_graphs.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/pending_writes.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"
#include "tenon/tensor/unread.h"

namespace tenon {

using base::fail;

namespace {

void eval_all(std::span<const Tensor> tensors, bool caller_waits) {
  if (Trace::current())
    fail("compile", "a value cannot be read inside a captured function; return it and read it outside");
  std::vector<ir::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(value_of(tensor));
  if (std::all_of(values.begin(), values.end(), [](const ir::Value& value) { return exec::is_evaluated(value); })) {
    for (const Tensor& tensor : tensors) forget_how_made(*impl_of(tensor));
    return;
  }
  if (Mapping::current())
    fail("vmap", "a value cannot be computed inside a function that vmap() maps; return it and read it outside");
  std::vector<ir::Value> joined;
  bool replaces_states = false, others_join = false;
  const auto unread_values = [&](std::span<const ir::DataRef> replaced) {
    others_join = true;
    replaces_states = replaces_states || !replaced.empty();
    if (!replaced.empty()) kept_graphs::note_replaced(replaced);
    return unread::values();
  };
  try {
    exec::eval(values, caller_waits, pending_writes::stores(), &joined, unread_values);
  } catch (const Error&) {
    for (const Tensor& tensor : tensors) pending_writes::undo(*root_of(impl_of(tensor)));
    pending_writes::undo(joined);
    pending_writes::undo_replaced();
    throw;
  }
  for (const Tensor& tensor : tensors) forget_how_made(*impl_of(tensor));
  if (others_join) unread::forget_histories();
  if (replaces_states) kept_graphs::bound();
}

}  // namespace

Tensor Tensor::eval() const {
  eval_all({this, 1}, false);
  return *this;
}

void eval(std::span<const Tensor> tensors) { eval_all(tensors, false); }
void eval(std::initializer_list<Tensor> tensors) { eval_all(std::span(tensors.begin(), tensors.size()), false); }

void wait(std::span<const Tensor> tensors) {
  const bool all_there = !Trace::current() && std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    const ir::Value value = value_of(tensor);
    const ir::Node* node = value.node.get();
    if (node->op() == ir::Op::custom) node = node->input(value.index).node.get();  // a result without its graph
    return node->op() == ir::Op::buffer && node->evaluated();
  });
  if (all_there) {  // the result of a replay, say: nothing but waiting is left
    for (const Tensor& tensor : tensors) exec::wait_for(value_of(tensor));
    return;
  }
  eval_all(tensors, true);
  std::vector<ir::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(value_of(tensor));
  exec::wait(values);
}
void wait(std::initializer_list<Tensor> tensors) { wait(std::span(tensors.begin(), tensors.size())); }
void synchronize(Device device) { exec::synchronize(device.id); }
void synchronize() { exec::synchronize(); }

bool Tensor::is_evaluated() const { return exec::is_evaluated(value_of(*this)); }

namespace {

// Whether every value of a dtype is one of another, so that it does not matter who converts it.
bool holds_all(DType wide, DType narrow) {
  if (narrow == DType::boolean) return true;
  if (is_float(narrow)) return wide == DType::f64 || (wide == DType::f32 && narrow != DType::f64);
  if (wide == DType::i64) return true;
  return wide == DType::f64 ? narrow != DType::i64 : wide == DType::i32 && narrow == DType::u8;
}

std::vector<std::byte> converted(std::span<const std::byte> bytes, DType from, DType to) {
  std::vector<std::byte> made(bytes.size() / size_of(from) * size_of(to));
  dispatch(from, [&]<typename From>() {
    dispatch(to, [&]<typename To>() {
      if constexpr (std::is_arithmetic_v<To>) {
        for (size_t i = 0; i < bytes.size() / sizeof(From); ++i) {
          From value;
          std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
          const To wide = static_cast<To>(value);
          std::memcpy(made.data() + i * sizeof(To), &wide, sizeof(To));
        }
      }
    });
  });
  return made;
}

}  // namespace

// Converted by the host's device where this one lacks f64.
Tensor Tensor::read_as(DType dtype) const {
  return dtype == DType::f64 ? to(record::with_f64(device())).to(dtype) : to(dtype);
}

// Few values are converted here: a plan for that takes longer than the one that computes them, as a rule.
std::vector<std::byte> Tensor::bytes_as(DType wanted) const {
  constexpr int64_t kFew = 1024;
  if (dtype() == wanted) return to_bytes();
  if (numel() <= kFew && wanted != DType::boolean && holds_all(wanted, dtype()))
    return converted(to_bytes(), dtype(), wanted);
  return read_as(wanted).to_bytes();
}

// What has its history still is read by way of eval_all(), which drops it.
bool read_at_once(const Tensor& tensor, std::span<std::byte> to) {
  if (Trace::current()) return false;
  const ir::Value value = value_of(tensor);
  if (!value.needs_grad() && ir::base_of(value).node->op() != ir::Op::buffer) return false;
  try {
    return exec::read_at_once(value, to);
  } catch (const Error&) {
    pending_writes::undo_replaced();
    throw;
  }
}

std::vector<std::byte> Tensor::to_bytes() const {
  if (!exec::reads_a_part(value_of(*this))) eval_all({this, 1}, true);
  try {
    return exec::read(value_of(*this));
  } catch (const Error&) {  // a device that goes on by itself tells now
    pending_writes::undo_replaced();
    throw;
  }
}

std::string Tensor::to_string() const {
  if (!defined()) return "undefined";
  std::vector<double> real;
  std::vector<int64_t> whole;
  if (is_float(dtype()))
    real = to_vector<double>();
  else
    whole = to_vector<int64_t>();
  return format_array(shape(), dtype(), real, whole);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.name(); }
std::ostream& base::operator<<(std::ostream& out, const Dims& sizes) { return out << ir::to_string(sizes); }

}  // namespace tenon
