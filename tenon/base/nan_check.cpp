// A wish of the environment and a count of wishes of the thread.

#include "tenon/base/nan_check.h"

#include <string_view>

#include "tenon/base/environment.h"

namespace tenon::base {
namespace {

thread_local int wishes = 0;

}  // namespace

bool checks_nan() {
  static const bool always = env::is(env::kCheckNan, "1");
  return always || wishes > 0;
}

NanCheck::NanCheck() { ++wishes; }
NanCheck::~NanCheck() { --wishes; }

}  // namespace tenon::base
