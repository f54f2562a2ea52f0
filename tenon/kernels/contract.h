// Batches of matrix products.
//
// The bits of a product follow from its sizes, its dtypes and the device's limits, which say into how many parts the
// inner dimension is cut. A tile is how the work is shared out and changes none of them: within a part every element is
// summed in the order of the inner dimension. So a tile may be chosen by a model, or by trying.

#pragma once

#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

/// What a block computes of a product, and what each of its threads does (each of its subgroups, where matrix tiles
/// multiply).
struct ContractTile {
  uint32_t block_m = 0, block_n = 0, strip_k = 0;  // of a block: rows, columns, and how much of k it holds at once
  uint32_t thread_m = 0, thread_n = 0;             // of a thread or a subgroup: rows and columns
  uint32_t threads = 0;                            // of a block

  bool operator==(const ContractTile&) const = default;
};

/// The tiles that serve for a product on a device; all give the same bits.
std::vector<ContractTile> contract_tiles(const ir::Call& call, const ir::Limits& limits);
/// The one that is taken where nobody has measured.
ContractTile contract_tile(const ir::Call& call, const ir::Limits& limits);

/// The same as ways of a call, the usual tile first; none where a row is multiplied (contract_row.h).
std::vector<ir::Way> contract_ways(const ir::Call& call, const ir::Limits& limits);
/// The tile that is meant; fails where it is none.
ContractTile contract_tile_of(const ir::Way& way);

/// The parts in which the inner dimension is summed, each by itself, before they are added in order.
int64_t contract_parts(const ir::Call& call, const ir::Limits& limits);
/// Whether matrix tiles multiply.
bool contract_uses_tiles(const ir::Call& call, const ir::Limits& limits);

/// Adds up so many parts of every sum, which lie one behind another in scratch memory, and finishes the sums: for
/// products that a library has made.
codegen::Dispatch contract_sum(const ir::Call& call, int64_t parts, const ir::Limits& limits);

codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits);
codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits, const ContractTile& tile);

}  // namespace tenon::kernels
