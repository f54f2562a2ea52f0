// TENON_LOG=stats: one line per plan that is run, on standard error.

#pragma once

#include "tenon/exec/eval.h"

namespace tenon::exec {

/// A program that counts its calls of operator new says how; without, the log has no figure for them.
void set_allocation_counter(size_t (*count)());

bool logs_steps();
/// Prints what has changed since the last call, if that is wanted.
void log_step(const Stats& now);

}  // namespace tenon::exec
