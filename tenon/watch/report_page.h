// The style sheet and the script of a report, apart from the code that fills the page.

#pragma once

#include <string_view>

namespace tenon::watch {

std::string_view report_style();
/// Values under the pointer, in all charts at once. The page is complete without it.
std::string_view report_script();

}  // namespace tenon::watch
