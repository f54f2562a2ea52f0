// What the tests of the CPU's calls share: operands with views, a run on both devices, and how far results may differ.

#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tenon/backends/cpu/calls/calls.h"

namespace tenon::backends::cpu {

/// The bytes of a buffer, and what a call sees of it.
struct Given {
  ir::Operand operand;
  std::vector<std::byte> bytes;

  DType dtype() const { return operand.dtype; }
  const Dims& shape() const { return operand.map.shape(); }
};

ir::Move reshaped(Dims shape);
ir::Move permuted(Dims axes);
ir::Move expanded(Dims shape);
ir::Move padded(Dims before, Dims after);
ir::Move cut(Dims start, Dims size, Dims step);
ir::Move flipped(Dims axes);

/// Random elements seen through moves: floats in [-1, 1], integers in [-9, 9] or [0, 9].
Given given(DType dtype, const Dims& buffer, const std::vector<ir::Move>& moves = {}, uint64_t seed = 1);
/// Exactly these elements.
Given exactly(DType dtype, const Dims& shape, const std::vector<double>& values);

using Bytes = std::vector<std::byte>;
using Results = std::vector<Bytes>;

ir::Call call_of(ir::Op op, ir::Attrs attrs, const std::vector<Given>& inputs, std::vector<ir::Type> outputs);
/// Runs a kernel on copies of the inputs; fails when it writes outside of its outputs or changes an input.
Results run(const CallKernel& kernel, const ir::Call& call, const std::vector<Given>& inputs);
Results run_on_cpu(const ir::Call& call, const std::vector<Given>& inputs);
Results run_on_reference(const ir::Call& call, const std::vector<Given>& inputs);

/// The elements of a result as doubles.
std::vector<double> numbers(DType dtype, const Bytes& bytes);
/// What rounding a result of about 1 may cost; sums of many terms are allowed a multiple.
double tolerance(DType dtype);
/// |a - b| <= tolerance * slack * max(1, |b|) for floats, equality for integers.
void expect_close(const ir::Call& call, const Results& results, const Results& expected, double slack);
/// The CPU gives what the reference gives, and the same bits with 1, 2 and 5 threads.
void expect_as_reference(const ir::Call& call, const std::vector<Given>& inputs, double slack = 4);

/// Sets the number of threads until the end of scope.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace tenon::backends::cpu
