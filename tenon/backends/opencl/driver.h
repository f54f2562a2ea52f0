// One context and its queue, as the shared room for GPUs drives them.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "tenon/backends/gpu/device_clock.h"
#include "tenon/backends/gpu/driver.h"
#include "tenon/backends/opencl/inventory.h"

namespace tenon::backends::opencl {

class Driver : public gpu::Driver {
 public:
  explicit Driver(const Found& on);
  Driver(const Driver&) = delete;
  ~Driver() override;
  cl_context context() const { return context_; }

  uint64_t allocate(size_t bytes) override;
  void release(uint64_t handle) override;
  std::string memory_in_words() const override;
  std::shared_ptr<std::byte> pin(size_t bytes) override;
  void launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) override;
  void copy(const gpu::Place& from, const gpu::Place& to, size_t bytes) override;
  void upload(const std::byte* from, const gpu::Place& to, size_t bytes) override;
  void download(const gpu::Place& from, std::byte* to, size_t bytes) override;
  void fill(const gpu::Place& to, std::byte value, size_t bytes) override;
  gpu::EventRef mark() override;
  void wait(const gpu::Event& event) override;
  gpu::EventRef begin_run() override;
  void end_run(const gpu::Event& run) override;
  gpu::Times times_of(const gpu::Event& run) override;
  bool finish() override;

  /// Starts a kernel that has its arguments.
  void start(const gpu::Step& step, cl_kernel kernel);

 private:
  struct Run;

  bool keep_times();
  uint64_t device_now();
  cl_event* event_of_run();
  void check(cl_int code, const char* what);

  const Found& on_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  bool keeps_times_ = false;  // the queue
  std::shared_ptr<Run> run_;  // that is timed now
  gpu::DeviceClock clock_;
  std::mutex calls_;  // NVIDIA's driver ended processes whose threads made memory and moved it at the same time
  std::atomic<bool> has_refused_{false};  // some command, for want of resources
};

}  // namespace tenon::backends::opencl
