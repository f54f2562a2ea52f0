// A pipeline of three parts that keeps order: one thread makes units of work, several work on them, and whoever calls
// next() gets them finished, in the order they were made.
//
// So the result never depends on the number of threads, nor on whether any can be started: next() does what they would.
// At most a few units are under way, which bounds the memory; a failure of any part arrives at the place in the order
// where it happened.

#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/base/thread.h"

namespace tenon::data {

template <typename Unit>
class OrderedPipeline {
 public:
  /// `make` fills the next unit or says that there is none; one thread calls it. `work` may run on several at once. At
  /// most so many units are under way or waiting to be taken.
  OrderedPipeline(std::function<bool(Unit&)> make, std::function<void(Unit&)> work, int workers, size_t most)
      : make_(std::move(make)), work_(std::move(work)), most_(most) {
    threads_.reserve(static_cast<size_t>(workers) + 1);
    try {
      for (int i = 0; i <= workers; ++i) {
        auto started = base::try_start_thread([this, i] { i == 0 ? make_all() : work_on_all(); });
        if (!started) break;
        threads_.push_back(std::move(*started));
      }
    } catch (...) {
      end();
      throw;
    }
  }
  OrderedPipeline(std::function<bool(Unit&)> make, std::function<void(Unit&)> work, int workers)
      : OrderedPipeline(std::move(make), std::move(work), workers, static_cast<size_t>(workers) * 2 + 2) {}
  ~OrderedPipeline() { end(); }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;

  /// The next finished unit; nothing at the end. Rethrows what a part threw.
  std::unique_ptr<Unit> next() {
    if (threads_.empty()) make_one();
    const bool has_workers = threads_.size() > 1;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_.empty() ? all_made_ : jobs_.front()->done || !has_workers; });
    if (jobs_.empty()) return nullptr;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    if (has_workers) --begun_;
    lock.unlock();
    changed_.notify_all();
    if (!has_workers) work_on(*job);
    if (job->failure) std::rethrow_exception(job->failure);
    return std::make_unique<Unit>(std::move(job->unit));
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  struct Job {
    Unit unit;
    std::exception_ptr failure;
    bool done = false;
  };

  void make_all() {
    while (!all_made_) make_one();  // nobody else writes it
  }

  void make_one() {
    if (all_made_) return;
    auto job = std::make_shared<Job>();
    bool more = true;
    try {
      more = make_(job->unit);
    } catch (...) {
      job->failure = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || jobs_.size() < most_; });
    all_made_ = !more || job->failure || stop_;
    if (more) jobs_.push_back(std::move(job));
    lock.unlock();
    changed_.notify_all();
  }

  void work_on_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || begun_ < jobs_.size() || all_made_; });
      if (stop_ || (begun_ == jobs_.size() && all_made_)) return;
      const std::shared_ptr<Job> job = jobs_[begun_++];
      lock.unlock();
      work_on(*job);
      lock.lock();
      job->done = true;
      changed_.notify_all();
    }
  }

  void work_on(Job& job) {
    if (job.failure) return;
    try {
      work_(job.unit);
    } catch (...) {
      job.failure = std::current_exception();
    }
  }

  std::function<bool(Unit&)> make_;
  std::function<void(Unit&)> work_;
  size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  // in order; the first begun_ are being worked on or done
  size_t begun_ = 0;
  bool all_made_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::data
