// Compares a model with what PyTorch computed for it: the folder has config.json and model.safetensors as transformers
// writes them, and expected.safetensors and expected.json as tests/golden/README.md describes.
//
// Every recorded tensor is a check of its own; one that nothing here knows fails.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::testing {

struct ModelCheck {
  std::string name;
  std::string wrong;  // empty when it passes
  double excess = 0;  // the error over what is allowed, for checks of numbers
};

/// The folder of large recorded files that are not part of the repository; it may be absent.
inline std::filesystem::path shared_folder(const std::filesystem::path& source) {
  const char* given = std::getenv("TENON_SHARED");
  return given ? std::filesystem::path(given) : source.parent_path() / "shared";
}

class GoldenModel {
 public:
  GoldenModel(const std::filesystem::path& folder, Device device) : folder_(folder), device_(device) {
    golden_ = io::load_safetensors(folder / "expected.safetensors", Device("reference")).tensors;
    std::ifstream file(folder / "expected.json");
    facts_ = nlohmann::json::parse(file, nullptr, false);
    if (!facts_.is_object()) base::fail("golden", "{}: not a JSON object", (folder / "expected.json").string());
    const Tensor ids = golden("ids").to(device);
    const int64_t time = ids.size(1) - 1;
    inputs_ = ids.narrow(1, 0, time).clone().eval();
    targets_ = ids.narrow(1, 1, time).clone().eval();
  }

  static bool is_one(const std::filesystem::path& folder) { return exists(folder / "config.json"); }

  /// One check per recorded tensor and fact whose name contains the filter; `report` gets each as it is done.
  void run(const std::string& filter, const std::function<void(const ModelCheck&)>& report) {
    const auto wants = [&](const std::string& name) { return name.find(filter) != std::string::npos; };
    const auto check = [&](const std::string& name, const std::function<ModelCheck()>& comparison) {
      if (!wants(name)) return;
      ModelCheck done;
      try {
        done = comparison();
      } catch (const std::exception& error) {
        done.wrong = error.what();
      }
      done.name = name;
      report(done);
    };
    const auto model = load();
    Tensor loss = model->loss(inputs_, targets_);
    loss.backward();
    std::map<std::string, Tensor> gradients;
    for (const auto& [name, p] : model->named_parameters()) gradients["grad." + name] = p.grad();
    check("loss", [&] { return compare(loss, scalar(facts_.at("loss").get<double>()), 1e-4); });
    for (const auto& [name, expected] : golden_) {
      if (name == "ids") continue;
      check(name, [&, this, &name = name, &expected = expected]() -> ModelCheck {
        if (name == "logits") return compare((*model)(inputs_).narrow(-1, 0, expected.size(2)), expected, 1e-4);
        if (name == "losses") return compare_losses(expected);
        if (name == "greedy") return compare_tokens(*model, expected);
        if (!gradients.contains(name)) return {"", "nothing is known under this name"};
        const Tensor& ours = gradients.at(name);
        return compare(expected.size(0) < ours.size(0) ? ours.narrow(0, 0, expected.size(0)) : ours, expected, 1e-4);
      });
    }
  }

  /// Writes the model again, and beside it the ids and logits by which scripts/check_transformers.py knows it.
  void save(const std::filesystem::path& folder) const {
    const NoGrad reading;
    const auto model = load();
    model->save(folder);
    io::save_safetensors(folder / "logits.safetensors", {{"ids", inputs_}, {"logits", (*model)(inputs_).contiguous()}});
  }

 private:
  const Tensor& golden(const std::string& name) const {
    const auto found = golden_.find(name);
    if (found == golden_.end()) base::fail("golden", "expected.safetensors has no tensor {}", name);
    return found->second;
  }
  std::unique_ptr<models::Gpt2> load() const { return models::Gpt2::load(folder_, device_); }

  /// By the largest element: max|a - b| <= tolerance * max|b|.
  static ModelCheck compare(const Tensor& ours, const Tensor& expected, double tolerance) {
    if (ours.shape() != expected.shape()) {
      return {"", fmt::format("shape {}, expected {}", ir::to_string(ours.shape()), ir::to_string(expected.shape()))};
    }
    const auto a = ours.to_vector<double>(), b = expected.to_vector<double>();
    double error = 0, magnitude = 1e-6;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i])) return {"", fmt::format("element {} is {}, expected {}", i, a[i], b[i])};
      error = std::max(error, std::abs(a[i] - b[i]));
      magnitude = std::max(magnitude, std::abs(b[i]));
    }
    const double allowed = tolerance * magnitude;
    return {"", error <= allowed ? "" : fmt::format("error {:.2e}, tolerance {:.2e}", error, allowed), error / allowed};
  }

  ModelCheck compare_losses(const Tensor& expected) const {
    const auto& rule = facts_.at("adamw");
    const auto model = load();
    optim::AdamW optimizer(model->parameters(), {.lr = rule.at("lr"),
                                                 .beta1 = rule.at("betas").at(0),
                                                 .beta2 = rule.at("betas").at(1),
                                                 .eps = rule.at("eps"),
                                                 .weight_decay = rule.at("weight_decay")});
    auto step = compile([&](const Tensor& x, const Tensor& y) {
      Tensor loss = model->loss(x, y);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      return loss.detach();
    });
    std::vector<double> losses;
    for (int64_t i = 0; i < expected.size(0); ++i) losses.push_back(step(inputs_, targets_).item<double>());
    const auto wanted = expected.to_vector<double>();
    double error = 0;
    for (size_t i = 0; i < losses.size(); ++i) error = std::max(error, std::abs(losses[i] - wanted[i]));
    constexpr double kAllowed = 1e-3;
    return {"", error <= kAllowed ? "" : fmt::format("error {:.2e}, tolerance {:.2e}", error, kAllowed),
            error / kAllowed};
  }

  static ModelCheck compare_tokens(models::Gpt2& model, const Tensor& expected) {
    const auto wanted = expected.to_vector<int64_t>();
    const std::vector<int64_t> prompt(wanted.begin(), wanted.begin() + 8);
    const auto made =
        models::generate(model, prompt, {.new_tokens = static_cast<int64_t>(wanted.size() - prompt.size())});
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (made[i] != wanted[i]) return {"", fmt::format("token {} is {}, expected {}", i, made[i], wanted[i])};
    }
    return {};
  }

  std::filesystem::path folder_;
  Device device_;
  std::map<std::string, Tensor> golden_;
  nlohmann::json facts_;
  Tensor inputs_, targets_;
};

}  // namespace tenon::testing
