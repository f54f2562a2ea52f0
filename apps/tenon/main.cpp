// `tenon`: the command line. A new subcommand is a file in this folder and a line in kCommands.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <system_error>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "apps/tenon/usage.h"
#include "tenon/base/error.h"
#include "tenon/base/mapped.h"
#include "tenon/io/input.h"

namespace {

using namespace tenon::cli;

// In the order of --help.
constexpr void (*kCommands[])(CLI::App&) = {
    add_train, add_generate, add_classify, add_eval,   add_play2048,    add_tune,       add_doctor,
    add_data,  add_tokenize, add_convert,  add_config, add_system_info, add_completion,
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
    if (const std::string unknown = unknown_command(app); !unknown.empty()) {
      tell(tenon::io::escaped(unknown) + "\n");
      return kBadUsage;
    }
    std::ostringstream text;
    app.exit(asked, text, text);
    write_out(text.str());
  } catch (const CLI::ParseError& error) {
    tell(tenon::io::escaped(usage_error(app, error)) + "\n");
    return kBadUsage;
  }
  // A file that lost bytes while it was read gave zeros instead.
  if (const std::string cut = tenon::base::cut_map(); !cut.empty())
    tenon::base::fail("file", "{}: was cut while it was read; bring it back whole and start again", cut);
  flush_out();
  return 0;
}

// A descriptor that is closed would be given to the first file that is opened: messages would go into a checkpoint.
// What stands in for it fails as the closed one would, but for stderr, which nobody has to listen to.
void open_standard_files() {
  for (const auto& [file, mode] :
       {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY), std::pair(STDERR_FILENO, O_WRONLY)}) {
    if (fcntl(file, F_GETFD) < 0 && errno == EBADF && open("/dev/null", mode) != file) _exit(kFailed);
  }
}

// The reader of a pipe has seen enough: a program ends without a word then, unless whoever started it asked for errors.
void end_like_a_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

std::string text_of_file_error(const std::filesystem::filesystem_error& error) {
  const std::string path = error.path1().string();
  return path.empty() ? error.code().message() : path + ": " + error.code().message();
}

// What went wrong, as one line; exceptions of libraries speak of themselves, not of the work.
std::string text_of_failure(bool pipes_are_quiet) {
  try {
    throw;
  } catch (const OutputLost& lost) {
    if (pipes_are_quiet && lost.error_number == EPIPE) end_like_a_pipe();
    return std::string("standard output cannot be written: ") + std::strerror(lost.error_number);
  } catch (const tenon::Error& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory; close other programs, or make the model, the batch or the context smaller";
  } catch (const std::filesystem::filesystem_error& error) {
    return text_of_file_error(error);
  } catch (const std::system_error& error) {
    return error.code().message();
  } catch (const std::exception& error) {
    return std::string("this should not have happened, please report it: ") + error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  // Losing the terminal must not end a run of days; what is lost on stdout is noticed where it is written.
  const bool pipes_are_quiet = std::signal(SIGPIPE, SIG_IGN) == SIG_DFL;
  // A limit on the size of files is a failed write like a full disk, which is told and cleaned up after.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (...) {
    tell("tenon: " + tenon::io::escaped(text_of_failure(pipes_are_quiet)) + "\n");
  }
  return kFailed;
}
