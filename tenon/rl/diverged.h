// What a learner throws when its numbers have left the finite ones: what it learned is lost from the last state that
// was saved on.

#pragma once

#include "tenon/base/error.h"

namespace tenon::rl {

class Diverged : public Error {
 public:
  using Error::Error;
};

}  // namespace tenon::rl
