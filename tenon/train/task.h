// Task: what a run trains, on which data, and how well it does. All else of a run is the same whatever the task: steps,
// learning rates, checkpoints, resuming, metrics, TensorBoard, report.
//
// Language models and classifiers of texts and images are tasks of the library, which a config chooses by
// model.architecture. A program has its own with model.architecture "custom":
//
//   train::Config config;
//   config.model.architecture = "custom";
//   train::train(config, {.folder = "runs/mine", .task = [](const train::Config& c) {
//                           return std::make_unique<MyTask>(c);
//                         }});
//
// docs/tasks.md shows one from the first line to the last.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/watch/metrics.h"

namespace tenon::train {

struct Config;

/// What an evaluation found: means over `items` tokens, images or whatever the task counts.
struct Evaluated {
  double loss = 0;    // mean over the items
  int64_t items = 0;  // that were looked at
  watch::NamedNumbers metrics =
      {};  // beside the loss: {{"accuracy", 0.99}}; a name is a word of small letters and digits
};

/// What the model can do by now, for a person to look at.
struct TaskSample {
  std::string text;     // what it wrote
  Tensor picture = {};  // as data::save_image takes it; undefined: none
};

/// What a run says of a task's data.
struct TaskFacts {
  std::string data;              // one line: what there is to train on and to validate on
  std::string fingerprint = {};  // of the data: a run goes on with those it began with; empty: not looked at
  std::string unit = "samples";  // what is counted, in the plural: a word of small letters
  int64_t items = 0;             // so many of them are there to train on
};

/// What a run trains: the base of tasks of one's own.
///   struct Line : train::Task {
///     train::TaskFacts facts() const override { return {.data = "points of a line", .items = 100}; }
///     nn::Module& model() override { return net; }
///     std::vector<Tensor> next_batch() override { return {rand({16, 1})}; }
///     std::string position() const override { return "{}"; }
///     void go_to(const std::string&) override {}
///     Tensor loss(std::span<const Tensor> batch) override { return nn::mse_loss(net(batch[0]), 3 * batch[0] + 1); }
///     nn::Linear net{1, 1};
///   };
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// What there is to train on.
  virtual TaskFacts facts() const = 0;
  /// The network: its parameters are trained, and its parameters and buffers go into checkpoints.
  virtual nn::Module& model() = 0;

  /// The next batch of training: tensors on the device, whose first dim counts the samples. It is cut along that dim
  /// into training.micro_batches.
  virtual std::vector<Tensor> next_batch() = 0;
  /// Where in the data the next batch stands, as JSON: what data::to_json says of a loader's state.
  virtual std::string position() const = 0;
  /// Goes on there; fails with one line where the text is of other data.
  virtual void go_to(const std::string& position) = 0;
  /// Items of a batch.
  virtual int64_t items_of(std::span<const Tensor> batch) const { return batch[0].size(0); }

  /// The mean loss of a micro-batch, of which the step takes the gradients. It is recorded and replayed, so it reads no
  /// value and depends on nothing but tensors (docs/capture.md); chance comes from the default generator.
  virtual Tensor loss(std::span<const Tensor> batch) = 0;

  /// The loss over the data that are held back; nothing where none are. The model is in eval() meanwhile, here and in
  /// sample(), and neither draws from the default generator: looking closely must not change the run.
  virtual std::optional<Evaluated> evaluate() { return std::nullopt; }
  /// Asked for every sample.every steps.
  virtual TaskSample sample() { return {}; }

  /// What there is to say of the data since it was last asked, a line each: files that were left out, say.
  virtual std::vector<std::string> take_notes() { return {}; }

  /// Writes what a finished run has made and says where: RUN/model/model.safetensors unless overridden.
  virtual std::filesystem::path save(const std::filesystem::path& run_folder);

  /// Fails with one line where weights of a checkpoint are not the model's. It is called before model(): a model that
  /// does not fit may be too large to make.
  virtual void require_weights(const nn::StateDict& weights) const { static_cast<void>(weights); }
};

/// Makes the task of a run; the default generator is seeded with training.seed before.
using MakeTask = std::function<std::unique_ptr<Task>(const Config& config)>;

}  // namespace tenon::train
