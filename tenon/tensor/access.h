// What stands behind a tensor: the library's own way in, which users do not see.
//
// Tensor shows what a program may ask. The rooms of the library, and tests of how a value is planned and run, also need
// the graph value, the memory that views share and the bounds that are known of an index.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tenon/ir/node.h"
#include "tenon/ir/view.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

/// The one friend of Tensor.
struct TensorAccess {
  static const std::shared_ptr<TensorImpl>& impl(const Tensor& tensor) { return tensor.impl_; }
  static Tensor with(std::shared_ptr<TensorImpl> impl) {
    Tensor tensor;
    tensor.impl_ = std::move(impl);
    return tensor;
  }
};

/// Null for an undefined tensor. Handles on one tensor have one impl.
inline const std::shared_ptr<TensorImpl>& impl_of(const Tensor& tensor) { return TensorAccess::impl(tensor); }
/// Another handle.
inline Tensor tensor_of(std::shared_ptr<TensorImpl> impl) { return TensorAccess::with(std::move(impl)); }

/// Fails for an undefined tensor.
void require_defined(const Tensor& tensor);

/// The graph value that the tensor holds now.
ir::Value value_of(const Tensor& tensor);
/// A new tensor that holds this value, with a gradient of its own: another tensor of the same value has another.
Tensor tensor_of(ir::Value value);
/// A new tensor that stands for what has the value already, its gradient included.
Tensor tensor_showing(ir::Value value);

/// A tensor that shows this one through moves, sharing its memory wherever strides can express them. Without moves: cut
/// from its history.
/// Where the moves of the tensor itself need a copy, `relaid` may say how the result lies, given how the tensor does.
using Relaid = std::function<ir::View(const ir::View&)>;
Tensor viewed(const Tensor& tensor, std::span<const ir::Move> moves, const Relaid& relaid = {});

/// Makes a leaf a view of `place`, which holds its elements. Views of the leaf follow it, where set_data() leaves them.
void move_into(const Tensor& tensor, const Tensor& place);

/// The tensor that owns the memory which a view shows; undefined where it is no view.
Tensor owner_of(const Tensor& view);
/// Whether a tensor is a view of the vector `whole` that shows its elements from `begin` on, in order.
bool shows_stretch(const Tensor& view, const Tensor& whole, int64_t begin);

/// Bounds of the elements of an integer tensor that came from the host, where known.
std::optional<std::pair<int64_t, int64_t>> known_range(const Tensor& tensor);
/// True when both bounds are among the elements.
bool known_range_is_exact(const Tensor& tensor);
void set_known_range(Tensor& tensor, int64_t low, int64_t high, bool exact = true);

}  // namespace tenon
