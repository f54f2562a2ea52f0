// A plan with its kernels compiled, free of the nodes it was made of: what the plan cache holds and captures record.

#pragma once

#include <memory>
#include <vector>

#include "tenon/device/storage.h"
#include "tenon/exec/graph.h"
#include "tenon/exec/program_cache.h"
#include "tenon/plan/plan.h"

namespace tenon::exec {

/// A literal that the plan takes as an argument: a number in the block that goes with every run.
struct LiteralArg {
  uint32_t literal = 0;  // number among the graph's literals
  DType dtype = DType::f32;
};

struct Executable {
  struct Launch {
    device::ProgramRef program;
    plan::Launch what;
    uint32_t node = plan::Plan::kNone;  // of the graph: one with its label, or none
    device::Live live = {};
  };
  /// Where a leaf of the plan comes from.
  struct Leaf {
    Place place;                           // in the graph
    uint32_t literal = plan::Plan::kNone;  // or in the block of literals
  };

  std::vector<Launch> launches;
  std::vector<plan::Slot> slots;
  std::vector<Leaf> leaves;
  struct Result {
    Place place;  // in the graph
    uint32_t slot = 0;
    size_t bytes = 0;
  };
  std::vector<Result> results;
  std::vector<uint32_t> overwritten;  // per result, as in Plan
  std::vector<LiteralArg> literals;
  size_t arena_bytes = 0, slab_bytes = 0;  // as in Plan
  std::string taken_apart;                 // as in Plan, for people
};

/// Plans for a device of these limits, the target's as a rule, and compiles. Literals with `as_argument` set are
/// arguments; the others are part of the kernels.
std::shared_ptr<const Executable> build(const Graph& graph, const std::vector<bool>& as_argument,
                                        const ir::Limits& limits, device::Device& target, ProgramCache& programs);

/// Memory of one run: what the slots of an executable stand for.
struct Binding {
  std::vector<device::StorageRef> leaves, results;
  std::vector<device::StorageRef> slabs;  // of the arena
  device::StorageRef literals;
};

/// Leaves as the graph has them, fresh memory for everything else.
Binding bind(const Executable& executable, const Graph& graph, device::Device& target);
/// The literals of a graph as the bytes of the block: 8 bytes each.
std::vector<std::byte> literal_block(const Executable& executable, const Graph& graph);
/// Launches begin ... end - 1 of one run. `run` names it: values of two runs never have the same version. What is
/// recorded to run again reads whatever version its leaves hold by then. The graph says for what modules they run: the
/// plan may have been made for others.
std::vector<device::Command> commands_of(const Executable& executable, const Graph& graph, const Binding& binding,
                                         uint64_t run, size_t begin, size_t end, bool runs_again);
/// What lies in a result after that run.
uint64_t version_of_result(const Executable& executable, size_t result, uint64_t run);

}  // namespace tenon::exec
