// `tenon`: the command line. A new subcommand is a file in this folder and a line in kCommands.

#include <cstdio>
#include <exception>

#include "apps/tenon/commands.h"
#include "apps/tenon/usage.h"

namespace {

using namespace tenon::cli;

// In the order of --help.
constexpr void (*kCommands[])(CLI::App&) = {
    add_train, add_generate, add_eval, add_data, add_tokenize, add_convert, add_config, add_system_info, add_completion,
};

constexpr int kFailed = 1, kBadUsage = 2;
constexpr const char* kFooter =
    "Exit codes: 0 done; 1 the work failed, one line on stderr says why; 2 the command line was wrong;\n"
    "130 stopped by a second Ctrl-C.\n"
    "\n"
    "Example:\n"
    "  tenon train demo";

int run(int argc, char** argv) {
  CLI::App app{"Tenon: train and run language models on any device.", "tenon"};
  app.set_version_flag("--version", "tenon " TENON_VERSION, "Print the version and exit");
  app.set_help_flag("--help,-h", "Print this help and exit");
  app.require_subcommand(1);
  for (const auto add : kCommands) add(app);
  app.footer(kFooter);  // behind the commands, which would inherit it
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // help or version
    app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s\n", usage_error(app, error).c_str());
    return kBadUsage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    std::perror("tenon: standard output cannot be written");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenon: %s\n", error.what());
  }
  return kFailed;
}
