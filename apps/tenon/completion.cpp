// `tenon completion`: scripts that let a shell complete commands, options and their choices.
//
// They are written from the command line's own tree, so that they cannot fall behind it. A script first walks over the
// words before the cursor to find the command they name, then offers what that command knows.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "apps/tenon/command_tree.h"
#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/train/config.h"

namespace tenon::cli {
namespace {

using Words = std::vector<std::string>;

// Presets, and files beside them.
bool is_config(const CLI::Option& option) { return option.get_type_name() == "CONFIG"; }

// What may follow an option or stand as a positional: the names of a set, of presets, or nothing that is known.
Words choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  Words choices;
  if (is_config(option)) {
    for (const train::Preset& preset : train::presets()) choices.emplace_back(preset.name);
  }
  const size_t open = type.rfind('{'), close = type.rfind('}');
  if (open == type.npos || close == type.npos) return choices;
  for (size_t from = open + 1; from <= close;) {
    const size_t to = type.find_first_of(",}", from);
    choices.push_back(type.substr(from, to - from));
    from = to + 1;
  }
  return choices;
}

bool takes_value(const CLI::Option& option) {
  return option.get_expected_max() > 0 && option.get_items_expected_max() > 0;
}

bool takes_files(const CLI::App& app) {
  for (const CLI::Option* option : options_of(app)) {
    if (option->get_positional() && (choices_of(*option).empty() || is_config(*option))) return true;
  }
  return false;
}

struct Place {
  const CLI::App* app;
  std::string path;
};

void gather(const CLI::App& app, std::vector<Place>& places) {
  places.push_back({&app, command_path(app)});
  for (const CLI::App* command : commands_of(app)) gather(*command, places);
}

std::vector<Place> places_of(const CLI::App& app) {
  std::vector<Place> places;
  gather(app, places);
  return places;
}

// Everything that may come next at a place.
Words words_at(const CLI::App& app) {
  Words words;
  for (const CLI::App* command : commands_of(app)) words.push_back(command->get_name());
  for (const CLI::Option* option : options_of(app)) {
    const bool is_word = option->get_positional() && !is_config(*option);
    const Words more = is_word ? choices_of(*option) : spellings(*option);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

// The two shells differ in how the words before the cursor are called and in how words are offered.
struct Dialect {
  std::string_view head, before, previous, current, offer, offer_with_files, files, tail;
};

constexpr Dialect kBash{
    .head = "# Completes tenon in bash: source <(tenon completion bash)\n",
    .before = "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"",
    .previous = "${COMP_WORDS[COMP_CWORD-1]}",
    .current = "${COMP_WORDS[COMP_CWORD]}",
    .offer = "COMPREPLY=($(compgen -W '{}' -- \"${{COMP_WORDS[COMP_CWORD]}}\"))",
    .offer_with_files = "COMPREPLY=($(compgen -f -W '{}' -- \"${{COMP_WORDS[COMP_CWORD]}}\"))",
    .files = ":",  // -o default offers files where nothing else is offered
    .tail = "complete -o default -F _tenon tenon\n",
};
constexpr Dialect kZsh{
    .head = "#compdef tenon\n# Completes tenon in zsh: source <(tenon completion zsh)\n",
    .before = "\"${(@)words[2,CURRENT-1]}\"",
    .previous = "${words[CURRENT-1]}",
    .current = "${words[CURRENT]}",
    .offer = "compadd -- {}",
    .offer_with_files = "compadd -- {}; _files",
    .files = "_files",
    .tail = "compdef _tenon tenon\n",
};

std::string walk(const std::vector<Place>& places, const Dialect& dialect) {
  Words paths;
  for (const Place& place : places) {
    if (place.app->get_parent()) paths.push_back("'" + place.path + "'");
  }
  return fmt::format(
      "  local place=tenon word\n"
      "  for word in {}; do\n"
      "    case \"$place $word\" in\n"
      "      {}) place=\"$place $word\" ;;\n"
      "    esac\n"
      "  done\n",
      dialect.before, fmt::join(paths, "|"));
}

std::string offered(const Words& words, const Dialect& dialect, bool with_files = false) {
  if (words.empty()) return std::string(dialect.files);
  return fmt::format(fmt::runtime(with_files ? dialect.offer_with_files : dialect.offer), fmt::join(words, " "));
}

// The presets that a command takes as its argument.
Words positional_configs(const CLI::App& app) {
  for (const CLI::Option* option : options_of(app)) {
    if (option->get_positional() && is_config(*option)) return choices_of(*option);
  }
  return {};
}

std::string script(const CLI::App& app, const Dialect& dialect) {
  const std::vector<Place> places = places_of(app);
  std::string text =
      fmt::format("{}_tenon() {{\n{}  case \"$place {}\" in\n", dialect.head, walk(places, dialect), dialect.previous);
  for (const Place& place : places) {
    for (const CLI::Option* option : options_of(*place.app)) {
      if (option->get_positional() || !takes_value(*option)) continue;
      for (const std::string& name : spellings(*option))
        text += fmt::format("    '{} {}') {}; return ;;\n", place.path, name,
                            offered(choices_of(*option), dialect, is_config(*option)));
    }
  }
  text += "  esac\n  case \"$place\" in\n";
  for (const Place& place : places) {
    // Where files may stand, options are offered once a dash is there.
    const std::string only = takes_files(*place.app) ? fmt::format("[[ {} == -* ]] && ", dialect.current) : "";
    const Words configs = positional_configs(*place.app);
    const std::string otherwise = configs.empty() ? "" : " || " + offered(configs, dialect, true);
    text += fmt::format("    '{}') {}{}{} ;;\n", place.path, only, offered(words_at(*place.app), dialect), otherwise);
  }
  return text + fmt::format("  esac\n  {}\n}}\n{}", dialect.files, dialect.tail);
}

std::string in_fish_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter == '\n' ? ' ' : letter;
  }
  return quoted + "'";
}

std::string fish_condition(const CLI::App& app) {
  if (!app.get_parent()) return "__fish_use_subcommand";
  const std::string own = "__fish_seen_subcommand_from " + app.get_name();
  return app.get_parent()->get_parent() ? fish_condition(*app.get_parent()) + "; and " + own : own;
}

std::string fish_script(const CLI::App& app) {
  std::string text = "# Completes tenon in fish: tenon completion fish | source\n";
  for (const Place& place : places_of(app)) {
    const std::string start = fmt::format("complete -c tenon -n '{}'", fish_condition(*place.app));
    for (const CLI::App* command : commands_of(*place.app))
      text +=
          fmt::format("{} -f -a {} -d {}\n", start, command->get_name(), in_fish_quotes(command->get_description()));
    for (const CLI::Option* option : options_of(*place.app)) {
      const Words choices = choices_of(*option);
      std::string line = start;
      for (const std::string& name : option->get_lnames()) line += " -l " + name;
      for (const std::string& name : option->get_snames()) line += " -s " + name;
      if (!option->get_positional() && takes_value(*option)) line += " -r";
      if (!choices.empty()) line += fmt::format(" -a '{}'", fmt::join(choices, " "));
      if (option->get_positional() && choices.empty()) continue;  // fish offers files by itself
      text += line + " -d " + in_fish_quotes(option->get_description()) + "\n";
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands and options in a shell");
  command->footer(
      "Examples:\n"
      "  source <(tenon completion bash)\n"
      "  tenon completion fish > ~/.config/fish/completions/tenon.fish");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which shell")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
  command->callback([&app, shell] {
    if (*shell == "bash") print("{}", script(app, kBash));
    if (*shell == "zsh") print("{}", script(app, kZsh));
    if (*shell == "fish") print("{}", fish_script(app));
  });
}

}  // namespace tenon::cli
