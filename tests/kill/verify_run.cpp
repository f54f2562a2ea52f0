// verify_run RUN: reads every file of a run's folder and fails where one is damaged; prints what there is.
// verify_run RUN OTHER: fails unless both runs left the same bits.
//
// For scripts/kill_test.sh, which calls it after every kill.

#include <fmt/format.h>

#include "tenon/io/file.h"
#include "tenon/io/safetensors.h"
#include "tenon/text/tokenizer.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/run_folder.h"
#include "tenon/watch/metrics.h"
#include "tenon/watch/samples.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

void require(bool holds, const fs::path& path, std::string_view what) {
  if (!holds) base::fail("verify_run", "{}: {}", path.string(), what);
}

void verify_page(const fs::path& page) {
  if (fs::exists(page)) require(io::content_of(page).ends_with("</html>\n"), page, "is cut off");
}

void verify_model(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) io::load_safetensors(folder / "model.safetensors");
  if (fs::exists(folder / "tokenizer.json")) text::load_tokenizer(folder / "tokenizer.json");
}

std::string verified(const fs::path& run) {
  const fs::path checkpoints = run / "checkpoints";
  const std::vector<int64_t> steps = checkpoint_steps(checkpoints);
  for (const int64_t step : steps) read_checkpoint(checkpoint_path(checkpoints, step));
  if (fs::is_symlink(checkpoints / "best")) read_checkpoint(checkpoints / "best");
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    const std::string name = entry.path().filename();
    require(!name.starts_with("damaged_"), entry.path(), "was found damaged");
  }
  run_config(run);
  const size_t lines = fs::exists(run / "metrics.jsonl") ? watch::read_metrics(run / "metrics.jsonl").size() : 0;
  for (const watch::Sample& sample : watch::read_samples(run))
    require(!sample.text.empty(), run / "samples", "has an empty sample");
  verify_page(run / "report.html");
  verify_model(run);
  verify_model(run / "model");
  return fmt::format("{} checkpoints up to step {}, {} lines of metrics", steps.size(),
                     steps.empty() ? 0 : steps.back(), lines);
}

}  // namespace
}  // namespace tenon::train

int main(int count, char** arguments) {
  using namespace tenon;
  try {
    if (count == 2) {
      fmt::print("{}\n", train::verified(arguments[1]));
      return 0;
    }
    if (count != 3) base::fail("verify_run", "takes the folders of one run or two");
    const std::string difference = train::difference(train::traces_of(arguments[1]), train::traces_of(arguments[2]));
    fmt::print("{}\n", difference.empty() ? "the same bits" : difference);
    return difference.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
