#include "tenon/device/about.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::device {
namespace {

std::string describe_call(const ir::Call& call) {
  std::string text(ir::name(call.op));
  for (const ir::Operand& operand : call.inputs) {
    text += fmt::format(" {}{}", name(operand.dtype), ir::to_string(operand.map.shape()));
    const ir::View& view = operand.map.views().back();
    if (!operand.map.is_contiguous()) text += fmt::format(" strides {}", ir::to_string(view.strides));
  }
  text += " ->";
  for (const ir::Type& type : call.outputs) text += fmt::format(" {}{}", name(type.dtype), ir::to_string(type.shape));
  if (call.epilogue.bias) text += " + bias";
  if (call.epilogue.residual) text += " + residual";
  if (call.epilogue.activation != ir::Epilogue::Activation::none)
    text += call.epilogue.activation == ir::Epilogue::Activation::relu ? ", relu" : ", gelu";
  return text;
}

std::string ops_of(const ir::LoopNest& nest) {
  std::string text;
  for (const ir::Instr& instr : nest.code) {
    if (instr.kind == ir::Instr::Kind::apply || instr.kind == ir::Instr::Kind::reduce)
      text += fmt::format(" {}", ir::name(instr.op));
    else if (instr.kind == ir::Instr::Kind::random)
      text += " random";
  }
  return text;
}

std::string shortened(std::string text, size_t longest) {
  return text.size() > longest ? text.substr(0, longest) + " ..." : text;
}

std::string kind_of(const Kernel& kernel) {
  if (const auto* call = std::get_if<ir::Call>(&kernel)) return std::string(ir::name(call->op));
  const std::string ops = ops_of(std::get<ir::LoopNest>(kernel));
  return ops.empty() ? "fused copy" : shortened("fused" + ops, 60);
}

double product(const Dims& shape) { return static_cast<double>(ir::count(shape)); }

double flops_of(const ir::Call& call) {
  constexpr double kEach = 2;  // a multiplication and an addition
  if (call.op == ir::Op::contract)
    return kEach * product(call.outputs[0].shape) * static_cast<double>(call.inputs[0].map.shape().back());
  if (call.op == ir::Op::attention || call.op == ir::Op::attention_backward) {
    const Dims& queries = call.inputs[0].map.shape();
    const Dims& keys = call.inputs[1].map.shape();
    const auto* attrs = std::get_if<ir::AttentionAttrs>(&call.attrs);
    if (queries.size() != 4 || keys.size() != 4 || !attrs) return 0;
    const double products = call.op == ir::Op::attention ? 2 : 5;
    return kEach * products * product(queries) * static_cast<double>(keys[2]) * (attrs->causal ? 0.5 : 1);
  }
  if (const auto* conv = std::get_if<ir::ConvAttrs>(&call.attrs)) {
    const Dims& weights = call.op == ir::Op::conv_weight ? call.outputs[0].shape : call.inputs[1].map.shape();
    double places = static_cast<double>(call.inputs[0].map.shape()[0]);  // images
    for (const ir::ConvAxis& axis : conv->axes) places *= static_cast<double>(axis.out);
    return kEach * product(weights) * places;
  }
  return 0;
}

bool picks(const Kernel& kernel) {
  if (const auto* call = std::get_if<ir::Call>(&kernel)) return ir::info(call->op).kind == ir::Kind::indexed;
  const auto& code = std::get<ir::LoopNest>(kernel).code;
  return std::any_of(code.begin(), code.end(),
                     [](const ir::Instr& instr) { return instr.kind == ir::Instr::Kind::gather; });
}

Span transfer(std::string_view device, Span::Kind kind, uint64_t bytes) {
  Span span;
  span.kind = kind;
  span.device = device;
  span.about = about(kind);
  span.bytes = bytes;
  return span;
}

}  // namespace

std::string describe(const Kernel& kernel) {
  if (const auto* call = std::get_if<ir::Call>(&kernel)) return describe_call(*call);
  const auto& nest = std::get<ir::LoopNest>(kernel);
  return shortened(fmt::format("fused {} rows of {}:{}", nest.rows(), nest.row_size(), ops_of(nest)), 200);
}

AboutRef about(const Kernel& kernel, std::string_view by) {
  auto made = std::make_shared<About>();
  made->by = by;
  made->kind = kind_of(kernel);
  made->what = describe(kernel);
  if (const auto* call = std::get_if<ir::Call>(&kernel)) made->flops = flops_of(*call);
  made->picks = picks(kernel);
  return made;
}

Span span_of(std::string_view device, const Launch& launch) {
  Span span = transfer(device, Span::Kind::launch, 0);
  if (launch.program->about) span.about = launch.program->about;
  span.label = launch.label;
  span.live = launch.live;
  const size_t scratch = launch.program->scratch_bytes() > 0 ? 1 : 0;
  for (size_t i = 0; i + scratch < launch.args.size(); ++i) span.bytes += launch.args[i].bytes;
  return span;
}
Span span_of(std::string_view device, const Copy& copy) { return transfer(device, Span::Kind::copy, copy.to.bytes); }
Span span_of(std::string_view device, const Upload& upload) {
  return transfer(device, Span::Kind::upload, upload.from.size());
}
Span span_of(std::string_view device, const Download& download) {
  return transfer(device, Span::Kind::download, download.to.size());
}
Span span_of(std::string_view device, const Fill& fill) { return transfer(device, Span::Kind::fill, fill.to.bytes); }

}  // namespace tenon::device
