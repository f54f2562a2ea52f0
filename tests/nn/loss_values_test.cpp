// Every loss and its gradient, next to PyTorch's.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

using nn::Reduction;

/// What the rows work on.
struct In {
  Tensor x = tensor({{-1.5, 0.25, 2.}, {3., -0.5, 1.}}), y = tensor({{2., -1., 0.5}, {1., 4., -2.}});
  Tensor z = tensor({{0.5, 1., -1.}, {2., 0.5, 0.25}});
  Tensor p = tensor({{0.9, 0.2, 0.5}, {0.25, 0.75, 0.1}}), t = tensor({{1., 0., 0.5}, {0., 1., 1.}});  // probabilities
  Tensor lp = log_softmax(x, 1);
  Tensor w = tensor({0.5, 1., 2.});  // weights of classes
  Tensor k = tensor({2, 0});         // classes
  Tensor d = tensor({1, -1});        // alike, or not
  Tensor g = tensor({{1., -1., 1.}, {-1., 1., -1.}});
};

struct Loss {
  std::string name;
  Tensor In::*input;  // gets the gradient
  Tensor (*f)(const Tensor& x, const In& in);
  std::string shape;
  Floats values, slopes;  // slopes of the sum
};

std::vector<Loss> losses() {
  // clang-format off
  return {
      {"poisson", &In::x, [](const Tensor& x, const In& t) { return nn::poisson_nll_loss(x, t.p * 4.0); }, "()", {5.2677598}, {-0.562811673, 0.0806709081, 0.898176074, 3.18092275, -0.398911536, 0.386380315}},
      {"poisson_full_none", &In::p, [](const Tensor& x, const In& t) { return nn::poisson_nll_loss(x, t.t * 5.0, {.log_input = false, .full = true, .reduction = Reduction::none}); }, "(2, 3)", {6.19764996, 0.200000003, 3.40067863, 0.25, 6.9592576, 16.3837719}, {-4.55555582, 1, -4, 1, -5.66666651, -48.9999962}},
      {"gaussian", &In::x, [](const Tensor& x, const In& t) { return nn::gaussian_nll_loss(x, t.y, t.p); }, "()", {12.7115927}, {-0.648148179, 1.04166675, 0.5, 1.33333337, -1, 5}},
      {"gaussian_variance_sum", &In::p, [](const Tensor& x, const In& t) { return nn::gaussian_nll_loss(t.x, t.y, x, {.full = true, .reduction = Reduction::sum}); }, "()", {81.7831802}, {-7.00617313, -17.03125, -3.5, -30, -17.333334, -445}},
      {"gaussian_number", &In::x, [](const Tensor& x, const In& t) { return nn::gaussian_nll_loss(x, t.y, 0.5, {.reduction = Reduction::none}); }, "(2, 3)", {11.9034262, 1.21592641, 1.90342641, 3.65342641, 19.9034271, 8.65342617}, {-7, 2.5, 3, 4, -9, 6}},
      {"multilabel_margin", &In::x, [](const Tensor& x, const In& t) { (void)t; return nn::multilabel_margin_loss(x, tensor({{2, 0, -1}, {1, -1, 0}}), Reduction::none); }, "(2,)", {0.916666687, 2.33333325}, {-0.333333343, 0.333333343, 0, 0.333333343, -0.666666687, 0.333333343}},
      {"multilabel_margin_of_one", &In::x, [](const Tensor& x, const In& t) { (void)t; return nn::multilabel_margin_loss(x[0], tensor({2, 0, -1})); }, "()", {0.916666687}, {-0.333333343, 0.333333343, 0, 0, 0, 0}},
      {"multilabel_soft_margin", &In::x, [](const Tensor& x, const In& t) { return nn::multilabel_soft_margin_loss(x, t.t); }, "()", {1.33170104}, {-0.136262417, 0.0936960801, 0.0634661838, 0.158762366, -0.103743218, -0.044823572}},
      {"multilabel_soft_margin_weight", &In::x, [](const Tensor& x, const In& t) { return nn::multilabel_soft_margin_loss(x, t.t, t.w, Reduction::none); }, "(2,)", {1.31016743, 1.04163134}, {-0.136262417, 0.18739216, 0.253864735, 0.158762366, -0.207486436, -0.179294288}},
      {"mse_none", &In::x, [](const Tensor& x, const In& t) { return nn::mse_loss(x, t.y, Reduction::none); }, "(2, 3)", {12.25, 1.5625, 2.25, 4, 20.25, 9}, {-7, 2.5, 3, 4, -9, 6}},
      {"l1_none", &In::x, [](const Tensor& x, const In& t) { return nn::l1_loss(x, t.y, Reduction::none); }, "(2, 3)", {3.5, 1.25, 1.5, 2, 4.5, 3}, {-1, 1, 1, 1, -1, 1}},
      {"huber_none", &In::x, [](const Tensor& x, const In& t) { return nn::huber_loss(x, t.y, 1.5, Reduction::none); }, "(2, 3)", {4.125, 0.78125, 1.125, 1.875, 5.625, 3.375}, {-1.5, 1.25, 1.5, 1.5, -1.5, 1.5}},
      {"smooth_l1_none", &In::x, [](const Tensor& x, const In& t) { return nn::smooth_l1_loss(x, t.y, 2, Reduction::none); }, "(2, 3)", {2.5, 0.390625, 0.5625, 1, 3.5, 2}, {-1, 0.625, 0.75, 1, -1, 1}},
      {"bce_none", &In::p, [](const Tensor& x, const In& t) { return nn::binary_cross_entropy(x, t.t, {.weight = t.w, .reduction = Reduction::none}); }, "(2, 3)", {0.0526802726, 0.223143563, 1.38629436, 0.143841028, 0.287682086, 4.60517025}, {-0.555555582, 1.24999988, 0, 0.666666687, -1.33333337, -20}},
      {"bce_with_logits_none", &In::x, [](const Tensor& x, const In& t) { return nn::binary_cross_entropy_with_logits(x, t.t, {.weight = t.w, .pos_weight = t.w * 3.0, .reduction = Reduction::none}); }, "(2, 3)", {1.27605999, 0.825939417, 2.88849616, 1.52429366, 2.92223096, 3.75914025}, {-0.613180876, 0.562176526, 0.165579319, 0.476287067, -1.867378, -3.22729683}},
      {"nll_none", &In::lp, [](const Tensor& x, const In& t) { return nn::nll_loss(x, t.k, {.weight = t.w, .reduction = Reduction::none}); }, "(2,)", {0.371251166, 0.0765891224}, {0, 0, -2, -0.5, 0, 0}},
      {"cross_entropy_none", &In::x, [](const Tensor& x, const In& t) { return nn::cross_entropy(x, t.k, {.weight = t.w, .ignore_index = 0, .reduction = Reduction::none, .label_smoothing = 0.1}); }, "(2,)", {0.472449064, 0}, {0.0314061679, 0.243306741, -0.274713039, 0, 0, 0}},
      {"cross_entropy_soft_none", &In::x, [](const Tensor& x, const In& t) { return nn::cross_entropy(x, softmax(t.y, 1), {.weight = t.w, .reduction = Reduction::none, .label_smoothing = 0.2}); }, "(2,)", {1.54743981, 3.3241365}, {-0.326018959, 0.0260733124, 0.299945593, 0.819696128, -0.800600111, -0.0190960541}},
      {"kl_div_none", &In::lp, [](const Tensor& x, const In& t) { return nn::kl_div(x, softmax(t.y, 1), Reduction::none); }, "(2, 3)", {2.70584297, -0.0510687307, -0.272696763, -0.137105435, 3.42331052, -0.00918171089}, {-0.785597026, -0.0391125716, -0.175290391, -0.0473141558, -0.950330257, -0.0023556333}},
      {"cosine_embedding_none", &In::x, [](const Tensor& x, const In& t) { return nn::cosine_embedding_loss(x, t.y, t.d, -0.9, Reduction::none); }, "(2,)", {1.3908428, 0.831840158}, {-0.254542321, 0.158229008, -0.210685343, 0.0881090313, 0.269314408, -0.129669905}},
      {"margin_ranking_none", &In::x, [](const Tensor& x, const In& t) { return nn::margin_ranking_loss(x, t.y, t.g, 0.5, Reduction::none); }, "(2, 3)", {4, 1.75, 0, 2.5, 5, 3.5}, {-1, 1, 0, 1, -1, 1}},
      {"hinge_embedding_none", &In::x, [](const Tensor& x, const In& t) { return nn::hinge_embedding_loss(x, t.g, 1.25, Reduction::none); }, "(2, 3)", {-1.5, 1, 2, 0, -0.5, 0.25}, {1, -1, 1, 0, 1, -1}},
      {"soft_margin_none", &In::x, [](const Tensor& x, const In& t) { return nn::soft_margin_loss(x, t.g, Reduction::none); }, "(2, 3)", {1.70141327, 0.825939417, 0.126928017, 3.04858732, 0.974076986, 1.31326163}, {-0.817574501, 0.562176526, -0.119202919, 0.952574134, -0.622459352, 0.731058598}},
      {"multi_margin_none", &In::x, [](const Tensor& x, const In& t) { return nn::multi_margin_loss(x, t.k, {.margin = 1.5, .weight = t.w, .reduction = Reduction::none}); }, "(2,)", {0, 0}, {0, 0, 0, 0, 0, 0}},
      {"triplet_margin_none", &In::x, [](const Tensor& x, const In& t) { return nn::triplet_margin_loss(x, t.y, t.z, {.swap = true, .reduction = Reduction::none}); }, "(2,)", {2.09232855, 5.16550016}, {-0.873295784, 0.311891675, 0.374269962, -0.277851284, -0.155704558, 0.0517443419}},
      {"mse_mean", &In::x, [](const Tensor& x, const In& t) { return nn::mse_loss(x, t.y, Reduction::mean); }, "()", {8.21875}, {-1.16666675, 0.416666687, 0.5, 0.666666687, -1.5, 1}},
      {"l1_mean", &In::x, [](const Tensor& x, const In& t) { return nn::l1_loss(x, t.y, Reduction::mean); }, "()", {2.625}, {-0.166666672, 0.166666672, 0.166666672, 0.166666672, -0.166666672, 0.166666672}},
      {"huber_mean", &In::x, [](const Tensor& x, const In& t) { return nn::huber_loss(x, t.y, 1.5, Reduction::mean); }, "()", {2.81770825}, {-0.25, 0.208333343, 0.25, 0.25, -0.25, 0.25}},
      {"smooth_l1_mean", &In::x, [](const Tensor& x, const In& t) { return nn::smooth_l1_loss(x, t.y, 2, Reduction::mean); }, "()", {1.65885413}, {-0.166666672, 0.104166672, 0.125, 0.166666672, -0.166666672, 0.166666672}},
      {"bce_mean", &In::p, [](const Tensor& x, const In& t) { return nn::binary_cross_entropy(x, t.t, {.weight = t.w, .reduction = Reduction::mean}); }, "()", {1.11646855}, {-0.092592597, 0.208333313, 0, 0.111111112, -0.222222224, -3.33333325}},
      {"bce_with_logits_mean", &In::x, [](const Tensor& x, const In& t) { return nn::binary_cross_entropy_with_logits(x, t.t, {.weight = t.w, .pos_weight = t.w * 3.0, .reduction = Reduction::mean}); }, "()", {2.19936013}, {-0.102196813, 0.0936960876, 0.0275965538, 0.0793811753, -0.311229676, -0.537882805}},
      {"nll_mean", &In::lp, [](const Tensor& x, const In& t) { return nn::nll_loss(x, t.k, {.weight = t.w, .reduction = Reduction::mean}); }, "()", {0.179136112}, {0, 0, -0.800000012, -0.200000003, 0, 0}},
      {"cross_entropy_mean", &In::x, [](const Tensor& x, const In& t) { return nn::cross_entropy(x, t.k, {.weight = t.w, .ignore_index = 0, .reduction = Reduction::mean, .label_smoothing = 0.1}); }, "()", {0.236224532}, {0.0157030839, 0.121653371, -0.13735652, 0, 0, 0}},
      {"cross_entropy_soft_mean", &In::x, [](const Tensor& x, const In& t) { return nn::cross_entropy(x, softmax(t.y, 1), {.weight = t.w, .reduction = Reduction::mean, .label_smoothing = 0.2}); }, "()", {2.43578792}, {-0.16300948, 0.0130366562, 0.149972796, 0.409848064, -0.400300056, -0.00954802707}},
      {"kl_div_mean", &In::lp, [](const Tensor& x, const In& t) { return nn::kl_div(x, softmax(t.y, 1), Reduction::mean); }, "()", {0.943183482}, {-0.130932838, -0.00651876209, -0.0292150658, -0.00788569264, -0.158388376, -0.000392605551}},
      {"cosine_embedding_mean", &In::x, [](const Tensor& x, const In& t) { return nn::cosine_embedding_loss(x, t.y, t.d, -0.9, Reduction::mean); }, "()", {1.11134148}, {-0.12727116, 0.0791145042, -0.105342671, 0.0440545157, 0.134657204, -0.0648349524}},
      {"margin_ranking_mean", &In::x, [](const Tensor& x, const In& t) { return nn::margin_ranking_loss(x, t.y, t.g, 0.5, Reduction::mean); }, "()", {2.79166675}, {-0.166666672, 0.166666672, 0, 0.166666672, -0.166666672, 0.166666672}},
      {"hinge_embedding_mean", &In::x, [](const Tensor& x, const In& t) { return nn::hinge_embedding_loss(x, t.g, 1.25, Reduction::mean); }, "()", {0.208333328}, {0.166666672, -0.166666672, 0.166666672, 0, 0.166666672, -0.166666672}},
      {"soft_margin_mean", &In::x, [](const Tensor& x, const In& t) { return nn::soft_margin_loss(x, t.g, Reduction::mean); }, "()", {1.33170116}, {-0.136262417, 0.0936960876, -0.019867152, 0.158762351, -0.103743225, 0.1218431}},
      {"multi_margin_mean", &In::x, [](const Tensor& x, const In& t) { return nn::multi_margin_loss(x, t.k, {.margin = 1.5, .weight = t.w, .reduction = Reduction::mean}); }, "()", {0}, {0, 0, 0, 0, 0, 0}},
      {"triplet_margin_mean", &In::x, [](const Tensor& x, const In& t) { return nn::triplet_margin_loss(x, t.y, t.z, {.swap = true, .reduction = Reduction::mean}); }, "()", {3.62891436}, {-0.436647892, 0.155945837, 0.187134981, -0.138925642, -0.0778522789, 0.0258721709}},
      {"mse_sum", &In::x, [](const Tensor& x, const In& t) { return nn::mse_loss(x, t.y, Reduction::sum); }, "()", {49.3125}, {-7, 2.5, 3, 4, -9, 6}},
      {"l1_sum", &In::x, [](const Tensor& x, const In& t) { return nn::l1_loss(x, t.y, Reduction::sum); }, "()", {15.75}, {-1, 1, 1, 1, -1, 1}},
      {"huber_sum", &In::x, [](const Tensor& x, const In& t) { return nn::huber_loss(x, t.y, 1.5, Reduction::sum); }, "()", {16.90625}, {-1.5, 1.25, 1.5, 1.5, -1.5, 1.5}},
      {"smooth_l1_sum", &In::x, [](const Tensor& x, const In& t) { return nn::smooth_l1_loss(x, t.y, 2, Reduction::sum); }, "()", {9.953125}, {-1, 0.625, 0.75, 1, -1, 1}},
      {"bce_sum", &In::p, [](const Tensor& x, const In& t) { return nn::binary_cross_entropy(x, t.t, {.weight = t.w, .reduction = Reduction::sum}); }, "()", {6.69881153}, {-0.555555582, 1.24999988, 0, 0.666666687, -1.33333337, -20}},
      {"bce_with_logits_sum", &In::x, [](const Tensor& x, const In& t) { return nn::binary_cross_entropy_with_logits(x, t.t, {.weight = t.w, .pos_weight = t.w * 3.0, .reduction = Reduction::sum}); }, "()", {13.1961603}, {-0.613180876, 0.562176526, 0.165579319, 0.476287067, -1.867378, -3.22729683}},
      {"nll_sum", &In::lp, [](const Tensor& x, const In& t) { return nn::nll_loss(x, t.k, {.weight = t.w, .reduction = Reduction::sum}); }, "()", {0.447840273}, {0, 0, -2, -0.5, 0, 0}},
      {"cross_entropy_sum", &In::x, [](const Tensor& x, const In& t) { return nn::cross_entropy(x, t.k, {.weight = t.w, .ignore_index = 0, .reduction = Reduction::sum, .label_smoothing = 0.1}); }, "()", {0.472449064}, {0.0314061679, 0.243306741, -0.274713039, 0, 0, 0}},
      {"cross_entropy_soft_sum", &In::x, [](const Tensor& x, const In& t) { return nn::cross_entropy(x, softmax(t.y, 1), {.weight = t.w, .reduction = Reduction::sum, .label_smoothing = 0.2}); }, "()", {4.87157583}, {-0.326018959, 0.0260733124, 0.299945593, 0.819696128, -0.800600111, -0.0190960541}},
      {"kl_div_sum", &In::lp, [](const Tensor& x, const In& t) { return nn::kl_div(x, softmax(t.y, 1), Reduction::sum); }, "()", {5.65910101}, {-0.785597026, -0.0391125716, -0.175290391, -0.0473141558, -0.950330257, -0.0023556333}},
      {"cosine_embedding_sum", &In::x, [](const Tensor& x, const In& t) { return nn::cosine_embedding_loss(x, t.y, t.d, -0.9, Reduction::sum); }, "()", {2.22268295}, {-0.254542321, 0.158229008, -0.210685343, 0.0881090313, 0.269314408, -0.129669905}},
      {"margin_ranking_sum", &In::x, [](const Tensor& x, const In& t) { return nn::margin_ranking_loss(x, t.y, t.g, 0.5, Reduction::sum); }, "()", {16.75}, {-1, 1, 0, 1, -1, 1}},
      {"hinge_embedding_sum", &In::x, [](const Tensor& x, const In& t) { return nn::hinge_embedding_loss(x, t.g, 1.25, Reduction::sum); }, "()", {1.25}, {1, -1, 1, 0, 1, -1}},
      {"soft_margin_sum", &In::x, [](const Tensor& x, const In& t) { return nn::soft_margin_loss(x, t.g, Reduction::sum); }, "()", {7.9902072}, {-0.817574501, 0.562176526, -0.119202919, 0.952574134, -0.622459352, 0.731058598}},
      {"multi_margin_sum", &In::x, [](const Tensor& x, const In& t) { return nn::multi_margin_loss(x, t.k, {.margin = 1.5, .weight = t.w, .reduction = Reduction::sum}); }, "()", {0}, {0, 0, 0, 0, 0, 0}},
      {"triplet_margin_sum", &In::x, [](const Tensor& x, const In& t) { return nn::triplet_margin_loss(x, t.y, t.z, {.swap = true, .reduction = Reduction::sum}); }, "()", {7.25782871}, {-0.873295784, 0.311891675, 0.374269962, -0.277851284, -0.155704558, 0.0517443419}},
      {"kl_div_batchmean", &In::lp, [](const Tensor& x, const In& t) { return nn::kl_div(x, log_softmax(t.y, 1), Reduction::batchmean, true); }, "()", {2.8295505}, {-0.392798513, -0.0195562858, -0.0876451954, -0.0236570779, -0.475165129, -0.00117781654}},
      {"multi_margin_squared", &In::x, [](const Tensor& x, const In& t) { return nn::multi_margin_loss(x, t.k, {.p = 2}); }, "()", {0}, {0, 0, 0, 0, 0, 0}},
      {"multi_margin_single", &In::x, [](const Tensor& x, const In& t) { return nn::multi_margin_loss(x[0], t.k[0]); }, "()", {0}, {0, 0, 0, 0, 0, 0}},
      {"cosine_embedding_single", &In::x, [](const Tensor& x, const In& t) { return nn::cosine_embedding_loss(x[1], t.y[1], t.d[0]); }, "()", {1.06815982}, {0, 0, 0, -0.0881090313, -0.269314408, 0.129669905}},
      {"triplet_margin_1", &In::x, [](const Tensor& x, const In& t) { return nn::triplet_margin_loss(x, t.y, t.z, {.margin = 2, .p = 1}); }, "()", {5.62500095}, {0, 1, 0, 0, 0, 0}},
      {"cosine_similarity", &In::x, [](const Tensor& x, const In& t) { return nn::cosine_similarity(x, t.y); }, "(2,)", {-0.390842885, -0.0681598336}, {0.254542291, -0.158229008, 0.210685372, 0.0881090313, 0.269314378, -0.129669875}},
      {"pairwise_distance", &In::x, [](const Tensor& x, const In& t) { return nn::pairwise_distance(x, t.y, 3, 1e-6, true); }, "(2, 1)", {3.63935995, 5.01495504}, {-0.924880922, 0.117969751, 0.169876397, 0.159047306, -0.8051759, 0.357856333}},
  };
  // clang-format on
}

TEST(Losses, HavePyTorchsValuesAndGradients) {
  const In in;
  for (const Loss& loss : losses()) {
    SCOPED_TRACE(loss.name);
    Tensor x = (in.*loss.input).detach().clone().requires_grad_();
    const Tensor value = loss.f(x, in);
    EXPECT_EQ(ir::to_string(value.shape()), loss.shape);
    expect_near(value, loss.values);
    expect_near(grad(sum(value), x), loss.slopes);
  }
}

TEST(Losses, OfHalvesAreComputedInFloatAndRoundedOnce) {
  const In in;
  for (const Loss& loss : losses()) {
    SCOPED_TRACE(loss.name);
    const Tensor value = loss.f((in.*loss.input).to(bfloat16), in);
    const Floats found = values(value);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], loss.values[i], 0.02 * std::max(1.0F, std::abs(loss.values[i])));
  }
}

TEST(LossModules, CallTheFunctions) {
  const In in;
  const auto same = [](const Tensor& a, const Tensor& b) { EXPECT_EQ(a.item<float>(), b.item<float>()); };
  same(nn::MSELoss()(in.x, in.y), nn::mse_loss(in.x, in.y));
  same(nn::L1Loss(Reduction::sum)(in.x, in.y), nn::l1_loss(in.x, in.y, Reduction::sum));
  same(nn::HuberLoss(0.5)(in.x, in.y), nn::huber_loss(in.x, in.y, 0.5));
  same(nn::SmoothL1Loss(0.5)(in.x, in.y), nn::smooth_l1_loss(in.x, in.y, 0.5));
  same(nn::SoftMarginLoss()(in.x, in.g), nn::soft_margin_loss(in.x, in.g));
  same(nn::HingeEmbeddingLoss(2)(in.x, in.g), nn::hinge_embedding_loss(in.x, in.g, 2));
  same(nn::BCELoss()(in.p, in.t), nn::binary_cross_entropy(in.p, in.t));
  same(nn::BCEWithLogitsLoss({.pos_weight = in.w})(in.x, in.t),
       nn::binary_cross_entropy_with_logits(in.x, in.t, {.pos_weight = in.w}));
  same(nn::NLLLoss()(in.lp, in.k), nn::nll_loss(in.lp, in.k));
  same(nn::CrossEntropyLoss({.label_smoothing = 0.1})(in.x, in.k),
       nn::cross_entropy(in.x, in.k, {.label_smoothing = 0.1}));
  same(nn::KLDivLoss(Reduction::batchmean)(in.lp, in.p), nn::kl_div(in.lp, in.p, Reduction::batchmean));
  same(nn::CosineEmbeddingLoss(0.1)(in.x, in.y, in.d), nn::cosine_embedding_loss(in.x, in.y, in.d, 0.1));
  same(nn::MarginRankingLoss()(in.x, in.y, in.g), nn::margin_ranking_loss(in.x, in.y, in.g));
  same(nn::MultiMarginLoss({.p = 2})(in.x, in.k), nn::multi_margin_loss(in.x, in.k, {.p = 2}));
  same(nn::TripletMarginLoss({.margin = 2})(in.x, in.y, in.z),
       nn::triplet_margin_loss(in.x, in.y, in.z, {.margin = 2}));
}

TEST(LossModules, KeepTheirWeightsAsBuffers) {
  nn::CrossEntropyLoss loss({.weight = tensor({1., 2., 3.})});
  EXPECT_TRUE(loss.parameters().empty());
  EXPECT_EQ(values(loss.state_dict().at("weight")), (Floats{1, 2, 3}));
  EXPECT_TRUE(nn::CrossEntropyLoss().state_dict().empty());
}

TEST(LossModules, NameThemselvesInErrors) {
  nn::MSELoss loss;
  loss.set_name("loss");
  EXPECT_EQ(text_of([&] { loss(ones({2}), ones({3})); }),
            "[mse_loss] input (2,) and target (3,) differ in shape (in loss)");
}

TEST(Losses, SayWhatDoesNotFit) {
  const In in;
  const auto says = [](const std::string& text, auto&& f) { EXPECT_EQ(text_of(f), text); };
  says("[binary_cross_entropy_with_logits] weight (2, 2, 3) does not broadcast to (2, 3)", [&] {
    nn::binary_cross_entropy_with_logits(in.x, in.t, {.weight = ones({2, 2, 3})});
  });
  says("[binary_cross_entropy] pos_weight is for logits",
       [&] { nn::binary_cross_entropy(in.p, in.t, {.pos_weight = in.w}); });
  says("[cosine_embedding_loss] inputs (2, 3) and target () do not fit: (N, D) takes (N), and (D) a single number",
       [&] { nn::cosine_embedding_loss(in.x, in.y, in.d[0]); });
  says("[margin_ranking_loss] input (2, 3) and target (2,) differ in shape",
       [&] { nn::margin_ranking_loss(in.x, in.y, in.d); });
  says("[hinge_embedding_loss] takes floating-point values, got i64; convert with to(DType::f32)",
       [&] { nn::hinge_embedding_loss(in.k, in.d); });
  says("[multi_margin_loss] p is 1 or 2, got 3", [&] { nn::multi_margin_loss(in.x, in.k, {.p = 3}); });
  says("[multi_margin_loss] target 3 is out of range for 3 classes", [&] {
    nn::multi_margin_loss(in.x, tensor({0, 3}));
  });
  says("[multi_margin_loss] takes (N, C) or (C), got (1, 2, 3)",
       [&] { nn::multi_margin_loss(in.x.unsqueeze(0), in.k); });
  says("[triplet_margin_loss] margin must be positive, got 0",
       [&] { nn::triplet_margin_loss(in.x, in.y, in.z, {.margin = 0}); });
  says("[soft_margin_loss] reduction batchmean is for kl_div",
       [&] { nn::soft_margin_loss(in.x, in.g, Reduction::batchmean); });
  says("[nll_loss] label_smoothing 0.5 is for cross_entropy, which takes logits",
       [&] { nn::nll_loss(in.lp, in.k, {.label_smoothing = 0.5}); });
  says("[triplet_margin_loss] anchor (2, 3) and positive (2,) differ in shape",
       [&] { nn::triplet_margin_loss(in.x, in.d, in.z); });
  says("[triplet_margin_loss] anchor (2, 3) and negative (2,) differ in shape",
       [&] { nn::triplet_margin_loss(in.x, in.y, in.d); });
  says("[margin_ranking_loss] first input (2, 3) and second input (2,) differ in shape",
       [&] { nn::margin_ranking_loss(in.x, in.d, in.d); });
}

TEST(Losses, KlDivAloneTakesTheMeanOfABatch) {
  const In in;
  constexpr Reduction kOfABatch = Reduction::batchmean;
  const auto refuses = [](const std::string& op, auto&& f) {
    EXPECT_EQ(text_of(f), "[" + op + "] reduction batchmean is for kl_div");
  };
  refuses("mse_loss", [&] { nn::mse_loss(in.x, in.y, kOfABatch); });
  refuses("l1_loss", [&] { nn::l1_loss(in.x, in.y, kOfABatch); });
  refuses("huber_loss", [&] { nn::huber_loss(in.x, in.y, 1, kOfABatch); });
  refuses("smooth_l1_loss", [&] { nn::smooth_l1_loss(in.x, in.y, 1, kOfABatch); });
  refuses("binary_cross_entropy", [&] { nn::binary_cross_entropy(in.p, in.t, kOfABatch); });
  refuses("cross_entropy", [&] { nn::cross_entropy(in.x, in.p, {.reduction = kOfABatch}); });
}

// What a captured function is given may be another target in every call.
TEST(CapturedLosses, LookAtTheTargetsOfEveryCall) {
  const In in;
  using F = Tensor (*)(const Tensor&, const Tensor&);
  const std::pair<F, std::string> all[] = {
      {[](const Tensor& x, const Tensor& k) { return nn::cross_entropy(x, k); },
       "[cross_entropy] target 3 is out of range for 3 classes"},
      {[](const Tensor& x, const Tensor& k) { return nn::nll_loss(x, k); },
       "[nll_loss] target 3 is out of range for 3 classes"},
      {[](const Tensor& x, const Tensor& k) { return nn::multi_margin_loss(x, k); },
       "[multi_margin_loss] target 3 is out of range for 3 classes"},
      {[](const Tensor& x, const Tensor& k) { return sum(one_hot(k, 3) * x); },
       "[one_hot] index 3 is out of range for axis 0 of size 3"}};
  for (const auto& [f, refusal] : all) {
    auto captured = compile(f);
    const auto given = [](int64_t a, int64_t b) { return from_vector(std::vector{a, b}, {2}).eval(); };
    for (int i = 0; i < 3; ++i) captured(in.x, given(i, 2)).item<float>();
    EXPECT_EQ(captured(in.x, given(0, 1)).item<float>(), f(in.x, given(0, 1)).item<float>());
    const std::string text = text_of([&] { captured(in.x, given(0, 3)).item<float>(); });
    EXPECT_EQ(text, refusal);
    EXPECT_EQ(captured(in.x, given(0, 1)).item<float>(), f(in.x, given(0, 1)).item<float>()) << "after an error";
  }
}

}  // namespace
}  // namespace tenon
