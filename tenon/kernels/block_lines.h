// What a block does that reads a matrix once, a few threads beside each other on every line of it: it walks through the
// lines, asks for several before it uses the first, and adds up at the end what its threads hold.

#pragma once

#include <algorithm>
#include <vector>

#include "tenon/base/divide.h"
#include "tenon/codegen/builder.h"

namespace tenon::kernels {

/// Lines `first`, `first + step`, ... below `count`. `read(line, is_there)` gives what `use(line, is_there, numbers)`
/// takes; `at_once` lines are read before the first is used. Every thread comes to as many, there or not.
template <typename Read, typename Use>
void walk_lines(codegen::Builder& b, int64_t count, uint32_t step, codegen::Id first, uint32_t at_once,
                const Read& read, const Use& use) {
  const auto several = static_cast<uint32_t>(std::min<int64_t>(base::ceil_div(count, int64_t{step}), at_once));
  const bool is_whole = count % (int64_t{step} * several) == 0;
  const codegen::Id end = b.whole(codegen::Scalar::u32, count);
  b.loop(b.u32(0), end, b.u32(uint64_t{step} * several), [&](codegen::Id begin) {
    std::vector<codegen::Id> lines, inside;
    std::vector<std::vector<codegen::Id>> numbers;
    for (uint32_t i = 0; i < several; ++i) {
      lines.push_back(b.add(b.add(begin, b.u32(uint64_t{step} * i)), first));
      inside.push_back(is_whole ? b.boolean(true) : b.less(lines[i], end));
      numbers.push_back(read(lines[i], inside[i]));
    }
    for (uint32_t i = 0; i < several; ++i) use(lines[i], inside[i], numbers[i]);
  });
}

/// The sum over all threads of a subgroup whose positions differ by multiples of `apart`.
codegen::Id sum_of_subgroup(codegen::Builder& b, uint32_t subgroup, uint32_t apart, codegen::Id value);

/// Sums of columns: `lanes` threads beside each other hold the columns of a line, each as many as there are `values`.
/// Every thread of the block makes one, and then may ask for the total of any column.
class ColumnSums {
 public:
  ColumnSums(codegen::Builder& b, uint32_t threads, uint32_t subgroup, uint32_t lanes,
             const std::vector<codegen::Id>& values);
  codegen::Id total(codegen::Id column) const;

 private:
  codegen::Builder& b_;
  const uint32_t groups_, width_, shared_;
};

}  // namespace tenon::kernels
