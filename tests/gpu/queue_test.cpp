// The queue over a driver of the host's memory, of which there is little, that holds commands back until it is waited
// for.

#include "tenon/backends/gpu/queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>

#include "tenon/base/error.h"

namespace tenon::backends::gpu {
namespace {

class LittleDriver : public Driver {
 public:
  explicit LittleDriver(size_t room) : room_(room) {}

  uint64_t allocate(size_t bytes) override {
    if (bytes > room_) return 0;
    room_ -= bytes;
    auto memory = std::make_unique<std::vector<std::byte>>(bytes);
    const auto handle = reinterpret_cast<uint64_t>(memory->data());
    memory_[handle] = std::move(memory);
    return handle;
  }
  void release(uint64_t handle) override { let_go_.push_back(handle); }
  std::string memory_in_words() const override { return "it has little"; }
  std::shared_ptr<std::byte> pin(size_t bytes) override {
    return {new std::byte[bytes], std::default_delete<std::byte[]>()};
  }
  void launch(const Step&, const device::Launch&, uint64_t) override { base::fail("test", "no kernels"); }
  void copy(const Place& from, const Place& to, size_t bytes) override {
    held_.emplace_back([=] { std::memcpy(at(to), at(from), bytes); });
  }
  void upload(const std::byte* from, const Place& to, size_t bytes) override {
    held_.emplace_back([=] { std::memcpy(at(to), from, bytes); });
  }
  void download(const Place& from, std::byte* to, size_t bytes) override {
    held_.emplace_back([=] { std::memcpy(to, at(from), bytes); });
  }
  void fill(const Place& to, std::byte value, size_t bytes) override {
    held_.emplace_back([=] { std::memset(at(to), static_cast<int>(value), bytes); });
  }
  EventRef mark() override { return std::make_shared<Event>(); }
  bool holds_back() const override { return true; }
  void begin(const Event&) override { finish(); }
  void wait(const Event&) override {}
  bool finish() override {
    for (const auto& command : held_) command();
    held_.clear();
    for (const uint64_t handle : let_go_) {
      room_ += memory_[handle]->size();
      memory_.erase(handle);
    }
    let_go_.clear();
    return true;
  }

 private:
  static std::byte* at(const Place& place) { return reinterpret_cast<std::byte*>(place.handle) + place.offset; }

  size_t room_;
  std::map<uint64_t, std::unique_ptr<std::vector<std::byte>>> memory_;
  std::vector<std::function<void()>> held_;
  std::vector<uint64_t> let_go_;  // when what is held has run
};

class NoToolchain : public Toolchain {
 public:
  std::string backend() const override { return "test"; }
  std::string chip() const override { return "none"; }
  render::Language language() const override { return render::Language::glsl; }
  std::string depends_on() const override { return {}; }
  BuiltRef build(const std::string&, const codegen::KernelIr&) override { return nullptr; }
  std::vector<std::byte> binary_of(const Built&) const override { return {}; }
  BuiltRef load(std::span<const std::byte>, const codegen::KernelIr&) override { return nullptr; }
};

// Bytes that move within a buffer pass through memory of a moment. There is room for one such, which the first move
// still needs when the second wants it.
TEST(Queue, MemoryForAMomentWaitsForWhatTheDriverHoldsBack) {
  constexpr size_t kAll = 256, kMoved = 192, kFaultWords = 32;
  LittleDriver driver(kAll + kMoved + kFaultWords);
  NoToolchain toolchain;
  const ir::Limits limits;
  Compiler compiler(toolchain, limits);
  Queue queue("test", driver, compiler, limits);

  std::vector<uint8_t> numbers(kAll), back(kAll);
  std::iota(numbers.begin(), numbers.end(), uint8_t{0});
  const device::Buffer buffer{driver.allocate(kAll), kAll};
  const auto part = [&](size_t from, size_t bytes) { return device::Arg{buffer, from, bytes}; };
  const device::Command upload = device::Upload{std::as_bytes(std::span(numbers)), part(0, kAll)};
  const device::Command move = device::Copy{part(0, kMoved), part(1, kMoved), false};
  const device::Command download = device::Download{part(0, kAll), std::as_writable_bytes(std::span(back))};
  queue.submit({&upload, 1});
  queue.submit({&move, 1});
  const device::Command rest[] = {move, download};
  queue.wait(queue.submit(rest));
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[1], 0);
  EXPECT_EQ(back[2], 0);
  EXPECT_EQ(back[3], 1);
  EXPECT_EQ(back[kMoved], kMoved - 2);
  queue.release(buffer.handle);
}

TEST(Queue, MemoryForAMomentThatIsNotThereIsRefusedByName) {
  LittleDriver driver(256);
  NoToolchain toolchain;
  const ir::Limits limits;
  Compiler compiler(toolchain, limits);
  Queue queue("test", driver, compiler, limits);
  const device::Buffer buffer{driver.allocate(128), 128};
  const device::Command move = device::Copy{{buffer, 0, 120}, {buffer, 1, 120}, false};
  try {
    queue.submit({&move, 1});
    FAIL() << "there is no room";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[memory] there are no 120 bytes for a moment; it has little");
  }
}

}  // namespace
}  // namespace tenon::backends::gpu
