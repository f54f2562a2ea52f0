// A small language model out of modules: it learns a sentence by heart and says it again, token by token, from a
// captured step that keeps keys and values in a cache.

#include <tenon/tenon.h>

#include <cstdio>
#include <string>

#include "arguments.h"

using namespace tenon;

namespace {

class Block : public nn::ModuleOf<Block> {
 public:
  Block(int64_t width, int64_t heads, const std::shared_ptr<nn::RotaryEmbedding>& rotary)
      : norm1(width), norm2(width), attn(width, heads, {.kv_heads = 1, .causal = true, .rotary = rotary}) {
    mlp.emplace<nn::Linear>(width, 4 * width);
    mlp.emplace<nn::GELU>();
    mlp.emplace<nn::Linear>(4 * width, width);
    register_module("norm1", norm1);
    register_module("attn", attn);
    register_module("norm2", norm2);
    register_module("mlp", mlp);
  }
  Tensor forward(const Tensor& x, nn::KvCache* cache) const {
    const Tensor y = x + attn(norm1(x), cache);
    return y + mlp(norm2(y));
  }

 private:
  nn::RMSNorm norm1, norm2;
  nn::MultiHeadAttention attn;
  nn::Sequential mlp;
};

class Model : public nn::ModuleOf<Model> {
 public:
  static constexpr int64_t kLayers = 2, kHeads = 2, kWidth = 32, kTokens = 128, kLength = 64;

  Model() {
    set_name("model");
    const auto rotary = std::make_shared<nn::RotaryEmbedding>(kWidth / kHeads, kLength);
    for (int64_t i = 0; i < kLayers; ++i) h.emplace(kWidth, kHeads, rotary);
    register_module("tokens", tokens);
    register_module("h", h);
    register_module("norm", norm);
    register_module("head", head);
    head.weight = tokens.weight;
    nn::init::gpt2_(*this, kLayers, {"out_proj", "mlp.2"});
  }
  /// Logits (batch, time, kTokens) of ids (batch, time); with caches, one per layer, behind what these hold.
  Tensor forward(const Tensor& ids, std::vector<nn::KvCache>* caches = nullptr) const {
    Tensor x = tokens(ids);
    for (size_t i = 0; i < h.size(); ++i) x = h[i](x, caches ? &(*caches)[i] : nullptr);
    if (caches) caches->front().advance(ids.size(1));
    return head(norm(x));
  }
  std::vector<nn::KvCache> make_caches() const {
    return nn::KvCache::for_layers(kLayers, 1, 1, kLength, kWidth / kHeads);
  }

 private:
  nn::Embedding tokens{kTokens, kWidth};
  nn::ModuleList<Block> h;
  nn::RMSNorm norm{kWidth};
  nn::Linear head{kWidth, kTokens, false};
};

std::string continued(Model& model, int64_t first, size_t length) {
  const NoGrad inference;
  model.eval();
  auto caches = model.make_caches();
  auto step = compile([&](const Tensor& token) { return model(token, &caches).select(1, 0).argmax(-1, true); });
  std::string text(1, static_cast<char>(first));
  Tensor token = from_vector(std::vector<int64_t>{first}, {1, 1});
  while (text.size() < length) {
    token = step(token).clone().eval();
    text.push_back(static_cast<char>(token.item<int64_t>()));
  }
  return text;
}

int run(const example::Arguments& given) {
  const bool quick = given.quick;
  const std::string sentence = quick ? "Tenon replays." : "A mortise takes a tenon; the joint holds without a nail.";
  const std::vector<int64_t> letters(sentence.begin(), sentence.end());
  const auto length = static_cast<int64_t>(letters.size());
  const Tensor ids = from_vector(letters, {1, length});
  const Tensor seen = ids.narrow(1, 0, length - 1).clone().eval();
  const Tensor next = ids.narrow(1, 1, length - 1).reshape({length - 1}).clone().eval();

  manual_seed(1);
  Model model;
  std::printf("%s\n", model.summary().c_str());
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    Tensor loss = nn::cross_entropy(model(x).reshape({length - 1, Model::kTokens}), y);
    loss.backward();
    const NoGrad updating;
    for (Tensor& p : model.parameters()) p.sub_(sign(p.grad()) * 2e-3);
    model.zero_grad();
    return loss;
  });
  for (int i = 0; i < 200; ++i) {
    const Tensor loss = step(seen, next);
    if (i % 50 == 0) std::printf("step %3d  loss %.3f\n", i, loss.item<double>());
  }
  const std::string said = continued(model, letters[0], sentence.size());
  std::printf("\nit says: %s\n", said.c_str());
  return said == sentence ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[--quick]", run); }
