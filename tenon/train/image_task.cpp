// Images travel as they lie in files, a byte a pixel; the network brings them to mean 0 and deviation 1.

#include "tenon/train/image_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <ranges>

#include "tenon/base/error.h"
#include "tenon/data/checksum.h"
#include "tenon/data/cifar.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/mnist.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/train/augment.h"
#include "tenon/train/step.h"
#include "tenon/watch/report.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;

constexpr int64_t kClasses = 10;  // of all three datasets

// What a person who has no data yet needs to know.
std::string_view how_to_get(const std::string& dataset) {
  if (dataset == "fashion_mnist") return "install Debian's package dataset-fashion-mnist and leave data.path empty";
  if (dataset == "cifar10") return "put data_batch_1.bin to data_batch_5.bin and test_batch.bin there";
  return "put train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte "
         "there, each with .gz or without";
}

data::TensorDataset dataset_of(const Config& config, bool train) {
  const std::string& name = config.data.dataset;
  const fs::path folder = config.data.path;
  if (!folder.empty() && !fs::exists(folder))
    fail("train", "data.path {}: there is no such folder; {}, or name the folder of {} with --set data.path=FOLDER",
         folder.string(), how_to_get(name), name);
  if (name == "cifar10") return data::cifar10(folder, train);
  return name == "mnist" ? data::mnist(folder, train) : data::fashion_mnist(folder, train);
}

void require_alike(const data::TensorDataset& train, const data::TensorDataset& test, const Config& config) {
  const Tensor &images = train.tensors()["image"], &others = test.tensors()["image"];
  if (!std::ranges::equal(images.shape() | std::views::drop(1), others.shape() | std::views::drop(1)))
    fail("train", "{}: images to train on are {}, those for tests {}; the files do not belong together",
         config.data_name(), data::shown_type(images), data::shown_type(others));
  for (const data::TensorDataset* part : {&train, &test}) {
    if (part->size() == 0) fail("train", "{}: has no images", config.data_name());
  }
}

// Further away, nothing of an image would be left.
void require_shift_inside(const Config& config, const Tensor& images) {
  const int64_t height = images.size(2), width = images.size(3), least = std::min(height, width);
  if (config.data.shift >= least)
    fail("train", "data.shift is {}, and the images of {} are {} x {}; move them by less than {} pixels",
         config.data.shift, config.data_name(), height, width, least);
}

models::CnnConfig sizes_of(const Config& config, const Tensor& images) {
  const ModelConfig& m = config.model;
  return {.image_channels = images.size(1),
          .height = images.size(2),
          .width = images.size(3),
          .classes = kClasses,
          .stages = m.layers,
          .channels = m.channels,
          .convolutions = m.convolutions,
          .batch_norm = m.batch_norm,
          .hidden = m.hidden,
          .dropout = m.dropout};
}

data::DataLoaderOptions loader_options(const Config& config) {
  return {.batch_size = config.training.batch_size,
          .shuffle = true,
          .seed = static_cast<uint64_t>(config.data.seed),
          .workers = config.data.prefetch ? 1 : 0,
          .last = data::LastBatch::kDrop,
          .device = Device(config.device.name)};
}

std::string class_name(const std::string& dataset, int64_t label) {
  const auto at = static_cast<size_t>(label);
  if (dataset == "fashion_mnist") return std::string(data::kFashionMnistClasses[at]);
  if (dataset == "cifar10") return std::string(data::kCifar10Classes[at]);
  return std::to_string(label);
}

// Mean and deviation of each channel, counted by value: exact, and the same on every machine.
void take_statistics(const Tensor& images, models::Cnn& net) {
  const data::HostBytes bytes(images);
  const auto* pixels = bytes.as<uint8_t>();
  const int64_t channels = images.size(1), area = images.size(2) * images.size(3);
  std::vector<float> means, deviations;
  for (int64_t channel = 0; channel < channels; ++channel) {
    std::array<int64_t, 256> times{};
    for (int64_t image = 0; image < images.size(0); ++image) {
      const uint8_t* plane = pixels + (image * channels + channel) * area;
      for (int64_t i = 0; i < area; ++i) ++times[plane[i]];
    }
    double sum = 0, squares = 0;
    for (size_t value = 0; value < times.size(); ++value) {
      const double share = static_cast<double>(times[value]) / static_cast<double>(images.size(0) * area);
      sum += share * static_cast<double>(value);
      squares += share * static_cast<double>(value * value);
    }
    means.push_back(static_cast<float>(sum));
    deviations.push_back(static_cast<float>(std::sqrt(std::max(1.0, squares - sum * sum))));
  }
  const NoGrad setting;
  net.mean.copy_(from_vector(means, net.mean.shape()).to(net.mean.device()));
  net.deviation.copy_(from_vector(deviations, net.deviation.shape()).to(net.deviation.device()));
  eval({net.mean, net.deviation});
}

}  // namespace

ImageTask::Parts ImageTask::read(const Config& config) {
  Parts parts{dataset_of(config, true), dataset_of(config, false)};
  require_alike(parts.train, parts.test, config);
  require_shift_inside(config, parts.train.tensors()["image"]);
  return parts;
}

ImageTask::ImageTask(const Config& config) : ImageTask(config, read(config)) {}

ImageTask::ImageTask(const Config& config, Parts parts)
    : config_(config),
      parts_(std::move(parts)),
      test_images_(parts_.test.tensors()["image"].to(Device(config.device.name)).eval()),
      test_labels_(parts_.test.tensors()["label"].to(Device(config.device.name)).eval()),
      net_(sizes_of(config, test_images_), Options(DType::f32, Device(config.device.name))),
      loader_(parts_.train, loader_options(config)),
      look_([this](std::span<const Tensor> given) {
        const NoGrad reading;
        const ProductPrecision products(config_);
        const Tensor logits = net_(given[0]).to(DType::f32), classes = logits.argmax(1);
        return std::vector<Tensor>{nn::cross_entropy(logits, given[1], {.reduction = nn::Reduction::sum}), classes,
                                   softmax(logits, 1).amax({1})};
      }) {
  take_statistics(parts_.train.tensors()["image"], net_);
}

TaskFacts ImageTask::facts() const {
  data::Checksum checksum;
  for (const data::TensorDataset* part : {&parts_.train, &parts_.test}) {
    for (const data::Field& field : part->tensors().fields()) checksum.add(data::HostBytes(field.value).bytes());
  }
  return {.data = fmt::format("{}: {} images to train on, {} to validate on; an epoch is {} steps", config_.data_name(),
                              watch::with_separators(parts_.train.size()), watch::with_separators(parts_.test.size()),
                              loader_.size()),
          .fingerprint = fmt::format("{:016x}", checksum.value()),
          .unit = "images",
          .items = parts_.train.size()};
}

std::vector<Tensor> ImageTask::next_batch() {
  const auto [images, labels] = loader_.next().unpack<2>();
  return {images, labels};
}

std::string ImageTask::position() const { return data::to_json(loader_.state()); }

void ImageTask::go_to(const std::string& position) { loader_.restore(data::data_loader_state_from_json(position)); }

Tensor ImageTask::loss(std::span<const Tensor> batch) {
  Tensor images = batch[0];
  if (config_.data.shift > 0) images = shifted_at_random(images, config_.data.shift);
  if (config_.data.flip) images = flipped_at_random(images);
  return nn::cross_entropy(net_(images), batch[1]);
}

ImageTask::Guesses ImageTask::guess(int64_t most_batches) {
  const int64_t rows = config_.training.batch_size / config_.training.micro_batches, all = test_images_.size(0);
  const int64_t used = most_batches > 0 ? std::min(all, most_batches * rows) : all;
  Guesses guesses;
  for (int64_t first = 0; first < used; first += rows) {
    const int64_t count = std::min(rows, used - first);
    const Tensor labels = test_labels_.narrow(0, first, count);
    const Tensor given[] = {test_images_.narrow(0, first, count), labels};
    const std::vector<Tensor> seen = look_.call(given);
    guesses.loss += seen[0].item<double>() / static_cast<double>(used);
    const auto append = [](auto& into, const auto& from) { into.insert(into.end(), from.begin(), from.end()); };
    append(guesses.labels, labels.to_vector<int64_t>());
    append(guesses.classes, seen[1].to_vector<int64_t>());
    append(guesses.certainty, seen[2].to_vector<float>());
  }
  return guesses;
}

std::optional<Evaluated> ImageTask::evaluate() {
  const Guesses guesses = guess(config_.training.eval_batches);
  const std::vector<int64_t>&labels = guesses.labels, &classes = guesses.classes;
  const int64_t right =
      std::inner_product(labels.begin(), labels.end(), classes.begin(), int64_t{0}, std::plus<>(), std::equal_to<>());
  const int64_t count = std::ssize(labels);
  return Evaluated{guesses.loss, count, {{"accuracy", static_cast<double>(right) / static_cast<double>(count)}}};
}

TaskSample ImageTask::sample() {
  const Guesses guesses = guess(0);
  std::vector<int64_t> wrong;
  for (size_t i = 0; i < guesses.labels.size(); ++i) {
    if (guesses.labels[i] != guesses.classes[i]) wrong.push_back(static_cast<int64_t>(i));
  }
  const auto certainty = [&](int64_t i) { return guesses.certainty[static_cast<size_t>(i)]; };
  std::ranges::stable_sort(wrong, std::greater<>(), certainty);
  TaskSample sample;
  sample.text = fmt::format("{} of {} images are taken for something else", wrong.size(), guesses.labels.size());
  if (wrong.empty()) return sample;
  sample.text += ", those with the greatest certainty first:";
  wrong.resize(std::min(wrong.size(), static_cast<size_t>(config_.sample.count)));
  std::vector<Tensor> pictures;
  for (const int64_t i : wrong) {
    const auto at = static_cast<size_t>(i);
    const std::string& dataset = config_.data.dataset;
    sample.text += fmt::format("\n{} taken for {} ({:.2f})", class_name(dataset, guesses.labels[at]),
                               class_name(dataset, guesses.classes[at]), guesses.certainty[at]);
    pictures.push_back(parts_.test.tensors()["image"][i]);
  }
  sample.picture = stack(pictures);
  return sample;
}

fs::path ImageTask::save(const fs::path& run_folder) {
  const fs::path folder = run_folder / "model";
  net_.save(folder);
  return folder;
}

}  // namespace tenon::train
