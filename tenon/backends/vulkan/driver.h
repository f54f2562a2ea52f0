// A device with its queue, as the shared room for GPUs drives them.
//
// Commands are written into a command buffer until `mark` submits it; one timeline semaphore counts what was submitted.
// What is captured goes into a command buffer of its own, which can be submitted again and again. A command waits for
// those before it where it meets what they touch, and nowhere else.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backends/gpu/device_clock.h"
#include "tenon/backends/gpu/driver.h"
#include "tenon/backends/gpu/hazards.h"
#include "tenon/backends/vulkan/memory.h"

namespace tenon::backends::vulkan {

/// Descriptor sets that are let go of all at once.
class Sets {
 public:
  VkDescriptorSet take(VkDevice device, VkDescriptorSetLayout layout);
  void reset(VkDevice device);
  void destroy(VkDevice device);

 private:
  std::vector<VkDescriptorPool> pools_;
  size_t used_ = 0;  // pools that are full
};

/// Commands that were written once.
struct Captured {
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Sets sets;
  gpu::Hazards hazards;
  size_t count = 0;  // of commands
  std::vector<uint64_t> temporaries;
};

class Driver : public gpu::Driver {
 public:
  Driver(const Found& on, const ir::Limits& limits);
  Driver(const Driver&) = delete;
  ~Driver() override;
  VkDevice device() const { return device_; }
  /// Of kernels with so many buffers, the fault words among them.
  VkPipelineLayout layout(size_t buffers) const { return layout_of(buffers).pipeline; }

  uint64_t allocate(size_t bytes) override;
  void release(uint64_t handle) override;
  std::string memory_in_words() const override;
  std::shared_ptr<std::byte> pin(size_t bytes) override;
  void release_temporary(uint64_t handle) override;
  void launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) override;
  void copy(const gpu::Place& from, const gpu::Place& to, size_t bytes) override;
  void upload(const std::byte* from, const gpu::Place& to, size_t bytes) override;
  bool upload_small(std::span<const gpu::SmallUpload> uploads) override;
  void download(const gpu::Place& from, std::byte* to, size_t bytes) override;
  void fill(const gpu::Place& to, std::byte value, size_t bytes) override;
  gpu::EventRef mark() override;
  bool holds_back() const override { return true; }
  void begin(const gpu::Event& event) override;
  void wait(const gpu::Event& event) override;
  gpu::EventRef begin_run() override;
  void end_run(const gpu::Event& run) override;
  gpu::Times times_of(const gpu::Event& run) override;
  bool finish() override;

  // With the lock held.
  /// What `start` starts, to be run again and again; nothing of it runs now.
  std::unique_ptr<Captured> capture(const std::function<void()>& start);
  void launch(const Captured& captured);
  /// When the device is done with it; without the lock.
  void destroy(std::unique_ptr<Captured> captured);

 private:
  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  struct Batch {
    VkCommandPool pool = VK_NULL_HANDLE;
    std::vector<VkCommandBuffer> buffers;  // of the pool
    size_t used = 0;
    Sets sets;
    std::vector<VkCommandBuffer> submitted;  // those of the pool and captured ones, in order
    size_t commands = 0;                     // in them
    uint64_t value = 0;
  };
  struct Download {
    uint64_t value;
    Block from;
    std::byte* to;
    size_t bytes;
  };
  struct Moment;
  struct Stamps;
  struct Run;

  void make_device();
  void make_layouts(const ir::Limits& limits);
  const Layout& layout_of(size_t buffers) const;
  Batch new_batch();
  VkCommandBuffer commands();
  void close();
  VkCommandBuffer after(std::span<const gpu::Range> reads, std::span<const gpu::Range> writes);
  void barrier(VkCommandBuffer commands) const;
  void bind(VkCommandBuffer commands, const gpu::Step& step, const device::Launch& launch, uint64_t fault_words);
  void dispatch(VkCommandBuffer commands, const std::array<uint64_t, 3>& blocks) const;
  std::optional<std::pair<VkBuffer, size_t>> pinned_at(const std::byte* host);
  Block take_for_host(size_t bytes);
  void write_edge(const gpu::Place& to, std::byte value, size_t bytes);
  std::shared_ptr<Run> new_run();
  void stamp(const Run& run, uint32_t which);
  uint64_t nanoseconds_at(uint64_t ticks) const;
  uint64_t device_now();
  void submit();
  void wait_for(uint64_t value);
  void later(std::function<void()> what);
  void collect();

  const Found& on_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::vector<Layout> layouts_;  // by number of buffers
  std::unique_ptr<gpu::Slabs<Block>> memory_;

  // With the lock of the queue.
  Batch batch_;
  VkCommandBuffer open_ = VK_NULL_HANDLE;
  bool downloads_now_ = false;  // the batch
  std::deque<Batch> in_flight_;
  std::vector<Batch> free_batches_;
  gpu::Hazards hazards_;
  Captured* capturing_ = nullptr;
  std::shared_ptr<Stamps> stamps_;  // those that are not all taken
  gpu::DeviceClock clock_;
  std::shared_ptr<std::byte> patterns_;  // every byte, a few times each

  std::atomic<uint64_t> submitted_{0}, needed_{0};  // values of the semaphore: of the last batch, and of the open one

  std::mutex mutex_;  // of what follows
  std::vector<Block> pinned_;
  std::vector<Block> free_for_host_;
  std::deque<Download> downloads_;
  std::vector<std::pair<uint64_t, std::function<void()>>> later_;
};

}  // namespace tenon::backends::vulkan
