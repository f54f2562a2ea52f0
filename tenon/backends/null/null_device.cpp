// Buffers are numbers with a size; every command is checked to stay inside buffers that are alive and aligned, and to
// read what it means to read: each range of bytes carries the version of the value that was written there last. Reading
// gives zeros.

#include "tenon/backends/null/null_device.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "tenon/base/error.h"

namespace tenon::backends::null {
namespace {

struct CheckedProgram : device::Program {
  std::vector<size_t> bytes;       // per argument: how far the kernel reaches
  std::vector<size_t> alignments;  // per argument: the size of its elements
  size_t inputs = 0;
  size_t numbers = 0;
};

// Which value lies where in a buffer.
class Contents {
 public:
  void write(size_t begin, size_t end, uint64_t version) {
    if (begin == end) return;
    auto at = first_behind(begin);
    if (at != ranges_.end() && at->begin < begin && at->end > end) {  // a range is cut in two
      const Range rest{end, at->end, at->version};
      at->end = begin;
      at = ranges_.insert(at + 1, rest);
    } else {
      if (at != ranges_.end() && at->begin < begin) (at++)->end = begin;
      auto last = at;
      while (last != ranges_.end() && last->end <= end) ++last;
      if (last != ranges_.end() && last->begin < end) last->begin = end;
      if (at != last) {  // taken over in place, so that a replay allocates nothing
        *at = {begin, end, version};
        ranges_.erase(at + 1, last);
        return;
      }
    }
    ranges_.insert(at, {begin, end, version});
  }

  // The first byte of the range that does not hold this version; `end` if there is none.
  size_t first_other(size_t begin, size_t end, uint64_t version) const {
    for (auto at = first_behind(begin); begin < end; ++at) {
      if (at == ranges_.end() || at->begin > begin || at->version != version) return begin;
      begin = at->end;
    }
    return end;
  }

 private:
  struct Range {
    size_t begin, end;
    uint64_t version;
  };

  std::vector<Range>::iterator first_behind(size_t byte) {
    return std::upper_bound(ranges_.begin(), ranges_.end(), byte,
                            [](size_t b, const Range& range) { return b < range.end; });
  }
  std::vector<Range>::const_iterator first_behind(size_t byte) const {
    return std::upper_bound(ranges_.begin(), ranges_.end(), byte,
                            [](size_t b, const Range& range) { return b < range.end; });
  }

  std::vector<Range> ranges_;  // in order, without overlap
};

std::shared_ptr<CheckedProgram> checked(const ir::Call& call) {
  auto program = std::make_shared<CheckedProgram>();
  program->inputs = call.inputs.size();
  program->numbers = ir::numbers_of(call);
  for (const ir::Operand& operand : call.inputs) {
    program->bytes.push_back(ir::bytes_reached(operand.map, operand.dtype).end);
    program->alignments.push_back(size_of(operand.dtype));
  }
  for (const ir::Type& type : call.outputs) {
    program->bytes.push_back(ir::bytes_of(type));
    program->alignments.push_back(size_of(type.dtype));
  }
  return program;
}

std::shared_ptr<CheckedProgram> checked(const ir::LoopNest& nest) {
  auto program = std::make_shared<CheckedProgram>();
  program->inputs = nest.inputs;
  program->numbers = nest.numbers;
  program->bytes.resize(nest.inputs + nest.outputs, 0);
  program->alignments.resize(nest.inputs + nest.outputs, 1);
  for (const ir::Instr& instr : nest.code) {
    for (uint32_t arg : instr.args) {
      if (arg >= static_cast<uint32_t>(&instr - nest.code.data()))
        base::fail("null", "an instruction reads a later one");
    }
    if (instr.kind == ir::Instr::Kind::random && instr.bits >= nest.numbers)
      base::fail("null", "an instruction takes number {} of {}", instr.bits, nest.numbers);
    const bool stores = instr.kind == ir::Instr::Kind::store;
    const bool gathers = instr.kind == ir::Instr::Kind::gather;
    if (!stores && !gathers && instr.kind != ir::Instr::Kind::load) continue;
    if (stores ? instr.buffer < nest.inputs : instr.buffer >= nest.inputs)
      base::fail("null", "buffer {} is misused", instr.buffer);
    const size_t size = size_of(instr.dtype);
    const int64_t way = gathers ? std::max<int64_t>(0, (static_cast<int64_t>(instr.bits) - 1) * instr.stride) : 0;
    program->bytes[instr.buffer] = std::max(
        program->bytes[instr.buffer], ir::bytes_reached(instr.map, instr.dtype).end + static_cast<size_t>(way) * size);
    program->alignments[instr.buffer] = size;
  }
  return program;
}

class CheckingCompiler : public device::Compiler {
 public:
  device::ProgramRef compile(const device::Kernel& kernel) override {
    return std::visit([](const auto& k) -> device::ProgramRef { return checked(k); }, kernel);
  }
};

class NullDevice : public device::Device {
 public:
  explicit NullDevice(const ir::Limits& limits) : limits_(limits) {}

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }

  device::Buffer allocate(size_t bytes) override {
    std::lock_guard lock(mutex_);
    const uint64_t handle = ++last_handle_;
    alive_.emplace(handle, Memory{bytes, {}});
    return {handle, bytes, nullptr};
  }
  void release(const device::Buffer& buffer) override {
    std::lock_guard lock(mutex_);
    if (alive_.erase(buffer.handle) == 0) base::fail("null", "buffer {} was released twice", buffer.handle);
  }

  void enqueue(std::span<const device::Command> commands) override {
    std::lock_guard lock(mutex_);
    for (const device::Command& command : commands) std::visit([&](const auto& c) { check(c); }, command);
  }
  device::Ticket submit(bool) override { return {++submitted_}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

 private:
  struct Memory {
    size_t bytes;
    Contents contents;
  };

  // That an argument lies inside its buffer, and what is done with it inside the argument.
  Memory& check_range(const device::Arg& arg, size_t bytes, size_t alignment) {
    const auto found = alive_.find(arg.buffer.handle);
    if (found == alive_.end()) base::fail("null", "buffer {} is not alive", arg.buffer.handle);
    const size_t size = std::min(found->second.bytes, arg.buffer.bytes);
    if (arg.offset > size || arg.bytes > size - arg.offset) {
      base::fail("null", "bytes {}..{} lie outside of buffer {} of {} bytes", arg.offset, arg.offset + arg.bytes,
                 arg.buffer.handle, found->second.bytes);
    }
    if (bytes > arg.bytes) base::fail("null", "a command reaches {} bytes into an argument of {}", bytes, arg.bytes);
    if (arg.offset % alignment != 0) base::fail("null", "offset {} is not aligned to {}", arg.offset, alignment);
    return found->second;
  }
  void check_read(const device::Arg& arg, size_t bytes, size_t alignment) {
    const Memory& memory = check_range(arg, bytes, alignment);
    if (arg.version == 0) return;
    const size_t end = arg.offset + bytes, wrong = memory.contents.first_other(arg.offset, end, arg.version);
    if (wrong != end) {
      base::fail("null", "byte {} of buffer {} does not hold version {}: it was overwritten, or never written", wrong,
                 arg.buffer.handle, arg.version);
    }
  }
  void check_write(const device::Arg& arg, size_t bytes, size_t alignment) {
    check_range(arg, bytes, alignment).contents.write(arg.offset, arg.offset + bytes, arg.version);
  }

  void check(const device::Launch& c) {
    const auto& program = static_cast<const CheckedProgram&>(*c.program);
    if (c.args.size() != program.bytes.size()) {
      base::fail("null", "a launch has {} arguments, its kernel takes {}", c.args.size(), program.bytes.size());
    }
    if (c.inputs != program.inputs)
      base::fail("null", "a launch reads {} arguments, its kernel {}", c.inputs, program.inputs);
    if (c.numbers.size() != program.numbers)
      base::fail("null", "a launch brings {} numbers, its kernel takes {}", c.numbers.size(), program.numbers);
    for (size_t i = 0; i < program.inputs; ++i) check_read(c.args[i], program.bytes[i], program.alignments[i]);
    for (size_t i = program.inputs; i < c.args.size(); ++i)
      check_write(c.args[i], program.bytes[i], program.alignments[i]);
  }
  void check(const device::Copy& c) {
    check_read(c.from, c.to.bytes, 1);
    check_write(c.to, c.to.bytes, 1);
  }
  void check(const device::Upload& c) { check_write(c.to, c.from.size(), 1); }
  void check(const device::Download& c) {
    check_read(c.from, c.to.size(), 1);
    std::fill(c.to.begin(), c.to.end(), std::byte{0});
  }
  void check(const device::Fill& c) { check_write(c.to, c.to.bytes, 1); }

  std::mutex mutex_;
  std::unordered_map<uint64_t, Memory> alive_;
  ir::Limits limits_;
  CheckingCompiler compiler_;
  uint64_t last_handle_ = 0;
  uint64_t submitted_ = 0;
};

}  // namespace

std::unique_ptr<device::Device> open() { return open_with({}); }
std::unique_ptr<device::Device> open_with(const ir::Limits& limits) { return std::make_unique<NullDevice>(limits); }

}  // namespace tenon::backends::null
