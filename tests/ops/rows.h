// One row per op of the op table: what to feed it, how to record it, and what must come out.
//
// The tests of this folder run every row on every device, in every dtype and layout. Adding an op to the table without
// a row here fails `OpTable.EveryOpHasARow`.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/ir/node.h"
#include "tests/ops/host.h"
#include "tests/test_name.h"

namespace tenon::ops_test {

/// What an operand is to its op, which decides its dtype.
enum class Role {
  element,    // the dtype under test
  wide,       // what the dtype under test accumulates in
  condition,  // bool
  index,      // i64
  index32,    // i32
  state,      // i64: the state of random numbers, always a plain buffer
};

struct OperandSpec {
  std::string name;
  Dims shape;
  double low = -2, high = 2;               // drawn from here when it is a float ...
  int64_t whole_low = -9, whole_high = 9;  // ... and from here when it is an integer; u8 takes no negative ones
  Role role = Role::element;
};

/// What a sample's function sees.
struct Recording {
  std::span<const ir::Value> in;
  DType dtype;
  ir::DeviceId device;
};

/// One way to use the op.
struct Sample {
  std::string name;
  std::vector<OperandSpec> operands;
  std::function<std::vector<ir::Value>(const Recording&)> record;
  bool large = false;  // long enough for whole vectors, tiles and their tails; too long for finite differences
};

/// An elementwise op written again in plain C++. Rounding to the result's dtype follows.
struct Expectation {
  double (*real)(double, double, double) = nullptr;
  int64_t (*whole)(int64_t, int64_t, int64_t) = nullptr;
};

/// How the gradient of a row is checked.
enum class Slope {
  none,                // the op passes no gradient
  finite_differences,  // gradient_test.cpp differentiates every sample
  by_hand,             // finite differences say nothing: gradient_test.cpp has a test that names the op
};

struct Row {
  ir::Op op;
  std::vector<Sample> samples;
  Expectation expected;
  Slope slope = Slope::none;
};

const std::vector<Row>& rows();
/// Null when there is none.
const Row* find_row(ir::Op op);

/// The dtypes its row of the op table allows the elements to have.
std::vector<DType> dtypes_of(ir::Op op);

/// The dtype an operand has when the elements have this one.
DType dtype_of(const OperandSpec& operand, DType element);
/// Numbers for each operand: the same for the same sample, seed and dtype on every machine.
std::vector<Host> values_for(const Sample& sample, DType element, uint64_t seed = 1);

/// The layout in which an operand is shown when the others are shown in this one.
Layout layout_of(const OperandSpec& operand, Layout layout);
/// The op on these operands, each shown through the layout; checks the graph and computes it.
std::vector<Host> run(const Sample& sample, DType element, ir::DeviceId device, std::span<const Host> operands,
                      Layout layout = Layout::contiguous);

/// Every registered device that computes: all but `null`.
std::vector<std::string> computing_devices();

/// The dtypes of reals in which a device computes.
std::vector<DType> floats_on(const std::string& device);
/// Why a test that computes in f64 is skipped on this device; empty where it is not.
std::string why_no_f64(const std::string& device);

/// Some devices take long to make a kernel (PoCL: 0.1 s) or to run one (`simulated`): there a test takes `few` of its
/// cases, chosen by its name, and all of them where TENON_ALL_CASES is set. Elsewhere all.
template <typename T>
std::vector<T> cases_for(const std::string& device, const std::string& test, std::vector<T> all, size_t few);
bool takes_few_cases(const std::string& device);

template <typename T>
std::vector<T> cases_for(const std::string& device, const std::string& test, std::vector<T> all, size_t few) {
  if (device.starts_with("simulated")) few *= 3;
  if (!takes_few_cases(device) || all.size() <= few) return all;
  const size_t first = base::hash_bytes(test) % all.size();
  std::vector<T> taken;
  for (size_t i = 0; i < few; ++i) taken.push_back(all[(first + i * all.size() / few) % all.size()]);
  return taken;
}

}  // namespace tenon::ops_test

namespace tenon::ir {
void PrintTo(Op op, std::ostream* out);  // NOLINT: GoogleTest's name
}
