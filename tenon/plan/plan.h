// A graph turned into launches with planned memory. Pure: same graph and limits in, same Plan out, no device needed.

#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/node.h"
#include "tenon/plan/group.h"
#include "tenon/plan/memory.h"

namespace tenon::plan {

/// Memory that launches read and write.
struct Slot {
  enum class Place : uint8_t {
    leaf,       // data that exists before the plan runs: leaves[index]
    result,     // kept after the plan: results[index]
    temporary,  // in the arena at `offset`
  };
  Place place = Place::temporary;
  uint32_t index = 0;
  size_t offset = 0;  // in the arena, or in a result of which this is a part
  size_t bytes = 0;
  uint32_t within = ~0u;  // the slot of which this is a part, or whose memory it takes over
  bool replaces = false;  // takes over: what lay there is gone
};

/// What one launch runs: a call, or a group that codegen turns into a loop nest.
using Kernel = std::variant<ir::Call, Group>;

struct Launch {
  uint32_t kernel = 0;
  base::SmallVector<uint32_t, 4> args;  // slots: the kernel's inputs, then its outputs
  ir::NodeRef makes;                    // its first result
};

struct Plan {
  std::vector<Kernel> kernels;  // each distinct call once
  std::vector<Launch> launches;
  std::vector<Slot> slots;
  std::vector<ir::Value> leaves;
  std::vector<ir::Value> results;
  std::vector<uint32_t> overwritten;  // per result: the leaf whose memory it takes over, or kNone
  size_t arena_bytes = 0;
  size_t peak_live_bytes = 0;

  static constexpr uint32_t kNone = ~0u;

  /// Each launch with its op, shapes, bytes read and written.
  std::string print() const;
  /// Peak bytes of the arena and its largest holders.
  std::string memory() const;
};

struct Request {
  std::vector<ir::Value> outputs;
  ir::Limits limits;
  /// True for a leaf whose memory a store may overwrite, because nothing else can still read it.
  std::function<bool(const ir::Node&)> may_overwrite;
};

/// What a value is without its movement ops: a computed or leaf value, and the way it is looked at.
struct Seen {
  ir::Value base;
  ir::IndexMap map;
};
Seen look_through(const ir::Value& value);
/// The same without the map, when only the base matters.
ir::Value base_of(const ir::Value& value);

Plan make_plan(const Request& request);

}  // namespace tenon::plan
