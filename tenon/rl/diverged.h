// What a learner throws when its numbers have left the finite ones: what it learned is lost from the last state that
// was saved on.

#pragma once

#include "tenon/base/error.h"

namespace tenon::rl {

/// What was learned has left the finite numbers.
class Diverged : public Error {
 public:
  using Error::Error;
};

}  // namespace tenon::rl
