// What a step shows goes to all of them, the file that survives first.

#include "tenon/watch/run_view.h"

#include <fmt/format.h>

namespace tenon::watch {

RunView::RunView(std::filesystem::path run_folder, std::optional<int64_t> last_step, int64_t total_steps,
                 std::FILE* out)
    : run_folder_(std::move(run_folder)),
      metrics_(MetricsLog::open(run_folder_ / "metrics.jsonl", last_step)),
      tensorboard_(run_folder_ / "tensorboard", last_step) {
  if (out) progress_.emplace(total_steps, out);
}

void RunView::show(const StepMetrics& now) {
  metrics_.write(now);
  tensorboard_.scalar("train/loss", now.step, now.loss);
  tensorboard_.scalar("train/lr", now.step, now.lr);
  tensorboard_.scalar("train/gradient_norm", now.step, now.gradient_norm);
  tensorboard_.scalar("train/" + now.unit + "_per_second", now.step, now.items_per_second);
  if (now.loss_scale) tensorboard_.scalar("train/loss_scale", now.step, *now.loss_scale);
  if (now.validation_loss) tensorboard_.scalar("validation/loss", now.step, *now.validation_loss);
  for (const auto& [name, value] : now.validation_metrics) tensorboard_.scalar("validation/" + name, now.step, value);
  if (progress_) progress_->update(now);
}

void RunView::show(const Sample& sample) {
  write_sample(run_folder_, sample);
  tensorboard_.text("sample", sample.step, sample.text);
  if (!sample.picture.empty()) tensorboard_.picture("sample_picture", sample.step, sample.picture);
  note(fmt::format("sample after step {}:\n{}\n", sample.step, sample.text));
}

void RunView::note(std::string_view text) {
  if (progress_) progress_->note(text);
}

void RunView::finish_progress() {
  if (progress_) progress_->finish();
}

}  // namespace tenon::watch
