// TENON_LOG, on standard error. "stats": one line per plan that is run. "capture": why a captured function is recorded
// anew. "bits": one line at the end, a hash of all values
// that the program has read, which two runs of it must share.

#pragma once

#include "tenon/exec/stats.h"

namespace tenon::exec {

bool logs_steps();
/// Prints what has changed since the last call, if that is wanted.
void log_step(const Stats& now);
/// Prints a line about a captured function, if that is wanted.
void log_capture(const std::string& text);
/// Counts a value that was read, if that is wanted.
void log_read(std::span<const std::byte> bytes);

}  // namespace tenon::exec
