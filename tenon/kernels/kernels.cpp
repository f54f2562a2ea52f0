// Which calls have a kernel, and where it is written.

#include "tenon/kernels/kernels.h"

#include "tenon/base/error.h"
#include "tenon/kernels/contract.h"

namespace tenon::kernels {

bool has(ir::Op op) { return op == ir::Op::contract; }

codegen::Module lower(const ir::Call& call, const ir::Limits& limits) {
  switch (call.op) {
    case ir::Op::contract: return lower_contract(call, limits);
    default: base::fail(ir::name(call.op), "there is no GPU kernel for this call");
  }
}

}  // namespace tenon::kernels
