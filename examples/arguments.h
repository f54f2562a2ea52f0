// What the examples share around their work: --quick, --help, a file or a folder, and one line where something is
// wrong.

#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace example {

struct Arguments {
  bool quick = false;
  std::string path;  // empty: none was given
};

/// Calls work(arguments), whose result is the program's. `usage` is what may stand behind its name: "[FOLDER |
/// --quick]".
template <typename Work>
int run(int argc, char** argv, const char* usage, Work&& work) {
  const auto refuse = [&](const std::string& what) {
    std::fprintf(stderr, "%s; usage: %s %s\n", what.c_str(), argv[0], usage);
    return 2;
  };
  const bool takes_path = std::string_view(usage).find('F') != std::string_view::npos;  // FOLDER or FILE
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string one = argv[i];
    if (one == "--help" || one == "-h") return std::printf("usage: %s %s\n", argv[0], usage) > 0 ? 0 : 1;
    if (one == "--quick")
      arguments.quick = true;
    else if (one.starts_with("-"))
      return refuse(one + " is no option");
    else if (!takes_path || !arguments.path.empty())
      return refuse(one + " is one argument too many");
    else
      arguments.path = one;
  }
  try {
    return work(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace example
