#include "tenon/backends/cuda/dnn_convolution.h"

#include <algorithm>
#include <string_view>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostDnnWorkspace = int64_t{256} << 20;
constexpr uint64_t kDnnAlignment = 256;   // more than arguments of kernels have
constexpr int64_t kTensorAlignment = 16;  // less than arguments of kernels have
constexpr int64_t kMostProposals = 24, kMostKnobs = 64, kMostNotes = 32;
constexpr int64_t kX = 1, kW = 2, kY = 3;  // names in a graph

int dnn_type_of(DType dtype) { return dtype == DType::f32 ? Dnn::kF32 : dtype == DType::f16 ? Dnn::kF16 : Dnn::kBf16; }

// Zeros after the image, of which the library reckons the size that the result has; none where no number of them does.
std::optional<int64_t> padding_after(const ir::ConvAxis& axis) {
  const int64_t reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  const int64_t least = reach - axis.image - axis.padding, most = least + axis.stride - 1;
  if (axis.padding >= least && axis.padding <= most) return axis.padding;  // the same on both sides where that fits
  if (most < 0) return std::nullopt;
  return std::max<int64_t>(least, 0);
}

// (N, image..., C) in the library's order of sizes.
DnnCall::Tensor tensor_of(DType dtype, const Dims& shape, uint32_t arg) {
  const int64_t channels = shape.back(), height = shape.size() == 4 ? shape[1] : 1, width = shape[shape.size() - 2];
  return {
      dtype, arg, 0, {shape[0], channels, height, width}, {height * width * channels, 1, width * channels, channels}};
}

// None where elements do not follow each other, or begin where no vectors do.
std::optional<DnnCall::Tensor> tensor_of(const ir::Operand& operand, uint32_t arg) {
  if (!operand.map.is_strided() || ir::count(operand.map.shape()) == 0) return std::nullopt;
  const int64_t first = operand.map.views()[0].offset;
  ir::IndexMap rest = operand.map;
  rest.shift(-first);
  DnnCall::Tensor made = tensor_of(operand.dtype, rest.shape(), arg);
  made.offset = first * static_cast<int64_t>(size_of(operand.dtype));
  return rest.is_contiguous() && made.offset % kTensorAlignment == 0 ? std::optional(made) : std::nullopt;
}

struct EngineAttributes {
  int kind, alpha, beta, convolution, x, w, y;
};
EngineAttributes attributes_of(ir::Op op) {
  switch (op) {
    case ir::Op::conv:
      return {Dnn::kForward,  Dnn::kForwardAlpha, Dnn::kForwardBeta, Dnn::kForwardConvolution,
              Dnn::kForwardX, Dnn::kForwardW,     Dnn::kForwardY};
    case ir::Op::conv_transpose:
      return {Dnn::kBackwardImages, Dnn::kImagesAlpha, Dnn::kImagesBeta, Dnn::kImagesConvolution,
              Dnn::kImagesX,        Dnn::kImagesW,     Dnn::kImagesY};
    default:
      return {Dnn::kBackwardWeights, Dnn::kWeightsAlpha, Dnn::kWeightsBeta, Dnn::kWeightsConvolution,
              Dnn::kWeightsX,        Dnn::kWeightsW,     Dnn::kWeightsY};
  }
}

DnnObject tensor_object(const DnnCall::Tensor& tensor, int64_t id) {
  DnnObject made(Dnn::kTensor);
  made.set(Dnn::kTensorType, Dnn::kTypeDataType, dnn_type_of(tensor.dtype));
  made.set(Dnn::kTensorSizes, tensor.sizes);
  made.set(Dnn::kTensorStrides, tensor.strides);
  made.set(Dnn::kTensorId, Dnn::kTypeInt64, id);
  made.set(Dnn::kTensorAlignment, Dnn::kTypeInt64, kTensorAlignment);
  made.set(Dnn::kTensorIsVirtual, Dnn::kTypeBool, false);
  return made;
}

bool is_allowed(const DnnCall& call, int note) {
  switch (note) {
    case Dnn::kNondeterministic:
    case Dnn::kRoundsSums:
    case Dnn::kFft:
    case Dnn::kWinograd: return false;
    case Dnn::kTensorCores:
    case Dnn::kRoundsOperands: return call.x.dtype != DType::f32 || call.tf32;
    default: return true;
  }
}

bool is_allowed(const DnnCall& call, const DnnObject& engine) {
  int notes[kMostNotes] = {};
  int64_t count = 0;
  if (dnn()->get(engine.get(), Dnn::kEngineNotes, Dnn::kTypeNote, kMostNotes, &count, notes) != 0) return false;
  return std::all_of(notes, notes + count, [&](int note) { return is_allowed(call, note); });
}

// Of a configuration: the engine, and its settings in the order of their numbers.
ir::Way name_of_engine(const DnnObject& config, const DnnObject& engine) {
  int64_t count = 0, number = 0;
  dnn()->get(engine.get(), Dnn::kEngineNumber, Dnn::kTypeInt64, 1, &count, &number);
  std::vector<DnnObject> knobs;
  std::vector<DnnDescriptor> pointers;
  for (int64_t i = 0; i < kMostKnobs; ++i) pointers.push_back(knobs.emplace_back(Dnn::kKnobChoice).get());
  int64_t found = 0;
  if (dnn()->get(config.get(), Dnn::kConfigKnobs, Dnn::kTypeDescriptor, kMostKnobs, &found, pointers.data()) != 0)
    found = 0;
  std::vector<std::pair<uint32_t, uint32_t>> settings;
  for (size_t i = 0; i < static_cast<size_t>(found); ++i) {
    int type = 0;
    int64_t value = 0;
    dnn()->get(pointers[i], Dnn::kKnobType, Dnn::kTypeKnob, 1, &count, &type);
    dnn()->get(pointers[i], Dnn::kKnobValue, Dnn::kTypeInt64, 1, &count, &value);
    settings.emplace_back(static_cast<uint32_t>(type), static_cast<uint32_t>(value));
  }
  std::sort(settings.begin(), settings.end());
  ir::Way name{static_cast<uint32_t>(dnn()->version()), static_cast<uint32_t>(number)};
  for (const auto& [type, value] : settings) {
    name.push_back(type);
    name.push_back(value);
  }
  return name;
}

void add_proposals(DnnRun::Problem& problem, int mode) {
  DnnObject heuristics(Dnn::kHeuristics);
  heuristics.set(Dnn::kHeuristicGraph, problem.graph);
  heuristics.set(Dnn::kHeuristicMode, Dnn::kTypeHeuristic, mode);
  if (!heuristics.finish()) return;
  std::vector<DnnObject> configs;
  std::vector<DnnDescriptor> pointers;
  for (int64_t i = 0; i < kMostProposals; ++i) pointers.push_back(configs.emplace_back(Dnn::kConfig).get());
  int64_t count = 0;
  if (dnn()->get(heuristics.get(), Dnn::kHeuristicResults, Dnn::kTypeDescriptor, kMostProposals, &count,
                 pointers.data()) != 0)
    return;
  for (size_t i = 0; i < static_cast<size_t>(std::min(count, kMostProposals)); ++i) {
    DnnObject engine(Dnn::kEngine);
    DnnDescriptor of_config = engine.get();
    int64_t one = 0;
    if (dnn()->get(configs[i].get(), Dnn::kConfigEngine, Dnn::kTypeDescriptor, 1, &one, &of_config) != 0) continue;
    if (!is_allowed(problem.call, engine)) continue;
    ir::Way name = name_of_engine(configs[i], engine);
    const auto has_name = [&](const auto& known) { return known.name == name; };
    if (std::none_of(problem.proposals.begin(), problem.proposals.end(), has_name))
      problem.proposals.push_back({std::move(name), std::move(configs[i])});
  }
}

std::string last_dnn_error() {
  char text[512] = {};
  dnn()->last_error(text, sizeof text - 1);
  std::string first(text);
  return first.substr(0, first.find('\n'));
}

}  // namespace

std::optional<DnnCall> plan_convolution(const ir::Call& call) {
  const auto* attrs = std::get_if<ir::ConvAttrs>(&call.attrs);
  if (!attrs || !attrs->channels_last || call.inputs.size() != 2) return std::nullopt;
  const auto convolves = [](DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; };
  const DType in = call.inputs[0].dtype, out = call.outputs[0].dtype;
  if (!convolves(in) || call.inputs[1].dtype != in || out != in) return std::nullopt;
  const std::optional<DnnCall::Tensor> first = tensor_of(call.inputs[0], 0), second = tensor_of(call.inputs[1], 1);
  if (!first || !second || ir::count(call.outputs[0].shape) == 0) return std::nullopt;

  DnnCall made;
  made.op = call.op;
  made.tf32 = attrs->tf32;
  const DnnCall::Tensor result = tensor_of(out, call.outputs[0].shape, 2);
  switch (call.op) {
    case ir::Op::conv: made.x = *first, made.w = *second, made.y = result; break;
    case ir::Op::conv_transpose: made.y = *first, made.w = *second, made.x = result; break;
    default: made.x = *first, made.y = *second, made.w = result;
  }
  if (attrs->axes.size() == 1) made.strides = made.dilations = {1}, made.before = made.after = {0};
  for (const ir::ConvAxis& axis : attrs->axes) {
    const std::optional<int64_t> after = padding_after(axis);
    if (!after || axis.padding < 0) return std::nullopt;
    made.strides.push_back(axis.stride);
    made.dilations.push_back(axis.dilation);
    made.before.push_back(axis.padding);
    made.after.push_back(*after);
    // Without tensor cores it has one engine for these, which took 6.9 ms where others take 0.5 on an H200.
    if (*after != axis.padding && in == DType::f32 && !attrs->tf32) return std::nullopt;
  }
  return made;
}

bool has_dnn() {
  static const bool has = !base::env::is(base::env::kConvolution, "own") && dnn();
  return has;
}

DnnHandle DnnLibrary::handle() {
  if (!std::exchange(was_tried_, true) && dnn()->create(&handle_) != 0) handle_ = nullptr;
  return handle_;
}

// ---- descriptors ----

DnnObject::DnnObject(int kind) : is_good_(dnn()->make(kind, &made_) == 0) {}

DnnObject::~DnnObject() {
  if (made_ && !gpu::process_is_ending()) dnn()->destroy(made_);
}

void DnnObject::set_all(int attribute, int type, int64_t count, const void* values) {
  is_good_ = is_good_ && dnn()->set(made_, attribute, type, count, values) == 0;
}

bool DnnObject::finish() { return is_good_ && dnn()->finish(made_) == 0; }

DnnRun::Problem::Problem(DnnHandle handle, const DnnCall& of) : call(of), graph(Dnn::kGraph) {
  DnnObject convolution(Dnn::kConvolution);
  convolution.set(Dnn::kComputeType, Dnn::kTypeDataType, Dnn::kF32);
  convolution.set(Dnn::kMode, Dnn::kTypeConvolutionMode, Dnn::kCrossCorrelation);
  convolution.set(Dnn::kSpatialAxes, Dnn::kTypeInt64, static_cast<int64_t>(call.strides.size()));
  convolution.set(Dnn::kStrides, call.strides);
  convolution.set(Dnn::kDilations, call.dilations);
  convolution.set(Dnn::kPaddingBefore, call.before);
  convolution.set(Dnn::kPaddingAfter, call.after);
  DnnObject x = tensor_object(call.x, kX), w = tensor_object(call.w, kW), y = tensor_object(call.y, kY);
  if (!convolution.finish() || !x.finish() || !w.finish() || !y.finish()) return;
  const EngineAttributes named = attributes_of(call.op);
  DnnObject operation(named.kind);
  operation.set(named.alpha, Dnn::kTypeFloat, 1.0f);
  operation.set(named.beta, Dnn::kTypeFloat, 0.0f);
  operation.set(named.convolution, convolution);
  operation.set(named.x, x);
  operation.set(named.w, w);
  operation.set(named.y, y);
  if (!operation.finish()) return;
  graph.set(Dnn::kGraphHandle, Dnn::kTypeHandle, handle);
  graph.set(Dnn::kGraphOperations, operation);
  for (DnnObject* part : {&convolution, &x, &w, &y, &operation}) parts.push_back(std::move(*part));
  if (!graph.finish()) return;
  for (const int mode : {Dnn::kBest, Dnn::kFallback}) add_proposals(*this, mode);
}

// ---- a call ----

DnnRun::DnnRun(DnnLibrary& library, std::shared_ptr<const Problem> problem)
    : library_(library),
      problem_(std::move(problem)),
      engine_(Dnn::kEngine),
      config_(Dnn::kConfig),
      plan_(Dnn::kPlan) {}

bool DnnRun::make_anew(const ir::Way& name) {
  if (name.size() < 2 || name.size() % 2 != 0 || name[0] != dnn()->version()) return false;
  engine_.set(Dnn::kEngineGraph, problem_->graph);
  engine_.set(Dnn::kEngineNumber, Dnn::kTypeInt64, int64_t{name[1]});
  if (!engine_.finish() || !is_allowed(problem_->call, engine_)) return false;
  config_.set(Dnn::kConfigEngine, engine_);
  std::vector<DnnObject> knobs;
  std::vector<DnnDescriptor> pointers;
  for (size_t i = 2; i < name.size(); i += 2) {
    DnnObject& knob = knobs.emplace_back(Dnn::kKnobChoice);
    knob.set(Dnn::kKnobType, Dnn::kTypeKnob, static_cast<int>(name[i]));
    knob.set(Dnn::kKnobValue, Dnn::kTypeInt64, int64_t{name[i + 1]});
    if (!knob.finish()) return false;
    pointers.push_back(knob.get());
  }
  if (!pointers.empty())
    config_.set_all(Dnn::kConfigKnobs, Dnn::kTypeDescriptor, static_cast<int64_t>(pointers.size()), pointers.data());
  return config_.finish();
}

const DnnObject* DnnRun::named(const ir::Way& name) {
  for (const Problem::Proposal& one : problem_->proposals) {
    if (one.name == name) return &one.config;
  }
  return make_anew(name) ? &config_ : nullptr;
}

std::shared_ptr<DnnRun> DnnRun::make(DnnLibrary& library, std::shared_ptr<const Problem> problem,
                                     const ir::Way& engine) {
  std::shared_ptr<DnnRun> made(new DnnRun(library, std::move(problem)));
  const DnnObject* config = made->named(engine);
  if (!config) return nullptr;
  made->plan_.set(Dnn::kPlanHandle, Dnn::kTypeHandle, library.handle());
  made->plan_.set(Dnn::kPlanConfig, *config);
  if (!made->plan_.finish()) return nullptr;
  int64_t count = 0, bytes = 0;
  if (dnn()->get(made->plan_.get(), Dnn::kPlanWorkspace, Dnn::kTypeInt64, 1, &count, &bytes) != 0 ||
      bytes > kMostDnnWorkspace)
    return nullptr;
  made->workspace_bytes_ = bytes > 0 ? static_cast<size_t>(bytes) + kDnnAlignment : 0;
  return made;
}

Result DnnRun::run(const gpu::Step&, const device::Launch& launch, uint64_t, Stream stream) const {
  const DnnCall& call = problem_->call;
  const auto pointer = [&](uint32_t arg, int64_t offset) {
    const device::Arg& of = launch.args[arg];
    return reinterpret_cast<void*>(of.buffer.handle + of.offset + static_cast<uint64_t>(offset));
  };
  void* const pointers[] = {pointer(call.x.arg, call.x.offset), pointer(call.w.arg, call.w.offset),
                            pointer(call.y.arg, call.y.offset)};
  const int64_t ids[] = {kX, kW, kY};
  void* workspace = nullptr;
  if (workspace_bytes_ > 0) {
    const auto begin = reinterpret_cast<uint64_t>(pointer(workspace_arg_, 0));
    workspace = reinterpret_cast<void*>((begin + kDnnAlignment - 1) / kDnnAlignment * kDnnAlignment);
  }
  std::lock_guard lock(library_.mutex());
  DnnObject pack(Dnn::kPack);
  pack.set_all(Dnn::kPackIds, Dnn::kTypeInt64, 3, ids);
  pack.set_all(Dnn::kPackPointers, Dnn::kTypePointer, 3, pointers);
  pack.set(Dnn::kPackWorkspace, Dnn::kTypePointer, workspace);
  const bool is_ready = pack.finish() && dnn()->set_stream(library_.handle(), stream) == 0;
  if (is_ready && dnn()->run(library_.handle(), plan_.get(), pack.get()) == 0) return Results::kSuccess;
  const std::string why = last_dnn_error();
  if (const Result code = cu().finish_stream(stream); code != Results::kSuccess) return code;
  base::fail("cuda", "cuDNN refused a {} of images {} with weights {}: {}", ir::name(call.op),
             ir::to_string(call.x.sizes), ir::to_string(call.w.sizes), why);
}

}  // namespace tenon::backends::cuda
