// The page of a profile: one well-formed file, whatever was profiled.

#include "tenon/watch/profile_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tenon/tenon.h"
#include "tenon/watch/report.h"
#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

class ProfilePage : public InFolder {
 protected:
  ProfilePage() : InFolder("profile.html") {}

  /// The page, checked.
  std::string checked(const std::string& html) const {
    const fs::path file = write(html);
    const auto [status, text] = output_of("python3 " TENON_SOURCE_DIR "/tests/watch/check_html.py " + file.string());
    EXPECT_EQ(status, 0) << text;
    return html;
  }
  static nlohmann::json data_in(const std::string& html) {
    const std::string begin = "<script type=\"application/json\" class=\"profile-data\">";
    const size_t at = html.find(begin) + begin.size();
    return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
  }
};

ProfileEvent event_of(ProfileEvent::Kind kind, const std::string& name, uint64_t begin, uint64_t ns,
                      const std::string& device = {}) {
  ProfileEvent made;
  made.kind = kind;
  made.name = made.detail = name;
  made.device = device;
  made.begin_ns = begin;
  made.end_ns = begin + ns;
  return made;
}

TEST_F(ProfilePage, ShowsAdviceTimeLineMemoryModulesAndKernels) {
  const nn::Linear net(64, 64);
  optim::AdamW optimizer(net.parameters());
  Profile profile;
  mean(net(rand({32, 64}))).backward();
  optimizer.step();
  synchronize();
  profile.stop();
  const std::string html = checked(profile_html(view_of(profile), "a step"));
  for (const char* part :
       {"<h1>a step</h1>", "What to change", "Time line", "Memory", "Modules", "Kernels and transfers",
        "<div class=\"flame c-backward\">", "<td>contract f32(", "planned peak"})
    EXPECT_NE(html.find(part), html.npos) << part;
  const nlohmann::json data = data_in(html);
  EXPECT_EQ(data["events"].size(), 6 * profile.events().size());
  EXPECT_EQ(data["rows"][0], "host");
  EXPECT_EQ(data["memory"][0]["device"], "cpu");
  EXPECT_EQ(data["memory"][0]["at"].size(), profile.memory().size());
}

TEST_F(ProfilePage, TextIsNeverMarkup) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x01\xff";
  ProfileView view;
  view.events.push_back(event_of(ProfileEvent::Kind::launch, evil, 0, 1000, evil));
  view.events.back().module = evil;
  view.events.back().library = evil;
  view.events.push_back(event_of(ProfileEvent::Kind::host, evil, 0, 1000));
  view.events.push_back(event_of(ProfileEvent::Kind::note, "not captured", 0, 0));
  view.events.back().detail = evil;
  view.memory.push_back({evil, 0});
  view.wall_ns = 2000;
  const std::string html = checked(profile_html(view, evil));
  EXPECT_EQ(html.find("<img"), html.npos);
  EXPECT_EQ(html.find("<script>alert"), html.npos);
}

TEST_F(ProfilePage, OfNothingIsAPage) {
  const std::string html = checked(profile_html({}, "nothing"));
  EXPECT_NE(html.find("nothing ran on any device"), html.npos);
}

TEST_F(ProfilePage, StaysSmall) {
  ProfileView view;
  for (uint64_t i = 0; i < 200'000; ++i) {
    view.events.push_back(
        event_of(ProfileEvent::Kind::launch, "fused add", 10'000 * i, i == 77'777 ? 9'000 : 100, "cpu"));
    view.events.back().module = "h." + std::to_string(i % 50) + ".mlp";
    view.memory.push_back({"cpu", 10'000 * i});
    view.memory.back().kept = i == 55'555 ? 1000 : 10;
  }
  view.wall_ns = 2'000'000'000;
  const std::string html = checked(profile_html(view, "long"));
  EXPECT_LT(html.size(), 1'500'000u);
  EXPECT_NE(html.find("180000 shorter events are left out"), html.npos);
  const nlohmann::json data = data_in(html);
  EXPECT_NE(data["events"].dump().find(",777770000,9000"), std::string::npos);  // the longest stays
  EXPECT_NE(data["memory"][0]["bytes"].dump().find("[0,0,0,1000,"), std::string::npos);
}

TEST_F(ProfilePage, StandsInThePageOfARun) {
  Profile profile;
  wait({matmul(rand({64, 64}), rand({64, 64}))});
  profile.stop();
  const std::string html = checked(report_html({.title = "run", .profile = view_of(profile)}));
  EXPECT_NE(html.find("<section class=\"profile\">"), html.npos);
  EXPECT_EQ(report_html({.title = "run"}).find("profile-data"), std::string::npos);
}

TEST_F(ProfilePage, AFileThatIsNoProfileIsNamedInThePageOfTheRun) {
  std::ofstream(folder_ / "profile.json") << "{";
  std::ofstream(folder_ / "metrics.jsonl") << "";
  report_from_folder(folder_);
  EXPECT_NE(content_of(folder_ / "report.html").find("profile.json: is not valid JSON"), std::string::npos);
}

TEST_F(ProfilePage, IsWrittenWhereItIsAskedFor) {
  save_profile_page({}, folder_ / "mine.html");
  EXPECT_NE(content_of(folder_ / "mine.html").find("<h1>mine</h1>"), std::string::npos);
}

}  // namespace
}  // namespace tenon::watch
