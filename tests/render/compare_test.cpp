// The ops of the table on a device that runs every kernel twice, as it is and legalised for 32-bit words, and compares
// all memory afterwards: no bit may differ.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "all_kernels.h"
#include "tenon/backends/simulated/interpreter.h"
#include "tenon/codegen/lower.h"
#include "tenon/device/host_memory.h"
#include "tenon/device/registry.h"
#include "tenon/kernels/kernels.h"
#include "tests/ops/rows.h"

namespace tenon::render {
namespace {

using codegen::Dispatch;

constexpr codegen::Lacks lacks() {
  codegen::Lacks lacks;
  lacks.wide_integers = lacks.bytes = lacks.halves = lacks.f64 = true;
  return lacks;
}

struct Twice : device::Program {
  codegen::Module module;
  std::vector<Dispatch> legal;
  size_t scratch_bytes() const override { return module.scratch_bytes; }
};

class ComparingCompiler : public device::Compiler {
 public:
  explicit ComparingCompiler(const ir::Limits& limits) : limits_(limits) {}
  device::ProgramRef compile(const device::Kernel& kernel) override {
    auto made = std::make_shared<Twice>();
    const auto* nest = std::get_if<ir::LoopNest>(&kernel);
    made->module = nest ? codegen::lower(*nest, limits_) : kernels::lower(std::get<ir::Call>(kernel), limits_);
    for (const Dispatch& dispatch : made->module.dispatches) {
      made->legal.push_back(dispatch);
      made->legal.back().kernel = codegen::legalise(dispatch.kernel, lacks());
    }
    return made;
  }

 private:
  const ir::Limits& limits_;
};

/// What a run has to say of a bad index; empty if there was none.
std::string fault_of(const Dispatch& dispatch, std::span<const std::span<std::byte>> buffers,
                     std::span<const uint64_t> numbers) {
  try {
    backends::simulated::run(dispatch, buffers, numbers);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ComparingDevice : public device::Device {
 public:
  explicit ComparingDevice(const ir::Limits& limits) : limits_(limits), compiler_(limits_) {}

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }
  device::Buffer allocate(size_t bytes) override {
    const size_t words = (bytes + 3) / 4 * 4;
    std::byte* memory = device::take_host_memory(words, limits_.alignment);
    std::memset(memory, 0xEE, words);
    return {reinterpret_cast<uintptr_t>(memory), bytes, memory};
  }
  void release(const device::Buffer& buffer) override {
    device::give_back_host_memory(buffer.host, (buffer.bytes + 3) / 4 * 4, limits_.alignment);
  }
  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands) std::visit([&](const auto& each) { run(each); }, command);
  }
  device::Ticket submit(bool) override { return {++submitted_}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

 private:
  static std::byte* address(const device::Arg& arg) { return arg.buffer.host + arg.offset; }

  void run(const device::Launch& launch) {
    const auto& program = static_cast<const Twice&>(*launch.program);
    for (size_t i = 0; i < program.legal.size(); ++i) run(program.module.dispatches[i], program.legal[i], launch);
  }

  void run(const Dispatch& dispatch, const Dispatch& legal, const device::Launch& launch) {
    if (const auto& same = dispatch.unless_same) {
      if (address(launch.args[(*same)[0]]) == address(launch.args[(*same)[1]])) return;
    }
    // A copy of all memory behind the arguments, where what overlaps still does.
    std::map<std::byte*, std::vector<std::byte>> copies;
    std::vector<std::span<std::byte>> own, copied;
    for (const Dispatch::Binding& binding : dispatch.buffers) {
      const device::Arg& arg = launch.args[binding.arg];
      const size_t words = (arg.buffer.bytes + 3) / 4 * 4, alignment = limits_.alignment;
      auto& copy = copies[arg.buffer.host];
      if (copy.empty()) copy.resize(words + alignment);
      std::byte* begin = copy.data() + (alignment - reinterpret_cast<uintptr_t>(copy.data()) % alignment);
      std::memcpy(begin, arg.buffer.host, words);
      const size_t bytes = arg.bytes - binding.offset, first = arg.offset + binding.offset;
      own.emplace_back(arg.buffer.host + first, bytes);
      copied.emplace_back(begin + first, (bytes + 3) / 4 * 4);
    }
    const std::span<const uint64_t> numbers(launch.numbers.data(), launch.numbers.size());
    const std::string fault = fault_of(dispatch, own, numbers);
    EXPECT_EQ(fault_of(legal, copied, numbers), fault);
    for (const Dispatch::Binding& binding : dispatch.buffers) {
      const device::Buffer& buffer = launch.args[binding.arg].buffer;
      const auto& copy = copies[buffer.host];
      const std::byte* begin =
          copy.data() + (limits_.alignment - reinterpret_cast<uintptr_t>(copy.data()) % limits_.alignment);
      EXPECT_EQ(std::memcmp(begin, buffer.host, buffer.bytes), 0) << to_string(legal.kernel);
    }
    ++compared;
  }
  void run(const device::Copy& copy) { std::memmove(address(copy.to), address(copy.from), copy.to.bytes); }
  void run(const device::Upload& upload) {
    if (!upload.from.empty()) std::memcpy(address(upload.to), upload.from.data(), upload.from.size());
  }
  void run(const device::Download& download) {
    if (!download.to.empty()) std::memcpy(download.to.data(), address(download.from), download.to.size());
  }
  void run(const device::Fill& fill) { std::memset(address(fill.to), static_cast<int>(fill.value), fill.to.bytes); }

  ir::Limits limits_;
  ComparingCompiler compiler_;
  uint64_t submitted_ = 0;

 public:
  size_t compared = 0;
};

/// Small samples in two layouts, all samples in all layouts where TENON_ALL_CASES is set.
TEST(Legalised, OpsOfTheTableKeepEveryBit) {
  using namespace ops_test;
  ir::Limits limits = limits_for(Language::wgsl);
  limits.subgroup = 32;
  const ir::DeviceId id = device::add({"comparing", [&] { return std::make_unique<ComparingDevice>(limits); }, true});
  const bool takes_all = std::getenv("TENON_ALL_CASES") != nullptr;
  for (const Row& row : rows()) {
    for (const DType dtype : dtypes_of(row.op)) {
      if (dtype == DType::f64) continue;
      for (const Sample& sample : row.samples) {
        for (const Layout layout : kLayouts) {
          const bool is_taken = !sample.large && (layout == Layout::contiguous || layout == Layout::stepped);
          if (!is_taken && !takes_all) continue;
          SCOPED_TRACE(fmt::format("{} {} on {}", ir::name(row.op), sample.name, tenon::name(dtype)));
          std::vector<Host> operands = values_for(sample, dtype);
          for (size_t i = 0; i < operands.size(); ++i)
            operands[i] = showable(layout_of(sample.operands[i], layout), operands[i]);
          try {
            run(sample, dtype, id, operands, layout);
          } catch (const Error& error) {
            EXPECT_NE(std::string_view(error.what()).find(" has no f64"), std::string_view::npos) << error.what();
          }
        }
      }
    }
  }
  EXPECT_GT(static_cast<ComparingDevice&>(device::open(id)).compared, 200);
}

}  // namespace
}  // namespace tenon::render
