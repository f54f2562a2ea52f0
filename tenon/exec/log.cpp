// The line is made of differences between totals.

#include "tenon/exec/log.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tenon::exec {
namespace {

size_t (*allocation_counter)() = nullptr;

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

bool logs_steps() {
  static const bool wanted = [] {
    const char* text = std::getenv("TENON_LOG");
    return text && std::string_view(text).find("stats") != std::string_view::npos;
  }();
  return wanted;
}

void set_allocation_counter(size_t (*count)()) { allocation_counter = count; }

void log_step(const Stats& now) {
  if (!logs_steps()) return;
  static Stats before;
  static size_t allocated_before = 0;
  const size_t allocated = allocation_counter ? allocation_counter() : 0;
  const std::string news = allocation_counter ? fmt::format("{}", allocated - allocated_before) : "?";
  const std::string line = fmt::format(
      "[stats] {} {}: {} launches, {} submits, {} new, {} device allocations ({} from the pool), {} bytes up, {} bytes "
      "down, plan {:.1f} us, compile {:.1f} us, host {:.1f} us\n",
      now.replays > before.replays ? "replay" : "eval", now.evaluations, now.launches - before.launches,
      now.submits - before.submits, news, now.device_allocations - before.device_allocations,
      now.pool_hits - before.pool_hits, now.bytes_uploaded - before.bytes_uploaded,
      now.bytes_downloaded - before.bytes_downloaded, us(now.plan_ns - before.plan_ns),
      us(now.compile_ns - before.compile_ns), us(now.host_ns - before.host_ns));
  std::fputs(line.c_str(), stderr);
  before = now;
  allocated_before = allocation_counter ? allocation_counter() : 0;
}

}  // namespace tenon::exec
