// Tensors that this thread has made and whose values nobody has read.
//
// A value that is recorded and not computed keeps all that it is made of in memory: a loss that is only added up keeps
// the weights of its step. So an evaluation that replaces a state also computes the unread values that read it, and
// they forget how they were made. And where they are small and hold much data that nobody else has, batches of an
// evaluation say, they are computed before that is more than the graph itself. So are long lists of small results, and
// sums that thousands of steps have been added to: the graph itself would be the burden.

#pragma once

#include <memory>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon {
struct TensorImpl;
}

namespace tenon::unread {

void add(const std::shared_ptr<TensorImpl>& tensor);
/// The same for a view that was cut from a history, which the tensor that it shows may keep.
void add_cut(const std::shared_ptr<TensorImpl>& view);

/// The values that are not computed. One that no evaluation wants is given less and less often.
std::vector<ir::Value> values();
/// Those that are computed by now forget how they were made, where no gradient can be asked of them.
void forget_histories();

/// Evaluates all that this thread has recorded or written, that nobody has read and that no gradient can be asked of.
void compute_all();

/// While alive, what this thread makes is not among them: an optimizer's own steps, and gradients, which a leaf keeps.
class Pause {
 public:
  Pause();
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  bool before_;
};

}  // namespace tenon::unread
