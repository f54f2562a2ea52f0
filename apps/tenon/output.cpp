// Over stdio, whose buffer is what makes many small prints cheap.

#include "apps/tenon/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "tenon/base/error.h"
#include "tenon/io/input.h"

namespace tenon::cli {

void write_out(std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) throw OutputLost(errno);
}

void flush_out() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw OutputLost(errno);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

std::string shown(const std::filesystem::path& path) { return io::escaped(path.string()); }

bool out_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

void write_text(std::string_view text) {
  if (out_is_terminal())
    write_out(io::harmless(text));
  else
    write_out(text);
}

void tell(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string read_stdin(std::string_view command) {
  std::string text;
  char buffer[1 << 16];
  while (const size_t got = std::fread(buffer, 1, sizeof(buffer), stdin)) text.append(buffer, got);
  if (std::ferror(stdin)) base::fail(command, "reading from stdin failed");
  return text;
}

}  // namespace tenon::cli
