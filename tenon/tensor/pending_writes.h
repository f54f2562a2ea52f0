// Tensors that this thread has written and whose new value nobody has asked for.
//
// What is stored is often computed for something else, the next loss say, which reads the value and knows nothing of
// the store. So every evaluation carries out the pending writes too.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/tensor/tensor_impl.h"

namespace tenon::pending_writes {

void add(const std::shared_ptr<TensorImpl>& tensor);
/// The values to evaluate; what is evaluated meanwhile is forgotten.
std::vector<ir::Value> stores();

/// The tensors.
std::vector<std::shared_ptr<TensorImpl>> tensors();

/// A write that failed is undone, so that the error is raised once and what was written before stays.
void undo(TensorImpl& owner);
/// The same for tensors of this thread whose old value was not in memory, but replaced by the write.
void undo_replaced();
/// The same for all tensors of this thread that wait for one of these stores, which joined something that failed.
void undo(std::span<const ir::Value> joined);

}  // namespace tenon::pending_writes
