// Learns to write, letter by letter, with an LSTM.
//
// usage: example_char_lstm [FILE | --quick]    (FILE: any text; without one, the built-in stories)

#include <fmt/format.h>
#include <tenon/tenon.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "arguments.h"

using namespace tenon;

namespace {

class CharLstm : public nn::Module {
 public:
  CharLstm(int64_t letters, int64_t width)
      : embedding_(letters, width), lstm_(width, width, {.layers = 2, .batch_first = true}), head_(width, letters) {
    register_module("embedding", embedding_);
    register_module("lstm", lstm_);
    register_module("head", head_);
  }
  struct Output {
    Tensor logits;  // (batch, time, letters)
    nn::RecurrentState state;
  };
  Output operator()(const Tensor& ids, const nn::RecurrentState& state = {}) const {
    const auto [y, after] = lstm_(embedding_(ids), state);
    return {head_(y), after};
  }

 private:
  nn::Embedding embedding_;
  nn::LSTM lstm_;
  nn::Linear head_;
};

// Feeds each letter back that was drawn; the state stays on the device.
std::string write(CharLstm& model, const text::Tokenizer& tokenizer, const std::string& prompt, int length) {
  const NoGrad reading;
  auto next = compile([&](const Tensor& ids, const Tensor& h, const Tensor& c) {
    const auto [logits, state] = model(ids, {h, c});
    const Tensor chances = softmax(logits.select(1, logits.size(1) - 1) / 0.6, -1);
    return std::vector<Tensor>{multinomial(chances, 1), state.h, state.c};
  });
  std::vector<int32_t> ids = tokenizer.encode(prompt);
  const auto [logits, state] = model(from_vector(ids, {1, std::ssize(ids)}));
  Tensor h = state.h, c = state.c, letter = logits.select(1, logits.size(1) - 1).argmax(-1, true);
  for (int i = 0; i < length; ++i) {
    ids.push_back(letter.item<int32_t>());
    const std::vector<Tensor> after = next(letter, h, c);
    letter = after[0];
    h = after[1];
    c = after[2];
  }
  return tokenizer.decode(ids);
}

int run(const example::Arguments& given) {
  const bool quick = given.quick;
  const int64_t steps = quick ? 40 : 1500, width = quick ? 32 : 192, length = quick ? 24 : 96;
  manual_seed(1);
  std::ifstream file(given.path);
  if (!given.path.empty() && !file) throw std::runtime_error(given.path + " cannot be read");
  const std::string text = !given.path.empty() ? std::string(std::istreambuf_iterator<char>(file), {})
                                               : data::stories(quick ? 20'000 : 1'000'000, 1);
  text::CharCounter counter;
  counter.add(text);
  const text::CharTokenizer tokenizer(counter.model());
  const data::Split corpus = data::split(data::Tokens(tokenizer.encode(text)), 0.05);
  data::Loader loader(corpus.train, {.batch = 32, .length = length});
  data::Loader held_back(corpus.validation, {.batch = 32, .length = length});

  CharLstm model(tokenizer.vocabulary(), width);
  fmt::print("{} letters, {} of them different; {} parameters\n", text.size(), tokenizer.vocabulary(),
             model.count_parameters());
  optim::AdamW optimizer(model.parameters(), {.lr = 4e-3});
  optim::Scheduler schedule(optimizer, optim::cosine(steps, {.warmup = steps / 20}));
  const auto loss_of = [&](const Tensor& ids, const Tensor& targets) {
    return nn::cross_entropy(model(ids).logits.flatten(0, 1), targets.flatten());
  };
  auto step = compile([&](const Tensor& ids, const Tensor& targets) {
    Tensor loss = loss_of(ids, targets);
    loss.backward();
    optimizer.clip_grad_norm(1.0);
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  auto look = compile([&](const Tensor& ids, const Tensor& targets) {
    const NoGrad reading;
    return loss_of(ids, targets);
  });

  data::Batch batch;
  const auto run = [&](auto& function, data::Loader& from) {
    from.next(batch);
    const Dims shape = {batch.rows(), batch.length};
    return function(from_vector(batch.inputs, shape), from_vector(batch.targets, shape));
  };
  double first = 0, last = 0;
  for (int64_t i = 1; i <= steps; ++i, schedule.step()) {
    const Tensor loss = run(step, loader);
    if (i > 1 && i % (steps / 5) != 0) continue;
    last = loss.item<double>();
    if (i == 1) first = last;
    fmt::print("step {:4}: loss {:.3f}, held back {:.3f}\n", i, last, run(look, held_back).template item<double>());
  }
  fmt::print("\n{}\n", write(model, tokenizer, text.substr(0, 20), quick ? 40 : 400));
  return last < first ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[FILE | --quick]", run); }
