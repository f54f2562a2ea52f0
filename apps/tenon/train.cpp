// `tenon train`: a run from a config or preset, shown while it runs.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/device/registry.h"
#include "tenon/io/input.h"
#include "tenon/train/trainer.h"
#include "tenon/watch/report.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string config, also_config, out, resume, vocab;
  std::vector<std::string> settings;
  int64_t stop_after = 0;
  bool quiet = false, profiles = false;
  std::string profile;  // FROM-TO, or empty
};

// "11-15", or "11" for one step.
train::ProfiledSteps profiled_steps(const std::string& text) {
  if (text.empty()) return {};
  const auto number = [](std::string_view digits) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : int64_t{0};
  };
  const std::string_view all = text;
  const size_t dash = all.find('-');
  const int64_t first = number(all.substr(0, dash)), last = dash == all.npos ? first : number(all.substr(dash + 1));
  if (first < 1 || last < first)
    throw CLI::ValidationError(fmt::format(
        "--profile: {} names no steps; take the first and the last, as in --profile=11-15", io::in_quotes(text)));
  return {first, last};
}

bool is_taken(const fs::path& folder) {
  return fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder));
}

// runs/demo, and behind it the time where there is one already.
std::string default_folder(const std::string& config) {
  const std::string plain = "runs/" + fs::path(config).stem().string();
  if (!is_taken(plain)) return plain;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &local);
  return plain + "_" + stamp;
}

// What is asked for on the command line stands; what it leaves no room for is said.
train::Config config_of(const TrainArguments& wanted) {
  const bool resumes = !wanted.resume.empty();
  train::Config config = wanted.config.empty() ? train::run_config(wanted.resume) : train::load_config(wanted.config);
  const train::Config before = config;
  train::set_all(config, wanted.settings);
  if (resumes) return config;  // keeps what it was begun with
  for (const train::Difference& fit : train::make_fit(config, before, wanted.settings)) {
    if (!wanted.quiet) tell(io::escaped(fit_text(fit, wanted.config)) + "\n");
  }
  return config;
}

void run(TrainArguments wanted) {
  const bool resumes = !wanted.resume.empty();
  if (!wanted.vocab.empty()) {
    wanted.settings.emplace_back("tokenizer.kind=file");
    wanted.settings.push_back("tokenizer.path=" + wanted.vocab);
  }
  if (!wanted.config.empty() && !wanted.also_config.empty())
    throw CLI::ValidationError(
        fmt::format("{} and --config {} both name a config; name one", wanted.config, wanted.also_config));
  // In `--profile demo` what follows is the config.
  if (wanted.config.empty() && !wanted.profile.empty() && (wanted.profile[0] < '0' || wanted.profile[0] > '9'))
    wanted.config = std::exchange(wanted.profile, {});
  if (wanted.config.empty()) wanted.config = wanted.also_config;
  if (wanted.config.empty() && !resumes)
    throw CLI::ValidationError("name a config or preset, or a run to --resume; tenon config --list shows the presets");
  if (resumes && !wanted.out.empty())
    throw CLI::ValidationError("--resume goes on in its own folder; leave --out away");
  if (is_game(wanted.config, wanted.resume)) {
    if (wanted.profiles)
      throw CLI::ValidationError("--profile is for models of texts and images; for games set TENON_PROFILE=1");
    const std::string out = wanted.out.empty() && !resumes ? default_folder(wanted.config) : wanted.out;
    return train_game({wanted.config, wanted.resume, out, wanted.settings, wanted.stop_after, wanted.quiet});
  }
  const train::Config config = config_of(wanted);
  train::validate(config, wanted.config.empty() ? "config" : wanted.config);
  // What the config names, whatever TENON_DEVICE does.
  device::set_default_device(device::find(config.device.name));
  train::TrainOptions options;
  options.folder = resumes ? wanted.resume : wanted.out.empty() ? default_folder(wanted.config) : wanted.out;
  options.resume = resumes;
  options.config_name = wanted.config;
  if (wanted.stop_after > 0) options.stop_after = wanted.stop_after;
  if (wanted.profiles) options.profile = profiled_steps(wanted.profile);
  if (wanted.quiet) options.out = nullptr;
  const train::TrainResult result = train::train(config, options);

  if (result.stopped)
    print("stopped after step {}: tenon train --resume {}\n", result.step, shown(options.folder));
  else
    print("trained {} step{} in {} ({} in all), {:.0f} {}/s, loss {:.4f}", result.step, result.step == 1 ? "" : "s",
          watch::duration_text(result.step_seconds), watch::duration_text(result.seconds), result.items_per_second,
          result.unit, result.loss);
  if (!result.stopped) {
    if (result.best_validation_loss) print(", validation loss {:.4f} at best", *result.best_validation_loss);
    for (const auto& [name, value] : result.validation_metrics) print(", validation {} {:.4f}", name, value);
    print("\nmodel   {}\n", shown(result.model.lexically_normal()));
  }
  print("report  {}\n", shown(result.report.lexically_normal()));
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a model from a config or preset");
  command->footer(
      "Ctrl-C, SIGTERM and SIGHUP finish the step, save a checkpoint and exit with 0; a second Ctrl-C quits at once\n"
      "with 130.\n"
      "\n"
      "Examples:\n"
      "  tenon train demo\n"
      "  tenon train mnist_cnn --set data.path=mnist\n"
      "  tenon train text_classifier --set data.train=reviews.csv    (columns text and label)\n"
      "  tenon train resnet50 --set data.path=pictures    (a folder of pictures for each class)\n"
      "  tenon train shakespeare_char_cpu --set data.train=input.txt --out runs/shakespeare\n"
      "  tenon train wiki_base --set data.train=wiki.txt --vocab vocab.txt\n"
      "  tenon train --resume runs/shakespeare --set training.steps=4000\n"
      "  tenon train dqn2048");
  const auto wanted = std::make_shared<TrainArguments>();
  command->add_option("config", wanted->config, "A config file, or a preset (tenon config --list)")
      ->type_name("CONFIG")
      ->check(path_name());
  command->add_option("--config", wanted->also_config, "The same")->type_name("CONFIG")->check(path_name());
  command->add_option("--set", wanted->settings, "Change a key: training.batch_size=16; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--vocab", wanted->vocab, "A tokenizer, or a vocab.txt: the same as --set tokenizer.path=PATH")
      ->type_name("PATH")
      ->check(path_name());
  command
      ->add_option("--out", wanted->out, "Folder of the run (runs/CONFIG, or where there is one runs/CONFIG_DATE_TIME)")
      ->type_name("FOLDER")
      ->check(path_name());
  command->add_option("--resume", wanted->resume, "Go on with the newest good checkpoint of a run")
      ->type_name("FOLDER")
      ->check(path_name());
  command->add_option("--stop-after", wanted->stop_after, "Stop with a checkpoint after this step, as Ctrl-C would")
      ->type_name("STEP")
      ->check(whole_number(1, 1'000'000'000));
  command
      ->add_option("--profile", wanted->profile,
                   "Profile these steps (five early ones) into profile.json of the run, and show where their time goes")
      ->type_name("FROM-TO")
      ->expected(0, 1);
  command->add_flag("--quiet", wanted->quiet, "Show nothing while training");
  command->callback([wanted, command] {
    wanted->profiles = command->count("--profile") > 0;
    run(*wanted);
  });
}

}  // namespace tenon::cli
