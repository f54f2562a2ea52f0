// Cooperative matrices in the SPIR-V that comes out of glslang, word by word: validators of some distributions do not
// know them.

#include "tenon/render/matrix_types.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>

#include "tenon/backends/gpu/tile_places.h"
#include "tenon/backends/vulkan/glslang.h"
#include "tenon/codegen/legalise.h"
#include "tenon/render/render.h"

namespace tenon::backends::vulkan {
namespace {

using Words = std::vector<uint32_t>;

constexpr uint32_t kCapability = 17, kTypeInt = 21, kTypeFloat = 22, kConstant = 43, kMatrix = 4456;

std::vector<Words> instructions_in(const Words& module) {
  std::vector<Words> all;
  for (size_t at = 5; at < module.size(); at += module[at] >> 16)
    all.emplace_back(module.begin() + static_cast<ptrdiff_t>(at),
                     module.begin() + static_cast<ptrdiff_t>(at + (module[at] >> 16)));
  return all;
}
uint32_t op(const Words& one) { return one[0] & 0xffff; }

Words tiles_in_spirv(DType dtype) {
  const codegen::KernelIr kernel = gpu::tile_place_kernel(dtype).kernel;
  const codegen::Lacks lacks = render::lacks_of(render::Language::glsl);
  return spirv_of(render::render(codegen::legalise(kernel, lacks), render::Language::glsl));
}

/// Each matrix as the words of its component's type and the values of its other operands.
std::vector<Words> matrices_in(const Words& module) {
  std::map<uint32_t, Words> types;
  std::map<uint32_t, uint32_t> constants;
  std::vector<Words> made;
  for (const Words& one : instructions_in(module)) {
    if (op(one) == kTypeFloat) types[one[1]] = {one.begin() + 2, one.end()};
    if (op(one) == kTypeInt) types[one[1]] = {one[2], one[3]};
    if (op(one) == kConstant && types.contains(one[1])) constants[one[2]] = one[3];
    if (op(one) != kMatrix) continue;
    Words matrix = types.at(one[2]);
    for (size_t i = 3; i < one.size(); ++i) matrix.push_back(constants.at(one[i]));
    made.push_back(matrix);
  }
  return made;
}

TEST(MatrixTypes, ReferToDeclaredTypesAndConstants) {
  const std::vector<Words> of_f16 = matrices_in(tiles_in_spirv(DType::f16));
  ASSERT_EQ(of_f16.size(), 3);
  const std::set<Words> all(of_f16.begin(), of_f16.end());
  EXPECT_TRUE(all.contains({16, 3, 16, 16, 0}));  // left
  EXPECT_TRUE(all.contains({16, 3, 16, 16, 1}));  // right
  EXPECT_TRUE(all.contains({32, 3, 16, 16, 2}));  // sums
}

TEST(MatrixTypes, FloatsOf16BitsAreBf16InAKernelOfBf16) {
  const Words module = tiles_in_spirv(DType::bf16);
  const std::vector<Words> matrices = matrices_in(module);
  const std::set<Words> all(matrices.begin(), matrices.end());
  EXPECT_TRUE(all.contains({16, 0, 3, 16, 16, 0}));
  EXPECT_TRUE(all.contains({16, 0, 3, 16, 16, 1}));
  EXPECT_TRUE(all.contains({32, 3, 16, 16, 2}));
  std::set<uint32_t> capabilities;
  for (const Words& one : instructions_in(module)) {
    if (op(one) == kCapability) capabilities.insert(one[1]);
  }
  EXPECT_TRUE(capabilities.contains(6022) && capabilities.contains(5116) && capabilities.contains(5118));
}

TEST(MatrixTypes, EveryTypeIsDeclaredOnceAndBelowTheBound) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Words module = tiles_in_spirv(dtype);
    std::set<Words> plain;
    for (const Words& one : instructions_in(module)) {
      if (op(one) != kTypeInt && op(one) != kTypeFloat) continue;
      EXPECT_LT(one[1], module[3]);
      Words type = one;
      type.erase(type.begin() + 1);
      EXPECT_TRUE(plain.insert(type).second) << "of " << one[2] << " bits";
    }
  }
}

TEST(MatrixTypes, AModuleWithoutMatricesStaysAsItIs) {
  const Words module = spirv_of("#version 460\nvoid main() {}\n");
  EXPECT_EQ(render::with_matrix_types(module), module);
}

}  // namespace
}  // namespace tenon::backends::vulkan
