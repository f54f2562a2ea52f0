// Whether this thread looks for NaN behind every op: TENON_CHECK_NAN=1 asks for it everywhere, a NanCheck while it
// lives.

#pragma once

namespace tenon::base {

bool checks_nan();

/// While alive, what this thread evaluates is looked into op by op.
class NanCheck {
 public:
  NanCheck();
  ~NanCheck();
  NanCheck(const NanCheck&) = delete;
  NanCheck& operator=(const NanCheck&) = delete;
};

}  // namespace tenon::base
