#include "apps/tenon/commands.h"

namespace tenon::cli {

void add_data(CLI::App&) {}

}  // namespace tenon::cli
