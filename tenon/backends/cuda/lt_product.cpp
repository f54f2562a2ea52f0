// The first proposal that sums in one go is taken, unless a way names another of them. Proposals come best first by the
// library's own reckoning; on an H200 the quickest of the first eight takes 5 to 25 % less time than the first.

#include "tenon/backends/cuda/lt_product.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "tenon/backends/cuda/attention.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kMostWorkspace = size_t{32} << 20;
constexpr uint64_t kWorkspaceAlignment = 256;  // more than arguments of kernels have
constexpr int kProposals = 8;                  // of which one is taken
constexpr int kMoreProposals = 64;             // among which one is looked for by its name
constexpr uint32_t kGoodAlignment = 16;        // for which all algorithms are good

int type_of(DType dtype) { return dtype == DType::f32 ? Lt::kF32 : dtype == DType::f16 ? Lt::kF16 : Lt::kBf16; }

int compute_of(const LtCall& call) { return call.tf32 ? Lt::kComputeTf32 : Lt::kComputeF32; }

// The greatest power of two to which all matrices of an operand are aligned, where arguments are aligned to `least`.
uint32_t alignment_of(const Matrix& matrix, int64_t batches, uint32_t least) {
  uint64_t all = least | static_cast<uint64_t>(matrix.offset);
  if (batches > 1) all |= static_cast<uint64_t>(matrix.batch_stride) * size_of(matrix.dtype);
  return uint32_t{1} << std::countr_zero(all);
}

LtLayout layout_of(const Matrix& matrix, int64_t rows, int64_t columns, int64_t batches) {
  LtLayout made = nullptr;
  if (lt()->create_layout(&made, type_of(matrix.dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                          matrix.leading) != 0)
    return nullptr;
  if (batches == 1) return made;
  const auto count = static_cast<int32_t>(batches);
  lt()->set_layout(made, Lt::kBatchCount, &count, sizeof count);
  lt()->set_layout(made, Lt::kBatchStride, &matrix.batch_stride, sizeof matrix.batch_stride);
  return made;
}

// Whether every sum is one chain of additions, which no other choice of the library cuts elsewhere.
bool sums_in_one_go(const LtAlgorithm& algorithm) {
  int32_t splits = 1;
  uint32_t reduction = Lt::kNoReduction;
  size_t written = 0;
  lt()->get_algorithm(&algorithm, Lt::kSplits, &splits, sizeof splits, &written);
  lt()->get_algorithm(&algorithm, Lt::kReduction, &reduction, sizeof reduction, &written);
  return splits <= 1 && reduction == Lt::kNoReduction;
}

bool is_acceptable(const LtProposal& one) {
  return one.status == 0 && one.workspace_bytes <= kMostWorkspace && sums_in_one_go(one.algorithm);
}

uint32_t epilogue_of(const LtCall& call) {
  if (call.activation == ir::Epilogue::Activation::gelu_slope) return Lt::kGeluSlope;
  const uint32_t bias = call.bias ? Lt::kBias : 0;
  if (call.activation == ir::Epilogue::Activation::gelu) return Lt::kGelu | bias | (call.aux ? Lt::kAux : 0);
  return bias ? bias : Lt::kNoEpilogue;
}

ir::Way name_of(const LtAlgorithm& algorithm) {
  const auto number = [&]<typename T>(int attribute, T value) {
    size_t written = 0;
    lt()->get_algorithm(&algorithm, attribute, &value, sizeof value, &written);
    return static_cast<uint32_t>(value);
  };
  const ir::Way made{
      number(Lt::kId, int32_t{0}),          number(Lt::kTile, uint32_t{0}),         number(Lt::kStages, uint32_t{0}),
      number(Lt::kInnerShape, uint16_t{0}), number(Lt::kClusterShape, uint16_t{0}), number(Lt::kCustom, uint32_t{0}),
      number(Lt::kSwizzle, uint32_t{0})};
  return made;
}

// Whatever may follow the same sums.
std::vector<LtCall> with_same_sums(const LtCall& call) {
  std::vector<LtCall> made;
  // Parts are always followed by the same; with an activation bits are others anyway.
  if (call.is_part || call.activation != ir::Epilogue::Activation::none) return made;
  base::SmallVector<DType, 2> dtypes{DType::f32};
  if (call.left.dtype != DType::f32) dtypes.push_back(call.left.dtype);
  for (const DType dtype : dtypes) {
    LtCall one = call;
    one.added.reset();  // which the library asks nothing about
    one.bias.reset();
    const auto bytes = static_cast<int64_t>(size_of(dtype)), before = static_cast<int64_t>(size_of(one.result.dtype));
    one.result.dtype = dtype;
    one.result.offset = one.result.offset / before * bytes;
    made.push_back(one);
    one.bias = Matrix{dtype, 2, 16};  // no better aligned than most are
    made.push_back(one);
  }
  return made;
}

int64_t work_of(const LtCall& call) { return call.rows * call.columns * call.depth * call.batches; }

// The first one with the most work.
const LtCall& largest_of(const std::vector<LtCall>& calls) {
  return *std::max_element(calls.begin(), calls.end(),
                           [](const LtCall& a, const LtCall& b) { return work_of(a) < work_of(b); });
}

uint64_t round_up(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

bool has_library() {
  static const bool has = !base::env::is(base::env::kMatmul, "own") && lt();
  return has;
}

}  // namespace

LtRun::LtRun(LtHandle handle, const LtCall& call, uint32_t alignment)
    : handle_(handle), call_(call), alignment_(alignment) {
  const auto set = [&](int attribute, const auto& value) {
    lt()->set_product(product_, attribute, &value, sizeof value);
  };
  if (lt()->create_product(&product_, compute_of(call), Lt::kF32) != 0) return;
  // What the library calls A is our right matrix.
  set(Lt::kTransposeA, int32_t{call.right.is_transposed ? Lt::kTransposed : Lt::kPlain});
  set(Lt::kTransposeB, int32_t{call.left.is_transposed ? Lt::kTransposed : Lt::kPlain});
  set(Lt::kEpilogue, epilogue_of(call));
  if (call.bias) {
    set(Lt::kBiasType, int32_t{type_of(call.bias->dtype)});
    // Looked at for its alignment alone until it runs.
    set(Lt::kBiasPointer, uint64_t{alignment_of(*call.bias, 1, alignment)});
  }
  if (call.aux) {
    set(Lt::kAuxPointer, uint64_t{alignment_of(*call.aux, call.batches, alignment)});
    set(Lt::kAuxLeading, call.aux->leading);
    set(Lt::kAuxBatchStride, call.aux->batch_stride);
  }
  const auto& [right, left] = std::tie(call.right, call.left);
  right_ = right.is_transposed ? layout_of(right, call.depth, call.columns, call.batches)
                               : layout_of(right, call.columns, call.depth, call.batches);
  left_ = left.is_transposed ? layout_of(left, call.rows, call.depth, call.batches)
                             : layout_of(left, call.depth, call.rows, call.batches);
  result_ = layout_of(call.result, call.columns, call.rows, call.batches);
}

LtRun::~LtRun() {
  for (LtLayout layout : {left_, right_, result_}) {
    if (layout) lt()->destroy_layout(layout);
  }
  if (product_) lt()->destroy_product(product_);
}

std::vector<LtProposal> LtRun::proposals(int most, uint32_t reductions) const {
  std::vector<LtProposal> made(static_cast<size_t>(most));
  LtPreference preference = nullptr;
  if (lt()->create_preference(&preference) != 0) return {};
  const auto set = [&](int attribute, const auto& value) {
    lt()->set_preference(preference, attribute, &value, sizeof value);
  };
  set(Lt::kMostWorkspace, uint64_t{kMostWorkspace});
  set(Lt::kReductions, reductions);
  set(Lt::kAlignmentA, alignment_of(call_.right, call_.batches, alignment_));
  set(Lt::kAlignmentB, alignment_of(call_.left, call_.batches, alignment_));
  set(Lt::kAlignmentC, alignment_of(call_.added.value_or(call_.result), call_.batches, alignment_));
  set(Lt::kAlignmentD, alignment_of(call_.result, call_.batches, alignment_));
  int count = 0;
  const int status =
      lt()->propose(handle_, product_, right_, left_, result_, result_, preference, most, made.data(), &count);
  lt()->destroy_preference(preference);
  made.resize(status == 0 ? static_cast<size_t>(std::max(count, 0)) : 0);
  std::erase_if(made, [](const LtProposal& one) { return !is_acceptable(one); });
  return made;
}

std::vector<LtProposal> LtRun::proposals(int most) const {
  if (!product_ || !left_ || !right_ || !result_) return {};
  std::vector<LtProposal> some = proposals(most, Lt::kNoReduction);
  return some.empty() ? proposals(most, Lt::kAnyReduction) : some;
}

std::optional<LtProposal> LtRun::named(const ir::Way& name, const std::vector<LtProposal>& proposed) const {
  for (const LtProposal& one : proposed) {
    if (name_of(one.algorithm) == name) return one;
  }
  return made_anew(name);
}

// The library checks all but alignment.
std::optional<LtProposal> LtRun::made_anew(const ir::Way& name) const {
  if (!product_ || !left_ || !right_ || !result_ || !is_well_aligned()) return std::nullopt;
  LtAlgorithm algorithm{};
  const int result = type_of(call_.result.dtype);
  if (lt()->init_algorithm(handle_, compute_of(call_), Lt::kF32, type_of(call_.right.dtype), type_of(call_.left.dtype),
                           result, result, static_cast<int>(name[0]), &algorithm) != 0)
    return std::nullopt;
  const ir::Way usual = name_of(algorithm);
  const auto set = [&]<typename T>(size_t i, int attribute, T value) {
    if (usual[i] != name[i]) lt()->set_algorithm(&algorithm, attribute, &value, sizeof value);
  };
  set(1, Lt::kTile, name[1]);
  set(2, Lt::kStages, name[2]);
  set(3, Lt::kInnerShape, static_cast<uint16_t>(name[3]));
  set(4, Lt::kClusterShape, static_cast<uint16_t>(name[4]));
  set(5, Lt::kCustom, name[5]);
  set(6, Lt::kSwizzle, name[6]);
  LtProposal made{};
  if (name_of(algorithm) != name ||
      lt()->check_algorithm(handle_, product_, right_, left_, result_, result_, &algorithm, &made) != 0)
    return std::nullopt;
  made.algorithm = algorithm;
  return is_acceptable(made) ? std::optional(made) : std::nullopt;
}

bool LtRun::is_well_aligned() const {
  const auto fits = [&](const Matrix& matrix, int64_t batches) {
    return alignment_of(matrix, batches, alignment_) >= kGoodAlignment;
  };
  return fits(call_.left, call_.batches) && fits(call_.right, call_.batches) && fits(call_.result, call_.batches) &&
         fits(call_.added.value_or(call_.result), call_.batches) && (!call_.bias || fits(*call_.bias, 1)) &&
         (!call_.aux || fits(*call_.aux, call_.batches));
}

bool LtRun::choose(const ir::Way& algorithm) {
  std::optional<LtProposal> found;
  if (algorithm.empty()) {
    const std::vector<LtProposal> some = proposals(kProposals);
    if (!some.empty()) found = some[0];
  } else {
    found = named(algorithm, proposals(kMoreProposals));
  }
  if (!found) return false;
  algorithm_ = found->algorithm;
  workspace_bytes_ = found->workspace_bytes;
  return true;
}

std::shared_ptr<LtRun> LtRun::make(LtHandle handle, const LtCall& call, uint32_t alignment, const ir::Way& algorithm) {
  std::shared_ptr<LtRun> made(new LtRun(handle, call, alignment));
  return made->choose(algorithm) ? made : nullptr;
}

std::vector<ir::Way> LtRun::algorithms(LtHandle handle, const LtCall& call, uint32_t alignment) {
  std::vector<ir::Way> all;
  for (const LtProposal& one : LtRun(handle, call, alignment).proposals(kProposals)) {
    const ir::Way name = name_of(one.algorithm);
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  }
  for (const LtCall& other : with_same_sums(call)) {
    const LtRun run(handle, other, alignment);
    const std::vector<LtProposal> proposed = run.proposals(kMoreProposals);
    if (proposed.empty()) continue;  // is none of the library's
    std::erase_if(all, [&](const ir::Way& name) { return !run.named(name, proposed); });
  }
  return all;
}

Result LtRun::run(const gpu::Step&, const device::Launch& launch, uint64_t, Stream stream) const {
  const auto pointer = [&](const Matrix& matrix) {
    const device::Arg& arg = launch.args[matrix.arg];
    const uint64_t begin = arg.buffer.handle + arg.offset;
    if (begin % alignment_ != 0)
      base::fail("cuda", "argument {} of a product begins at {} bytes, which is no multiple of {}", matrix.arg,
                 arg.offset, alignment_);
    return reinterpret_cast<void*>(begin + static_cast<uint64_t>(matrix.offset));
  };
  if (call_.bias) {
    void* bias = pointer(*call_.bias);
    lt()->set_product(product_, Lt::kBiasPointer, &bias, sizeof bias);  // the queue's lock is held
  }
  if (call_.aux) {
    void* aux = pointer(*call_.aux);
    lt()->set_product(product_, Lt::kAuxPointer, &aux, sizeof aux);
  }
  void* workspace = nullptr;
  if (workspace_bytes_ > 0) {
    const device::Arg& scratch = launch.args[workspace_arg_];
    workspace = reinterpret_cast<void*>(round_up(scratch.buffer.handle + scratch.offset + workspace_offset_));
  }
  const float one = 1, added = call_.added ? 1.0f : 0.0f;
  void* result = pointer(call_.result);
  const void* add = call_.added ? pointer(*call_.added) : result;
  const int status =
      lt()->multiply(handle_, product_, &one, pointer(call_.right), right_, pointer(call_.left), left_, &added, add,
                     result_, result, result_, &algorithm_, workspace, workspace_bytes_, stream);
  if (status == 0) return Results::kSuccess;
  if (const Result code = cu().finish_stream(stream); code != Results::kSuccess) return code;
  base::fail("cuda", "cuBLASLt refused a product of {} x {} x {}: status {}", call_.rows, call_.depth, call_.columns,
             status);
}

// ---- the compiler ----

Compiler::Compiler(gpu::Toolchain& toolchain, const ir::Limits& limits, Driver& driver, const Found& on)
    : gpu::Compiler(toolchain, limits),
      driver_(driver),
      has_attention_(on.architecture() == kAttentionChip && !base::env::is(base::env::kAttention, "own")),
      chip_(toolchain.chip()) {}

namespace {
constexpr size_t kMostKnown = 4096;

bool is_convolution_of_library(const ir::Call& call) {
  const auto* attrs = std::get_if<ir::ConvAttrs>(&call.attrs);
  return attrs && attrs->channels_last && has_dnn();
}

gpu::Step library_step(std::shared_ptr<const Runnable> run, const char* name, bool writes_results) {
  gpu::Step step;
  step.built = std::move(run);
  step.name = name;
  step.is_library = true;
  step.writes_results = writes_results;
  return step;
}
}  // namespace

Compiler::TakenRef Compiler::take(const ir::Call& call) const {
  if (call.op != ir::Op::contract) return take_convolution(call);
  std::optional<Product> product = plan_product(call, limits());
  if (!product) return nullptr;
  driver_.make_current();
  if (!handle_ && lt()->create(&handle_) != 0) return nullptr;
  auto made = std::make_shared<Taken>();
  made->rest = std::move(product->rest);
  size_t workspace = 0;
  const int64_t most = work_of(largest_of(product->calls));
  for (const LtCall& one : product->calls) {
    const ir::Way way = work_of(one) == most ? call.way : ir::Way();
    std::shared_ptr<LtRun> run = LtRun::make(handle_, one, limits().alignment, way);
    if (!run) return nullptr;
    workspace = std::max(workspace, run->workspace_bytes());
    run->set_workspace(product->scratch_arg, made->rest.scratch_bytes);
    made->steps.push_back(library_step(std::move(run), "a product of cuBLASLt", one.writes_results));
  }
  if (workspace > 0) made->rest.scratch_bytes += kWorkspaceAlignment + workspace;
  return made;
}

std::shared_ptr<const DnnRun::Problem> Compiler::problem_of(const ir::Call& call) const {
  ir::Call usual = call;
  usual.way = {};
  const auto found = problems_.find(usual);
  if (found != problems_.end()) return found->second;
  const std::optional<DnnCall> planned = plan_convolution(call);
  if (!planned) return nullptr;
  driver_.make_current();
  std::lock_guard lock(dnn_.mutex());
  if (!dnn_.handle()) return nullptr;
  if (problems_.size() >= kMostKnown) problems_.clear();
  return problems_.emplace(usual, std::make_shared<const DnnRun::Problem>(dnn_.handle(), *planned)).first->second;
}

// The first engine that the library proposes, unless one is named.
Compiler::TakenRef Compiler::take_convolution(const ir::Call& call) const {
  if (call.way.empty()) {
    const std::vector<ir::Way> some = ways_to_convolve(call);
    if (some.empty()) return nullptr;
    ir::Call usual = call;
    usual.way = some[0];
    return known_or_taken(usual);
  }
  const std::shared_ptr<const DnnRun::Problem> problem = problem_of(call);
  if (!problem) return nullptr;
  std::lock_guard lock(dnn_.mutex());
  std::shared_ptr<DnnRun> run = DnnRun::make(dnn_, problem, call.way);
  if (!run) return nullptr;
  run->set_workspace(static_cast<uint32_t>(call.inputs.size() + call.outputs.size()));
  auto made = std::make_shared<Taken>();
  made->rest.scratch_bytes = run->workspace_bytes();
  made->steps.push_back(library_step(std::move(run), "a convolution of cuDNN", true));
  return made;
}

std::vector<ir::Way> Compiler::ways_to_convolve(const ir::Call& call) const {
  std::vector<ir::Way> good;
  const std::shared_ptr<const DnnRun::Problem> problem = problem_of(call);
  if (!problem) return good;
  for (const auto& proposal : problem->proposals) {
    ir::Call asked = call;
    asked.way = proposal.name;
    if (known_or_taken(asked)) good.push_back(proposal.name);
    if (good.size() == size_t{kProposals}) break;
  }
  return good;
}

Compiler::TakenRef Compiler::known_or_taken(const ir::Call& call) const {
  const auto found = known_.find(call);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kMostKnown) known_.clear();
  TakenRef made = take(call);
  known_.emplace(call, made);
  return made;
}

Compiler::TakenRef Compiler::taken(const device::Kernel& kernel) const {
  const auto* call = std::get_if<ir::Call>(&kernel);
  if (!call || !(call->op == ir::Op::contract ? has_library() : is_convolution_of_library(*call))) return nullptr;
  std::lock_guard lock(mutex_);
  return known_or_taken(*call);
}

codegen::Module Compiler::lower(const device::Kernel& kernel) const {
  if (const TakenRef by_library = taken(kernel)) return by_library->rest;
  if (const auto* call = std::get_if<ir::Call>(&kernel); call && has_attention_) {
    if (std::optional<codegen::Module> attention = plan_attention(*call)) return std::move(*attention);
  }
  return gpu::Compiler::lower(kernel);
}

std::vector<gpu::Step> Compiler::library_steps(const device::Kernel& kernel) {
  const TakenRef by_library = taken(kernel);
  return by_library ? by_library->steps : std::vector<gpu::Step>();
}

std::string_view Compiler::library_name(const device::Kernel& kernel) const {
  return std::get<ir::Call>(kernel).op == ir::Op::contract ? "cuBLASLt" : "cuDNN";
}

// Sums in f32 of 16 bits are not taken beside cuDNN, which has none: programs then ask for rounded ones, which it is
// quick at.
bool Compiler::takes(const ir::Call& call) const {
  if (taken(device::Kernel(call))) return true;
  const bool is_wider = call.outputs[0].dtype != call.inputs[0].dtype;
  return !(is_wider && has_dnn()) && gpu::Compiler::takes(call);
}

// Tiles are those of our own kernels.
std::vector<ir::Way> Compiler::ways(const ir::Call& call) const {
  ir::Call usual = call;
  usual.way = {};
  if (!taken(device::Kernel(usual))) return gpu::Compiler::ways(call);
  std::vector<ir::Way> all;
  std::lock_guard lock(mutex_);
  if (call.op == ir::Op::contract) {
    const std::optional<Product> product = plan_product(usual, limits());
    driver_.make_current();
    all = LtRun::algorithms(handle_, largest_of(product->calls), limits().alignment);
  } else {
    all = ways_to_convolve(usual);
  }
  return all.size() > 1 ? all : std::vector<ir::Way>();
}

bool Compiler::has_way(const ir::Call& call, const ir::Way& way) const {
  if (call.op == ir::Op::contract && way.size() != kNumbersOfAlgorithm) return gpu::Compiler::has_way(call, way);
  ir::Call asked = call;
  asked.way = way;
  return taken(device::Kernel(asked)) != nullptr || gpu::Compiler::has_way(call, way);
}

// The product alone, whatever follows its sums and however they are written; but with an activation.
std::optional<ir::Call> Compiler::timed_as(const ir::Call& call) const {
  ir::Call alone = call;
  alone.way = {};
  if (!taken(device::Kernel(alone))) return std::nullopt;
  if (call.op != ir::Op::contract) {
    for (ir::Operand& operand : alone.inputs) operand.map = ir::IndexMap(operand.map.shape());
    return alone;
  }
  if (call.epilogue.activation != ir::Epilogue::Activation::none) return alone;
  alone.inputs.resize(2);
  alone.outputs[0].dtype = DType::f32;
  std::get<ir::ContractAttrs>(alone.attrs).result = DType::f32;
  alone.epilogue = {};
  return alone;
}

std::string Compiler::timed_on() const {
  if (!has_library()) return {};
  return fmt::format("{} with {} processors and cuBLASLt {}", chip_, limits().processors, lt()->version());
}

}  // namespace tenon::backends::cuda
