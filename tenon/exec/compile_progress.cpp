#include "tenon/exec/compile_progress.h"

#include <mutex>
#include <utility>

namespace tenon::exec {
namespace {

struct Watching {
  std::mutex mutex;
  CompileProgress progress;
};

Watching& watching() {
  static auto* made = new Watching;  // threads may compile while static objects are destroyed
  return *made;
}

}  // namespace

WatchCompiling::WatchCompiling(CompileProgress progress) {
  const std::lock_guard lock(watching().mutex);
  before_ = std::exchange(watching().progress, std::move(progress));
}

WatchCompiling::~WatchCompiling() {
  const std::lock_guard lock(watching().mutex);
  watching().progress = std::move(before_);
}

void note_compiled(size_t compiled, size_t of) {
  const std::lock_guard lock(watching().mutex);
  if (watching().progress) watching().progress(compiled, of);
}

}  // namespace tenon::exec
