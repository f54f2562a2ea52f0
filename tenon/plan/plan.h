// A graph turned into launches with planned memory. Pure: same graph and limits in, same Plan out; no device is needed,
// and `Request::takes` alone asks one.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"
#include "tenon/ir/node.h"
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

/// What one launch runs, finished: it holds no nodes.
using Kernel = std::variant<ir::Call, ir::LoopNest>;

/// What a launch reads or writes of a slot.
struct Argument {
  uint32_t slot = 0;
  size_t offset = 0, bytes = 0;  // within the slot
  bool operator==(const Argument&) const = default;
};

struct Launch {
  uint32_t kernel = 0;
  uint32_t inputs = 0;        // the first so many arguments are read, the others written
  bool writes_state = false;  // overwrites memory that was there before the plan ran
  base::SmallVector<Argument, 4> args;
  size_t scratch_offset = 0;  // in the arena, if its program asks for scratch memory
  ir::Numbers numbers;        // where its random numbers begin
  // For people: the op that made its first result, where that was recorded (see ir::Node::label), and all results.
  ir::Op op = ir::Op::add;
  base::Label label = 0;
  base::SmallVector<ir::Type, 1> makes;
};

/// A value in the arena, and between which launches it is alive.
struct Temporary {
  uint32_t slot = 0;
  Interval life;
};

struct Plan {
  std::vector<Kernel> kernels;  // each distinct one once
  std::vector<Launch> launches;
  std::vector<Slot> slots;
  std::vector<ir::Value> leaves;
  std::vector<uint32_t> literals;  // per leaf: the number of the literal that it is, or kNone
  std::vector<ir::Value> results;
  std::vector<uint32_t> overwritten;   // per result: the leaf whose memory it takes over, or kNone
  std::vector<Temporary> temporaries;  // in the order in which they are written
  size_t arena_bytes = 0;
  size_t slab_bytes = 0;  // an arena larger than this is made of several buffers, each but the last of this size
  size_t peak_live_bytes = 0;
  std::vector<ir::Op> taken_apart;  // convolutions that the device has no kernel for, each op once

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
  std::function<bool(const ir::Node&)> may_overwrite = {};
  /// Constants that are arguments of the plan, by a number of the caller's: they are read from memory.
  std::unordered_map<const ir::Node*, uint32_t> literals = {};
  /// Whether the device has a convolution whose channels come last; by default it has all of them.
  std::function<bool(const ir::Call&)> takes = {};
};

Plan make_plan(const Request& request);

/// Lays the arena of a plan out again, with so many bytes for each launch while it runs: what programs need for
/// themselves is known when they are compiled, and lies where nothing else is alive.
void lay_out_with_scratch(Plan& plan, const ir::Limits& limits, std::span<const size_t> scratch);

}  // namespace tenon::plan
