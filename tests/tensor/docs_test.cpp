// docs/tensors.md: its examples are those of this file, and it names every loss. Functions: scripts/make_functions.py.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tenon/tenon.h"

namespace tenon {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(std::string(TENON_SOURCE_DIR "/") + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// In one function, because later examples use what earlier ones declare.
TEST(DocsOfTensors, ExamplesRun) {
  // clang-format off
  Tensor x = arange(6, float32).reshape({2, 3});
  x += 1;                    // in place: views of x see it
  x[0] *= 2;                 // so is this, of a part
  Tensor y = 2 * x - x.t().t() / 4;
  Tensor z = add(x, y, 0.5);  // x + 0.5 * y

  Tensor total = x.sum(), rows = x.sum(1), kept = x.mean(0, true);
  Tensor all_but_last = sum(ones({2, 3, 4}), {0, 1});
  auto [values, positions] = x.max(1);
  Tensor middle = x.quantile(0.5, 1);

  Tensor m = arange(12, float32).reshape({3, 4});
  Tensor part = m.index({Slice(0, 2), -1});  // m[0:2, -1], a view
  Tensor picked = m[tensor({2, 0})];         // rows 2 and 0, a copy
  Tensor chosen = m[m > 5];                  // a vector
  m[tensor({2, 0})] = 7;                     // writes into m
  m[m > 6] = 0;
  m.index({Slice(), tensor({true, false, false, true})}) += 1;
  m.index_put_({tensor({0, 0}), tensor({1, 1})}, ones({2}), true);  // adds twice

  Tensor cube = tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}});
  Tensor noise = zeros({2, 3}, bfloat16).normal_(0, 0.02);
  fmt::print("{} {}\n", cube.dtype(), ir::to_string(cube.shape()));  // i64 (2, 2, 2)

  Tensor w = randn({3}, float64).requires_grad_();
  Tensor h = w * 2;
  h.register_hook([](const Tensor& g) { return clamp(g, -1, 1); });
  h.retain_grad();
  (h * h).sum().backward();
  fmt::print("{} {}\n", w.grad(), h.grad());

  SavingFunction cube_of{"cube",
                         [](FunctionContext& context, std::span<const Tensor> in) {
                           context.save_for_backward({in[0]});
                           return std::vector{in[0] * in[0] * in[0]};
                         },
                         [](const FunctionContext& context, std::span<const Tensor> grads) {
                           return std::vector{grads[0] * 3 * square(context.saved_tensors()[0])};
                         }};
  gradcheck([&](const Tensor& a) { return apply(cube_of, a); }, w);  // fails where a gradient is wrong

  Tensor logits = randn({4, 3}), classes = tensor({0, 2, 1, -100});
  Tensor loss = nn::cross_entropy(logits, classes, {.label_smoothing = 0.1});  // -100 does not count
  nn::BCEWithLogitsLoss with_logits({.pos_weight = tensor({1., 2., 3.})});
  Tensor other = with_logits(logits, rand({4, 3}));
  // clang-format on
  EXPECT_EQ(all_but_last.shape(), Dims({4}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 4, 6, 4, 5, 6}));
  EXPECT_EQ(picked.shape(), Dims({2, 4}));
  EXPECT_EQ(chosen.to_vector<float>(), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(m.to_vector<float>(), (std::vector<float>{1, 2, 0, 1, 5, 5, 6, 1, 1, 0, 0, 1}));
  EXPECT_TRUE(loss.item<float>() > 0 && other.item<float>() > 0);
}

TEST(DocsOfTensors, ExamplesAreThoseOfTheTest) {
  const std::string page = text_of_file("docs/tensors.md"), test = text_of_file("tests/tensor/docs_test.cpp");
  std::set<std::string> lines;
  std::istringstream tested(test), read(page);
  const auto trimmed = [](const std::string& line) {
    const size_t first = line.find_first_not_of(' ');
    return first == std::string::npos ? std::string() : line.substr(first);
  };
  for (std::string line; std::getline(tested, line);) lines.insert(trimmed(line));
  bool in_example = false;
  int checked = 0;
  for (std::string line; std::getline(read, line);) {
    if (line.starts_with("```")) {
      in_example = line == "```cpp";
    } else if (in_example) {
      EXPECT_TRUE(lines.contains(trimmed(line))) << "not in the test: " << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 30);
}

std::set<std::string> functions_of(const std::string& header) {
  const std::regex declaration(R"((?:^|\n)(?:Tensor|std::vector<Tensor>|std::pair<Tensor, Tensor>|Unique) (\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at)
    names.insert((*at)[1].str());
  names.erase("operator");
  return names;
}

TEST(DocsOfTensors, NameEveryFunction) {
  const std::string page = text_of_file("docs/tensors.md");
  for (const std::string& name : functions_of(text_of_file("tenon/nn/losses.h")))
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name << " is missing";
}

}  // namespace
}  // namespace tenon
