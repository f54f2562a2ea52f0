// What is refused, when, and in which words. Every case records an op and nothing more: the error must come at once,
// with exactly this text, without a launch, and must leave every tensor usable.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <source_location>

#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not a tenon::Error: ") + error.what();
  }
  return "no error";
}

class Errors : public testing::Test {
 protected:
  const Tensor a = arange(6, DType::f32).reshape({2, 3});  // a matrix of floats
  const Tensor b = ones({4, 3});                           // one that fits it nowhere
  const Tensor whole = tensor({{0, 1}, {2, 3}});
  const Tensor yes = tensor({true, false, true});
  const std::string here = Device().name();

  static Tensor of(const Dims& shape, DType dtype = DType::f32) { return ones(shape, dtype); }

  void refuses(const std::string& text, const std::function<void()>& record,
               std::source_location where = std::source_location::current()) {
    const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "recorded here");
    const size_t launches = exec::stats().launches;
    EXPECT_EQ(error_of(record), text);
    EXPECT_EQ(exec::stats().launches, launches) << "an error must come before anything runs: " << text;
  }

  // Whatever was refused, the operands still hold their values and take part in new work.
  void TearDown() override {
    EXPECT_EQ(a.to_vector<double>(), Reals({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(sum(a * b.narrow(0, 0, 2)).item<double>(), 15);
    EXPECT_EQ((whole + 1).to_vector<int64_t>(), Wholes({1, 2, 3, 4}));
    EXPECT_EQ(sum(yes).item<int64_t>(), 2);
    Tensor x = a.clone().requires_grad_();
    sum(square(x)).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), Reals({0, 2, 4, 6, 8, 10}));
  }
};

// ---- shapes ----

TEST_F(Errors, ShapesThatDoNotBroadcast) {
  const auto text = [](const std::string& op) {
    return "[" + op + "] shapes (2, 3) and (4, 3) do not broadcast: sizes 2 and 4 differ at dim -2";
  };
  refuses(text("add"), [&] { a + b; });
  refuses(text("sub"), [&] { a - b; });
  refuses(text("mul"), [&] { mul(a, b); });
  refuses(text("div"), [&] { a / b; });
  refuses(text("remainder"), [&] { a % b; });
  refuses(text("fmod"), [&] { fmod(a, b); });
  refuses(text("pow"), [&] { pow(a, b); });
  refuses(text("maximum"), [&] { maximum(a, b); });
  refuses(text("minimum"), [&] { minimum(a, b); });
  refuses(text("eq"), [&] { a == b; });
  refuses(text("ne"), [&] { a != b; });
  refuses(text("lt"), [&] { a < b; });
  refuses(text("le"), [&] { a <= b; });
  refuses(text("logical_and"), [&] { logical_and(a, b); });
  refuses(text("logical_or"), [&] { logical_or(a, b); });
  refuses(text("logical_xor"), [&] { logical_xor(a, b); });
  refuses(text("where"), [&] { where(a > 0, a, b); });
  refuses(text("masked_fill"), [&] { masked_fill(a, b > 0, 1); });
  refuses("[add] shapes (2, 3) and (2,) do not broadcast: sizes 3 and 2 differ at dim -1", [&] { a + of({2}); });
  refuses("[add] shapes (0,) and (2,) do not broadcast: sizes 0 and 2 differ at dim -1", [&] { of({0}) + of({2}); });
}

TEST_F(Errors, TheMessageHasTheOperandsInTheUsersOrder) {
  refuses("[gt] shapes (2, 3) and (4, 3) do not broadcast: sizes 2 and 4 differ at dim -2", [&] { a > b; });
  refuses("[ge] shapes (2, 3) and (4, 3) do not broadcast: sizes 2 and 4 differ at dim -2", [&] { a >= b; });
}

TEST_F(Errors, TheMessageNamesTheOpThatWasCalled) {
  refuses("[floor_divide] shapes (2, 3) and (4, 3) do not broadcast: sizes 2 and 4 differ at dim -2",
          [&] { floor_divide(a, b); });
  refuses("[std] takes floating-point values, got i64; convert with to(DType::f32)", [&] { std(whole); });
  refuses("[dot] shapes (3,) and (4,) do not fit: inner dimensions 3 and 4 differ", [&] { dot(of({3}), of({4})); });
  refuses("[add_] shape (2, 3) does not broadcast to (3,)", [&] { of({3}).add_(a); });
  refuses("[stack] tensors are on devices " + here + " and null; move one with to()", [&] {
    stack({a, a.to("null")});
  });
}

TEST_F(Errors, WritingInPlaceDoesNotGrowTheTarget) {
  refuses("[copy_] shape (4, 3) does not broadcast to (2, 3)", [&] { a.clone().copy_(b); });
  refuses("[copy_] shape (2, 3) does not broadcast to (3,)", [&] { of({3}).copy_(a); });
  refuses("[copy_] shape (2,) does not broadcast to (3,)", [&] { of({2, 3}).index_put_({0}, of({2})); });
}

TEST_F(Errors, MatmulNamesShapesAndInnerDimensions) {
  refuses("[matmul] shapes (2, 3) and (4, 3) do not fit: inner dimensions 3 and 4 differ", [&] { matmul(a, b); });
  refuses("[matmul] shapes (3,) and (4,) do not fit: inner dimensions 3 and 4 differ",
          [&] { matmul(of({3}), of({4})); });
  refuses("[matmul] shapes (2, 3) and (2,) do not fit: inner dimensions 3 and 2 differ", [&] { matmul(a, of({2})); });
  refuses("[matmul] shapes () and (2, 3): single numbers are multiplied with *", [&] { matmul(of({}), a); });
}

TEST_F(Errors, ProductsOfBatchesNameWholeShapes) {
  refuses("[matmul] shapes (2, 3, 4) and (5, 4, 3) do not fit: batch sizes 2 and 5 differ at dim -3", [&] {
    matmul(of({2, 3, 4}), of({5, 4, 3}));
  });
  refuses("[matmul] shapes (6, 2, 3, 4) and (7, 1, 4, 3) do not fit: batch sizes 6 and 7 differ at dim -4", [&] {
    matmul(of({6, 2, 3, 4}), of({7, 1, 4, 3}));
  });
  refuses("[bmm] shapes (2, 3, 4) and (5, 4, 3) do not fit: batch sizes 2 and 5 differ", [&] {
    bmm(of({2, 3, 4}), of({5, 4, 3}));
  });
  refuses("[baddbmm] shapes (2, 3, 4) and (5, 4, 3) do not fit: batch sizes 2 and 5 differ", [&] {
    baddbmm(of({2, 3, 3}), of({2, 3, 4}), of({5, 4, 3}));
  });
}

TEST_F(Errors, TheModulePathStandsAtTheEnd) {
  const base::Scope gpt("gpt"), h("h"), third("3"), attn("attn");
  {
    const base::Scope qkv("qkv");
    refuses(
        "[matmul] shapes (8, 1024, 768) and (512, 2304) do not fit: inner dimensions 768 and 512 differ (in "
        "gpt.h.3.attn.qkv)",
        [&] {
          matmul(zeros({8, 1024, 768}), zeros({512, 2304}));
        });
  }
  refuses("[slice] step must not be 0 (in gpt.h.3.attn)", [&] { a.slice(0, {}, {}, 0); });
  EXPECT_EQ(base::scope_path(), "gpt.h.3.attn");
}

TEST_F(Errors, AScopeEndsWithItsBlockEvenAfterAnError) {
  EXPECT_EQ(error_of([&] {
              const base::Scope module("a.b");
              a + b;
            }),
            "[add] shapes (2, 3) and (4, 3) do not broadcast: sizes 2 and 4 differ at dim -2 (in a.b)");
  EXPECT_EQ(base::scope_path(), "");
}

TEST_F(Errors, VectorProducts) {
  refuses("[dot] takes two vectors, got shapes (2, 3) and (3,)", [&] { dot(a, of({3})); });
  refuses("[outer] takes two vectors, got shapes (2, 3) and (3,)", [&] { outer(a, of({3})); });
}

TEST_F(Errors, EinsumEquations) {
  refuses("[einsum] takes at least one operand", [&] { einsum("i", std::span<const Tensor>{}); });
  refuses("[einsum] equation 'ij->ij': 1 operands named, 2 given", [&] { einsum("ij->ij", {a, b}); });
  refuses("[einsum] equation 'ij,jk->ik': 2 operands named, 1 given", [&] { einsum("ij,jk->ik", {a}); });
  refuses("[einsum] equation 'ij,jk->ik': 'j' has sizes 3 and 4", [&] { einsum("ij,jk->ik", {a, b}); });
  refuses("[einsum] equation 'ijk->i': 'ijk' does not fit operand 0 of shape (2, 3)", [&] { einsum("ijk->i", {a}); });
  refuses("[einsum] equation 'ij->ii': 'i' appears twice in the output", [&] { einsum("ij->ii", {a}); });
  refuses("[einsum] equation 'ij->k': output letter 'k' is in no operand", [&] { einsum("ij->k", {a}); });
  refuses("[einsum] equation 'i1->i': '1' is not a letter", [&] { einsum("i1->i", {of({2})}); });
  refuses("[einsum] equation 'ii->i': 'i' has sizes 2 and 3", [&] { einsum("ii->i", {a}); });
  refuses("[einsum] dtypes f32 and f64 differ; convert one with to()", [&] {
    einsum("ij,ij->", {a, a.to(DType::f64)});
  });
}

TEST_F(Errors, Reshape) {
  refuses("[reshape] cannot reshape (2, 3) (6 elements) to (4, 2) (8 elements)", [&] { a.reshape({4, 2}); });
  refuses("[reshape] cannot reshape (2, 3) (6 elements) to (-1, 4): 4 does not divide 6", [&] { a.reshape({-1, 4}); });
  refuses("[reshape] shape (-1, -1) is not valid: sizes are not negative, and at most one is -1", [&] {
    a.reshape({-1, -1});
  });
  refuses("[reshape] shape (-2, 3) is not valid: sizes are not negative, and at most one is -1", [&] {
    a.reshape({-2, 3});
  });
  refuses("[reshape] cannot reshape (0, 3) (0 elements) to (-1, 0): 0 does not divide 0", [&] {
    of({0, 3}).reshape({-1, 0});
  });
  refuses("[view] cannot reshape (2, 3) (6 elements) to (5,) (5 elements)", [&] { a.view({5}); });
}

TEST_F(Errors, Expand) {
  refuses("[expand] shape (2, 3) does not expand to (4, 3)", [&] { a.expand({4, 3}); });
  refuses("[expand] shape (3,) has fewer dims than (2, 3)", [&] { a.expand({3}); });
  refuses("[expand] shape (2, 3) does not expand to (-1, 2, 3)", [&] { a.expand({-1, 2, 3}); });
}

TEST_F(Errors, Permute) {
  refuses("[permute] 1 dims given for a tensor of rank 2", [&] { a.permute({0}); });
  refuses("[permute] dim 0 appears more than once", [&] { a.permute({0, 0}); });
  refuses("[permute] dim -2 appears more than once", [&] { a.permute({0, -2}); });
  refuses("[t] takes a matrix, got shape (1, 2, 3); use transpose", [&] { of({1, 2, 3}).t(); });
  refuses("[flatten] first dim 1 comes after last dim 0", [&] { a.flatten(1, 0); });
}

TEST_F(Errors, CatAndStack) {
  refuses("[cat] takes at least one tensor", [&] { cat(std::span<const Tensor>{}); });
  refuses("[cat] shapes (2, 3) and (2, 4) do not fit along dim 0", [&] { cat({a, of({2, 4})}); });
  refuses("[cat] shapes (2, 3) and (4, 3) do not fit along dim 1", [&] { cat({a, b}, 1); });
  refuses("[cat] shapes (2, 3) and (3,) do not fit along dim 0", [&] { cat({a, of({3})}); });
  refuses("[cat] dim 0 is out of range for a tensor of rank 0", [&] { cat({of({}), of({})}); });
  refuses("[stack] takes at least one tensor", [&] { stack(std::span<const Tensor>{}); });
  refuses("[stack] shapes (2, 3) and (4, 3) differ", [&] { stack({a, b}); });
  refuses("[stack] dim 3 is out of range for a tensor of rank 3 (use -3 to 2)", [&] { stack({a, a}, 3); });
}

TEST_F(Errors, SplittingAndRepeating) {
  refuses("[split] sizes (1, 1) add up to 2, dim 1 has 3", [&] { a.split({1, 1}, 1); });
  refuses("[split] the size of a part must be positive, got 0", [&] { split(a, int64_t{0}, 0); });
  refuses("[chunk] the number of chunks must be positive, got 0", [&] { a.chunk(0); });
  refuses("[split] sizes (-1, 3) hold a negative one", [&] { a.split({-1, 3}, 0); });
  refuses("[repeat] 1 repeats for a tensor of rank 2", [&] { repeat(a, {2}); });
  refuses("[repeat] repeats must not be negative, got -1", [&] { repeat(a, {2, -1}); });
  refuses("[pad] 3 sizes do not fit a tensor of rank 2: give two per dim, last dim first", [&] { pad(a, {1, 1, 1}); });
  refuses("[pad] 6 sizes do not fit a tensor of rank 2: give two per dim, last dim first", [&] {
    pad(a, {1, 1, 1, 1, 1, 1});
  });
  refuses("[pad] cutting 2 and 2 elements from dim 1 of size 3", [&] { pad(a, {-2, -2}); });
  refuses("[tril] takes at least a matrix, got shape (3,)", [&] { tril(of({3})); });
  refuses("[triu] takes at least a matrix, got shape ()", [&] { triu(of({})); });
}

TEST_F(Errors, Layers) {
  refuses("[linear] input (2, 3) and weight (5, 4) do not fit: the last size of the input must be 4", [&] {
    nn::linear(a, of({5, 4}));
  });
  refuses("[linear] dtypes f64 of the input and f32 of the weight differ; convert one with to()", [&] {
    nn::linear(of({2, 4}, DType::f64), of({5, 4}), Tensor());
  });
  refuses("[linear] input () and weight (5, 4) do not fit: the last size of the input must be 4", [&] {
    nn::linear(of({}), of({5, 4}));
  });
  refuses("[linear] weight must be (out, in), got (3,)", [&] { nn::linear(a, of({3})); });
  refuses("[linear] bias (4,) does not fit weight (5, 3)", [&] { nn::linear(a, of({5, 3}), of({4})); });
  refuses("[layer_norm] normalised shape (2,) does not end shape (2, 3)", [&] { nn::layer_norm(a, {2}); });
  refuses("[layer_norm] normalised shape () does not end shape (2, 3)", [&] { nn::layer_norm(a, {}); });
  refuses("[layer_norm] weight of shape (2,) does not fit normalised shape (3,)",
          [&] { nn::layer_norm(a, {3}, of({2})); });
  refuses("[layer_norm] bias of shape (4,) does not fit normalised shape (3,)",
          [&] { nn::layer_norm(a, {3}, of({3}), of({4})); });
  refuses("[rms_norm] normalised shape (2, 2, 3) does not end shape (2, 3)", [&] { nn::rms_norm(a, {2, 2, 3}); });
  refuses("[embedding] weight must be (count, width), got (3,)", [&] { nn::embedding(of({3}), whole); });
  refuses("[dropout] p must lie in 0..1, got 1.5", [&] { nn::dropout(a, 1.5); });
  refuses("[dropout] p must lie in 0..1, got nan", [&] { nn::dropout(a, std::numeric_limits<double>::quiet_NaN()); });
}

TEST_F(Errors, Attention) {
  const auto attend = [](const Dims& q, const Dims& k, const Dims& v, const nn::AttentionOptions& options = {}) {
    nn::scaled_dot_product_attention(of(q), of(k), of(v), options);
  };
  refuses("[attention] query (2, 4, 8), key (2, 4, 6) and value (2, 4, 8) do not fit: query and key widths differ",
          [&] {
            attend({2, 4, 8}, {2, 4, 6}, {2, 4, 8});
          });
  refuses("[attention] query (2, 4, 8), key (2, 5, 8) and value (2, 4, 8) do not fit: key and value lengths differ",
          [&] {
            attend({2, 4, 8}, {2, 5, 8}, {2, 4, 8});
          });
  refuses(
      "[attention] query (4, 4, 8), key (2, 4, 8) and value (2, 4, 8) do not fit: the numbers of heads differ; set gqa "
      "to share "
      "key/value heads",
      [&] {
        attend({4, 4, 8}, {2, 4, 8}, {2, 4, 8});
      });
  refuses(
      "[attention] query (3, 4, 8), key (2, 4, 8) and value (2, 4, 8) do not fit: query heads must be a multiple of "
      "key/value heads",
      [&] {
        attend({3, 4, 8}, {2, 4, 8}, {2, 4, 8}, {.mask = {}, .causal = false, .scale = {}, .gqa = true});
      });
  refuses("[attention] query (2, 4, 8), key (2, 4, 8) and value (1, 4, 8) do not fit: key and value heads differ", [&] {
    attend({2, 4, 8}, {2, 4, 8}, {1, 4, 8});
  });
  refuses("[attention] query (5, 2, 4, 8), key (3, 2, 4, 8) and value (5, 2, 4, 8) do not fit: batch sizes differ",
          [&] {
            attend({5, 2, 4, 8}, {3, 2, 4, 8}, {5, 2, 4, 8});
          });
  refuses("[attention] query (4, 8), key (2, 4, 8) and value (2, 4, 8) must have the same rank, at least 2", [&] {
    attend({4, 8}, {2, 4, 8}, {2, 4, 8});
  });
  refuses("[attention] query (8,), key (8,) and value (8,) must have the same rank, at least 2",
          [&] { attend({8}, {8}, {8}); });
  nn::AttentionOptions masked;
  masked.mask = of({4, 3});
  refuses("[attention] shape (4, 3) does not broadcast to (2, 4, 4)", [&] {
    attend({2, 4, 8}, {2, 4, 8}, {2, 4, 8}, masked);
  });
  masked.mask = of({4, 4}, DType::i64);
  refuses("[attention] mask must be bool or floating-point, got i64; convert it with to(DType::boolean)", [&] {
    attend({2, 4, 8}, {2, 4, 8}, {2, 4, 8}, masked);
  });
  refuses("[attention] dtypes f32 and f16 differ", [&] {
    nn::scaled_dot_product_attention(of({4, 8}), of({4, 8}, DType::f16), of({4, 8}));
  });
}

TEST_F(Errors, CrossEntropy) {
  const Tensor logits = of({2, 3});
  refuses("[cross_entropy] input (2, 3) takes targets of shape (2,), got (3,)", [&] {
    nn::cross_entropy(logits, tensor({0, 1, 2}));
  });
  refuses("[cross_entropy] input (2, 3, 5) takes targets of shape (2, 5), got (2,)", [&] {
    nn::cross_entropy(of({2, 3, 5}), tensor({0, 1}));
  });
  refuses(
      "[cross_entropy] targets of f32 are probabilities of every class, of the input's shape (2, 3), and these have "
      "shape "
      "(2, 4); classes are i64",
      [&] {
        nn::cross_entropy(logits, of({2, 4}));
      });
  refuses("[cross_entropy] class targets are i32 or i64, got bool", [&] {
    nn::cross_entropy(logits, tensor({true, false}));
  });
  refuses("[cross_entropy] takes floating-point values, got i64; convert with to(DType::f32)", [&] {
    nn::cross_entropy(of({2, 3}, DType::i64), tensor({0, 1}));
  });
  refuses("[cross_entropy] takes at least one dim of classes", [&] { nn::cross_entropy(of({}), scalar(0)); });
  nn::CrossEntropyOptions options;
  options.weight = of({2});
  refuses("[cross_entropy] weight (2,) does not fit 3 classes", [&] {
    nn::cross_entropy(logits, tensor({0, 1}), options);
  });
  options = {};
  options.label_smoothing = 1.5;
  refuses("[cross_entropy] label_smoothing must lie in 0..1, got 1.5", [&] {
    nn::cross_entropy(logits, tensor({0, 1}), options);
  });
  options = {};
  options.reduction = nn::Reduction::batchmean;
  refuses("[cross_entropy] reduction batchmean is for kl_div", [&] {
    nn::cross_entropy(logits, tensor({0, 1}), options);
  });
}

TEST_F(Errors, OtherLosses) {
  refuses("[mse_loss] input (2, 3) and target (4, 3) differ in shape", [&] { nn::mse_loss(a, b); });
  refuses("[l1_loss] input (2, 3) and target (3,) differ in shape", [&] { nn::l1_loss(a, of({3})); });
  refuses("[huber_loss] delta must be positive, got 0", [&] { nn::huber_loss(a, a, 0); });
  refuses("[smooth_l1_loss] beta must not be negative, got -1", [&] { nn::smooth_l1_loss(a, a, -1); });
  refuses("[nll_loss] class targets are i32 or i64, got f32", [&] { nn::nll_loss(a, of({2})); });
  refuses("[mse_loss] takes floating-point values, got i64; convert with to(DType::f32)",
          [&] { nn::mse_loss(whole, whole); });
}

// ---- axes ----

TEST_F(Errors, AxesOutOfRange) {
  const auto text = [](const std::string& op, int64_t dim) {
    return "[" + op + "] dim " + std::to_string(dim) + " is out of range for a tensor of rank 2 (use -2 to 1)";
  };
  const std::pair<std::string, std::function<void(int64_t)>> ops[] = {
      {"size", [&](int64_t d) { a.size(d); }},
      {"sum", [&](int64_t d) { a.sum({d}); }},
      {"prod", [&](int64_t d) { prod(a, {d}); }},
      {"mean", [&](int64_t d) { a.mean({d}); }},
      {"amax", [&](int64_t d) { a.amax({d}); }},
      {"amin", [&](int64_t d) { a.amin({d}); }},
      {"max", [&](int64_t d) { max(a, d); }},
      {"min", [&](int64_t d) { min(a, d); }},
      {"argmax", [&](int64_t d) { a.argmax(d); }},
      {"argmin", [&](int64_t d) { a.argmin(d); }},
      {"var", [&](int64_t d) { var(a, {d}); }},
      {"any", [&](int64_t d) { any(a, {d}); }},
      {"norm", [&](int64_t d) { norm(a, 2, {d}); }},
      {"logsumexp", [&](int64_t d) { logsumexp(a, {d}); }},
      {"softmax", [&](int64_t d) { a.softmax(d); }},
      {"log_softmax", [&](int64_t d) { log_softmax(a, d); }},
      {"cumsum", [&](int64_t d) { cumsum(a, d); }},
      {"cumprod", [&](int64_t d) { cumprod(a, d); }},
      {"sort", [&](int64_t d) { sort(a, d); }},
      {"topk", [&](int64_t d) { topk(a, 1, d); }},
      {"transpose", [&](int64_t d) { a.transpose(0, d); }},
      {"permute",
       [&](int64_t d) {
         a.permute({0, d});
       }},
      {"flip", [&](int64_t d) { flip(a, {d}); }},
      {"squeeze", [&](int64_t d) { a.squeeze(d); }},
      {"flatten", [&](int64_t d) { a.flatten(d); }},
      {"slice", [&](int64_t d) { a.slice(d, 0, 1); }},
      {"narrow", [&](int64_t d) { a.narrow(d, 0, 1); }},
      {"select", [&](int64_t d) { a.select(d, 0); }},
      {"cat",
       [&](int64_t d) {
         cat({a, a}, d);
       }},
      {"split",
       [&](int64_t d) {
         a.split({1, 1}, d);
       }},
      {"chunk", [&](int64_t d) { a.chunk(2, d); }},
      {"unbind", [&](int64_t d) { unbind(a, d); }},
      {"roll", [&](int64_t d) { roll(a, 1, d); }},
      {"gather", [&](int64_t d) { gather(a, d, whole); }},
      {"index_select", [&](int64_t d) { index_select(a, d, tensor({0})); }},
      {"scatter_add", [&](int64_t d) { scatter_add(a, d, whole, a); }},
  };
  for (const auto& [op, record] : ops) {
    refuses(text(op, 2), [&] { record(2); });
    refuses(text(op, -3), [&] { record(-3); });
  }
  refuses("[unsqueeze] dim 3 is out of range for a tensor of rank 3 (use -3 to 2)", [&] { a.unsqueeze(3); });
  refuses("[unsqueeze] dim -4 is out of range for a tensor of rank 3 (use -3 to 2)", [&] { a.unsqueeze(-4); });
}

// PyTorch lets a 0-d tensor have the imaginary dims 0 and -1, and no others.
TEST_F(Errors, AxesOfASingleNumber) {
  const Tensor x = of({});
  const auto text = [](const std::string& op) { return "[" + op + "] dim 2 is out of range for a tensor of rank 0"; };
  refuses(text("sum"), [&] { x.sum({2}); });
  refuses(text("slice"), [&] { x.slice(2); });
  refuses(text("softmax"), [&] { x.softmax(2); });
  refuses(text("log_softmax"), [&] { log_softmax(x, 2); });
  refuses(text("cumsum"), [&] { cumsum(x, 2); });
  refuses(text("sort"), [&] { sort(x, 2); });
  refuses(text("argmax"), [&] { x.argmax(2); });
  refuses(text("squeeze"), [&] { x.squeeze(2); });
  refuses(text("transpose"), [&] { x.transpose(0, 2); });
}

TEST_F(Errors, AxesThatRepeat) {
  refuses("[sum] dim 1 appears more than once", [&] { a.sum({1, -1}); });
  refuses("[flip] dim 0 appears more than once", [&] { flip(a, {0, 0}); });
}

TEST_F(Errors, ReductionsWithoutElements) {
  const Tensor empty = zeros({2, 0});
  refuses("[amax] cannot reduce dim 1 of shape (2, 0): it is empty and amax has no identity", [&] { empty.amax({1}); });
  refuses("[amin] cannot reduce dim 1 of shape (2, 0): it is empty and amin has no identity", [&] { empty.amin({}); });
  refuses("[argmax] cannot search dim 1 of shape (2, 0): it is empty", [&] { empty.argmax(1); });
  refuses("[median] a tensor of shape (0,) has no median, and i64 has no NaN to say so",
          [&] { zeros({0}, int64).median(); });
  refuses("[topk] k = 4 does not lie in 0..3, the size of dim -1", [&] { topk(a, 4); });
  refuses("[topk] k = -1 does not lie in 0..3, the size of dim 1", [&] { topk(a, -1, 1); });
}

// ---- dtypes ----

TEST_F(Errors, OpsOnFloatsOnly) {
  const auto text = [](const std::string& op) {
    return "[" + op + "] takes floating-point values, got i64; convert with to(DType::f32)";
  };
  refuses(text("mean"), [&] { mean(whole); });
  refuses(text("var"), [&] { var(whole); });
  refuses(text("norm"), [&] { norm(whole); });
  refuses(text("softmax"), [&] { softmax(whole, 0); });
  refuses(text("log_softmax"), [&] { log_softmax(whole, 0); });
  refuses(text("leaky_relu"), [&] { leaky_relu(whole); });
  refuses(text("elu"), [&] { elu(whole); });
  refuses(text("softplus"), [&] { softplus(whole); });
  refuses(text("silu"), [&] { silu(whole); });
  refuses(text("mish"), [&] { mish(whole); });
  refuses(text("hardswish"), [&] { hardswish(whole); });
  refuses(text("gelu"), [&] { gelu(whole); });
  refuses(text("layer_norm"), [&] { nn::layer_norm(whole, {2}); });
  refuses(text("rms_norm"), [&] { nn::rms_norm(whole, {2}); });
  refuses(text("dropout"), [&] { nn::dropout(whole); });
  refuses(text("bernoulli"), [&] { bernoulli(whole); });
  refuses(text("multinomial"), [&] { multinomial(whole, 1); });
  refuses("[normal_] takes floating-point values, got i64; convert with to(DType::f32)",
          [&] { zeros({2}, DType::i64).normal_(); });
  refuses("[uniform_] takes floating-point values, got i64; convert with to(DType::f32)",
          [&] { zeros({2}, DType::i64).uniform_(); });
  refuses("[rand] makes floating-point values, not i64", [&] { rand({2}, DType::i64); });
  refuses("[randn] makes floating-point values, not bool", [&] { randn({2}, DType::boolean); });
}

TEST_F(Errors, OpsOnIntegersOnly) {
  refuses("[bitwise_and] takes integers or bool, got f32", [&] { a & 1; });
  refuses("[bitwise_or] takes integers or bool, got f32", [&] { whole | 1.5; });
  refuses("[bitwise_xor] takes integers or bool, got f32", [&] { a ^ a; });
  refuses("[bitwise_not] takes integers or bool, got f32", [&] { bitwise_not(a); });
  refuses("[shl] takes integers, got f32", [&] { a << 1; });
  refuses("[one_hot] takes integers, got f32", [&] { one_hot(a, 3); });
  refuses("[one_hot] the number of classes must be positive, got 0", [&] { one_hot(whole, 0); });
}

TEST_F(Errors, ProductsOfDifferentDtypes) {
  refuses("[matmul] dtypes f32 and f64 differ; convert one with to()", [&] { matmul(a, of({3, 2}, DType::f64)); });
  refuses("[matmul] dtypes f16 and bf16 differ; convert one with to()",
          [&] { matmul(of({3}, DType::f16), of({3}, DType::bf16)); });
  refuses("[matmul] dtypes f32 and i64 differ; convert one with to()", [&] { matmul(a, of({3, 2}, DType::i64)); });
  refuses("[matmul] is not defined on bool", [&] { matmul(yes, yes); });
}

TEST_F(Errors, ConditionsAreBool) {
  refuses("[where] the condition must be bool, got f32", [&] { where(a, a, a); });
  refuses("[where] the condition must be bool, got u8", [&] { where(of({2}, DType::u8), 1, 2); });
  refuses("[masked_fill] the mask must be bool, got i64", [&] { masked_fill(whole, whole, 0); });
}

TEST_F(Errors, IndicesAreIntegers) {
  refuses("[gather] indices are i32 or i64, got f32", [&] { gather(a, 0, a); });
  refuses("[index_select] indices are i32 or i64, got u8", [&] { index_select(a, 0, of({1}, DType::u8)); });
  refuses("[scatter_add] indices are i32 or i64, got bool", [&] { scatter_add(a, 0, a > 0, a); });
  refuses("[scatter_add] dtypes f32 and f64 differ", [&] { scatter_add(a, 0, whole, a.to(DType::f64)); });
  refuses("[embedding] indices are i32 or i64, got f32", [&] { nn::embedding(a, a); });
  refuses("[index] tensors of positions are integers, got f32", [&] { a.index({of({1})}); });
}

TEST_F(Errors, IntegersToNegativePowers) {
  refuses("[pow] integers to negative powers are not integers; convert to a float dtype first",
          [&] { pow(whole, -1); });
  refuses("[pow] is not defined on bool", [&] { pow(yes, yes); });
}

TEST_F(Errors, FunctionsOfRealNumbersTakeBool) {
  EXPECT_EQ(error_of([&] { exp(yes); }), "no error");
  EXPECT_EQ(exp(yes).dtype(), DType::f32);
}

TEST_F(Errors, UnknownDtypeNamesTheNearest) {
  refuses("[dtype] unknown dtype 'bf61', did you mean 'bf16'?; known: f32 f16 bf16 f64 i32 i64 u8 bool",
          [&] { parse_dtype("bf61"); });
  refuses("[dtype] unknown dtype 'quaternion'; known: f32 f16 bf16 f64 i32 i64 u8 bool",
          [&] { parse_dtype("quaternion"); });
}

// A real that no integer equals is not a value for an integer tensor: PyTorch says it would overflow.
TEST_F(Errors, NonFiniteNumbersDoNotBecomeIntegers) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(full({2}, infinity, DType::i64), Error);
  EXPECT_THROW(masked_fill(whole, whole > 1, -infinity), Error);
  EXPECT_THROW(whole.clone().fill_(std::numeric_limits<double>::quiet_NaN()), Error);
}

// ---- devices ----

TEST_F(Errors, UnknownDeviceNamesTheNearest) {
  std::vector<std::string> useful = device::names();
  std::erase_if(useful, [](const std::string& name) { return device::is_for_tests(device::find(name)); });
  const std::string known = fmt::format("auto {}", fmt::join(useful, " "));
  refuses("[device] unknown device 'refrence', did you mean 'reference'?; known: " + known,
          [&] { Device("refrence"); });
  refuses("[device] unknown device 'gpu', did you mean 'auto'?; known: " + known, [&] { zeros({2}, Device("gpu")); });
  refuses("[device] unknown device 'abacus'; known: " + known, [&] { zeros({2}, Device("abacus")); });
  refuses("[device] unknown device ''; known: " + known, [&] { a.to(""); });
}

TEST_F(Errors, TensorsOnDifferentDevices) {
  const Tensor far = zeros({2, 3}, Device("null"));
  const Tensor far_index = zeros({2, 3}, Options(DType::i64, "null"));
  const auto text = [&](const std::string& op) {
    return "[" + op + "] tensors are on devices " + here + " and null; move one with to()";
  };
  refuses(text("add"), [&] { a + far; });
  refuses(text("lt"), [&] { a < far; });
  refuses(text("where"), [&] { where(a > 0, a, far); });
  refuses(text("masked_fill"), [&] { masked_fill(a, far > 0, 0); });
  refuses(text("matmul"), [&] { matmul(a, far.t()); });
  refuses(text("cat"), [&] { cat({a, far}); });
  refuses(text("gather"), [&] { gather(a, 0, far_index); });
  refuses(text("index_select"), [&] { index_select(a, 0, far_index.select(0, 0)); });
  refuses(text("scatter_add"), [&] { scatter_add(a, 0, whole, far); });
  refuses(text("embedding"), [&] { nn::embedding(a, far_index); });
  refuses(text("attention"), [&] { nn::scaled_dot_product_attention(a, far, far); });
  refuses(text("cross_entropy"), [&] { nn::cross_entropy(a, far_index.select(1, 0)); });
  refuses(text("equal"), [&] { equal(a, far); });
  refuses(text("einsum"), [&] { einsum("ij,ij->", {a, far}); });
}

TEST_F(Errors, AGradientFromAnotherDevice) {
  Tensor x = of({2}).requires_grad_();
  const Tensor far = zeros({2}, Device("null"));
  EXPECT_THROW(x.set_grad(far), Error);
  EXPECT_THROW((x * 2).backward(far), Error);
  EXPECT_FALSE(x.grad().defined());
}

// ---- indices ----

TEST_F(Errors, PositionsOutOfRange) {
  refuses("[select] index 2 is out of range for dim 0 of size 2", [&] { a[2]; });
  refuses("[select] index -3 is out of range for dim 0 of size 2", [&] { a[-3]; });
  refuses("[select] index 3 is out of range for dim -1 of size 3", [&] { a.select(-1, 3); });
  refuses("[select] a single number has no elements to select", [&] { of({})[0]; });
  refuses("[select] index 0 is out of range for dim 0 of size 0", [&] { of({0})[0]; });
  refuses("[narrow] 2 elements from 2 do not fit dim 1 of size 3", [&] { a.narrow(1, 2, 2); });
  refuses("[narrow] 1 elements from -4 do not fit dim 1 of size 3", [&] { a.narrow(1, -4, 1); });
  refuses("[narrow] -1 elements from 0 do not fit dim 1 of size 3", [&] { a.narrow(1, 0, -1); });
  refuses("[slice] step must not be 0", [&] { a.slice(0, 0, 2, 0); });
}

TEST_F(Errors, IndexExpressions) {
  refuses("[index] 3 indices for a tensor of rank 2", [&] { a.index({0, 0, 0}); });
  refuses("[index] an index holds at most one Ellipsis", [&] { a.index({Ellipsis(), Ellipsis()}); });
  refuses("[select] index 5 is out of range for dim 0 of size 2", [&] { a.index({5}); });
  refuses("[select] index 3 is out of range for dim 0 of size 3", [&] { a.index({1, 3}); });
  refuses("[slice] step must not be 0", [&] { a.index({Slice({}, {}, 0)}); });
}

TEST_F(Errors, IndicesFromTheHostAreCheckedAtOnce) {
  refuses("[gather] index 3 is out of range for dim 0 of size 2", [&] { gather(a, 0, tensor({{0, 3, 1}})); });
  refuses("[gather] index -1 is out of range for dim 1 of size 3", [&] { gather(a, 1, tensor({{0}, {-1}})); });
  refuses("[index_select] index 2 is out of range for dim 0 of size 2", [&] { index_select(a, 0, tensor({0, 2})); });
  refuses("[index_select] index 9 is out of range for dim -1 of size 3",
          [&] { index_select(a, -1, tensor({9}, DType::i32)); });
  refuses("[scatter_add] index 2 is out of range for dim 0 of size 2", [&] {
    scatter_add(a, 0, tensor({{2}}), of({1, 1}));
  });
  refuses("[embedding] index 2 is out of range for dim 0 of size 2", [&] { nn::embedding(a, tensor({1, 2})); });
  refuses("[embedding] index 7 is out of range for dim 0 of size 2", [&] { nn::embedding(a, arange(8)); });
  refuses("[index] index -3 is out of range for dim 0 of size 2", [&] { a[tensor({1, -3})]; });
  refuses("[index] index -4 is out of range for dim 1 of size 3", [&] { a.index({tensor({1}), tensor({-4})}); });
  refuses("[index] index 2 is out of range for dim 0 of size 2", [&] { a[tensor({2})] = 1; });
  refuses("[take] index -7 is out of range for dim 0 of size 6", [&] { a.take(tensor({-7})); });
  refuses("[one_hot] index 4 is out of range for dim -1 of size 4", [&] { one_hot(tensor({0, 4}), 4); });
  refuses("[cross_entropy] target 3 is out of range for 3 classes", [&] { nn::cross_entropy(a, tensor({0, 3})); });
  refuses("[cross_entropy] target -1 is out of range for 3 classes", [&] { nn::cross_entropy(a, tensor({0, -1})); });
  refuses("[nll_loss] target 5 is out of range for 3 classes", [&] { nn::nll_loss(a, tensor({0, 5})); });
}

TEST_F(Errors, AHostIndexIsKnownThroughViewsAndConversions) {
  const std::string text = "[embedding] index 9 is out of range for dim 0 of size 2";
  const Tensor index = tensor({{0, 1}, {9, 1}});
  refuses(text, [&] { nn::embedding(a, index.t()); });
  refuses(text, [&] { nn::embedding(a, index.reshape({4})); });
  refuses(text, [&] { nn::embedding(a, index.to(DType::i32)); });
  refuses(text, [&] { nn::embedding(a, index.clone()); });
  refuses(text, [&] { nn::embedding(a, index.unsqueeze(0).squeeze()); });
}

TEST_F(Errors, AConversionThatWrapsForgetsWhatWasKnownOfAnIndex) {
  const Tensor wraps = tensor({int64_t{1} << 32, (int64_t{1} << 32) + 1}).to(DType::i32);
  EXPECT_EQ(nn::embedding(a, wraps).to_vector<double>(), Reals({0, 1, 2, 3, 4, 5}));
}

TEST_F(Errors, AWriteForgetsWhatWasKnownOfAnIndex) {
  Tensor index = tensor({9, 1});
  const Tensor view = index.reshape({2, 1});
  index.fill_(1);
  EXPECT_EQ(nn::embedding(a, view).to_vector<double>(), Reals({3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(nn::embedding(a, index).to_vector<double>(), Reals({3, 4, 5, 3, 4, 5}));
}

// What the device finds is named as it was given, with the axis and size that the program knows.
TEST(IndexErrors, APositionFoundByTheDeviceIsTheOneThatWasGiven) {
  for (const char* name : {"cpu", "remote", "simulated"}) {
    const Options options(int64, Device(name));
    const Tensor x = arange(12, options).reshape({3, 4}).eval(), two = full({1}, 2, options).clone().eval();
    const auto text = [](const Tensor& made) { return error_of([&] { made.to_vector<int64_t>(); }); };
    EXPECT_EQ(text(x[two - 6]), "[index_select] index -4 is out of range for axis 0 of size 3") << name;
    EXPECT_EQ(text(x[two + 9]), "[index_select] index 11 is out of range for axis 0 of size 3") << name;
    EXPECT_EQ(text(x.index({two - 1, two - 7})), "[gather] index -5 is out of range for axis 1 of size 4") << name;
    EXPECT_EQ(text(gather(x, 1, (two + 3).reshape({1, 1}))), "[gather] index 5 is out of range for axis 1 of size 4");
    EXPECT_EQ(x.index({two - 3, two - 6}).to_vector<int64_t>(), std::vector<int64_t>{8}) << name;
  }
}

// Both ends of the targets' range may be the ignored class while something between them is out of range.
TEST_F(Errors, ABadHostTargetIsFoundBesideIgnoredOnes) {
  const Tensor logits = of({3, 3});
  refuses("[cross_entropy] target -5 is out of range for 3 classes", [&] {
    nn::cross_entropy(logits, tensor({-100, -5, 1}));
  });
  nn::CrossEntropyOptions options;
  options.ignore_index = 7;
  refuses("[cross_entropy] target 5 is out of range for 3 classes", [&] {
    nn::cross_entropy(logits, tensor({0, 5, 7}), options);
  });
}

TEST_F(Errors, AComputedIndexIsRaisedWhenRead) {
  const Tensor computed = tensor({0, 1}) * 5;
  const Tensor rows = index_select(a, 0, computed), words = nn::embedding(a, computed);
  EXPECT_EQ(error_of([&] { rows.to_vector<float>(); }), "[index_select] index 5 is out of range for axis 0 of size 2");
  EXPECT_EQ(error_of([&] { sum(words).item<float>(); }), "[embedding] index 5 is out of range for axis 0 of size 2");
  EXPECT_EQ(error_of([&] { rows.to_vector<float>(); }), "[index_select] index 5 is out of range for axis 0 of size 2");
}

// Within dim 1, position 4 of a row of 3 must not read the next row.
TEST_F(Errors, AComputedIndexAlongAnInnerDimIsRaisedWhenRead) {
  const Tensor past_end = tensor({{4}, {0}}) + 0, before_start = tensor({{0}, {-1}}) + 0;
  EXPECT_THROW(gather(a, 1, past_end).to_vector<float>(), Error);
  EXPECT_THROW(gather(a, 1, before_start).to_vector<float>(), Error);
  EXPECT_THROW(scatter_add(a, 1, past_end, of({2, 1})).to_vector<float>(), Error);
  EXPECT_THROW(scatter_add(a, 1, before_start, of({2, 1})).to_vector<float>(), Error);
}

TEST_F(Errors, AComputedTargetIsRaisedWhenRead) {
  const Tensor target = tensor({0, 1}) * 5;
  EXPECT_THROW(nn::cross_entropy(a, target).item<float>(), Error);
  EXPECT_THROW(one_hot(target, 3).to_vector<int64_t>(), Error);
}

// Run at once, the pick would fail before the write: a failed step changes nothing.
TEST_F(Errors, AFailedWriteLeavesTheOldValue) {
  Tensor state = tensor({1.0, 2.0, 3.0});
  state.copy_(index_select(a, 0, tensor({0, 1}) * 5).select(0, 1));
  EXPECT_THROW(state.to_vector<float>(), Error);
  Reals kept;
  EXPECT_EQ(error_of([&] { kept = state.to_vector<double>(); }), "no error");
  EXPECT_EQ(kept, Reals({1, 2, 3}));
}

TEST_F(Errors, GatherShapes) {
  refuses("[gather] an index of shape (2,) does not fit (2, 3) along dim 0", [&] { gather(a, 0, tensor({0, 1})); });
  refuses("[gather] an index of shape (3, 1) does not fit (2, 3) along dim 1", [&] {
    gather(a, 1, tensor({{0}, {0}, {0}}));
  });
  refuses("[scatter_add] an index of shape (2, 2) needs more than a source of (1, 2)", [&] {
    scatter_add(a, 1, tensor({{0, 1}, {0, 1}}), of({1, 2}));
  });
  refuses("[index_select] the index must be a vector, got shape (2, 2)", [&] { index_select(a, 0, whole); });
}

// ---- making tensors ----

TEST_F(Errors, Creation) {
  refuses("[tensor] 3 values given, a tensor of shape (2, 2) takes 4", [&] { from_vector<float>({1, 2, 3}, {2, 2}); });
  refuses("[tensor] rows of 2 and 1 elements", [&] { tensor({{1, 2}, {3}}); });
  refuses("[tensor] shape (-1,) has a negative size", [&] { from_vector<float>({1}, {-1}); });
  refuses("[zeros] shape (2, -1) has a negative size", [&] { zeros({2, -1}); });
  refuses("[eye] shape (-1, 2) has a negative size", [&] { eye(-1, 2); });
  refuses("[arange] step must not be 0", [&] { arange(0, 5, 0); });
  refuses("[arange] from 0 to 5 in steps of -1 never arrives", [&] { arange(0, 5, -1); });
  refuses("[arange] from 5 to 0 in steps of 1 never arrives", [&] { arange(5, 0); });
  refuses("[arange] start, end and step must be finite", [&] { arange(std::numeric_limits<double>::infinity()); });
  refuses("[linspace] the number of steps must not be negative, got -1", [&] { linspace(0, 1, -1); });
  refuses("[randint] no integers between 5 and 5", [&] { randint(5, 5, {2}); });
  refuses("[randint] a range of 2147483649 is wider than 2^31", [&] { randint(0, 2147483649, {2}); });
  refuses("[randperm] n must not be negative, got -1", [&] { randperm(-1); });
  refuses("[multinomial] takes a vector or a matrix of weights, got shape (1, 2, 3)", [&] {
    multinomial(of({1, 2, 3}), 1);
  });
  refuses("[multinomial] the number of samples must be positive, got 0", [&] { multinomial(a, 0); });
  refuses("[multinomial] cannot draw 4 samples of 3 categories without replacement", [&] { multinomial(a, 4); });
}

TEST_F(Errors, RandomTensorsOfNegativeSize) {
  refuses("[rand] shape (-1,) has a negative size", [&] { rand({-1}); });
  refuses("[rand] shape (2, -1) has a negative size", [&] { rand({2, -1}); });
  refuses("[randn] shape (-1, -1) has a negative size", [&] { randn({-1, -1}); });
  refuses("[randint] shape (-3,) has a negative size", [&] { randint(0, 5, {-3}); });
}

TEST_F(Errors, ReadingOneNumberOfMany) {
  refuses("[item] a tensor of shape (2, 3) is not a single number", [&] { a.item<float>(); });
  refuses("[item] a tensor of shape (0,) is not a single number", [&] { of({0}).item<float>(); });
  EXPECT_EQ(of({1, 1}).item<float>(), 1);
}

TEST_F(Errors, Options) {
  refuses("[gelu] approximate is 'none' or 'tanh', got 'sigmoid'", [&] { gelu(a, "sigmoid"); });
  refuses("[clamp] takes min, max or both", [&] { clamp(a, {}, {}); });
}

// ---- undefined tensors ----

TEST_F(Errors, UndefinedTensors) {
  const std::string text = "[tensor] this tensor is undefined; assign one before using it";
  const Tensor none;
  refuses(text, [&] { none.shape(); });
  refuses(text, [&] { none.dtype(); });
  refuses(text, [&] { none.to_vector<float>(); });
  refuses(text, [&] { exp(none); });
  refuses(text, [&] { sum(none); });
  refuses(text, [&] { none.reshape({1}); });
  refuses(text, [&] { none[0]; });
  refuses(text, [&] { none.detach(); });
  refuses(text, [&] { matmul(a, none); });
  refuses(text, [&] { cat({a, none}); });
  refuses(text, [&] { stack({none, a}); });
  refuses(text, [&] { where(none, a, a); });
  refuses(text, [&] { gather(a, 0, none); });
  refuses(text, [&] { nn::linear(a, none); });
  refuses(text, [&] { Tensor().requires_grad_(); });
  refuses(text, [&] { Tensor().backward(); });
  refuses(text, [&] { Tensor().fill_(1); });
  EXPECT_EQ(none.to_string(), "undefined");
  EXPECT_FALSE(none.defined());
}

// An operand is a tensor or a number: an undefined tensor is neither, and least of all the number 0.
TEST_F(Errors, UndefinedTensorsAsOperands) {
  const std::string text = "[tensor] this tensor is undefined; assign one before using it";
  const Tensor none;
  refuses(text, [&] { a + none; });
  refuses(text, [&] { mul(none, a); });
  refuses(text, [&] { maximum(a, none); });
  refuses(text, [&] { a == none; });
  refuses(text, [&] { pow(a, none); });
  refuses(text, [&] { where(a > 0, a, none); });
  refuses(text, [&] { a.clone().copy_(none); });
  refuses(text, [&] { a.clone().add_(none); });
}

// ---- gradients ----

TEST_F(Errors, OnlyFloatsRequireGrad) {
  refuses("[requires_grad_] only floating-point tensors can require grad, this one is i64", [&] {
    tensor({1, 2}).requires_grad_();
  });
  refuses("[requires_grad_] only floating-point tensors can require grad, this one is bool",
          [&] { tensor({true}).requires_grad_(); });
  Options options(DType::i32);
  options.requires_grad = true;
  refuses("[requires_grad_] only floating-point tensors can require grad, this one is i32",
          [&] { zeros({2}, options); });
}

TEST_F(Errors, OnlyLeavesStopRequiringGrad) {
  Tensor x = of({2}).requires_grad_();
  Tensor y = x * 2;
  refuses("[requires_grad_] only leaves can stop requiring grad; use detach()", [&] { y.requires_grad_(false); });
  EXPECT_TRUE(y.requires_grad());
}

TEST_F(Errors, WritingALeafThatRequiresGrad) {
  Tensor x = of({2, 2}).requires_grad_();
  const std::string text = "[write] a leaf that requires grad cannot be written in place; put the update under NoGrad";
  refuses(text, [&] { x.add_(1); });
  refuses(text, [&] { x.fill_(1); });
  refuses(text, [&] { x.zero_(); });
  refuses(text, [&] { x.copy_(of({2, 2})); });
  refuses(text, [&] { x[0].mul_(2); });
  refuses(text, [&] { x.t().zero_(); });
  refuses(text, [&] { x.index_put_({0, 1}, 5); });
  EXPECT_EQ(x.to_vector<double>(), Reals({1, 1, 1, 1}));
  NoGrad update;
  x.add_(1);
  EXPECT_EQ(x.to_vector<double>(), Reals({2, 2, 2, 2}));
  EXPECT_TRUE(x.requires_grad());
}

TEST_F(Errors, ALeafMadeByDetachIsALeafLikeAnyOther) {
  Tensor x = of({2}).detach().requires_grad_();
  refuses("[write] a leaf that requires grad cannot be written in place; put the update under NoGrad",
          [&] { x.add_(1); });
}

TEST_F(Errors, WritingThroughAnExpandedView) {
  Tensor row = of({1, 3});
  const std::string text = "[write] several elements of this expanded view are one element of memory; clone() it first";
  refuses(text, [&] { row.expand({2, 3}).fill_(0); });
  refuses(text, [&] { row.expand({2, 3}).add_(1); });
  refuses(text, [&] { row.expand({2, 3}).t().zero_(); });
  refuses(text, [&] { row.expand({2, 3}).narrow(1, 0, 2).zero_(); });
  refuses(text, [&] { scalar(1.0).expand({4}).zero_(); });
  EXPECT_EQ(row.to_vector<double>(), Reals({1, 1, 1}));
  row.expand({2, 3})[1].fill_(7);  // one row of it is memory of its own
  EXPECT_EQ(row.to_vector<double>(), Reals({7, 7, 7}));
}

TEST_F(Errors, Backward) {
  Tensor x = of({2, 3}).requires_grad_();
  refuses("[backward] a tensor of shape (2, 3) is not a single number: pass its gradient", [&] { (x * 2).backward(); });
  refuses("[backward] a gradient of shape (3,) does not fit (2, 3)", [&] { (x * 2).backward(of({3})); });
  refuses("[backward] this tensor does not depend on any that requires grad", [&] { sum(a).backward(); });
  refuses("[backward] this tensor does not depend on any that requires grad", [&] { sum(x.detach()).backward(); });
  refuses("[backward] this tensor does not depend on any that requires grad", [&] {
    NoGrad off;
    sum(x).backward();
  });
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(Errors, BackwardTwice) {
  Tensor x = of({2}).requires_grad_();
  Tensor loss = sum(x * x);
  loss.backward();
  refuses("[backward] the graph of this tensor was used up by an earlier backward(); pass retain_graph to keep it",
          [&] { loss.backward(); });
  EXPECT_EQ(x.grad().to_vector<double>(), Reals({2, 2}));
  EXPECT_EQ(loss.item<double>(), 2);
}

TEST_F(Errors, Grad) {
  Tensor x = of({2}).requires_grad_(), y = of({2}).requires_grad_();
  const Tensor loss = sum(x * x), vector = x * 2;
  const Tensor losses[] = {loss}, vectors[] = {vector}, both[] = {x, y}, constants[] = {a};
  refuses("[grad] input 1 plays no part in the outputs; set allow_unused to get an undefined tensor",
          [&] { grad(losses, both); });
  refuses("[grad] output 0 of shape (2,) is not a single number: pass its gradient", [&] { grad(vector, x); });
  refuses("[grad] output 0 does not depend on any tensor that requires grad", [&] { grad(sum(a), x); });
  refuses("[grad] input 0 does not require grad", [&] { grad(losses, constants); });
  GradOptions options;
  options.grad_outputs = {of({3})};
  refuses("[grad] a gradient of shape (3,) does not fit output 0 of (2,)", [&] { grad(vectors, both, options); });
  const Tensor elsewhere = ones({2}, Device("reference"));
  options.grad_outputs = {elsewhere};
  refuses("[grad] a gradient on reference does not fit output 0 on cpu; move it with to()",
          [&] { grad(vectors, both, options); });
  refuses("[backward] a gradient on reference does not fit a tensor on cpu; move it with to()",
          [&] { (x * 2).backward(elsewhere); });
  options.grad_outputs = {of({2}), of({2})};
  refuses("[grad] 2 gradients given for 1 outputs", [&] { grad(vectors, both, options); });
}

TEST_F(Errors, SetGrad) {
  Tensor x = of({2}).requires_grad_();
  refuses("[set_grad] a gradient of f32(3,) does not fit a tensor of f32(2,)", [&] { x.set_grad(of({3})); });
  refuses("[set_grad] a gradient of f64(2,) does not fit a tensor of f32(2,)",
          [&] { x.set_grad(of({2}, DType::f64)); });
  refuses("[set_grad] only leaves that require grad hold one", [&] { of({2}).set_grad(of({2})); });
}

TEST_F(Errors, CustomFunctions) {
  CustomFunction nothing{"nothing", [](std::span<const Tensor>) { return std::vector<Tensor>(); }, {}};
  refuses("[nothing] forward() returned no tensor", [&] { apply(nothing, a); });
}

// ---- what must not be refused ----

// torch.cat lets an empty vector stand beside anything: programs start a list with it.
TEST_F(Errors, CatIgnoresEmptyVectors) {
  Tensor joined;
  ASSERT_EQ(error_of([&] { joined = cat({zeros({0}), a, b}); }), "no error");
  EXPECT_EQ(joined.shape(), (Dims{6, 3}));
  EXPECT_EQ(cat({zeros({0}, DType::f64), ones({2}, DType::i32)}).dtype(), DType::f64);  // its type counts
}

// '...' may stand for fewer axes in one operand than in another; they broadcast from the right.
TEST_F(Errors, EinsumBroadcastsEllipsesOfDifferentRank) {
  const Tensor v = tensor({1.0, 2.0, 3.0});
  Tensor left, right;
  ASSERT_EQ(error_of([&] { left = einsum("...i,...i->...", {a, v}); }), "no error");
  EXPECT_EQ(left.to_vector<double>(), Reals({8, 26}));
  ASSERT_EQ(error_of([&] { right = einsum("...i,...i->...", {v, a}); }), "no error");
  EXPECT_EQ(right.to_vector<double>(), Reals({8, 26}));
}

}  // namespace
}  // namespace tenon
