// A device is asked whether threads know their places in matrix tiles; here the interpreter of KernelIr answers.

#include "tenon/backends/gpu/tile_places.h"

#include <gtest/gtest.h>

#include "tenon/backends/simulated/interpreter.h"

namespace tenon::backends::gpu {
namespace {

std::vector<float> written_by_interpreter(DType dtype) {
  std::vector<float> written(kTilePlaceNumbers);
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(written.data()), written.size() * sizeof(float));
  simulated::run(tile_place_kernel(dtype), {{bytes}}, {});
  return written;
}

TEST(TilePlaces, AreKeptByTheInterpreter) {
  for (const DType dtype : {DType::f16, DType::bf16})
    EXPECT_TRUE(are_tile_places_kept(dtype, written_by_interpreter(dtype))) << name(dtype);
}

TEST(TilePlaces, OneNumberElsewhereIsSeen) {
  for (const size_t part : {0, 1, 2, 3, 4}) {
    std::vector<float> written = written_by_interpreter(DType::bf16);
    std::swap(written[part * 256 + 17], written[part * 256 + 34]);
    EXPECT_FALSE(are_tile_places_kept(DType::bf16, written)) << "part " << part;
  }
}

TEST(TilePlaces, RoundingTowardsZeroIsSeen) {
  std::vector<float> written = written_by_interpreter(DType::f16);
  EXPECT_EQ(written[4 * 256 + 3], 1 + 0x1p-10F);  // three quarters of the way to the next number
  written[4 * 256 + 3] = 1;
  EXPECT_FALSE(are_tile_places_kept(DType::f16, written));
}

}  // namespace
}  // namespace tenon::backends::gpu
