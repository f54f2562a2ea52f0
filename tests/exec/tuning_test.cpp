// Ways to do a call: all give the same bits, and which is the quickest is kept as text. Those that are timed unasked
// are tried in tests/cuda and tests/train.

#include "tenon/exec/tuning.h"

#include <gtest/gtest.h>

#include "tenon/device/registry.h"
#include "tests/error_text.h"

namespace tenon::exec {
namespace {

ir::Call product(int64_t rows, int64_t inner, int64_t columns) {
  ir::Call call;
  call.op = ir::Op::contract;
  call.attrs = ir::ContractAttrs{};
  call.inputs.push_back({DType::f32, ir::IndexMap(Dims{rows, inner})});
  call.inputs.push_back({DType::f32, ir::IndexMap(Dims{inner, columns})});
  call.outputs.push_back({DType::f32, Dims{rows, columns}});
  return call;
}

device::Device& simulated() { return device::open(device::find("simulated")); }

std::vector<float> run(const ir::Call& call, const std::vector<float>& a, const std::vector<float>& b) {
  device::Device& device = simulated();
  const device::ProgramRef program = device.compiler().compile(call);
  device::Launch launch{program, {}, 2};
  std::vector<float> result(static_cast<size_t>(ir::count(call.outputs[0].shape)));
  std::vector<device::Buffer> memory;
  for (const size_t bytes : {a.size() * 4, b.size() * 4, result.size() * 4, program->scratch_bytes()}) {
    if (bytes == 0) continue;
    memory.push_back(device.allocate(bytes));
    launch.args.push_back({memory.back(), 0, bytes});
  }
  const std::vector<device::Command> commands = {
      device::Upload{std::as_bytes(std::span(a)), launch.args[0]},
      device::Upload{std::as_bytes(std::span(b)), launch.args[1]}, launch,
      device::Download{launch.args[2], std::as_writable_bytes(std::span(result))}};
  device.wait(device.send(commands, true));
  for (const device::Buffer& each : memory) device.release(each);
  return result;
}

TEST(Tuning, EveryWayGivesTheSameBits) {
  ir::Call call = product(70, 150, 45);
  std::vector<float> a(70 * 150), b(150 * 45);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>((i * 37) % 101) / 7 - 6;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>((i * 53) % 97) / 9 - 5;
  const std::vector<float> usual = run(call, a, b);
  const std::vector<ir::Way> ways = simulated().compiler().ways(call);
  ASSERT_GT(ways.size(), 2);
  for (const ir::Way& way : ways) {
    call.way = way;
    EXPECT_EQ(run(call, a, b), usual) << fmt::format("{}", fmt::join(way, " "));
  }
}

TEST(Tuning, TriesEveryWayAndTakesOneOfThem) {
  const ir::Call call = product(40, 16, 40);
  const std::vector<ir::Way> ways = simulated().compiler().ways(call);
  std::vector<ir::Way> tried;
  const Tuned found = tune(simulated(), call, [&](const ir::Way& way, double us) {
    tried.push_back(way);
    EXPECT_GT(us, 0);
  });
  EXPECT_EQ(tried, ways);
  EXPECT_NE(std::ranges::find(ways, found.way), ways.end());
  EXPECT_LE(found.best_us, found.usual_us);
  EXPECT_EQ(found.call, hash(call));
}

TEST(Tuning, IsNotDoneUnaskedWhereTheBitsAreTheSame) {
  EXPECT_TRUE(simulated().compiler().timed_on().empty());
  EXPECT_FALSE(simulated().compiler().timed_as(product(40, 16, 40)));
  EXPECT_EQ(choices_taken(simulated()).size(), 0u);
  Tuning choices;
  choices.set_on("another device");
  EXPECT_EQ(take_choices(simulated(), choices), "its products were chosen for another device, which is not used here");
}

TEST(Tuning, ChoosesForCallsThatWereMeasuredAndWaysThatAreKnown) {
  const ir::Call call = product(40, 16, 40), other = product(40, 16, 44);
  const device::Compiler& compiler = simulated().compiler();
  const ir::Way last = compiler.ways(call).back();
  Tuning tuning;
  tuning.add({hash(call), last, 1, 2, "a product"});
  std::vector<device::Kernel> kernels = {call, other};
  tuning.choose(kernels, compiler);
  EXPECT_EQ(std::get<ir::Call>(kernels[0]).way, last);
  EXPECT_TRUE(std::get<ir::Call>(kernels[1]).way.empty());
  tuning.add({hash(call), ir::Way{7, 7, 7, 1, 1, 49}, 1, 2, "a product"});
  kernels = {call};
  tuning.choose(kernels, compiler);
  EXPECT_TRUE(std::get<ir::Call>(kernels[0]).way.empty());
}

TEST(Tuning, IsTextThatCanBeReadAgain) {
  Tuning tuning;
  tuning.add({0x1234, ir::Way{64, 32, 16}, 1.5, 2.25, "contract f32(2, 3)"});
  tuning.add({0xffffffffffffffff, ir::Way{}, 3, 3, ""});
  const std::string text = tuning.to_text();
  EXPECT_EQ(Tuning::read(text, "x").to_text(), text);
  EXPECT_NE(text.find("0000000000001234 1.50 2.25 3 64 32 16 contract f32(2, 3)\n"), std::string::npos) << text;
}

TEST(Tuning, SaysInItsTextWhatItHoldsFor) {
  Tuning tuning;
  tuning.set_on("a chip with library 3");
  tuning.add({0x12, ir::Way{1}, 1, 2, "a product"});
  EXPECT_NE(tuning.to_text().find("\n# on a chip with library 3\n"), std::string::npos) << tuning.to_text();
  EXPECT_EQ(Tuning::read(tuning.to_text(), "x").on(), "a chip with library 3");
  EXPECT_EQ(Tuning::read("tenon tuned 1\n# old files do not say\n", "x").on(), "");
}

TEST(Tuning, KeepsWhatItKnowsOrTakesWhatIsNew) {
  Tuning tuning, other;
  tuning.add({1, ir::Way{10}, 1, 2, "one"});
  other.add({1, ir::Way{11}, 1, 2, "one"});
  other.add({2, ir::Way{20}, 1, 2, "two"});
  tuning.add_new(other);
  EXPECT_EQ(tuning.find(1)->way, ir::Way{10});
  EXPECT_EQ(tuning.find(2)->way, ir::Way{20});
  tuning.add_all(other);
  EXPECT_EQ(tuning.find(1)->way, ir::Way{11});
  EXPECT_EQ(tuning.find(3), nullptr);
}

TEST(Tuning, NamesFileAndLineOfWhatItCannotRead) {
  EXPECT_EQ(text_of([] { Tuning::read("", "a.tuned"); }), "[tune] a.tuned: is empty");
  EXPECT_EQ(text_of([] { Tuning::read("x\n", "a.tuned"); }),
            "[tune] a.tuned: is not a file that tenon tune has written");
  EXPECT_EQ(text_of([] { Tuning::read("tenon tuned 1\n12 1 1 1 4 wh", "a.tuned"); }),
            "[tune] a.tuned: is cut in the middle of its last line");
  for (const char* line : {"zz 1 1 0", "12 1 1 3 1 2", "12 1", "12 1 1 99 1", "12 1 1 1 -4 what"}) {
    EXPECT_EQ(text_of([&] { Tuning::read(fmt::format("tenon tuned 1\n{}\n", line), "a.tuned"); }),
              "[tune] a.tuned: line 2 is not one that tenon tune writes")
        << line;
  }
}

}  // namespace
}  // namespace tenon::exec
