// Whether a device keeps the numbers of matrix tiles where codegen::TilePlace says.
//
// No API promises it, but kernels of attention are three times as fast where threads know their places. So a device
// that may keep to it is asked once, by a kernel that looks.

#pragma once

#include <span>

#include "tenon/backends/gpu/compiler.h"
#include "tenon/backends/gpu/driver.h"
#include "tenon/ir/dtype.h"

namespace tenon::backends::gpu {

/// One subgroup, which writes kTilePlaceNumbers f32 into its one buffer.
codegen::Dispatch tile_place_kernel(DType dtype);
inline constexpr size_t kTilePlaceNumbers = 5 * 256;
/// Whether what it wrote is what is promised: places in accumulators and in packed tiles, and rounding to even.
bool are_tile_places_kept(DType dtype, std::span<const float> written);

/// Asks the device; false as well where it cannot run the kernel.
bool keeps_tile_places(Driver& driver, Compiler& compiler, uint64_t fault_words, const ir::Limits& limits);

}  // namespace tenon::backends::gpu
