// What every use of oneDNN shares: an engine, and primitives that run on the calling thread alone.
//
// oneDNN shares sums among threads when that pays, and then results depend on their number. So work is cut into slices
// by its shape, each slice is a primitive made for one thread, and our own pool runs them.

#pragma once

#include <omp.h>

#include <cstddef>
#include <dnnl.hpp>

namespace tenon::backends::cpu {

// Debian's oneDNN has no generated code for ARM (a 512-cube takes 8 times as long as ours): there it serves tests only.
#if defined(__x86_64__)
inline constexpr bool kOneDnnGeneratesCode = true;
#else
inline constexpr bool kOneDnnGeneratesCode = false;
#endif

inline const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

inline dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

/// Several threads run one primitive at once, so none has memory of its own.
inline dnnl::primitive_attr onednn_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

inline dnnl::memory onednn_memory(const dnnl::memory::desc& desc, const std::byte* at) {
  return dnnl::memory(desc, onednn_engine(), const_cast<std::byte*>(at));
}

/// oneDNN asks OpenMP how many threads it may use, both when a primitive is made and when it runs.
class OneDnnThread {
 public:
  OneDnnThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneDnnThread() { omp_set_num_threads(before_); }
  OneDnnThread(const OneDnnThread&) = delete;
  OneDnnThread& operator=(const OneDnnThread&) = delete;

 private:
  int before_;
};

}  // namespace tenon::backends::cpu
