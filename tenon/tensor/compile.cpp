// Which recording serves a call, when a replay is checked, and what is said when a function cannot be replayed.

#include "tenon/tensor/compile.h"

#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>

#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/base/nan_check.h"
#include "tenon/base/turn.h"
#include "tenon/device/timeline.h"
#include "tenon/exec/log.h"
#include "tenon/tensor/recording.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

using base::fail;

constexpr size_t kMostRecordings = 8;
constexpr int kMostTraces = 6;  // calls in a row that may differ before the function counts as one that always does

// When replays are compared with the function: at 1, 2, 4, 8, ... unless somebody says otherwise.
struct Checks {
  std::optional<size_t> every;
  bool bits = false;

  bool apply(uint64_t replay) const {
    if (!every) return (replay & (replay - 1)) == 0;
    return *every != 0 && replay % *every == 0;
  }
};

Checks checks_of(const CompileOptions& options) {
  const auto text = base::env::value(base::env::kVerifyCapture);
  if (!text) return {options.verify_every};
  char* end = nullptr;
  const unsigned long long every = std::strtoull(text->c_str(), &end, 10);
  if (*end != 0 || text->front() == '-')
    fail("compile", "TENON_VERIFY_CAPTURE is a number of replays (0: none, 1: all), not {}", *text);
  return {static_cast<size_t>(every), every == 1};
}

}  // namespace

struct CompiledFunction::Impl {
  Function function;
  Checks checks;  // the environment is read once: looking took a fortieth of a small replay
  std::mutex mutex;
  std::list<Recording> recordings;  // latest first
  bool replays = true;              // until something was seen that a replay cannot do
  std::string why_not;              // what that was
  int traces = 0;                   // in a row

  // The call itself; results are asked for by the caller, under the lock.
  Recording& run(std::span<const Tensor> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].defined()) fail("compile", "argument {} is undefined", i);
    }
    Recording& recording = recording_for(arguments);
    if (!recording.is_recorded() || base::checks_nan()) {
      trace(recording, arguments);
      return recording;
    }
    traces = 0;
    const bool is_checked = checks.apply(recording.replays() + 1);
    if (is_checked) check(recording, arguments, checks.bits);
    recording.replay(arguments);
    if (is_checked && checks.bits) recording.compare_bits();
    return recording;
  }

  void trace(Recording& recording, std::span<const Tensor> arguments) {
    if (!why_not.empty()) device::add_note("not captured", why_not);
    recording.trace(function, arguments, replays && !base::checks_nan());  // a replay could not be looked into
    if (recording.is_recorded() || base::checks_nan() || !replays) return;
    const std::optional<Difference>& obstacle = recording.obstacle();
    const bool varies = obstacle && obstacle->kind != Difference::Kind::operations;
    if (++traces <= kMostTraces && !varies) return;
    replays = false;
    while (recordings.size() > 1) recordings.pop_back();
    if (!obstacle) return;  // a function that computes nothing
    why_not = fmt::format("{}; {}", obstacle->text, obstacle->cure);
    std::fputs(fmt::format("[tenon] a captured function is called every time instead of being replayed: {}\n", why_not)
                   .c_str(),
               stderr);
  }

  // What a replay does not see, a host number or a branch, is found here.
  void check(Recording& recording, std::span<const Tensor> arguments, bool bits) {
    const std::optional<Difference> differs = recording.verify(function, arguments, bits);
    if (!differs) return;
    const uint64_t since = recording.replays() + 1 - recording.checked();
    recordings.remove_if([&](const Recording& one) { return &one == &recording; });
    replays = false;  // it goes on as a plain function
    why_not = fmt::format("{}; {}", differs->text, differs->cure);
    const std::string when = since == 1 ? "since the call before" : fmt::format("within its last {} calls", since);
    fail("compile", "a captured function has changed {}: {}; {}", when, differs->text, differs->cure);
  }

  Recording& recording_for(std::span<const Tensor> arguments) {
    const Circumstances now = Circumstances::now();
    for (auto at = recordings.begin(); at != recordings.end(); ++at) {
      if (!at->fits(arguments, now)) continue;
      if (at->is_recorded()) {
        if (const std::string why = at->why_outdated(); !why.empty()) {
          exec::log_capture("recorded anew: " + why);
          device::add_note("recorded anew", why);
          recordings.erase(at);
          break;
        }
      }
      if (at != recordings.begin()) recordings.splice(recordings.begin(), recordings, at);
      return recordings.front();
    }
    recordings.emplace_front(arguments);
    if (recordings.size() > kMostRecordings) recordings.pop_back();
    return recordings.front();
  }
};

CompiledFunction::CompiledFunction(Function function, const CompileOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->function = std::move(function);
  impl_->checks = checks_of(options);
}
CompiledFunction::~CompiledFunction() = default;
CompiledFunction::CompiledFunction(CompiledFunction&&) noexcept = default;
CompiledFunction& CompiledFunction::operator=(CompiledFunction&&) noexcept = default;

CompiledFunction::Impl& CompiledFunction::impl() const {
  if (!impl_) fail("compile", "this captured function was moved from");
  return *impl_;
}

std::vector<Tensor> CompiledFunction::call(std::span<const Tensor> arguments) {
  if (Trace::current()) return impl().function(arguments);  // part of the capture around it
  const auto lock = base::lock_out_of_turn(impl().mutex);
  Recording& recording = impl().run(arguments);
  std::vector<Tensor> results(recording.results());
  for (size_t i = 0; i < results.size(); ++i) results[i] = recording.result(i, arguments);
  return results;
}

Tensor CompiledFunction::call_for_one(std::span<const Tensor> arguments) {
  if (Trace::current()) return impl().function(arguments)[0];
  const auto lock = base::lock_out_of_turn(impl().mutex);
  return impl().run(arguments).result(0, arguments);
}

size_t CompiledFunction::recordings() const {
  const auto lock = base::lock_out_of_turn(impl().mutex);
  return impl().recordings.size();
}

}  // namespace tenon
