// `tenon info`: what this machine and this build offer, for people and, with --json, for scripts and bug reports.

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/backends/cpu/matmul/amx.h"
#include "tenon/backends/cpu/tile/targets.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/device/registry.h"
#include "tenon/exec/disk_cache.h"
#include "tenon/io/input.h"

namespace tenon::cli {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// The number behind a name in /proc/meminfo, in bytes; null where the system has no such file.
ordered_json meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (uint64_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, unit)) {
    if (key == name + ":") return kilobytes * 1024;
  }
  return nullptr;
}

ordered_json versions() {
  ordered_json versions = {{"tenon", TENON_VERSION}, {"onednn", nullptr}};
#ifdef TENON_ONEDNN_VERSION
  versions["onednn"] = TENON_ONEDNN_VERSION;
#endif
#ifdef __clang__
  versions["compiler"] = "clang " __clang_version__;
#else
  versions["compiler"] = "gcc " __VERSION__;
#endif
  utsname system{};
  uname(&system);
  versions["system"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  return versions;
}

// The default device, or why there is none: what TENON_DEVICE names may not be there.
struct Standard {
  std::string name, problem;
};
Standard standard_device() {
  try {
    return {device::default_device().name, ""};
  } catch (const Error& error) {
    return {"", error.what()};
  }
}

ordered_json devices() {
  ordered_json list = ordered_json::array();
  const std::string standard = standard_device().name;
  for (const std::string& name : device::names()) {
    const ir::DeviceId id = device::find(name);
    const device::Device& opened = device::open(id);
    const ir::Limits& limits = opened.limits();
    list.push_back({{"name", name},
                    {"description", opened.describe()},
                    {"default", name == standard},
                    {"for_tests", device::is_for_tests(id)},
                    {"fuses", limits.fuses && !limits.one_op_per_kernel},
                    {"max_buffers", limits.max_buffers},
                    {"alignment", limits.alignment}});
  }
  return list;
}

ordered_json absent_devices() {
  ordered_json list = ordered_json::array();
  for (const device::Absent& one : device::absent()) list.push_back({{"name", one.name}, {"why", one.why}});
  return list;
}

ordered_json disk_cache() {
  const exec::DiskCache* cache = exec::DiskCache::standard();
  if (!cache) return nullptr;
  uint64_t bytes = 0, files = 0;
  std::error_code missing;  // the folder is made when something is first kept in it
  for (const fs::directory_entry& entry : fs::directory_iterator(cache->folder(), missing)) {
    std::error_code gone;  // another process may tidy up meanwhile
    if (const uint64_t size = entry.file_size(gone); !gone) bytes += size, ++files;
  }
  const std::string why = cache->why_unusable();
  return {{"folder", cache->folder().string()},
          {"files", files},
          {"bytes", bytes},
          {"unusable", why.empty() ? ordered_json(nullptr) : ordered_json(why)}};
}

ordered_json everything() {
  const std::vector<std::string_view> simd = backends::cpu::tile_targets();
  ordered_json all = {{"versions", versions()},
                      {"cores", std::thread::hardware_concurrency()},
                      {"threads", base::num_threads()},
                      {"simd", simd.empty() ? ordered_json(nullptr) : ordered_json(simd.front())},
                      {"amx", backends::cpu::has_amx()},
                      {"memory", {{"total", meminfo("MemTotal")}, {"available", meminfo("MemAvailable")}}},
                      {"devices", devices()},
                      {"absent_devices", absent_devices()},
                      {"disk_cache", disk_cache()}};
  if (const std::string problem = standard_device().problem; !problem.empty()) all["no_default_device"] = problem;
  return all;
}

std::string text_of(const ordered_json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? io::escaped(value.get<std::string>()) : value.dump();
}

ordered_json variables() {
  ordered_json list = ordered_json::array();
  for (const base::env::Variable* one : base::env::kAll) {
    const auto value = base::env::value(*one);
    list.push_back({{"name", one->name},
                    {"value", value ? ordered_json(*value) : ordered_json(nullptr)},
                    {"values", one->values},
                    {"help", one->help}});
  }
  return list;
}

void print_variables(const ordered_json& all) {
  for (const ordered_json& one : all) {
    print("{}{}{}\n", text_of(one["name"]), one["value"].is_null() ? "" : "=",
          one["value"].is_null() ? "" : text_of(one["value"]));
    print("    {}: {}\n", text_of(one["values"]), text_of(one["help"]));
  }
}

std::string gigabytes(const ordered_json& bytes) {
  if (bytes.is_null()) return "unknown";
  return fmt::format("{:.1f} GB", bytes.get<double>() / 1e9);
}

void print_all(const ordered_json& all) {
  for (const auto& [name, version] : all["versions"].items()) print("{:<12}{}\n", name, text_of(version));
  print("{:<12}{}, {} threads in use (TENON_THREADS)\n", "cores", all["cores"].dump(), all["threads"].dump());
  print("{:<12}{}{}\n", "simd", text_of(all["simd"]), all["amx"] == true ? ", AMX" : "");
  print("{:<12}{}, {} available\n", "memory", gigabytes(all["memory"]["total"]), gigabytes(all["memory"]["available"]));
  const ordered_json& cache = all["disk_cache"];
  if (cache.is_null())
    print("{:<12}none (TENON_CACHE_DIR)\n", "disk cache");
  else if (!cache["unusable"].is_null())
    print("{:<12}{}: cannot be used ({}); TENON_CACHE_DIR names another\n", "disk cache", text_of(cache["folder"]),
          text_of(cache["unusable"]));
  else
    print("{:<12}{}: {} files, {:.1f} MB\n", "disk cache", text_of(cache["folder"]), cache["files"].dump(),
          cache["bytes"].get<double>() / 1e6);
  print("devices\n");
  for (const ordered_json& device : all["devices"]) {
    print("  {:<18}{} buffers a kernel, aligned to {} bytes, {}{}{}\n", text_of(device["name"]),
          device["max_buffers"].dump(), device["alignment"].dump(),
          device["fuses"] == true ? "fuses kernels" : "one op a kernel", device["default"] == true ? " (default)" : "",
          device["for_tests"] == true ? " (for tests)" : "");
    if (device["description"] != "") print("  {:<18}{}\n", "", text_of(device["description"]));
  }
  for (const ordered_json& device : all["absent_devices"])
    print("  {:<18}not there: {}\n", text_of(device["name"]), text_of(device["why"]));
  if (all.contains("no_default_device"))
    print("no default device: {} (TENON_DEVICE)\n", text_of(all["no_default_device"]));
}

}  // namespace

void add_system_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Show devices, memory, caches and versions");
  command->footer(
      "Examples:\n"
      "  tenon info\n"
      "  tenon info --json\n"
      "  tenon info --env     # the environment variables that Tenon reads, with their values");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print one JSON object");
  const auto shows_variables = std::make_shared<bool>(false);
  command->add_flag("--env", *shows_variables, "Show the environment variables that are read instead");
  command->callback([as_json, shows_variables] {
    const ordered_json all = *shows_variables ? variables() : everything();
    if (*as_json)
      print("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    else if (*shows_variables)
      print_variables(all);
    else
      print_all(all);
  });
}

}  // namespace tenon::cli
