// The line is made of differences between totals.

#include "tenon/exec/log.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <optional>
#include <string_view>

#include "tenon/base/allocations.h"
#include "tenon/base/environment.h"
#include "tenon/base/hash.h"

namespace tenon::exec {
namespace {

bool wants(std::string_view what) {
  const auto text = base::env::value(base::env::kLog);
  return text && text->find(what) != text->npos;
}

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

bool logs_steps() {
  static const bool wanted = [] {
    const bool is_wanted = wants("stats");
    if (is_wanted) base::count_allocations();
    return is_wanted;
  }();
  return wanted;
}

void log_step(const Stats& now) {
  if (!logs_steps()) return;
  static Stats before;
  static size_t allocated_before = 0;
  const std::optional<size_t> allocated = base::allocations();
  const std::string on_host = allocated ? fmt::format("{} new, ", *allocated - allocated_before) : "";
  const std::string line = fmt::format(
      "[stats] {} {}: {} launches, {} submits, {}{} device allocations ({} from the pool), {} bytes up, {} bytes "
      "down, plan {:.1f} us, compile {:.1f} us, host {:.1f} us\n",
      now.replays > before.replays ? "replay" : "eval", now.evaluations, now.launches - before.launches,
      now.submits - before.submits, on_host, now.device_allocations - before.device_allocations,
      now.pool_hits - before.pool_hits, now.bytes_uploaded - before.bytes_uploaded,
      now.bytes_downloaded - before.bytes_downloaded, us(now.plan_ns - before.plan_ns),
      us(now.compile_ns - before.compile_ns), us(now.host_ns - before.host_ns));
  std::fputs(line.c_str(), stderr);
  before = now;
  allocated_before = base::allocations().value_or(0);
}

void log_capture(const std::string& text) {
  static const bool wanted = wants("capture");
  if (wanted) std::fputs(fmt::format("[capture] {}\n", text).c_str(), stderr);
}

namespace {

// A sum, because threads read in any order.
struct ReadValues {
  std::atomic<uint64_t> sum{0}, count{0};
  ~ReadValues() { std::fputs(fmt::format("[bits] {} values, {:016x}\n", count.load(), sum.load()).c_str(), stderr); }
};

}  // namespace

void log_read(std::span<const std::byte> bytes) {
  static const bool wanted = wants("bits");
  if (!wanted) return;
  static ReadValues all;
  all.sum += base::hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  ++all.count;
}

}  // namespace tenon::exec
