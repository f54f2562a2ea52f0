// The recursions of Graves et al., 2006, in logarithms, over targets with a blank before, between and behind all
// labels: how likely each place of these is to be reached at a time, from the begin (alpha) and from the end (beta).

#include "tenon/nn/ctc_loss.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tenon/nn/class_targets.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;

// Stands for the logarithm of 0: with -inf differences would be NaN.
constexpr double kNever = -1e30;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is known of all samples, each (N, ...). L = 2 S + 1.
struct Lattice {
  Tensor labels;                         // (N, L): blanks and targets
  Tensor may_skip;                       // (N, L): whether a place can be reached from the one before the last
  Tensor input_lengths, target_lengths;  // (N)
  Tensor is_end;                         // (N, L): whether a target may end in a place
};

Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor top = maximum(maximum(a, b), c);
  return add(top, log(add(add(exp(sub(a, top)), exp(sub(b, top))), exp(sub(c, top)))));
}

// x, `places` further along the last dim.
Tensor moved(const Tensor& x, int64_t places) {
  const int64_t size = x.size(-1), count = std::min(size, std::abs(places));
  const Tensor kept = places > 0 ? x.narrow(-1, 0, size - count) : x.narrow(-1, count, size - count);
  return pad(kept, places > 0 ? Dims{count, 0} : Dims{0, count}, kNever);
}

Tensor is_live(const Lattice& on, int64_t time) { return gt(on.input_lengths, time).unsqueeze(1); }

// (T, N, L); what lies behind the end of an input repeats its last row.
std::vector<Tensor> alphas(const Tensor& emitted, const Lattice& on) {
  const Tensor place = arange(emitted.size(2), Options(DType::i64, emitted.device()));
  std::vector<Tensor> rows{where(lt(place, 2), emitted.select(0, 0), kNever)};
  for (int64_t t = 1; t < emitted.size(0); ++t) {
    const Tensor& last = rows.back();
    const Tensor reached = log_sum(last, moved(last, 1), where(on.may_skip, moved(last, 2), kNever));
    rows.push_back(where(is_live(on, t), add(reached, emitted.select(0, t)), last));
  }
  return rows;
}

std::vector<Tensor> betas(const Tensor& emitted, const Lattice& on) {
  const int64_t times = emitted.size(0);
  std::vector<Tensor> rows(static_cast<size_t>(times));
  const Tensor never = full_like(emitted.select(0, 0), kNever);
  Tensor next = never;
  for (int64_t t = times - 1; t >= 0; --t) {
    const Tensor skipped = moved(where(on.may_skip, next, kNever), -2);
    const Tensor reached = add(log_sum(next, moved(next, -1), skipped), emitted.select(0, t));
    const Tensor is_last = eq(on.input_lengths, t + 1).unsqueeze(1);
    const Tensor first = where(on.is_end, emitted.select(0, t), kNever);
    next = where(is_last, first, where(is_live(on, t), reached, never));
    rows[static_cast<size_t>(t)] = next;
  }
  return rows;
}

// What every label of the lattice has of the log-probabilities at every time.
Tensor emissions(const Tensor& log_p, const Tensor& labels) {
  const Tensor each = labels.unsqueeze(0).expand({log_p.size(0), labels.size(0), labels.size(1)});
  return clamp(gather(log_p, 2, each), kNever, {});
}

// (N). The inputs are the log-probabilities and the parts of the lattice.
Tensor losses_of(const Tensor& log_probabilities, const Lattice& lattice, bool zero_infinity) {
  const SavingFunction function{
      "ctc_loss",
      [zero_infinity](FunctionContext& context, std::span<const Tensor> in) {
        const Lattice on{in[1], in[2], in[3], in[4], in[5]};
        const Tensor emitted = emissions(in[0], on.labels);
        const std::vector<Tensor> rows = alphas(emitted, on);
        const Tensor ends = where(on.is_end, rows.back(), kNever), top = amax(ends, {1}, true);
        const Tensor total = add(log(sum(exp(sub(ends, top)), {1})), top.squeeze(1));
        // A target does not fit where every way is cut off; an input of no length reads the empty target.
        const Tensor nothing_read = where(eq(on.target_lengths, 0), 0.0, full_like(total, -kInfinity));
        const Tensor reached = where(lt(total, kNever / 10), -kInfinity, total);
        const Tensor loss = neg(where(eq(on.input_lengths, 0), nothing_read, reached));
        context.save_for_backward({in[0], in[1], in[2], in[3], in[4], in[5], emitted, stack(rows), loss});
        return std::vector{zero_infinity ? where(eq(loss, kInfinity), 0.0, loss) : loss};
      },
      [zero_infinity](const FunctionContext& context, std::span<const Tensor> grads) {
        const std::vector<Tensor>& saved = context.saved_tensors();
        const Lattice on{saved[1], saved[2], saved[3], saved[4], saved[5]};
        const Tensor &log_p = saved[0], &emitted = saved[6], &alpha = saved[7], &loss = saved[8];
        const Tensor beta = stack(betas(emitted, on));
        // How probable it is that a place of the target is read at a time.
        const Tensor read = exp(add(sub(add(alpha, beta), emitted), loss.unsqueeze(1)));
        const Tensor each = on.labels.unsqueeze(0).expand(emitted.shape());
        const Tensor expected = scatter_add(zeros_like(log_p), 2, each, read);
        const Tensor times = arange(log_p.size(0), Options(DType::i64, log_p.device())).unsqueeze(1);
        const Tensor counts = lt(times, on.input_lengths).unsqueeze(2);
        const Tensor is_infinite = eq(loss, kInfinity).unsqueeze(1);
        const double beyond = zero_infinity ? 0.0 : std::numeric_limits<double>::quiet_NaN();
        const Tensor slope = mul(sub(exp(log_p), expected), grads[0].unsqueeze(1));
        std::vector<Tensor> made(6);
        made[0] = where(counts, where(is_infinite, beyond, slope), 0.0);
        return made;
      }};
  const Tensor inputs[] = {log_probabilities,     lattice.labels,         lattice.may_skip,
                           lattice.input_lengths, lattice.target_lengths, lattice.is_end};
  return apply(function, std::span<const Tensor>(inputs))[0];
}

// Targets of all samples in one vector as rows, each filled up with blanks.
Tensor rows_of_targets(const Tensor& targets, const Tensor& lengths) {
  record::require_known_values("ctc_loss", "targets in one vector");
  const int64_t longest = lengths.numel() == 0 ? 0 : std::max<int64_t>(amax(lengths).item<int64_t>(), 0);
  const int64_t whole = lengths.numel() == 0 ? 0 : sum(lengths).item<int64_t>();
  if (whole != targets.numel())
    fail("ctc_loss", "{} targets are given, and their lengths are {} together", targets.numel(), whole);
  const Tensor place = arange(longest, Options(DType::i64, targets.device()));
  const Tensor begin = sub(cumsum(lengths, 0), lengths);
  if (whole == 0) return zeros({lengths.numel(), longest}, Options(DType::i64, targets.device()));
  const Tensor from = clamp(add(begin.unsqueeze(1), place), {}, whole - 1);
  return index_select(targets, 0, from.flatten()).reshape(from.shape());
}

Tensor lengths_of(std::string_view what, const Tensor& given, int64_t samples, int64_t most) {
  if (!is_integer(given.dtype())) fail("ctc_loss", "{} are integers, not {}", what, name(given.dtype()));
  const Tensor lengths = given.reshape({given.numel()});
  if (lengths.numel() != samples) fail("ctc_loss", "{} are {}, and samples {}", what, lengths.numel(), samples);
  const auto range = known_range(given);
  if (range && (range->first < 0 || range->second > most))
    fail("ctc_loss", "{} lie between 0 and {}, and not at {}", what, most,
         range->first < 0 ? range->first : range->second);
  for (int64_t length : record::suspects(lengths, most + 1)) {
    if (length < 0 || length > most) fail("ctc_loss", "{} lie between 0 and {}, and not at {}", what, most, length);
  }
  return checked(ir::LookUp::of_op, lengths.to(DType::i64), most + 1);
}

Lattice lattice_of(const Tensor& rows, const Tensor& inputs, const Tensor& lengths, int64_t blank) {
  const int64_t samples = rows.size(0), longest = rows.size(1);
  const Options whole(DType::i64, rows.device());
  const Tensor is_target = lt(arange(longest, whole), lengths.unsqueeze(1));
  const Tensor blanks = full({samples, longest}, blank, whole);
  const Tensor pairs = stack({blanks, where(is_target, rows, blanks)}, 2).reshape({samples, 2 * longest});
  const Tensor labels = cat({pairs, full({samples, 1}, blank, whole)}, 1);
  const Tensor two_before = pad(labels.narrow(1, 0, std::max<int64_t>(2 * longest - 1, 0)),
                                {std::min<int64_t>(2, 2 * longest + 1), 0}, blank);
  const Tensor place = arange(2 * longest + 1, whole), end = mul(lengths, 2).unsqueeze(1);
  return {labels, logical_and(ne(labels, blank), ne(labels, two_before)), inputs, lengths,
          logical_or(eq(place, end), eq(place, sub(end, 1)))};
}

}  // namespace

Tensor ctc_loss(const Tensor& given, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                const CtcLossOptions& options) {
  record::require_float("ctc_loss", given);
  if (given.dim() != 3 && given.dim() != 2)
    fail("ctc_loss", "takes log-probabilities (T, N, C) or (T, C), got {}", ir::to_string(given.shape()));
  const bool is_single = given.dim() == 2;
  const Tensor log_p = (is_single ? given.unsqueeze(1) : given).to(accumulator(given.dtype()));
  const int64_t times = log_p.size(0), samples = log_p.size(1), classes = log_p.size(2);
  if (times == 0) fail("ctc_loss", "needs a time at least, got log-probabilities {}", ir::to_string(given.shape()));
  if (options.blank < 0 || options.blank >= classes)
    fail("ctc_loss", "the blank {} is none of {} classes", options.blank, classes);
  if (targets.dtype() != DType::i64 && targets.dtype() != DType::i32)
    fail("ctc_loss", "targets are i32 or i64, got {}", name(targets.dtype()));
  if (options.reduction == Reduction::batchmean) fail("ctc_loss", "reduction batchmean is for kl_div");
  const bool are_rows = targets.dim() == 2 || is_single;
  if (targets.dim() > 2 || (targets.dim() == 2 && targets.size(0) != samples))
    fail("ctc_loss", "targets {} do not fit {} samples", ir::to_string(targets.shape()), samples);
  const Tensor classes_read = checked(ir::LookUp::ctc_loss, targets.to(DType::i64), classes, -1);
  require_classes("ctc_loss", targets, classes, -1);
  const int64_t most = are_rows ? targets.size(-1) : targets.numel();
  const Tensor inputs = lengths_of("input_lengths", input_lengths, samples, times);
  const Tensor lengths = lengths_of("target_lengths", target_lengths, samples, most);
  const Tensor rows = are_rows ? classes_read.reshape({samples, most}) : rows_of_targets(classes_read, lengths);
  Tensor loss = losses_of(log_p, lattice_of(rows, inputs, lengths, options.blank), options.zero_infinity);
  if (options.reduction == Reduction::mean) loss = mean(div(loss, clamp(lengths, 1, {}).to(loss.dtype())));
  if (options.reduction == Reduction::sum) loss = sum(loss);
  if (is_single && options.reduction == Reduction::none) loss = loss.squeeze(0);
  return loss.to(given.dtype());
}

}  // namespace tenon::nn
