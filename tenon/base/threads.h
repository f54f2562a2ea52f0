// How many threads work on the host's cores.

#pragma once

namespace tenon::base {

/// Threads that parallel work may use: TENON_THREADS, or as many as OpenMP finds.
///   const int threads = base::num_threads();
int num_threads();
/// Changes it for all work that starts from now on, to at most 256; fails below 1.
///   base::set_num_threads(2);
void set_num_threads(int threads);

}  // namespace tenon::base
