#include "tenon/models/picture_model.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/io/hugging_face.h"
#include "tenon/io/safetensors.h"
#include "tenon/io/torch_file.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;
using base::fail;

// (channels, 1, 1), on the scale of bytes.
Tensor of_bytes(const std::vector<double>& values, const Tensor& like) {
  std::vector<float> scaled;
  for (const double value : values) scaled.push_back(static_cast<float>(value * 255));
  return from_vector(scaled, like.shape()).to(like.device(), like.dtype());
}

}  // namespace

PictureStatistics completed(std::string_view name, const PictureStatistics& given, int64_t channels) {
  PictureStatistics all = given;
  const bool is_rgb = channels == 3;
  if (all.mean.empty())
    all.mean = is_rgb ? std::vector{0.485, 0.456, 0.406} : std::vector(static_cast<size_t>(channels), 0.5);
  if (all.deviation.empty())
    all.deviation = is_rgb ? std::vector{0.229, 0.224, 0.225} : std::vector(static_cast<size_t>(channels), 0.5);
  if (std::ssize(all.mean) != channels || std::ssize(all.deviation) != channels)
    fail(name, "{} means and {} deviations are given for pictures of {} channels", all.mean.size(),
         all.deviation.size(), channels);
  for (size_t i = 0; i < all.mean.size(); ++i) {
    if (!std::isfinite(all.mean[i]) || !(all.deviation[i] > 0) || !std::isfinite(all.deviation[i]))
      fail(name, "a mean of {} and a deviation of {}; deviations must be above 0", all.mean[i], all.deviation[i]);
  }
  return all;
}

PictureModel::PictureModel(std::string_view name, int64_t channels, const PictureStatistics& statistics,
                           const Options& options)
    : name_(name),
      channels_(channels),
      mean_(zeros({channels, 1, 1}, options)),
      deviation_(ones({channels, 1, 1}, options)) {
  register_buffer("picture_mean", mean_, false);
  register_buffer("picture_deviation", deviation_, false);
  set_statistics(statistics);
}

void PictureModel::set_statistics(const PictureStatistics& statistics) {
  statistics_ = completed(name_, statistics, channels_);
  const NoGrad setting;
  mean_.copy_(of_bytes(statistics_.mean, mean_));
  deviation_.copy_(of_bytes(statistics_.deviation, deviation_));
  tenon::eval({mean_, deviation_});
}

Tensor PictureModel::forward(const Tensor& pictures) const {
  if (pictures.dim() != 4 || pictures.size(1) != channels_)
    fail(name_, "takes pictures (batch, {}, height, width), got {}", channels_, ir::to_string(pictures.shape()));
  return logits(pictures.dtype() == DType::u8 ? (pictures.to(mean_.dtype()) - mean_) / deviation_ : pictures);
}

void PictureModel::save(const fs::path& folder) const { io::save_folder(folder, config_json(), state_dict(), {}); }

nn::LoadReport PictureModel::load_weights(const fs::path& file, bool strict) {
  const std::string ending = file.extension().string();
  nn::StateDict state;
  if (ending == ".pt" || ending == ".pth")
    state = io::load_torch(file).tensors;
  else if (ending == ".safetensors" || ending == ".json")
    state = io::load_safetensors(file).tensors;
  else
    fail(name_, "{}: weights are in a file of .safetensors, .pt or .pth", file.string());
  const base::Scope scope(file.string());
  return load_state_dict(state, strict);
}

}  // namespace tenon::models
