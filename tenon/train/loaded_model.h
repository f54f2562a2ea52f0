// LoadedModel: a model and its tokenizer from wherever one may lie, for everything that uses a model after training.
//
//   train::LoadedModel loaded = train::load_model("runs/shakespeare");
//   loaded = train::load_model("distilgpt2", {.lora = "adapter"});
//   loaded = train::load_model("stories260K.bin", {.tokenizer = "tok512.bin"});

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tenon/models/causal_lm.h"
#include "tenon/text/tokenizer.h"

namespace tenon::train {

/// A model and its tokenizer.
struct LoadedModel {
  std::unique_ptr<models::CausalLm> model;           // without dropout: in the mode of evaluation
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null where there is none and none is needed
  std::string description;                           // one line: what it is and where it came from
};

/// What load_model() adds to the model.
struct LoadOptions {
  std::filesystem::path tokenizer;  // empty: the one that lies with the model
  std::filesystem::path lora;       // an adapter to merge in; empty: none
  Device device = {};               // of the parameters
  bool needs_tokenizer = true;      // a model without a tokenizer is refused
};

/// Reads a Hugging Face folder, a folder of `tenon train` (its best checkpoint, or else the newest that is good), one
/// checkpoint of it, or a llama2.c file. Fails with one line that says what is wrong with the path.
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options = {});

/// What load_model reads of a run or a checkpoint: its folders and the model it was tuned from. Fails where the run's
/// config is wrong.
std::vector<std::filesystem::path> sources_of_run(const std::filesystem::path& path);

}  // namespace tenon::train
