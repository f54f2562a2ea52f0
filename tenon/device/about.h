// Kernels in words, and spans of devices whose commands run on the host.

#pragma once

#include <string>
#include <utility>

#include "tenon/device/device.h"
#include "tenon/device/timeline.h"

namespace tenon::device {

/// One short line: the op with its operands, or the ops of a fused kernel with its space.
std::string describe(const Kernel& kernel);
/// `by`: the library that computes it, if any.
AboutRef about(const Kernel& kernel, std::string_view by = {});

/// The span of a command that is about to run, without its times.
Span span_of(std::string_view device, const Launch& launch);
Span span_of(std::string_view device, const Copy& copy);
Span span_of(std::string_view device, const Upload& upload);
Span span_of(std::string_view device, const Download& download);
Span span_of(std::string_view device, const Fill& fill);

/// Runs it, and times it while somebody listens.
template <typename What, typename Run>
void timed(std::string_view device, const What& command, const Run& run) {
  if (!wanted()) return run();
  Span span = span_of(device, command);
  span.begin_ns = now_ns();
  run();
  span.end_ns = now_ns();
  add(std::move(span));
}

}  // namespace tenon::device
