// `tenon config`: the presets, the keys, and whether a config would be accepted.

#include "tenon/train/config.h"

#include <fmt/format.h>

#include <memory>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/io/input.h"
#include "tenon/train/game_run.h"

namespace tenon::cli {
namespace {

struct ConfigArguments {
  bool list = false, defaults = false, schema = false, markdown = false;
  std::string validate, show;
  std::vector<std::string> settings;
};

void list_presets() {
  for (const train::Preset& preset : train::presets())
    print("{:24}{}\n", preset.name, train::load_config(std::string(preset.name)).description);
  for (const rl::DqnPreset& preset : rl::dqn_presets())
    print("{:24}{}\n", preset.name, rl::parse_dqn_config(preset.json, preset.name).description);
}

train::Config changed(const std::string& name, const std::vector<std::string>& settings) {
  train::Config config = train::load_config(name);
  const train::Config before = config;
  train::set_all(config, settings);
  for (const train::Difference& fit : train::make_fit(config, before, settings))
    tell(io::escaped(fit_text(fit, name)) + "\n");
  train::validate(config, name);
  return config;
}

void show_game(const ConfigArguments& wanted, const std::string& name) {
  rl::DqnConfig config = train::load_game_config(name);
  rl::set(config, wanted.settings);
  rl::validate(config, name);
  if (wanted.show.empty())
    print("{}: valid; {} keys differ from their defaults\n", shown(name), rl::changed_keys(config));
  else
    write_text(rl::to_json(config));
}

void run(const ConfigArguments& wanted) {
  if (wanted.list) list_presets();
  if (wanted.defaults) print("{}", train::to_json({}));
  if (wanted.schema) print("{}", train::json_schema());
  if (wanted.markdown) print("{}", train::config_markdown());
  if (const std::string& game = wanted.show.empty() ? wanted.validate : wanted.show; is_game(game, ""))
    return show_game(wanted, game);
  if (!wanted.show.empty()) write_text(train::to_json(changed(wanted.show, wanted.settings)));
  if (!wanted.validate.empty()) {
    const train::Config config = changed(wanted.validate, wanted.settings);
    print("{}: valid; {} keys differ from their defaults\n", shown(wanted.validate),
          train::differences({}, config).size());
  }
}

}  // namespace

void add_config(CLI::App& app) {
  CLI::App* command = app.add_subcommand("config", "List presets; print, check and document configs");
  command->footer(
      "Examples:\n"
      "  tenon config --list\n"
      "  tenon config --show demo > mine.json\n"
      "  tenon config --validate mine.json --set training.steps=200");
  const auto wanted = std::make_shared<ConfigArguments>();
  CLI::Option_group* what = command->add_option_group("what", "One of these");
  what->add_flag("--list", wanted->list, "List the presets");
  what->add_option("--validate", wanted->validate, "Check a config file or preset")
      ->type_name("FILE")
      ->check(path_name());
  what->add_option("--show", wanted->show, "Print a preset or file with all keys")
      ->type_name("CONFIG")
      ->check(path_name());
  what->add_flag("--print-defaults", wanted->defaults, "Print a config with all keys at their defaults");
  what->add_flag("--schema", wanted->schema, "Print the JSON schema of configs, for editors");
  what->add_flag("--markdown", wanted->markdown, "Print docs/config.md");
  what->require_option(1);
  command->add_option("--set", wanted->settings, "Change a key of what is validated or shown; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->callback([wanted] {
    if (!wanted->settings.empty() && wanted->validate.empty() && wanted->show.empty())
      throw CLI::ValidationError("--set", "goes with --validate or --show");
    run(*wanted);
  });
}

}  // namespace tenon::cli
