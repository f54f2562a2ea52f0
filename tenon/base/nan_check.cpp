// A wish of the environment and a count of wishes of the thread.

#include "tenon/base/nan_check.h"

#include <cstdlib>
#include <string_view>

namespace tenon::base {
namespace {

thread_local int wishes = 0;

}  // namespace

bool checks_nan() {
  static const bool always = [] {
    const char* text = std::getenv("TENON_CHECK_NAN");
    return text && std::string_view(text) == "1";
  }();
  return always || wishes > 0;
}

NanCheck::NanCheck() { ++wishes; }
NanCheck::~NanCheck() { --wishes; }

}  // namespace tenon::base
