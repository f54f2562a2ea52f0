// Convolutions through oneDNN, whose generated code wants its own layouts: channels in blocks, side by side.
//
// A slice is a few images, so few that what is laid out anew is still in the cache when it is read. Weights are laid
// out once for all slices; their gradient is a sum for each slice, added up in order.

#include "tenon/backends/cpu/convolution/onednn.h"

#ifdef TENON_WITH_ONEDNN

#include <algorithm>
#include <array>
#include <string_view>

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/backends/cpu/convolution/convolution.h"
#include "tenon/backends/cpu/onednn.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

using base::ceil_div;
using dnnl::memory;

// Multiply-adds below which the fixed cost of a few primitives shows.
constexpr int64_t kWorthwhile = 1 << 21;
// A slice has at least this many, as long as there are slices for many threads.
constexpr int64_t kSliceWork = 8 << 20;
constexpr int64_t kEnoughSlices = 16;
// Sums of the weights' gradient are added at the end.
constexpr size_t kMostSumBytes = size_t{64} << 20;

// The sizes of one slice, and how windows lie.
struct Shapes {
  memory::dims x, w, y;
  memory::dims strides, dilates, before, after;
};

Shapes shapes_of(const ir::ConvAttrs& attrs, int64_t images, int64_t in, int64_t out) {
  Shapes all{{images, in}, {out / attrs.groups, in / attrs.groups}, {images, out}, {}, {}, {}, {}};
  if (attrs.groups > 1) all.w.insert(all.w.begin(), attrs.groups);
  for (const ir::ConvAxis& axis : attrs.axes) {
    all.x.push_back(axis.image);
    all.w.push_back(axis.kernel);
    all.y.push_back(axis.out);
    all.strides.push_back(axis.stride);
    all.dilates.push_back(axis.dilation - 1);
    all.before.push_back(axis.padding);
    const int64_t reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    all.after.push_back(reach - axis.image - axis.padding);
  }
  return all;
}

memory::desc plain(const memory::dims& shape) {
  memory::dims strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
  return {shape, memory::data_type::f32, strides};
}

memory::desc any(const memory::dims& shape) { return {shape, memory::data_type::f32, memory::format_tag::any}; }

// How images and results lie while oneDNN works on them; what differs from how they lie in memory is laid out anew, a
// slice at a time. `oneDnns` leaves it to each primitive.
enum class Images : uint8_t { oneDnns, channels_last, plain };
constexpr Images kImages = Images::oneDnns;

memory::desc image(const memory::dims& shape) {
  if (kImages == Images::plain) return plain(shape);
  if (kImages == Images::oneDnns) return any(shape);
  const auto tag = shape.size() == 3 ? memory::format_tag::nwc : memory::format_tag::nhwc;
  return {shape, memory::data_type::f32, tag};
}

bool is_generated(std::string_view implementation) {
  return implementation.starts_with("jit") || implementation.starts_with("brg");
}

// A tensor as it lies in memory and as the primitive wants it.
struct Side {
  memory::desc plain, wanted;
  int argument = 0;
  dnnl::reorder reorder;  // into what is wanted; of the result, out of it
  memory::desc scratch;   // of the reorder
  bool moves() const { return plain != wanted; }
};

struct Slice {
  Side first, second, result;
  dnnl::primitive primitive;
  memory::desc scratch;
  bool is_generated = false;
};

class ConvolutionOneDnn : public CallKernel {
 public:
  std::string_view library() const override { return "oneDNN"; }

  ConvolutionOneDnn(const ir::Call& call, int64_t work)
      : op_(call.op),
        attrs_(std::get<ir::ConvAttrs>(call.attrs)),
        first_(call.inputs[0], Input::Wanted::contiguous),
        second_(call.inputs[1], Input::Wanted::contiguous),
        bias_(call) {
    const Dims& out = call.outputs[0].shape;
    const Dims& w = op_ == ir::Op::conv_weight ? out : second_.shape();
    in_ = w[1] * attrs_.groups;
    out_ = w[0];
    images_ = first_.shape()[0];
    // By the shape alone, because bits depend on it.
    const int64_t image = std::max<int64_t>(1, work / images_);
    slice_ = std::clamp<int64_t>(ceil_div(kSliceWork, image), 1, std::max<int64_t>(1, images_ / kEnoughSlices));
    if (op_ == ir::Op::conv_weight) {
      const size_t bytes = static_cast<size_t>(ir::count(w)) * sizeof(float);
      const auto most = std::clamp<int64_t>(static_cast<int64_t>(kMostSumBytes / bytes), 1, kEnoughSlices);
      slice_ = std::max(slice_, ceil_div(images_, most));
    }
    slices_ = ceil_div(images_, slice_);
    const OneDnnThread one;
    whole_ = make(slice_, nullptr);
    last_ = make(images_ - (slices_ - 1) * slice_, &shared(whole_).wanted);
  }

  bool is_generated() const { return whole_.is_generated && last_.is_generated; }

  size_t scratch_bytes() const override {
    if (op_ == ir::Op::conv_weight) return shared_bytes() * static_cast<size_t>(slices_);
    return shared(whole_).moves() ? shared_bytes() : 0;
  }

  void run(const Arguments& args) const override {
    const Input::Bound first(first_, args[0]), second(second_, args[1]);
    const float* const bias = bias_.of(args);
    std::byte* const out = args[bias_.result()];
    std::byte* const kept = scratch_bytes() > 0 ? args[bias_.result() + 1] : nullptr;
    if (op_ == ir::Op::conv_weight) return sum(first.data(), second.data(), out, kept);
    const std::byte* weights = second.data();
    if (whole_.second.moves()) {
      move_in(whole_.second, weights, kept);
      weights = kept;
    }
    base::parallel_tasks(slices_, [&](int64_t i) {
      const Slice& slice = at(i);
      std::byte* const to = out + i * step_of(whole_.result);
      execute(slice, first.data() + i * step_of(whole_.first), weights, to);
      if (bias) add_to(slice, bias, to);
    });
  }

 private:
  // Weights, or their gradient.
  const Side& shared(const Slice& slice) const { return op_ == ir::Op::conv_weight ? slice.result : slice.second; }
  size_t shared_bytes() const {
    return static_cast<size_t>(base::round_up(static_cast<int64_t>(shared(whole_).wanted.get_size()), 64));
  }
  const Slice& at(int64_t i) const { return i == slices_ - 1 ? last_ : whole_; }
  static int64_t step_of(const Side& side) { return static_cast<int64_t>(side.plain.get_size()); }

  // While the slice is still in the cache. Not by oneDNN, which says neither when its bias joins the sums nor what its
  // relu makes of NaN: results are to have the bits of a convolution whose bias is a kernel of its own.
  void add_to(const Slice& slice, const float* bias, std::byte* to) const {
    const memory::dims shape = slice.result.plain.dims();
    int64_t plane = 1;
    for (size_t i = 2; i < shape.size(); ++i) plane *= shape[i];
    add_channels(bias, reinterpret_cast<float*>(to), shape[0], shape[1], plane, bias_.relu());
  }

  // Weights lie in all slices as they do in `shared`.
  Slice make(int64_t images, const memory::desc* shared) const {
    const Shapes shapes = shapes_of(attrs_, images, in_, out_);
    const memory::desc x = image(shapes.x), w = shared ? *shared : any(shapes.w), y = image(shapes.y);
    const dnnl::primitive_attr attributes = onednn_attributes();
    const dnnl::engine& engine = onednn_engine();
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const auto forward_with = [&](const memory::desc& weights) {
      return dnnl::convolution_forward::primitive_desc({dnnl::prop_kind::forward_training, kDirect, x, weights, y,
                                                        shapes.strides, shapes.dilates, shapes.before, shapes.after},
                                                       attributes, engine);
    };
    Slice slice;
    const auto finish = [&](const auto& description) {
      slice.scratch = description.scratchpad_desc();
      slice.is_generated = cpu::is_generated(description.impl_info_str());
    };
    switch (op_) {
      case ir::Op::conv: {
        const auto description = forward_with(w);
        slice.first = {plain(shapes.x), description.src_desc(), DNNL_ARG_SRC, {}, {}};
        slice.second = {plain(shapes.w), description.weights_desc(), DNNL_ARG_WEIGHTS, {}, {}};
        slice.result = {plain(shapes.y), description.dst_desc(), DNNL_ARG_DST, {}, {}};
        slice.primitive = dnnl::convolution_forward(description);
        finish(description);
        break;
      }
      case ir::Op::conv_transpose: {
        const dnnl::convolution_backward_data::primitive_desc description(
            {kDirect, x, w, y, shapes.strides, shapes.dilates, shapes.before, shapes.after}, attributes, engine,
            forward_with(any(shapes.w)));
        slice.first = {plain(shapes.y), description.diff_dst_desc(), DNNL_ARG_DIFF_DST, {}, {}};
        slice.second = {plain(shapes.w), description.weights_desc(), DNNL_ARG_WEIGHTS, {}, {}};
        slice.result = {plain(shapes.x), description.diff_src_desc(), DNNL_ARG_DIFF_SRC, {}, {}};
        slice.primitive = dnnl::convolution_backward_data(description);
        finish(description);
        break;
      }
      default: {
        const dnnl::convolution_backward_weights::primitive_desc description(
            {kDirect, x, w, y, shapes.strides, shapes.dilates, shapes.before, shapes.after}, attributes, engine,
            forward_with(any(shapes.w)));
        slice.first = {plain(shapes.x), description.src_desc(), DNNL_ARG_SRC, {}, {}};
        slice.second = {plain(shapes.y), description.diff_dst_desc(), DNNL_ARG_DIFF_DST, {}, {}};
        slice.result = {plain(shapes.w), description.diff_weights_desc(), DNNL_ARG_DIFF_WEIGHTS, {}, {}};
        slice.primitive = dnnl::convolution_backward_weights(description);
        finish(description);
      }
    }
    const auto prepare = [&](Side& side, const memory::desc& from, const memory::desc& to) {
      if (!side.moves()) return;
      const dnnl::reorder::primitive_desc description(engine, from, engine, to, attributes);
      side.scratch = description.scratchpad_desc();
      side.reorder = dnnl::reorder(description);
    };
    prepare(slice.first, slice.first.plain, slice.first.wanted);
    prepare(slice.second, slice.second.plain, slice.second.wanted);
    prepare(slice.result, slice.result.wanted, slice.result.plain);
    return slice;
  }

  static void start(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& arguments) {
    primitive.execute(onednn_stream(), arguments);
    onednn_stream().wait();
  }

  static void move(const Side& side, const memory::desc& from, const std::byte* data, const memory::desc& to,
                   std::byte* result) {
    const OneDnnThread one;
    const Scratch scratch(side.scratch.get_size());
    start(side.reorder, {{DNNL_ARG_FROM, onednn_memory(from, data)},
                         {DNNL_ARG_TO, onednn_memory(to, result)},
                         {DNNL_ARG_SCRATCHPAD, onednn_memory(side.scratch, scratch.data())}});
  }
  static void move_in(const Side& side, const std::byte* from, std::byte* to) {
    move(side, side.plain, from, side.wanted, to);
  }
  static void move_out(const Side& side, const std::byte* from, std::byte* to) {
    move(side, side.wanted, from, side.plain, to);
  }

  // Weights, read or written, lie as the primitive wants them.
  void execute(const Slice& slice, const std::byte* first, const std::byte* second, std::byte* result) const {
    const bool sums = op_ == ir::Op::conv_weight;
    const auto bytes = [](bool needed, const memory::desc& desc) {
      return needed ? static_cast<int64_t>(desc.get_size()) : 0;
    };
    const bool moves_second = sums && slice.second.moves(), moves_result = !sums && slice.result.moves();
    const std::array<int64_t, 4> sizes = {bytes(slice.first.moves(), slice.first.wanted),
                                          bytes(moves_second, slice.second.wanted),
                                          bytes(moves_result, slice.result.wanted), bytes(true, slice.scratch)};
    Carver measured;
    for (const int64_t size : sizes) measured.take<std::byte>(size);
    const Scratch scratch(measured.used());
    Carver carver(scratch.data());
    std::array<std::byte*, 4> pieces;
    for (size_t i = 0; i < sizes.size(); ++i) pieces[i] = carver.take<std::byte>(sizes[i]);
    if (slice.first.moves()) {
      move_in(slice.first, first, pieces[0]);
      first = pieces[0];
    }
    if (moves_second) {
      move_in(slice.second, second, pieces[1]);
      second = pieces[1];
    }
    std::byte* const made = moves_result ? pieces[2] : result;
    {
      const OneDnnThread one;
      start(slice.primitive, {{slice.first.argument, onednn_memory(slice.first.wanted, first)},
                              {slice.second.argument, onednn_memory(slice.second.wanted, second)},
                              {slice.result.argument, onednn_memory(slice.result.wanted, made)},
                              {DNNL_ARG_SCRATCHPAD, onednn_memory(slice.scratch, pieces[3])}});
    }
    if (moves_result) move_out(slice.result, made, result);
  }

  void sum(const std::byte* first, const std::byte* second, std::byte* result, std::byte* sums) const {
    const size_t bytes = shared_bytes();
    base::parallel_tasks(slices_, [&](int64_t i) {
      execute(at(i), first + i * step_of(whole_.first), second + i * step_of(whole_.second),
              sums + static_cast<size_t>(i) * bytes);
    });
    constexpr int64_t kGrain = 4096;
    const auto step = static_cast<int64_t>(bytes / sizeof(float));
    float* const all = reinterpret_cast<float*>(sums);
    base::parallel_for(step, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t slice = 1; slice < slices_; ++slice) {
        const float* const one = all + slice * step;
        for (int64_t i = begin; i < end; ++i) all[i] += one[i];
      }
    });
    const Side& side = whole_.result;
    if (side.moves()) return move_out(side, sums, result);
    std::copy_n(sums, side.plain.get_size(), result);
  }

  const ir::Op op_;
  const ir::ConvAttrs attrs_;
  Input first_, second_;
  ConvBias bias_;
  int64_t images_ = 0, in_ = 0, out_ = 0;
  int64_t slice_ = 1, slices_ = 1;  // images of one, and how many there are
  Slice whole_, last_;
};

bool can_take(const ir::Call& call) {
  const auto& axes = std::get<ir::ConvAttrs>(call.attrs).axes;
  return call.inputs[0].dtype == DType::f32 && call.inputs[1].dtype == DType::f32 &&
         call.outputs[0].dtype == DType::f32 &&
         std::all_of(axes.begin(), axes.end(), [](const ir::ConvAxis& axis) { return axis.padding >= 0; });
}

int64_t work_of(const ir::Call& call) {
  const auto& attrs = std::get<ir::ConvAttrs>(call.attrs);
  const Dims& first = call.inputs[0].map.shape();
  const Dims& w = call.op == ir::Op::conv_weight ? call.outputs[0].shape : call.inputs[1].map.shape();
  int64_t work = first[0] * ir::count(w);
  for (const ir::ConvAxis& axis : attrs.axes) work *= axis.out;
  return work;
}

}  // namespace

std::unique_ptr<CallKernel> compile_convolution_onednn(const ir::Call& call, bool forced) {
  const int64_t work = work_of(call);
  if (work == 0 || !can_take(call)) return nullptr;
  if (!forced && (!kOneDnnGeneratesCode || work < kWorthwhile)) return nullptr;
  try {
    auto kernel = std::make_unique<ConvolutionOneDnn>(call, work);
    if (!forced && !kernel->is_generated()) return nullptr;
    return kernel;
  } catch (const dnnl::error& error) {
    // Padding, say, that a transposed convolution has and oneDNN does not take: our own loops do all.
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return nullptr;
    base::fail(ir::name(call.op), "oneDNN: {}", error.message);
  }
}

}  // namespace tenon::backends::cpu

#else

namespace tenon::backends::cpu {

std::unique_ptr<CallKernel> compile_convolution_onednn(const ir::Call&, bool) { return nullptr; }

}  // namespace tenon::backends::cpu

#endif
