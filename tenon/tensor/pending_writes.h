// Tensors that this thread has written and whose new value nobody has asked for.
//
// What is stored is often computed for something else, the next loss say, which reads the value and knows nothing of
// the store. So every evaluation carries out the pending writes too.

#pragma once

#include <memory>
#include <vector>

#include "tenon/tensor/tensor_impl.h"

namespace tenon::pending_writes {

void add(const std::shared_ptr<TensorImpl>& tensor);
/// The values to evaluate; what is evaluated meanwhile is forgotten.
std::vector<ir::Value> stores();

/// The value before the writes that have not been carried out.
ir::Value value_before(const ir::Value& value);

}  // namespace tenon::pending_writes
