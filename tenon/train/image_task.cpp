// Images travel as they lie in files, a byte a pixel; the network brings them to mean 0 and deviation 1.

#include "tenon/train/image_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <ranges>

#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/data/checksum.h"
#include "tenon/data/cifar.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/mnist.h"
#include "tenon/io/file.h"
#include "tenon/io/input.h"
#include "tenon/models/cnn.h"
#include "tenon/models/resnet.h"
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

constexpr double kWhite = 255;
constexpr int64_t kClasses = 10;  // of the three datasets that are not folders

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
void require_shift_inside(const Config& config, int64_t height, int64_t width) {
  if (config.data.shift >= std::min(height, width))
    fail("train", "data.shift is {}, and the images of {} are {} x {}; move them by less than {} pixels",
         config.data.shift, config.data_name(), height, width, std::min(height, width));
}

// Pictures in files take milliseconds each to read, those in memory nothing.
int workers_of(const Config& config) {
  constexpr int kMost = 16;
  if (!config.data.prefetch) return 0;
  return config.data.dataset == "folder" ? std::clamp(base::num_threads(), 1, kMost) : 1;
}

// Of one micro-batch.
int64_t rows_of(const Config& config) { return config.training.batch_size / config.training.micro_batches; }

data::DataLoaderOptions loader_options(const Config& config) {
  return {.batch_size = config.training.batch_size,
          .shuffle = true,
          .seed = static_cast<uint64_t>(config.data.seed),
          .workers = workers_of(config),
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
models::PictureStatistics statistics_of(const Tensor& images) {
  const data::HostBytes bytes(images);
  const auto* pixels = bytes.as<uint8_t>();
  const int64_t channels = images.size(1), area = images.size(2) * images.size(3);
  models::PictureStatistics found;
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
    found.mean.push_back(sum / kWhite);
    found.deviation.push_back(std::sqrt(std::max(1.0, squares - sum * sum)) / kWhite);
  }
  return found;
}

std::unique_ptr<nn::Layer> make_cnn(const Config& config, const models::CnnConfig& sizes,
                                    const models::PictureStatistics& statistics) {
  auto net = std::make_unique<models::Cnn>(sizes, Options(DType::f32, Device(config.device.name)));
  const auto take = [&](Tensor into, const std::vector<double>& values) {
    std::vector<float> of_bytes;
    for (const double value : values) of_bytes.push_back(static_cast<float>(value * kWhite));
    into.copy_(from_vector(of_bytes, into.shape()).to(into.device()));
  };
  const NoGrad setting;
  take(net->mean, statistics.mean);
  take(net->deviation, statistics.deviation);
  eval({net->mean, net->deviation});
  return net;
}

}  // namespace

ImageTask::Parts ImageTask::read(const Config& config) {
  if (config.data.dataset == "folder") {
    PictureFolder found = read_picture_folder(config);
    const int64_t side = config.data.picture_size;
    require_shift_inside(config, side, side);
    return {std::move(found.train),
            std::move(found.test),
            std::move(found.classes),
            3,
            side,
            side,
            std::move(found.fingerprint),
            std::nullopt,
            models::completed("train", {}, 3),
            std::move(found.left_out)};
  }
  const data::TensorDataset train = dataset_of(config, true), test = dataset_of(config, false);
  require_alike(train, test, config);
  const Tensor& images = train.tensors()["image"];
  require_shift_inside(config, images.size(2), images.size(3));
  data::Checksum checksum;
  for (const data::TensorDataset* part : {&train, &test}) {
    for (const data::Field& field : part->tensors().fields()) checksum.add(data::HostBytes(field.value).bytes());
  }
  std::vector<std::string> classes;
  for (int64_t label = 0; label < kClasses; ++label) classes.push_back(class_name(config.data.dataset, label));
  const Device device(config.device.name);
  return {train,
          test,
          std::move(classes),
          images.size(1),
          images.size(2),
          images.size(3),
          fmt::format("{:016x}", checksum.value()),
          data::Sample{test.tensors()["image"].to(device).eval(), test.tensors()["label"].to(device).eval()},
          statistics_of(images)};
}

std::unique_ptr<nn::Layer> ImageTask::made_net(const Config& config, const Parts& parts) {
  const ModelConfig& m = config.model;
  const auto classes = std::ssize(parts.classes);
  if (m.architecture == "cnn")
    return make_cnn(config,
                    {.image_channels = parts.channels,
                     .height = parts.height,
                     .width = parts.width,
                     .classes = classes,
                     .stages = m.layers,
                     .channels = m.channels,
                     .convolutions = m.convolutions,
                     .batch_norm = m.batch_norm,
                     .hidden = m.hidden,
                     .dropout = m.dropout},
                    parts.statistics);
  models::ResNetConfig sizes = models::ResNetConfig::resnet(m.layers);
  sizes.image_channels = parts.channels;
  sizes.classes = classes;
  sizes.small_pictures = m.small_pictures;
  sizes.statistics = parts.statistics;
  return std::make_unique<models::ResNet>(sizes, Options(DType::f32, Device(config.device.name)));
}

ImageTask::ImageTask(const Config& config) : ImageTask(config, read(config)) {}

ImageTask::ImageTask(const Config& config, Parts parts)
    : config_(config),
      parts_(std::move(parts)),
      net_(made_net(config, parts_)),
      loader_(parts_.train, loader_options(config)),
      look_([this](std::span<const Tensor> given) {
        const NoGrad reading;
        const ProductPrecision products(config_);
        const Tensor logits = (*net_)(given[0]).to(DType::f32), classes = logits.argmax(1);
        return std::vector<Tensor>{nn::cross_entropy(logits, given[1], {.reduction = nn::Reduction::sum}), classes,
                                   softmax(logits, 1).amax({1})};
      }) {}

TaskFacts ImageTask::facts() const {
  const std::string of_classes =
      config_.data.dataset == "folder" ? fmt::format(" of {} classes", parts_.classes.size()) : "";
  return {.data = fmt::format("{}: {} images{} to train on, {} to validate on; an epoch is {} steps",
                              config_.data_name(), watch::with_separators(parts_.train->size()), of_classes,
                              watch::with_separators(parts_.test->size()), loader_.size()),
          .fingerprint = parts_.fingerprint,
          .unit = "images",
          .items = parts_.train->size()};
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
  return nn::cross_entropy((*net_)(images), batch[1], {.label_smoothing = config_.training.label_smoothing});
}

std::vector<Tensor> ImageTask::tests_from(int64_t first, int64_t count) {
  if (parts_.test_tensors) {
    const auto [images, labels] = parts_.test_tensors->unpack<2>();
    return {images.narrow(0, first, count), labels.narrow(0, first, count)};
  }
  if (first == 0) {  // read anew
    data::DataLoaderOptions options = loader_options(config_);
    options.batch_size = rows_of(config_);
    options.shuffle = false;
    options.last = data::LastBatch::kKeep;
    test_loader_.emplace(parts_.test, options);
  }
  const auto [images, labels] = test_loader_->next().unpack<2>();
  return {images, labels};
}

ImageTask::Guesses ImageTask::guess(int64_t most_batches) {
  const int64_t rows = rows_of(config_), all = parts_.test->size();
  const int64_t used = most_batches > 0 ? std::min(all, most_batches * rows) : all;
  Guesses guesses;
  for (int64_t first = 0; first < used; first += rows) {
    const std::vector<Tensor> given = tests_from(first, std::min(rows, used - first));
    const std::vector<Tensor> seen = look_.call(given);
    guesses.loss += seen[0].item<double>();
    const std::vector<int64_t> labels = given[1].to_vector<int64_t>(), classes = seen[1].to_vector<int64_t>();
    const std::vector<float> certainty = seen[2].to_vector<float>();
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kNoLabel) continue;
      guesses.places.push_back(first + static_cast<int64_t>(i));
      guesses.labels.push_back(labels[i]);
      guesses.classes.push_back(classes[i]);
      guesses.certainty.push_back(certainty[i]);
    }
  }
  test_loader_.reset();  // whose threads would read ahead
  guesses.loss /= static_cast<double>(std::max<int64_t>(1, std::ssize(guesses.labels)));
  return guesses;
}

std::optional<Evaluated> ImageTask::evaluate() {
  if (parts_.test->size() == 0) return std::nullopt;
  const Guesses guesses = guess(config_.training.eval_batches);
  if (guesses.labels.empty()) return std::nullopt;
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
    const auto class_of = [&](int64_t label) { return io::harmless(parts_.classes[static_cast<size_t>(label)]); };
    sample.text += fmt::format("\n{} taken for {} ({:.2f})", class_of(guesses.labels[at]),
                               class_of(guesses.classes[at]), guesses.certainty[at]);
    pictures.push_back(parts_.test->get(guesses.places[at])["image"]);
  }
  sample.picture = stack(pictures);
  return sample;
}

std::vector<std::string> ImageTask::take_notes() {
  return parts_.left_out ? parts_.left_out->take() : std::vector<std::string>();
}

fs::path ImageTask::save(const fs::path& run_folder) {
  const fs::path folder = run_folder / "model";
  if (const auto* cnn = dynamic_cast<const models::Cnn*>(net_.get()))
    cnn->save(folder);
  else
    dynamic_cast<const models::PictureModel&>(*net_).save(folder);
  if (config_.data.dataset != "folder") return folder;
  io::ReplacingFile file("train", folder / "classes.txt");
  for (const std::string& name : parts_.classes) file.write(name + "\n");
  file.commit();
  return folder;
}

}  // namespace tenon::train
