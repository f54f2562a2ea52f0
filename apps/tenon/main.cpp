// `tenon`: the command line.
//
// Exit codes: 0 success, 1 the work failed (one line on stderr says why), 2 the command line was wrong.

#include <cstdio>
#include <exception>

#include "apps/tenon/commands.h"

namespace {

constexpr int kFailed = 1, kBadUsage = 2;

int run(int argc, char** argv) {
  CLI::App app{"Tenon: train and run language models on any device.", "tenon"};
  app.require_subcommand(1);
  tenon::cli::add_data(app);
  tenon::cli::add_tokenize(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenon: %s\n", error.what());
    return kFailed;
  }
}
