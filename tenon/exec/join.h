// Many values side by side, copied by the host: a batch out of the samples of a dataset.

#pragma once

#include <optional>
#include <span>

#include "tenon/ir/node.h"

namespace tenon::exec {

/// A leaf of this type that holds the values side by side along `axis`, if all of them are there already, in memory
/// that the host sees, each in one stretch; none otherwise. The values have the type's dtype.
std::optional<ir::Value> joined_by_host(std::span<const ir::Value> values, const ir::Type& type, size_t axis);

}  // namespace tenon::exec
