// Unknown words are looked for before anything else: a misspelled option is also a missing one, and the misspelling is
// what the user can mend.

#include "apps/tenon/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <functional>

#include "apps/tenon/command_tree.h"
#include "apps/tenon/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/io/input.h"
#include "tenon/train/run_folder.h"

namespace tenon::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : spellings(*option)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

// The app, or the subcommand of it, that was given a word it does not know.
const CLI::App* with_unknown(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (const CLI::App* found = with_unknown(*command)) return found;
  }
  return app.remaining_size() > 0 ? &app : nullptr;
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// "data prepare" for prepare, which is a command of data.
std::string nearest_command(const CLI::App& app, const std::string& name) {
  const std::string near = base::nearest(name, command_names(app));
  if (!near.empty()) return near;
  for (const CLI::App* command : commands_of(app)) {
    const std::string inner = base::nearest(name, command_names(*command));
    if (!inner.empty()) return command->get_name() + " " + inner;
  }
  return {};
}

std::string unknown_word(const CLI::App& app) {
  const std::string word = app.remaining().front();
  const std::string name = word.substr(0, word.find('='));
  const std::vector<std::string> commands = command_names(app);
  const std::string_view kind = is_option(name) ? "option" : commands.empty() ? "argument it takes" : "command";
  const std::string near = is_option(name) ? base::nearest(name, option_names(app)) : nearest_command(app, name);
  const std::string shown = io::in_quotes(name);
  const std::string path = command_path(app);
  if (near.empty()) return fmt::format("{}: {} is no {}; see {} --help", path, shown, kind, path);
  return fmt::format("{}: {} is no {}; did you mean {}? See {} --help", path, shown, kind, near, path);
}

// The innermost command that was named.
const CLI::App& last_command(const CLI::App& app) {
  for (const CLI::App* command : commands_of(app)) {
    if (command->parsed()) return last_command(*command);
  }
  return app;
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) {
  const auto check = [least, most](const std::string& text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    if (is_whole && number >= least && number <= most) return std::string();
    return fmt::format("{} is no whole number from {} to {}", io::in_quotes(text), least, most);
  };
  return CLI::Validator(std::function<std::string(std::string&)>(check), fmt::format("{} to {}", least, most));
}

CLI::Validator number(double least, double most, bool above_least) {
  const std::string bounds =
      above_least ? fmt::format("above {} and at most {}", least, most) : fmt::format("from {} to {}", least, most);
  const auto check = [=](const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && (above_least ? number > least : number >= least) && number <= most) return std::string();
    return fmt::format("{} is no number {}", io::in_quotes(text), bounds);
  };
  return CLI::Validator(std::function<std::string(std::string&)>(check), bounds);
}

CLI::Validator path_name() {
  const auto check = [](const std::string& text) {
    return text.empty() ? std::string("is empty; name a file or folder") : std::string();
  };
  return CLI::Validator(std::function<std::string(std::string&)>(check), "");
}

void require_computing(const std::string& device) {
  if (device == "null") throw CLI::ValidationError("--device", "null computes nothing; take cpu");
}

std::string fit_text(const train::Difference& fit, const std::string& config) {
  return fmt::format("{} is {} instead of the {} of {}, to fit what was asked for", fit.path, fit.after, fit.before,
                     config);
}

void require_no_run(std::string_view command, const std::filesystem::path& out) {
  if (const auto run = train::run_owning(out))
    base::fail(command, "{}: belongs to a run of tenon train, {}; write elsewhere", out.string(), run->string());
}

std::string unknown_command(const CLI::App& app) {
  const CLI::App* place = with_unknown(app);
  const bool takes_commands = place && !command_names(*place).empty();
  return takes_commands && !is_option(place->remaining().front()) ? unknown_word(*place) : std::string();
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (const CLI::App* place = with_unknown(app)) return unknown_word(*place);
  const CLI::App& command = last_command(app);
  const std::string path = command_path(command);
  const std::vector<std::string> commands = command_names(command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) && !commands.empty())
    return fmt::format("{}: which command? There are {}; see {} --help", path, fmt::join(commands, ", "), path);
  return fmt::format("{}: {}; see {} --help", path, error.what(), path);
}

}  // namespace tenon::cli
