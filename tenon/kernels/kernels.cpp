// Which calls have a kernel, and where it is written.

#include "tenon/kernels/kernels.h"

#include "tenon/base/error.h"

namespace tenon::kernels {

bool has(ir::Op) { return false; }

codegen::Module lower(const ir::Call& call, const ir::Limits&) {
  base::fail(ir::name(call.op), "there is no GPU kernel for this call");
}

}  // namespace tenon::kernels
