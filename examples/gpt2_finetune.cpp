// Fine-tunes a GPT-2 on a text, byte by byte, and lets it speak.
//
//   example_gpt2_finetune [--quick] [FOLDER]
//
// FOLDER holds config.json and model.safetensors as transformers writes them; without one a tiny model starts from
// nothing. The result is saved beside, as FOLDER-tuned.

#include <tenon/tenon.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "arguments.h"

using namespace tenon;

namespace {

int run(const example::Arguments& given) {
  const bool quick = given.quick;
  const std::string& folder = given.path;

  manual_seed(1);
  models::Gpt2Config config;
  config.vocabulary = 256;
  config.positions = 64;
  config.width = 64;
  config.layers = 2;
  config.heads = 4;
  config.set_dropout(0);
  const auto model = folder.empty() ? std::make_unique<models::Gpt2>(config) : models::Gpt2::load(folder);
  optim::AdamW optimizer(model->parameters(), {.lr = folder.empty() ? 1e-2 : 1e-4});

  const std::string text = "A mortise takes a tenon; the joint holds without a nail. ";
  const auto length = static_cast<int64_t>(text.size());
  const Tensor bytes = from_vector(std::vector<int64_t>(text.begin(), text.end()), {1, length});
  const Tensor ids = bytes.narrow(1, 0, length - 1), targets = bytes.narrow(1, 1, length - 1);

  auto step = compile([&](const Tensor& x, const Tensor& y) {
    Tensor loss = model->loss(x, y);
    loss.backward();
    optimizer.clip_grad_norm(1.0);
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  for (int i = 0; i < (quick ? 120 : 300); ++i) {
    const Tensor loss = step(ids, targets);
    if (i % 20 == 0) std::printf("step %3d  loss %.3f\n", i, loss.item<double>());
  }

  const std::vector<int64_t> said = models::generate(*model, {'A', ' ', 'm'}, {.new_tokens = length - 3});
  std::printf("it says: %s\n", std::string(said.begin(), said.end()).c_str());

  const std::filesystem::path saved = folder.empty() ? std::filesystem::temp_directory_path() / "tenon_gpt2_tuned"
                                                     : std::filesystem::path(folder + "-tuned");
  model->save(saved);
  const double loss = models::Gpt2::load(saved)->loss(ids, targets).item<double>();
  std::printf("saved in %s, loss %.3f\n", saved.c_str(), loss);
  return folder.empty() && loss > 0.5 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[--quick] [FOLDER]", run); }
