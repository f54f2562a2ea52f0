// The primary context of a GPU and one stream of it, as the shared room for GPUs drives them.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/backends/cuda/inventory.h"
#include "tenon/backends/cuda/small_transfers.h"
#include "tenon/backends/cuda/upload_ring.h"
#include "tenon/backends/gpu/driver.h"

namespace tenon::backends::cuda {

/// What a step is made of: a kernel, or a call of a library.
class Runnable : public gpu::Built {
 public:
  /// Gives the code of what it started, and takes the stream that it starts on.
  virtual Result run(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words,
                     Stream stream) const = 0;
};

class Driver : public gpu::Driver {
 public:
  explicit Driver(const Found& on);
  Driver(const Driver&) = delete;
  ~Driver() override;

  /// Makes the context that of the calling thread. Whoever calls the driver from elsewhere does so first.
  void make_current() const { cu().set_current(context_); }

  uint64_t allocate(size_t bytes) override;
  void release(uint64_t handle) override;
  std::string memory_in_words() const override;
  /// Bytes that are free on the device; none where the driver does not say.
  std::optional<size_t> memory_left() const;
  std::shared_ptr<std::byte> pin(size_t bytes) override;
  uint64_t take_temporary(size_t bytes) override;
  void release_temporary(uint64_t handle) override;
  void launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) override;
  void copy(const gpu::Place& from, const gpu::Place& to, size_t bytes) override;
  void upload(const std::byte* from, const gpu::Place& to, size_t bytes) override;
  bool upload_small(std::span<const gpu::SmallUpload> uploads) override;
  void download(const gpu::Place& from, std::byte* to, size_t bytes) override;
  void fill(const gpu::Place& to, std::byte value, size_t bytes) override;
  gpu::EventRef mark() override;
  void wait(const gpu::Event& event) override;
  gpu::EventRef begin_run() override;
  void end_run(const gpu::Event& run) override;
  gpu::Times times_of(const gpu::Event& run) override;
  bool finish() override;

  // Commands as a graph, with the lock held.
  bool can_capture() const { return has_pools_; }
  /// What `start` starts, as one thing that can be run again and again, up to so many times over; nothing of it runs
  /// now. Throws an Error where the driver does not take it.
  std::vector<RunnableGraph> capture(const std::function<void()>& start, size_t copies);
  void launch(RunnableGraph graph);
  void destroy(RunnableGraph graph);

 private:
  class Events;
  struct Moment;
  struct Pinned;

  void check(Result code, const char* what);
  void align_clocks();
  uint64_t nanoseconds_between(EventHandle begin, EventHandle end) const;

  const Found& on_;
  Context context_ = nullptr;
  Stream main_ = nullptr, capturing_ = nullptr;
  Stream stream_ = nullptr;  // the one that commands go to now
  bool has_pools_ = false;
  std::shared_ptr<Events> events_;
  std::shared_ptr<const Moment> anchor_;  // an event whose time on the host's clock is known
  uint64_t anchor_ns_ = 0, last_timed_ns_ = 0;
  std::shared_ptr<Pinned> pinned_;
  SmallTransfers small_transfers_;
  UploadRing upload_ring_;
};

}  // namespace tenon::backends::cuda
