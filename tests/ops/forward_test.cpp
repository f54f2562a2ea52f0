// Every op on every device: right values, and the same bits however its operands lie in memory.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tenon/device/registry.h"
#include "tenon/ir/build.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {
namespace {

using Param = std::tuple<std::string, ir::Op>;

std::string param_name(const testing::TestParamInfo<Param>& info) {
  return test_name(fmt::format("{}_{}", std::get<0>(info.param), ir::name(std::get<1>(info.param))));
}

std::string op_name(const testing::TestParamInfo<ir::Op>& info) { return test_name(std::string(ir::name(info.param))); }

std::vector<ir::Op> ops_where(const std::function<bool(const Row&)>& holds) {
  std::vector<ir::Op> ops;
  for (const Row& row : rows()) {
    if (holds(row)) ops.push_back(row.op);
  }
  return ops;
}
std::vector<ir::Op> all_ops() {
  return ops_where([](const Row&) { return true; });
}
std::vector<ir::Op> ops_with_expectation() {
  return ops_where([](const Row& row) { return row.expected.real || row.expected.whole; });
}
std::vector<std::string> other_devices() {
  std::vector<std::string> names = computing_devices();
  std::erase(names, "reference");
  return names;
}

class OnDevice : public testing::TestWithParam<Param> {
 protected:
  std::string device_name() const { return std::get<0>(GetParam()); }
  ir::DeviceId device() const { return device::find(device_name()); }
  const Row& row() const { return *find_row(std::get<1>(GetParam())); }

  /// Calls f(sample, dtype) for everything the row allows, saying where it is when an expectation fails. Among few
  /// cases there is one of f64 on Vulkan, whose language has no functions of it.
  template <typename F>
  void for_each_case(F&& f) const {
    const bool makes_f64 = device_name().starts_with("vulkan");
    std::vector<std::pair<const Sample*, DType>> cases, of_f64;
    for (DType dtype : dtypes_of(row().op)) {
      const bool has_f64 = why_no_f64(device_name()).empty();
      if (dtype == DType::f64 && !has_f64) continue;
      for (const Sample& sample : row().samples) {
        if (has_f64 || sample.name != "to_f64")
          (dtype == DType::f64 && makes_f64 ? of_f64 : cases).emplace_back(&sample, dtype);
      }
    }
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    cases = cases_for(device_name(), test, std::move(cases), 1);
    of_f64 = cases_for(device_name(), test, std::move(of_f64), 1);
    cases.insert(cases.end(), of_f64.begin(), of_f64.end());
    for (const auto& [sample, dtype] : cases) {
      SCOPED_TRACE(fmt::format("{} {} on {}", ir::name(row().op), sample->name, tenon::name(dtype)));
      try {
        f(*sample, dtype);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
};

// ---- Against the op written again in C++ ---------------------------------------------------------------------------

class Elementwise : public OnDevice {};

/// The result's type with the expectation in every element.
Host expected_of(const Row& row, DType element, const std::vector<Host>& operands, const ir::Type& type) {
  Host wanted(type);
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const auto real = [&](size_t k) { return k < operands.size() ? operands[k].number(i) : 0; };
    const auto whole = [&](size_t k) { return k < operands.size() ? operands[k].whole(i) : 0; };
    if (is_float(element))
      wanted.set(i, row.expected.real(real(0), real(1), real(2)));
    else
      wanted.set(i, static_cast<double>(row.expected.whole(whole(0), whole(1), whole(2))));
  }
  return wanted;
}

TEST_P(Elementwise, GivesTheExactValueRoundedToTheDType) {
  for_each_case([&](const Sample& sample, DType dtype) {
    const std::vector<Host> operands = values_for(sample, dtype);
    const std::vector<Host> results = run(sample, dtype, device(), operands);
    const DType rounded_to = results[0].type.dtype;
    const double ulps = device_name() == "reference" ? reference_ulps(rounded_to) : tolerance_of(rounded_to).ulps;
    EXPECT_TRUE(within_ulps(results[0], expected_of(row(), dtype, operands, results[0].type), ulps));
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, Elementwise,
                         testing::Combine(testing::ValuesIn(computing_devices()),
                                          testing::ValuesIn(ops_with_expectation())),
                         param_name);

// ---- Against itself on contiguous operands -------------------------------------------------------------------------

class Layouts : public OnDevice {};

TEST_P(Layouts, DoNotChangeABit) {
  for_each_case([&](const Sample& sample, DType dtype) {
    const std::vector<Layout> layouts(std::begin(kLayouts), std::end(kLayouts));
    for (Layout layout : cases_for(device_name(), sample.name, layouts, 1)) {
      SCOPED_TRACE(fmt::format("operands {}", name(layout)));
      std::vector<Host> operands;
      for (const Host& array : values_for(sample, dtype)) operands.push_back(showable(layout, array));
      const std::vector<Host> wanted = run(sample, dtype, device(), operands);
      const std::vector<Host> got = run(sample, dtype, device(), operands, layout);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(same(got[i], wanted[i])) << "result " << i << ", operands " << name(layout);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, Layouts,
                         testing::Combine(testing::ValuesIn(computing_devices()), testing::ValuesIn(all_ops())),
                         param_name);

// ---- Against the reference device ----------------------------------------------------------------------------------

class Reference : public OnDevice {};

TEST_P(Reference, AgreesWithTheDevice) {
  for_each_case([&](const Sample& sample, DType dtype) {
    const std::vector<Host> operands = values_for(sample, dtype);
    const std::vector<Host> wanted = run(sample, dtype, device::find("reference"), operands);
    const std::vector<Host> got = run(sample, dtype, device(), operands);
    ASSERT_EQ(got.size(), wanted.size());
    // Written out or on matrix tiles, weights and scores are rounded to 16 bits on their way into products, as
    // PyTorch's are.
    const ir::Limits& limits = device::open(device()).limits();
    const bool is_rounded_between = row().op == ir::Op::attention_backward && accumulator(dtype) != dtype &&
                                    (limits.missing_calls.contains(row().op) || limits.tile_dtypes.contains(dtype));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(close(got[i], wanted[i], is_rounded_between ? 4 : 1)) << "result " << i;
  });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Reference);
INSTANTIATE_TEST_SUITE_P(Ops, Reference,
                         testing::Combine(testing::ValuesIn(other_devices()), testing::ValuesIn(all_ops())),
                         param_name);

// ---- Fused and one at a time -------------------------------------------------------------------------------------

class Grouping : public testing::TestWithParam<ir::Op> {};

// Something elementwise before the op and behind it, so that there is something to fuse.
TEST_P(Grouping, DoesNotChangeABit) {
  const Row& row = *find_row(GetParam());
  const auto surrounded = [](const Sample& sample) {
    Sample made = sample;
    made.record = [record = sample.record](const Recording& given) {
      std::vector<ir::Value> in;
      for (const ir::Value& value : given.in) in.push_back(is_float(value.dtype()) ? ir::neg(ir::neg(value)) : value);
      std::vector<ir::Value> results = record({in, given.dtype, given.device}), more;
      for (const ir::Value& result : results) {
        if (is_float(result.dtype())) more.push_back(ir::add(ir::scale(result, 3), result));
      }
      results.insert(results.end(), more.begin(), more.end());
      return results;
    };
    return made;
  };
  for (DType dtype : dtypes_of(row.op)) {
    for (const Sample& sample : row.samples) {
      const std::vector<Host> operands = values_for(sample, dtype);
      const std::vector<Host> fused = run(surrounded(sample), dtype, device::find("cpu"), operands);
      const std::vector<Host> alone = run(surrounded(sample), dtype, device::find("cpu_unfused"), operands);
      ASSERT_EQ(fused.size(), alone.size());
      for (size_t i = 0; i < fused.size(); ++i)
        EXPECT_TRUE(same(fused[i], alone[i])) << sample.name << " on " << tenon::name(dtype) << ", result " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Grouping, testing::ValuesIn(all_ops()), op_name);

// ---- On the device that runs nothing -------------------------------------------------------------------------------

class Null : public testing::TestWithParam<ir::Op> {};

TEST_P(Null, AcceptsEveryCommandOfThePlan) {
  const Row& row = *find_row(GetParam());
  for (DType dtype : dtypes_of(row.op)) {
    for (const Sample& sample : row.samples) {
      for (Layout layout : kLayouts) {
        EXPECT_NO_THROW(run(sample, dtype, device::find("null"), values_for(sample, dtype), layout))
            << sample.name << " on " << tenon::name(dtype) << ", operands " << name(layout);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Null, testing::ValuesIn(all_ops()), op_name);

// ---- On all of them -----------------------------------------------------------------------------------------------

// In a process of its own, because what happens otherwise is a segmentation fault.
TEST(RandomBits, ReadAStateThatIsAView) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  std::vector<std::string> names = computing_devices();
  names.push_back("null");
  for (const std::string& device_name : names) {
    const auto draw = [&] {
      const ir::DeviceId device = device::find(device_name);
      const ir::Value whole = upload(host<int64_t>({1, 42, 2, 5, 3}), device);
      const ir::Value state = ir::shrink(whole, {1}, {2}, {2});
      const Host direct = read(ir::random_bits(upload(host<int64_t>({42, 5}), device), 9, 0));
      std::exit(same(read(ir::random_bits(state, 9, 0)), direct) ? 0 : 1);
    };
    EXPECT_EXIT(draw(), testing::ExitedWithCode(0), "") << device_name;
  }
}

}  // namespace
}  // namespace tenon::ops_test
