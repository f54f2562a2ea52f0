// Who wants to know how far compiling is, on devices where it takes its time.

#pragma once

#include <cstddef>
#include <functional>

namespace tenon::exec {

/// Called with 0 before the first of several kernels is compiled, and after each. From several threads, one at a time.
using CompileProgress = std::function<void(size_t compiled, size_t of)>;

/// While alive, sees all that this process compiles; the last one made is told.
class WatchCompiling {
 public:
  explicit WatchCompiling(CompileProgress progress);
  ~WatchCompiling();
  WatchCompiling(const WatchCompiling&) = delete;
  WatchCompiling& operator=(const WatchCompiling&) = delete;

 private:
  CompileProgress before_;
};

/// Tells who watches.
void note_compiled(size_t compiled, size_t of);

}  // namespace tenon::exec
