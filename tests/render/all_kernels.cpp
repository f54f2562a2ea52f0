// A device that lowers and keeps, and runs nothing.

#include "all_kernels.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <unordered_set>

#include "tenon/codegen/lower.h"
#include "tenon/device/registry.h"
#include "tenon/kernels/kernels.h"
#include "tenon/models/gpt2.h"
#include "tenon/optim/optimizers.h"
#include "tenon/tensor/autocast.h"
#include "tests/ops/differences.h"
#include "tests/ops/rows.h"

namespace tenon::render {
namespace {

using codegen::KernelIr;

// Of those of the rows: in a sample, and where all are asked for but a compiler takes half a second for each.
constexpr size_t kSome = 25, kMany = 1000;

/// What a compiler may take differently: everything but names and numbers, as those differ with every shape.
std::string form_of(KernelIr kernel) {
  kernel.name = "k";
  for (codegen::Inst& inst : kernel.code) {
    if (inst.kind == codegen::Inst::Kind::constant && inst.type != codegen::Scalar::boolean && inst.bits > 1)
      inst.bits = 2;
    if (inst.kind == codegen::Inst::Kind::fault_if) inst.bits = 0;
  }
  for (auto* arrays : {&kernel.shared, &kernel.arrays}) {
    for (codegen::KernelArray& array : *arrays) array.count = 1;
  }
  return to_string(kernel);
}

struct Kept {
  std::vector<KernelIr> kernels;
  std::unordered_set<std::string> forms;
  size_t gpt2 = 0;  // so many of them, the first, are those of GPT-2

  void keep(KernelIr kernel) {
    if (!forms.insert(form_of(kernel)).second) return;
    kernel.name = fmt::format("k{}", kernels.size());
    kernels.push_back(std::move(kernel));
  }
};

struct Lowered : device::Program {
  size_t scratch = 0;
  size_t scratch_bytes() const override { return scratch; }
};

class KeepingCompiler : public device::Compiler {
 public:
  KeepingCompiler(const ir::Limits& limits, Kept& kept) : limits_(limits), kept_(kept) {}

  device::ProgramRef compile(const device::Kernel& kernel) override {
    const auto* nest = std::get_if<ir::LoopNest>(&kernel);
    codegen::Module module =
        nest ? codegen::lower(*nest, limits_) : kernels::lower(std::get<ir::Call>(kernel), limits_);
    for (codegen::Dispatch& dispatch : module.dispatches) kept_.keep(std::move(dispatch.kernel));
    auto made = std::make_shared<Lowered>();
    made->scratch = module.scratch_bytes;
    return made;
  }

 private:
  const ir::Limits& limits_;
  Kept& kept_;
};

class KeepingDevice : public device::Device {
 public:
  KeepingDevice(const ir::Limits& limits, Kept& kept) : limits_(limits), compiler_(limits_, kept) {}

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }
  device::Buffer allocate(size_t bytes) override { return {++last_handle_, bytes, nullptr}; }
  void release(const device::Buffer&) override {}
  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands) {
      if (const auto* read = std::get_if<device::Download>(&command))
        std::fill(read->to.begin(), read->to.end(), std::byte{0});
    }
  }
  device::Ticket submit(bool) override { return {++submitted_}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

 private:
  ir::Limits limits_;
  KeepingCompiler compiler_;
  uint64_t last_handle_ = 0, submitted_ = 0;
};

// ---- programs ----

bool takes_all() { return std::getenv("TENON_ALL_CASES") != nullptr; }

std::vector<ops_test::Layout> layouts() {
  using ops_test::Layout;
  if (!takes_all()) return {Layout::contiguous, Layout::regrouped};
  return {std::begin(ops_test::kLayouts), std::end(ops_test::kLayouts)};
}

/// Some samples convert to f64 or draw in it, whatever their dtype.
template <typename F>
void unless_f64_is_missing(const ir::Limits& limits, F&& record) {
  try {
    record();
  } catch (const Error& error) {
    const bool is_f64 = std::string_view(error.what()).find(" has no f64") != std::string_view::npos;
    if (!is_f64 || !limits.missing_dtypes.contains(DType::f64)) throw;
  }
}

void record_rows(ir::DeviceId device, const ir::Limits& limits) {
  using namespace ops_test;
  for (const Row& row : rows()) {
    for (const DType dtype : dtypes_of(row.op)) {
      if (limits.missing_dtypes.contains(dtype)) continue;
      for (const Sample& sample : row.samples) {
        for (const Layout layout : layouts()) {
          std::vector<Host> operands = values_for(sample, dtype);
          for (size_t i = 0; i < operands.size(); ++i)
            operands[i] = showable(layout_of(sample.operands[i], layout), operands[i]);
          unless_f64_is_missing(limits, [&] { run(sample, dtype, device, operands, layout); });
        }
      }
    }
  }
}

void record_gradients(ir::DeviceId device, const ir::Limits& limits) {
  using namespace ops_test;
  for (const Row& row : rows()) {
    if (row.slope == Slope::none) continue;
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (const Sample& sample : row.samples) {
        for (const Layout layout : {Layout::contiguous, Layout::stepped, Layout::expanded_last}) {
          if (!takes_all() && layout != Layout::stepped) continue;
          std::vector<Host> arguments;
          unless_f64_is_missing(limits, [&] {
            const Function f = function_of(sample, layout, dtype, device, arguments);
            gradients_of(f, arguments, device);
          });
        }
      }
    }
  }
}

/// The real widths and lengths; two layers have the kernels of twelve.
void record_gpt2(Device device) {
  for (const bool lowers : {false, true}) {
    models::Gpt2Config config = models::Gpt2Config::gpt2();
    config.layers = 2;
    models::Gpt2 model(config, device);
    optim::AdamW optimizer(model.parameters(), {.lr = 1e-3});
    if (lowers) optimizer.keep_shadow();
    const Tensor ids = from_vector(std::vector<int64_t>(2 * 1024, 1), {2, 1024}, device);
    const Autocast lower(DType::bf16, lowers);
    Tensor loss = model.loss(ids, ids);
    loss.backward();
    optimizer.clip_grad_norm(1.0);
    optimizer.step();
    optimizer.zero_grad();
    loss.item<float>();
  }
}

Kept everything_on(const ir::Limits& limits) {
  static int devices = 0;
  Kept kept;
  const ir::DeviceId id = device::add(
      {fmt::format("keeping_{}", devices++), [&] { return std::make_unique<KeepingDevice>(limits, kept); }, true});
  record_gpt2(Device(id));
  kept.gpt2 = kept.kernels.size();
  record_rows(id, limits);
  record_gradients(id, limits);
  return kept;
}

}  // namespace

ir::Limits limits_for(Language language) {
  ir::Limits limits;
  limits.alignment = 256;
  limits.gathers_inside = true;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 64;
  limits.shared_bytes = 48 << 10;
  limits.vector = 4;
  limits.has_fma = true;
  limits.missing_calls = kernels::missing_calls();
  if (language == Language::glsl) {
    limits.tile_dtypes = {DType::f16, DType::bf16};
    limits.has_tile_places = true;
  }
  if (language == Language::glsl) limits.max_buffers = 12;
  if (language == Language::wgsl) {
    limits.max_buffers = 7;  // of WebGPU's 8, one is that of the fault words
    limits.max_threads = 256;
    limits.subgroup = 1;
    limits.shared_bytes = 16 << 10;
    limits.missing_dtypes.insert(DType::f64);
  }
  return limits;
}

const std::vector<KernelIr>& kernels_of_everything(Language language) {
  static std::map<Language, std::vector<KernelIr>> kept;
  const auto [found, is_new] = kept.try_emplace(language);
  if (!is_new) return found->second;
  const Kept all = everything_on(limits_for(language));
  const size_t most = !takes_all() ? kSome : language == Language::wgsl ? all.kernels.size() : kMany;
  const size_t step = std::max<size_t>(1, all.kernels.size() / most);
  for (size_t i = 0; i < all.kernels.size(); i += i >= all.gpt2 ? step : takes_all() ? 1 : 2)
    found->second.push_back(codegen::legalise(all.kernels[i], lacks_of(language)));
  return found->second;
}

}  // namespace tenon::render
