// Views of CLI11's own tree.

#include "apps/tenon/command_tree.h"

namespace tenon::cli {
namespace {

std::vector<const CLI::App*> children(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* child : children(app)) {
    if (!child->get_name().empty()) commands.push_back(child);
  }
  return commands;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options = app.get_options();
  for (const CLI::App* child : children(app)) {
    if (!child->get_name().empty()) continue;
    for (const CLI::Option* option : options_of(*child)) {
      if (option != child->get_help_ptr()) options.push_back(option);
    }
  }
  return options;
}

std::string command_path(const CLI::App& app) {
  return app.get_parent() ? command_path(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

}  // namespace tenon::cli
