// A table for each device by description, printed when the process ends.

#include "tenon/device/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "tenon/base/environment.h"

namespace tenon::device {
namespace {

constexpr size_t kMostKept = 1000;

struct Line {
  uint64_t runs = 0, ns = 0;
  std::vector<uint32_t> some;  // of the latest runs

  void add(uint64_t took) {
    const auto kept = static_cast<uint32_t>(std::min<uint64_t>(took, UINT32_MAX));
    some.size() < kMostKept ? some.push_back(kept) : void(some[runs % kMostKept] = kept);
    ++runs;
    ns += took;
  }
  /// The first run of a kernel may take far longer than the others.
  uint64_t median() const {
    std::vector<uint32_t> sorted = some;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    return sorted[sorted.size() / 2];
  }
};

class Tables {
 public:
  void add(const std::string& device, const std::string& kernel, uint64_t ns) {
    std::lock_guard lock(mutex_);
    devices_[device][kernel].add(ns);
  }
  void print() {
    std::lock_guard lock(mutex_);
    for (const auto& [device, lines] : devices_) print(device, {lines.begin(), lines.end()});
  }

 private:
  static void print(const std::string& device, std::vector<std::pair<std::string, Line>> lines) {
    std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    uint64_t total = 0;
    for (const auto& [name, line] : lines) total += line.ns;
    std::string text = fmt::format("[profile] {:.1f} ms on the {} device\n", static_cast<double>(total) / 1e6, device);
    constexpr size_t kMost = 40;
    for (size_t i = 0; i < std::min(lines.size(), kMost); ++i) {
      const Line& line = lines[i].second;
      text += fmt::format("[profile] {:5.1f} %  {:9.2f} ms  {:6} runs  {:9.1f} us (median)  {}\n",
                          100.0 * static_cast<double>(line.ns) / static_cast<double>(std::max<uint64_t>(total, 1)),
                          static_cast<double>(line.ns) / 1e6, line.runs, static_cast<double>(line.median()) / 1e3,
                          lines[i].first);
    }
    std::fputs(text.c_str(), stderr);  // which, unlike fmt::print, does not mind that nobody listens
  }

  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Line>> devices_;
};

Tables& tables() {
  static Tables& all = *new Tables;  // devices run until the very end
  return all;
}

std::string describe_call(const ir::Call& call) {
  std::string text(ir::name(call.op));
  if (call.op == ir::Op::composed) text += " " + ir::to_string(call.attrs);
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

std::string describe_nest(const ir::LoopNest& nest) {
  std::string text = fmt::format("fused {} rows of {}:", nest.rows(), nest.row_size());
  for (const ir::Instr& instr : nest.code) {
    if (instr.kind == ir::Instr::Kind::apply || instr.kind == ir::Instr::Kind::reduce)
      text += fmt::format(" {}", ir::name(instr.op));
    else if (instr.kind == ir::Instr::Kind::random)
      text += " random";
  }
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " ...";
  return text;
}

}  // namespace

bool profiles() {
  static const bool wanted = [] {
    const auto text = base::env::value(base::env::kProfile);
    if (!text || text->front() == '0') return false;
    std::atexit([] { tables().print(); });
    return true;
  }();
  return wanted;
}

std::string describe(const Kernel& kernel) {
  if (const auto* call = std::get_if<ir::Call>(&kernel)) return describe_call(*call);
  return describe_nest(std::get<ir::LoopNest>(kernel));
}

void count_run(const std::string& device, const std::string& kernel, uint64_t ns) { tables().add(device, kernel, ns); }

}  // namespace tenon::device
