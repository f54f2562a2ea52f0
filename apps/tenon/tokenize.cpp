#include "apps/tenon/commands.h"

namespace tenon::cli {

void add_tokenize(CLI::App&) {}

}  // namespace tenon::cli
