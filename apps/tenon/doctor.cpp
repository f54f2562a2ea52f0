// `tenon doctor`: what a profile says should be changed.

#include "tenon/watch/doctor.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/io/input.h"

namespace tenon::cli {
namespace {

using nlohmann::ordered_json;

ordered_json as_json(const watch::ProfileView& view) {
  ordered_json list = ordered_json::array();
  for (const watch::Advice& one : watch::advice(view))
    list.push_back(
        {{"about", watch::about_name(one.about)}, {"advice", one.text}, {"figure", one.figure}, {"share", one.share}});
  return {{"wall_ms", static_cast<double>(view.wall_ns) / 1e6}, {"dropped", view.dropped}, {"advice", list}};
}

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Say what makes a profiled run slow or large, and what to change");
  command->footer(
      "PROFILE is the folder of a run of tenon train --profile, or a file that it, Profile::chrome_trace() or\n"
      "tenon.profiler in Python wrote. What concerns most of the time comes first, each with the figure it rests on.\n"
      "\n"
      "Examples:\n"
      "  tenon train demo --profile && tenon doctor runs/demo\n"
      "  tenon doctor trace.json\n"
      "  tenon doctor runs/demo --json");
  const auto path = std::make_shared<std::filesystem::path>();
  command->add_option("profile", *path, "A profile, or a run that has one")
      ->required()
      ->type_name("PROFILE")
      ->check(path_name());
  const auto wants_json = std::make_shared<bool>(false);
  command->add_flag("--json", *wants_json, "Print one JSON object");
  command->callback([path, wants_json] {
    const watch::ProfileView view = watch::read_profile(*path);
    if (*wants_json)
      print("{}\n", as_json(view).dump(2, ' ', false, ordered_json::error_handler_t::replace));
    else
      print("{}", io::harmless(watch::advice_text(view)));
  });
}

}  // namespace tenon::cli
