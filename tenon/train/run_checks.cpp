// Checks of a folder and of the config that is to be run in it.

#include "tenon/train/run_checks.h"

#include <fmt/format.h>

#include <vector>

#include "tenon/base/error.h"
#include "tenon/train/config_keys.h"
#include "tenon/train/run_folder.h"

namespace tenon::train {

namespace fs = std::filesystem;
using base::fail;

void require_run(const fs::path& folder) {
  if (!fs::exists(folder))
    fail("train", "{}: there is no such folder to resume; start a new run or name the folder of one", folder.string());
  const bool has_config = fs::exists(folder / "config.json");
  if (!has_config || !is_run(folder))
    fail("train", "{}: holds no run to resume ({}); start a new one or name the folder of a run", folder.string(),
         has_config ? "its config.json is not of a run" : "there is no config.json");
}

bool has_moved_data(const Config& before, const Config& now) {
  return before.data.train != now.data.train || before.data.validation != now.data.validation ||
         before.data.path != now.data.path;
}

void require_same_run(const Config& before, const Config& now, const TrainOptions& options) {
  for (const Difference& one : differences(before, now)) {
    if (find_key(one.path)->on_resume != OnResume::stays) continue;
    const std::string said = options.config_name.empty() ? "the config now says" : options.config_name + " says";
    const std::string remedy = options.config_name.empty()
                                   ? "take the old value"
                                   : fmt::format("leave out {} to go on as it was", options.config_name);
    fail("train", "{}: was begun with {} {}, {} {}; {}, or begin a new run in another folder", options.folder.string(),
         one.path, one.before, said, one.after, remedy);
  }
}

void require_same_run(const fs::path& checkpoint, const std::string& its_config, const Config& now) {
  if (its_config.empty()) return;
  Config before;
  try {
    before = parse_config(its_config, "config");
  } catch (const Error&) {  // of another version, which has other keys
    return;
  }
  for (const Difference& one : differences(before, now)) {
    if (find_key(one.path)->on_resume == OnResume::stays)
      fail("train",
           "{}: was made with {} {}, config.json says {}; put the old value back, or begin a new run in another folder",
           checkpoint.string(), one.path, one.before, one.after);
  }
}

void require_other_files(const Config& config, const fs::path& folder) {
  std::vector<fs::path> read = {config.data.train, config.data.validation};
  // An empty one names nothing, and not the working directory.
  if (const fs::path tokenizer = config.tokenizer.path; !tokenizer.empty())
    read.insert(read.end(), {tokenizer, tokenizer / "tokenizer.json", tokenizer / "vocab.txt"});
  if (const fs::path model = config.model.init_from; !model.empty())
    read.insert(read.end(),
                {model / "config.json", model / "model.safetensors", model / "tokenizer.json", model / "vocab.txt"});
  for (const char* name : {"config.json", "tokenizer.json", "metrics.jsonl", "report.html", "model/config.json",
                           "model/model.safetensors", "model/tokenizer.json", "model/vocab.txt"}) {
    const fs::path own = folder / name;
    for (const fs::path& input : read) {
      std::error_code missing;
      if (fs::equivalent(input, own, missing))
        fail("train", "{}: is read by this run, which would replace it; choose another folder for the run",
             own.string());
    }
  }
}

}  // namespace tenon::train
