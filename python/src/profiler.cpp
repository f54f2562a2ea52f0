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
  py::dict made;
  made["name"] = event.name;
  made["detail"] = event.detail;
  made["device"] = event.device;
  made["module"] = event.module;
  made["pass_name"] = event.pass;
  made["thread"] = event.thread;
  made["start_us"] = static_cast<double>(event.begin_ns) / kMicrosecond;
  made["duration_us"] = static_cast<double>(event.end_ns - event.begin_ns) / kMicrosecond;
  made["bytes"] = event.bytes;
  made["flops"] = event.flops;
  return made;
}

py::list events_of(const Profile& profile) {
  py::list all;
  for (const ProfileEvent& event : profile.events()) all.append(event_of(event));
  return all;
}

py::list averages_of(const Profile& profile, bool by_shape) {
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const ProfileEvent& event : profile.events()) {
    Sum& sum = sums[{by_shape ? event.detail : event.name, event.device}];
    ++sum.count;
    sum.ns += event.end_ns - event.begin_ns;
    sum.bytes += event.bytes;
    sum.flops += event.flops;
  }
  py::list all;
  for (const auto& [key, sum] : sums) {
    const double total = static_cast<double>(sum.ns) / kMicrosecond;
    py::dict made;
    made["key"] = key.first;
    made["device"] = key.second;
    made["count"] = sum.count;
    made["total_us"] = total;
    made["average_us"] = total / static_cast<double>(sum.count);
    made["bytes"] = sum.bytes;
    made["flops"] = sum.flops;
    all.append(made);
  }
  return all;
}

}  // namespace

void bind_profiler(Scope& m) {
  Scope p = m.def_submodule("_profiler");
  Class<Profile>(p, "Profile", "Watches all devices and the host until stop().")
      .init([] {
        const Released others_run;
        return std::make_shared<Profile>();
      })
      .def("stop",
           [](Profile& self) {
             const Released others_run;
             self.stop();
           })
      .def("events", &events_of)
      .def("averages", &averages_of, "by_shape"_a = false)
      .def(
          "table",
          [](const Profile& self, const std::string& sort, int64_t rows) {
            return self.table(sort_of(sort), rows < 0 ? 0 : static_cast<size_t>(rows));
          },
          "sort"_a = "total", "rows"_a = 20)
      .def("chrome_trace", &Profile::chrome_trace)
      .def_property_readonly("wall_us",
                             [](const Profile& self) { return static_cast<double>(self.wall_ns()) / kMicrosecond; })
      .def_property_readonly("dropped", [](const Profile& self) { return static_cast<int64_t>(self.dropped()); });
  Class<ProfileRange>(p, "Range", "While alive, the host is in this part of the program.")
      .init([](const std::string& name) { return std::make_shared<ProfileRange>(name); }, "name"_a);
}

}  // namespace tenon::python
