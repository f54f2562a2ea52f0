// The op table of the project's figures at the sizes of a GPU, on the device named: one JSON object with microseconds,
// under the names that the PyTorch script prints; on stderr the same as a table, with GB/s and TFLOP/s. Bytes are the
// least that the work moves: every operand read once, every result written once.
//
// `gpu_bench DEVICE tiles [NAME_PART]` times every tile of every product, and of every side of convolutions, instead;
// on cuda the library's algorithms, with TENON_CONVOLUTION=own our tiles.
//
// Each work is a captured function, replayed many times with one wait at the end, so that what is timed is the device.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/device/registry.h"
#include "tenon/exec/tuning.h"
#include "tenon/kernels/contract.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

Tensor made(const Dims& shape, DType dtype = DType::f32) {
  const Tensor x = randn(shape).to(dtype);
  wait({x});
  return x;
}

Tensor chain(const Tensor& x) { return sigmoid(tanh(x * 2.0 + 1.0) * x) * x - exp(x) * 0.5; }

double seconds_of(const std::function<void()>& work, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The median of five rounds. A device that had nothing to do runs slowly for a while: it is busy for half a second
// before they begin. Rounds are long enough for the wait at their end not to matter.
double microseconds(const std::function<void()>& work, int repeats) {
  constexpr double kWarm = 0.5, kRound = 0.01;
  double took = seconds_of(work, 4);
  for (double busy = took; busy < kWarm; busy += took) took = seconds_of(work, repeats);
  repeats = std::clamp(static_cast<int>(kRound / took * repeats), repeats, 50 * repeats);
  std::vector<double> rounds;
  for (int round = 0; round < 5; ++round) rounds.push_back(seconds_of(work, repeats) / repeats * 1e6);
  std::sort(rounds.begin(), rounds.end());
  return rounds[2];
}

// What a work cannot do without.
struct Cost {
  double bytes = 0, flops = 0;
};

double bytes_of(std::initializer_list<Tensor> all) {
  double bytes = 0;
  for (const Tensor& x : all) bytes += static_cast<double>(x.numel()) * static_cast<double>(size_of(x.dtype()));
  return bytes;
}

class Table {
 public:
  explicit Table(std::string wanted) : wanted_(std::move(wanted)) {}
  bool wants(const std::string& name) const { return name.find(wanted_) != std::string::npos; }
  template <typename F>
  void add(const std::string& name, const Cost& cost, F work, int repeats = 20) {
    if (!wants(name)) return;
    auto captured = compile(work, {.verify_every = 0});
    const double took = microseconds([&] { captured(); }, repeats);
    std::printf("%s\"%s\": %.2f", rows_++ ? ", " : "{", name.c_str(), took);
    std::fflush(stdout);
    std::fprintf(stderr, "%-36s %10.2f us %8.1f GB/s", name.c_str(), took, cost.bytes / took * 1e-3);
    if (cost.flops > 0) std::fprintf(stderr, " %8.1f TFLOP/s", cost.flops / took * 1e-6);
    std::fputc('\n', stderr);
  }
  void finish() const { std::printf("%s\n", rows_ ? "}" : "{}"); }

 private:
  std::string wanted_;
  int rows_ = 0;
};

// The products of a language model's step, and square ones. As in a step, the left matrix may lie transposed (gradients
// of weights) or the right one (gradients of inputs).
struct Product {
  int64_t rows, depth, columns;
  DType dtype;
  bool turns_left = false, turns_right = false, tf32 = false;

  std::string name() const {
    const bool is_square = rows == depth && depth == columns;
    const std::string sizes =
        is_square ? std::to_string(rows)
                  : "_" + std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns);
    return "matmul" + sizes +
           (turns_left    ? "_tn"
            : turns_right ? "_nt"
                          : "") +
           (tf32 ? "_tf32" : fmt::format("_{}", tenon::name(dtype)));
  }
  double tera() const { return 2e-12 * static_cast<double>(rows * depth * columns); }
};

std::vector<Product> products(const ir::Limits& limits) {
  std::vector<Product> all;
  const auto add = [&](int64_t rows, int64_t depth, int64_t columns, DType dtype) {
    all.push_back({rows, depth, columns, dtype});
  };
  for (const int64_t n : {512, 1024, 2048, 4096}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      add(n, n, n, dtype);
      if (n < 2048) continue;
      all.push_back({n, n, n, dtype, true, false});
      all.push_back({n, n, n, dtype, false, true});
    }
    if (n == 2048) add(n, n, n, DType::f16);
    if (limits.tf32) all.push_back({.rows = n, .depth = n, .columns = n, .dtype = DType::f32, .tf32 = true});
  }
  for (const int64_t n : {768, 2304, 3072, 50257}) add(512, 768, n, DType::f32);
  for (const int64_t n : {768, 2304, 3072, 50304}) {
    add(8192, 768, n, DType::bf16);
    all.push_back({8192, n, 768, DType::bf16, false, true});  // gradient of the input
    all.push_back({768, 8192, n, DType::bf16, true, false});  // and of the weight
  }
  add(8192, 3072, 768, DType::bf16);
  all.push_back({3072, 8192, 768, DType::bf16, true, false});
  return all;
}

void add_products(Table& table) {
  for (const Product& p : products(device::open(Device().id).limits())) {
    if (!table.wants(p.name())) continue;
    const Tensor a = p.turns_left ? made({p.depth, p.rows}, p.dtype).t() : made({p.rows, p.depth}, p.dtype);
    const Tensor b = p.turns_right ? made({p.columns, p.depth}, p.dtype).t() : made({p.depth, p.columns}, p.dtype);
    const double result = static_cast<double>(p.rows * p.columns) * static_cast<double>(size_of(p.dtype));
    table.add(p.name(), {bytes_of({a, b}) + result, p.tera() * 1e12}, [=] {
      const AllowTf32 rounded(p.tf32);
      return matmul(a, b);
    });
  }
}

ir::Call call_of(const Product& p) {
  ir::Call call;
  call.op = ir::Op::contract;
  ir::ContractAttrs attrs;
  attrs.result = p.dtype;
  attrs.tf32 = p.tf32;
  call.attrs = attrs;
  const auto map = [](int64_t rows, int64_t columns, bool is_turned) {
    ir::IndexMap made(is_turned ? Dims{columns, rows} : Dims{rows, columns});
    if (is_turned) made.apply(ir::Op::permute, ir::AxesAttrs{{1, 0}});
    return made;
  };
  call.inputs.push_back({p.dtype, map(p.rows, p.depth, p.turns_left)});
  call.inputs.push_back({p.dtype, map(p.depth, p.columns, p.turns_right)});
  call.outputs.push_back({p.dtype, {p.rows, p.columns}});
  return call;
}

// Layers of image networks, channels last: sides of images and kernels, which are square.
struct Convolution {
  int64_t images, in, out, image, kernel, stride = 1, padding = 0, groups = 1;
  DType dtype = DType::bf16;

  int64_t result() const { return (image + 2 * padding - kernel) / stride + 1; }
  double tera() const {
    return 2e-12 * static_cast<double>(images * result() * result() * out * in / groups * kernel * kernel);
  }
  std::string name(ir::Op op) const {
    const char* side = op == ir::Op::conv ? "forward" : op == ir::Op::conv_transpose ? "images" : "weights";
    return fmt::format("conv_{}x{}x{}x{}_{}x{}x{}{}{}_{}_{}", images, in, image, image, kernel, kernel, out,
                       stride > 1 ? fmt::format("_stride{}", stride) : "",
                       groups > 1 ? fmt::format("_groups{}", groups) : "", tenon::name(dtype), side);
  }
  ir::Call call(ir::Op op) const {
    ir::ConvAttrs attrs;
    attrs.axes.assign(2, {image, kernel, result(), stride, padding, 1});
    attrs.groups = groups;
    attrs.result = dtype;
    attrs.tf32 = dtype == DType::f32 && device::open(Device().id).limits().tf32;
    attrs.channels_last = true;
    const Dims x{images, image, image, in}, w{out, kernel, kernel, in / groups}, y{images, result(), result(), out};
    ir::Call made;
    made.op = op;
    made.attrs = attrs;
    made.inputs.push_back({dtype, ir::IndexMap(op == ir::Op::conv_transpose ? y : x)});
    made.inputs.push_back({dtype, ir::IndexMap(op == ir::Op::conv_weight ? y : w)});
    made.outputs.push_back({dtype, op == ir::Op::conv ? y : op == ir::Op::conv_transpose ? x : w});
    return made;
  }
};

constexpr Convolution kConvolutions[] = {
    {32, 64, 64, 56, 3, 1, 1},
    {.images = 32, .in = 64, .out = 64, .image = 56, .kernel = 3, .padding = 1, .dtype = DType::f32},
    {128, 16, 64, 115, 4},  // the first of a ResNet, as the planner makes it of 7 x 7 by 2 over 3 channels of 224 x 224
    {128, 64, 256, 56, 1},
    {128, 256, 64, 56, 1},
    {128, 128, 128, 28, 3, 1, 1},
    {128, 128, 128, 56, 3, 2, 1},
    {128, 256, 512, 56, 1, 2},
    {128, 256, 256, 14, 3, 1, 1},
    {128, 512, 512, 7, 3, 1, 1},
    {128, 128, 128, 56, 3, 1, 1, 32},
    {128, 96, 96, 56, 3, 1, 1, 96},
    {128, 384, 384, 14, 5, 1, 2, 384},
};

void time_convolutions(device::Device& device, const std::string& wanted) {
  for (const Convolution& c : kConvolutions) {
    for (const ir::Op op : {ir::Op::conv, ir::Op::conv_transpose, ir::Op::conv_weight}) {
      const ir::Call call = c.call(op);
      if (c.name(op).find(wanted) == std::string::npos || !device.compiler().takes(call)) continue;
      std::string all;
      const exec::Tuned best = exec::tune(device, call, [&](const ir::Way& way, double took) {
        all += fmt::format(" [{}] {:.1f}", fmt::join(way, " "), took);
      });
      std::printf("%-52s usual %8.1f us, best %8.1f us %6.1f TFLOP/s:%s\n", c.name(op).c_str(), best.usual_us,
                  best.best_us, c.tera() / best.best_us * 1e6, all.c_str());
      std::fflush(stdout);
    }
  }
}

void time_tiles(const std::string& device_name, const std::string& wanted) {
  device::Device& device = device::open(device::find(device_name));
  time_convolutions(device, wanted);
  for (const Product& p : products(device.limits())) {
    if (p.name().find(wanted) == std::string::npos) continue;
    const ir::Call call = call_of(p);
    std::printf("%s, %lld parts; the usual tile first\n", p.name().c_str(),
                static_cast<long long>(kernels::contract_parts(call, device.limits())));
    exec::tune(device, call, [&](const ir::Way& way, double took) {
      if (way.size() != 6) {  // no tile, but an algorithm of a library
        std::printf("  algorithm %-28s: %10.2f us %8.1f TFLOP/s\n", fmt::format("{}", fmt::join(way, " ")).c_str(),
                    took, p.tera() / took * 1e6);
        return;
      }
      const kernels::ContractTile tile = kernels::contract_tile_of(way);
      std::printf("  %3ux%3ux%2u by %2ux%2u, %3u threads: %10.2f us %8.1f TFLOP/s\n", tile.block_m, tile.block_n,
                  tile.strip_k, tile.thread_m, tile.thread_n, tile.threads, took, p.tera() / took * 1e6);
    });
    std::fflush(stdout);
  }
}

void add_passes(Table& table, int64_t size) {
  const Tensor x = made({16 << 20}), y = made({16 << 20});
  table.add("add16M", {3 * bytes_of({x})}, [=] { return x + y; });
  table.add("copy16M", {2 * bytes_of({x})}, [=] { return x.clone() * 1.0; });
  table.add("sum16M", {bytes_of({x})}, [=] { return x.sum(); });
  const Tensor big = made({size, size});
  const Cost pass{2 * bytes_of({big})};
  table.add("transpose", pass, [=] { return big.t().contiguous(); });
  table.add("softmax", pass, [=] { return softmax(big, -1); });
  table.add("gelu", pass, [=] { return gelu(big, "tanh"); });
  table.add("chain", pass, [=] { return chain(big); });
}

void add_layers(Table& table, int64_t rows, int64_t vocabulary) {
  const Tensor x = made({rows, 768}).requires_grad_(), w = made({768}).requires_grad_(),
               b = made({768}).requires_grad_(), g = made({rows, 768});
  table.add("layer_norm_fwd", {2 * bytes_of({x})}, [=] { return nn::layer_norm(x, {768}, w, b).detach(); });
  table.add("layer_norm_fwdbwd", {4 * bytes_of({x})}, [=] {  // x and g are read, y and the gradient of x written
    const std::vector<Tensor> y{nn::layer_norm(x, {768}, w, b)};
    std::vector<Tensor> all = grad(y, std::vector<Tensor>{x, w, b}, {{g}});
    all.push_back(y[0].detach());
    return all;
  });
  const Tensor logits = made({rows, vocabulary}, DType::bf16).requires_grad_();
  const Tensor target = randint(0, vocabulary, {rows});
  table.add(
      "cross_entropy_fwdbwd", {2 * bytes_of({logits})},
      [=] {
        const Tensor loss = nn::cross_entropy(logits, target);
        return std::vector<Tensor>{loss.detach(), grad(loss, logits)};
      },
      10);
}

void add_attention(Table& table) {
  for (const auto& [name, batch, length] : {std::tuple{"attention128", int64_t{8}, int64_t{128}},
                                            {"attention1024", int64_t{8}, int64_t{1024}},
                                            {"attention32x1024", int64_t{32}, int64_t{1024}}}) {
    const Dims shape{batch, 12, length, 64};
    const Tensor q = made(shape, DType::bf16).requires_grad_(), k = made(shape, DType::bf16).requires_grad_(),
                 v = made(shape, DType::bf16).requires_grad_(), g = made(shape, DType::bf16);
    const auto forward = [=] { return nn::scaled_dot_product_attention(q, k, v, {.mask = {}, .causal = true}); };
    // Half of the scores are masked; two products forward, five in the gradient.
    const double product = static_cast<double>(batch * 12 * length * length) * 64;
    table.add(
        std::string(name) + "_fwd", {4 * bytes_of({q}), 2 * product}, [=] { return forward().detach(); }, 5);
    table.add(
        std::string(name) + "_fwdbwd", {8 * bytes_of({q}), 7 * product},
        [=] {
          return grad(std::vector<Tensor>{forward()}, std::vector<Tensor>{q, k, v}, {{g}});
        },
        5);
  }
}

}  // namespace

// usage: gpu_bench DEVICE [NAME_PART [SIZE ROWS VOCABULARY]], or gpu_bench DEVICE tiles [NAME_PART]
int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: gpu_bench DEVICE [NAME_PART [SIZE ROWS VOCABULARY]]\n"
                 "       gpu_bench DEVICE tiles [NAME_PART]\n");
    return 2;
  }
  setenv("TENON_DEVICE", argv[1], 1);  // before the first tensor
  if (argc > 2 && std::string(argv[2]) == "tiles") {
    time_tiles(argv[1], argc > 3 ? argv[3] : "");
    return 0;
  }
  Table table(argc > 2 ? argv[2] : "");
  const auto number = [&](int i, int64_t otherwise) { return argc > i ? std::atoll(argv[i]) : otherwise; };
  add_passes(table, number(3, 8192));
  add_products(table);
  add_layers(table, number(4, 8192), number(5, 50304));
  add_attention(table);
  table.finish();
}
