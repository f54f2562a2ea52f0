// Profiles: spans of devices and of the host, added up.

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using namespace py::literals;

Profile::Sort sort_of(const std::string& name) {
  if (name == "average") return Profile::Sort::average;
  if (name == "count") return Profile::Sort::count;
  return Profile::Sort::total;
}

constexpr double kMicrosecond = 1e3;

/// What ran under one name on one device, or on the host.
struct Sum {
  int64_t count = 0;
  uint64_t ns = 0, bytes = 0;
  double flops = 0;
};

py::dict event_of(const ProfileEvent& event) {
  return py::dict("name"_a = event.name, "detail"_a = event.detail, "device"_a = event.device,
                  "module"_a = event.module, "pass_name"_a = event.pass, "library"_a = event.library,
                  "thread"_a = event.thread, "start_us"_a = static_cast<double>(event.begin_ns) / kMicrosecond,
                  "duration_us"_a = static_cast<double>(event.end_ns - event.begin_ns) / kMicrosecond,
                  "bytes"_a = event.bytes, "flops"_a = event.flops);
}

py::list events_of(const Profile& profile) {
  py::list all;
  for (const ProfileEvent& event : profile.events()) all.append(event_of(event));
  return all;
}

py::list averages_of(const Profile& profile, bool by_shape) {
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const ProfileEvent& event : profile.events()) {
    if (event.kind == ProfileEvent::Kind::note) continue;
    Sum& sum = sums[{by_shape ? event.detail : event.name, event.device}];
    ++sum.count;
    sum.ns += event.end_ns - event.begin_ns;
    sum.bytes += event.bytes;
    sum.flops += event.flops;
  }
  py::list all;
  for (const auto& [key, sum] : sums) {
    const double total = static_cast<double>(sum.ns) / kMicrosecond;
    all.append(py::dict("key"_a = key.first, "device"_a = key.second, "count"_a = sum.count, "total_us"_a = total,
                        "average_us"_a = total / static_cast<double>(sum.count), "bytes"_a = sum.bytes,
                        "flops"_a = sum.flops));
  }
  return all;
}

py::list advice_in(const watch::ProfileView& view) {
  py::list all;
  for (const watch::Advice& one : watch::advice(view)) {
    all.append(py::dict("about"_a = std::string(watch::about_name(one.about)), "advice"_a = one.text,
                        "figure"_a = one.figure, "share"_a = one.share));
  }
  return all;
}

py::list memory_of(const Profile& profile) {
  py::list all;
  for (const ProfileMemory& at : profile.memory()) {
    all.append(py::dict("device"_a = at.device, "at_us"_a = static_cast<double>(at.at_ns) / kMicrosecond,
                        "weights"_a = at.weights, "moments"_a = at.moments, "gradients"_a = at.gradients,
                        "kept_activations"_a = at.kept, "scratch"_a = at.scratch, "other_tensors"_a = at.values,
                        "rest_of_the_arena"_a = at.reserve, "pool"_a = at.pool, "planned_peak"_a = at.planned_peak));
  }
  return all;
}

}  // namespace

void bind_profiler(Scope& m) {
  Scope p = m.def_submodule("_profiler");
  Class<Profile>(p, "Profile", "Watches all devices and the host until stop().")
      .init([] { return computed([] { return std::make_shared<Profile>(); }); })
      .def("stop", released(&Profile::stop))
      .def("events", &events_of)
      .def("averages(by_shape=False)", &averages_of)
      .def("table(sort='total', rows=20)",
           [](const Profile& self, const std::string& sort, int64_t rows) {
             return self.table(sort_of(sort), rows < 0 ? 0 : static_cast<size_t>(rows));
           })
      .def("chrome_trace", &Profile::chrome_trace)
      .def("memory", &memory_of)
      .def("advice", [](const Profile& self) { return advice_in(watch::view_of(self)); })
      .def("save_page(path, title)",
           [](const Profile& self, const std::string& path, const std::string& title) {
             watch::save_profile_page(watch::view_of(self), path, title);
           })
      .property("wall_us", [](const Profile& self) { return static_cast<double>(self.wall_ns()) / kMicrosecond; })
      .property("dropped", [](const Profile& self) { return static_cast<int64_t>(self.dropped()); });
  p.def("advice_of_file(path)", [](const std::string& path) { return advice_in(watch::read_profile(path)); });
  Class<ProfileRange>(p, "Range", "While alive, the host is in this part of the program.")
      .init("name", [](const std::string& name) { return std::make_shared<ProfileRange>(name); });
}

}  // namespace tenon::python
