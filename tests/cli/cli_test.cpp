// The frame of the command line: help, version, exit codes, suggestions, completion, info and config.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/rl/dqn_config.h"
#include "tenon/train/config.h"
#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The names under "Subcommands:" of the help.
std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> names;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (inside && line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    inside = line == "Subcommands:" || (inside && line.starts_with("  "));
  }
  return names;
}

TEST_F(Cli, VersionIsOneLine) {
  const Outcome outcome = run("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("tenon ")) << outcome.out;
  EXPECT_EQ(lines_of(outcome.out).size(), 1u);
}

TEST_F(Cli, HelpNamesExitCodes) {
  const Outcome outcome = run("--help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("Exit codes: 0 done; 1 the work failed"), std::string::npos);
  EXPECT_NE(outcome.out.find("130 stopped by a second Ctrl-C"), std::string::npos);
}

class EveryCommand : public Cli {
 protected:
  // Commands may have commands of their own: "data", "data prepare".
  void check(const std::string& command) {
    const Outcome outcome = run(command + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    const size_t example = outcome.out.find("Example");
    ASSERT_NE(example, std::string::npos) << command;
    EXPECT_NE(outcome.out.find("tenon " + command, example), std::string::npos) << command;
    for (const std::string& inner : commands_in(outcome.out)) check(command + " " + inner);
  }
};

TEST_F(EveryCommand, HasHelpWithAnExample) {
  const std::vector<std::string> commands = commands_in(run("--help").out);
  ASSERT_GE(commands.size(), 4u);
  for (const std::string& command : commands) check(command);
}

TEST_F(EveryCommand, IsInTheDocs) {
  const std::string docs = content_of(TENON_SOURCE_DIR "/docs/cli.md");
  for (const std::string& command : commands_in(run("--help").out))
    EXPECT_NE(docs.find("\n## tenon " + command + "\n"), std::string::npos) << command;
}

TEST_F(Cli, UnknownWordsAreRefusedWithTheNearest) {
  EXPECT_EQ(refusal("infoo"), "2 tenon: \"infoo\" is no command; did you mean info? See tenon --help");
  EXPECT_EQ(refusal("zzzzzzz"), "2 tenon: \"zzzzzzz\" is no command; see tenon --help");
  EXPECT_EQ(refusal("--versoin"), "2 tenon: \"--versoin\" is no option; did you mean --version? See tenon --help");
  EXPECT_EQ(refusal("info --jsn"), "2 tenon info: \"--jsn\" is no option; did you mean --json? See tenon info --help");
  EXPECT_EQ(refusal("config --schmea=3"),
            "2 tenon config: \"--schmea\" is no option; did you mean --schema? See tenon config --help");
  EXPECT_EQ(refusal("info more"), "2 tenon info: \"more\" is no argument it takes; see tenon info --help");
}

TEST_F(Cli, HelpOnACommandThatIsNoneIsRefusedWithTheNearest) {
  EXPECT_EQ(refusal("prepare --help"),
            "2 tenon: \"prepare\" is no command; did you mean data prepare? See tenon --help");
  EXPECT_EQ(refusal("trian --help"), "2 tenon: \"trian\" is no command; did you mean train? See tenon --help");
  EXPECT_EQ(refusal("data prepar --help"),
            "2 tenon data: \"prepar\" is no command; did you mean prepare? See tenon data --help");
  EXPECT_EQ(run("train --steps 3 --help").code, 0);  // help is on train, whatever else is wrong
}

TEST_F(Cli, AMisspelledOptionIsNamedBeforeTheMissingOne) {
  EXPECT_EQ(refusal("convert --lsit"),
            "2 tenon convert: \"--lsit\" is no option; did you mean --list? See tenon convert --help");
}

TEST_F(Cli, DoctorRefusesWhatIsNoProfileInOneLine) {
  std::ofstream(folder_ / "other.json") << R"({"traceEvents": []})";
  std::ofstream(folder_ / "cut.json") << R"({"tenon": {"version": 1,)";
  EXPECT_EQ(refusal("doctor nowhere.json"), "1 tenon: [profile] nowhere.json: cannot be read: No such file or directory");
  EXPECT_EQ(refusal("doctor ."),
            "1 tenon: [profile] .: is a folder without profile.json; tenon train --profile, or --resume FOLDER "
            "--profile, writes one");
  EXPECT_EQ(
      refusal("doctor other.json"),
      "1 tenon: [profile] other.json: is a trace, but none of Tenon's: it has no \"tenon\"; tenon train --profile "
      "writes one");
  EXPECT_EQ(refusal("doctor cut.json"), "1 tenon: [profile] cut.json: is not valid JSON (at byte 25 of it)");
}

TEST_F(Cli, WithoutACommandTheyAreListed) {
  const std::string text = refusal("");
  EXPECT_TRUE(text.starts_with("2 tenon: which command? There are ")) << text;
  EXPECT_NE(text.find("config"), std::string::npos);
}

TEST_F(Cli, OutputThatCannotBeWrittenIsAFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const Outcome outcome = bash("tenon config --schema > /dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.err.starts_with("tenon: ")) << outcome.err;
  for (const std::string command : {"--version", "--help", "train --help", "info", "config --list"}) {
    const Outcome lost = bash("tenon " + command + " > /dev/full");
    EXPECT_EQ(lost.code, 1) << command;
    EXPECT_EQ(lost.err, "tenon: standard output cannot be written: No space left on device\n") << command;
  }
}

TEST_F(Cli, InfoIsTextOrJson) {
  const Outcome text = run("info");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("devices\n  cpu "), std::string::npos) << text.out;
  const json all = json::parse(run("info --json").out);
  EXPECT_GE(all["cores"].get<int>(), 1);
  EXPECT_GE(all["memory"]["total"].get<uint64_t>(), all["memory"]["available"].get<uint64_t>());
  EXPECT_EQ(all["devices"][0]["name"], "cpu");
  EXPECT_EQ(all["devices"][0]["for_tests"], false);
  EXPECT_NE(text.out.find("fuses kernels (for tests)"), std::string::npos) << text.out;
  EXPECT_TRUE(all["absent_devices"].is_array());
  EXPECT_FALSE(all["versions"]["compiler"].get<std::string>().empty());
}

TEST_F(Cli, InfoWorksWhereTheDefaultDeviceIsNotThere) {
  const Outcome text = bash("TENON_DEVICE=$'non\\nsense' tenon info");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("devices\n  cpu "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\nno default device: [device] unknown device 'non?sense'; known: "), std::string::npos)
      << text.out;
  const json all = json::parse(bash("TENON_DEVICE=nonsense tenon info --json").out);
  EXPECT_TRUE(all["no_default_device"].get<std::string>().starts_with("[device] unknown device 'nonsense'"));
  for (const json& device : all["devices"]) EXPECT_EQ(device["default"], false);
  EXPECT_FALSE(json::parse(run("info --json").out).contains("no_default_device"));
}

TEST_F(Cli, InfoShowsTheEnvironmentThatIsRead) {
  EXPECT_NE(bash("TENON_TUNE=0 tenon info --env").out.find("TENON_TUNE=0\n    `0`: on `cuda`: "), std::string::npos);
  const json variables = json::parse(bash("TENON_LOG=stats tenon info --env --json").out);
  const auto log =
      std::find_if(variables.begin(), variables.end(), [](const json& one) { return one["name"] == "TENON_LOG"; });
  ASSERT_NE(log, variables.end());
  EXPECT_EQ((*log)["value"], "stats");
}

TEST_F(Cli, InfoShowsThreadsAndTheCacheInUse) {
  const std::string folder = (folder_ / "cache").string();
  fs::create_directories(folder);
  std::ofstream(folder + "/a.program") << "12345";
  const json all = json::parse(bash("TENON_THREADS=1 TENON_CACHE_DIR='" + folder + "' tenon info --json").out);
  EXPECT_EQ(all["threads"], 1);
  EXPECT_EQ(all["disk_cache"]["folder"], folder);
  EXPECT_EQ(all["disk_cache"]["files"], 1);
  EXPECT_EQ(all["disk_cache"]["bytes"], 5);
  EXPECT_TRUE(all["disk_cache"]["unusable"].is_null());
  EXPECT_TRUE(json::parse(bash("TENON_CACHE_DIR= tenon info --json").out)["disk_cache"].is_null());
}

TEST_F(Cli, InfoSaysWhyACacheOrAnOpenClDriverIsNotThere) {
  const std::string file = (folder_ / "file").string();
  std::ofstream(file) << "12345";
  const std::string text = bash("TENON_CACHE_DIR='" + file + "/cache' tenon info").out;
  EXPECT_NE(text.find(file + "/cache: cannot be used (" + file + " is no folder); TENON_CACHE_DIR names another\n"),
            text.npos)
      << text;
  const json all = json::parse(bash("OCL_ICD_VENDORS='" + folder_.string() + "' tenon info --json").out);
  for (const json& one : all["absent_devices"]) {
    const std::string why = one["why"].get<std::string>();
    if (one["name"] != "opencl" || !why.starts_with("no OpenCL platform")) continue;  // without a loader nobody looks
    EXPECT_EQ(why, "no OpenCL platform (no driver that loads is listed in " + folder_.string() +
                       ", which OCL_ICD_VENDORS names)");
  }
}

TEST_F(Cli, ConfigListsThePresets) {
  const std::vector<std::string> lines = lines_of(run("config --list").out);
  ASSERT_EQ(lines.size(), train::presets().size() + rl::dqn_presets().size());
  EXPECT_TRUE(lines[0].starts_with("bert_classifier  ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("demo  ")) << lines[1];
}

TEST_F(Cli, WhatConfigShowsIsAConfig) {
  std::ofstream(folder_ / "mine.json") << run("config --show demo --set training.steps=70").out;
  EXPECT_EQ(run("config --validate mine.json").code, 0);
  const train::Config config = train::parse_config(content_of(folder_ / "mine.json"), "mine.json");
  const std::vector<train::Difference> changes = train::differences(train::load_config("demo"), config);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].path, "training.steps");
  EXPECT_EQ(changes[0].after, "70");
}

TEST_F(Cli, ConfigPrintsDefaultsAndSchemaAndDocs) {
  EXPECT_EQ(run("config --print-defaults").out, train::to_json({}));
  EXPECT_EQ(run("config --schema").out, train::json_schema());
  EXPECT_EQ(run("config --markdown").out, train::config_markdown());
}

TEST_F(Cli, ConfigRefusesWhatIsWrong) {
  std::ofstream(folder_ / "bad.json") << R"({"training": {"batch_siez": 3}})";
  EXPECT_EQ(refusal("config --validate bad.json"),
            "1 tenon: [config] bad.json: training.batch_siez is no key; did you mean training.batch_size?");
  EXPECT_EQ(refusal("config --validate demo --set training.steps=0"),
            "1 tenon: [config] --set: training.steps is 0; it must be a whole number from 1 to 1000000000");
  EXPECT_EQ(
      refusal("config --validate demo --set model.heads=5"),
      "1 tenon: [config] demo: model.width 128 cannot be divided among 5 heads; make model.width a multiple of 5");
  EXPECT_EQ(refusal("config --list --set a=b"),
            "2 tenon config: --set: goes with --validate or --show; see tenon config --help");
  EXPECT_TRUE(refusal("config").starts_with("2 tenon config: Exactly 1 option from [--list,"));
}

// What bash offers when the cursor stands behind these words, the last of which is begun.
class Completion : public Cli {
 protected:
  std::string offered(const std::string& words) {
    const Outcome outcome = bash(
        "source <(tenon completion bash)\n"
        "COMP_WORDS=(" +
        words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tenon\n"
        "echo \"${COMPREPLY[*]}\"");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
};

TEST_F(Completion, OffersCommandsAndOptions) {
  EXPECT_EQ(offered("tenon inf"), "info");
  EXPECT_EQ(offered("tenon --v"), "--version");
  EXPECT_EQ(offered("tenon config --s"), "--set --show --schema");
  EXPECT_EQ(offered("tenon info --j"), "--json");
}

TEST_F(Completion, OffersChoicesOfOptionsAndPositionals) {
  EXPECT_EQ(offered("tenon convert --dtype ''"), "f32 f16 bf16");
  EXPECT_EQ(offered("tenon config --show sh"), "shakespeare_char shakespeare_char_cpu");
  EXPECT_EQ(offered("tenon completion z"), "zsh");
}

TEST_F(Completion, OffersPresetsWhereConfigsStand) {
  EXPECT_EQ(offered("tenon train de"), "demo");
  EXPECT_EQ(offered("tenon train --config wiki_b"), "wiki_base");
  EXPECT_EQ(offered("tenon train --resu"), "--resume");
  std::ofstream(folder_ / "mine.json") << "{}";
  EXPECT_EQ(offered("tenon train min"), "mine.json");
}

TEST_F(Completion, LeavesFilesToBash) {
  EXPECT_EQ(offered("tenon convert ''"), "");
  EXPECT_EQ(offered("tenon config --validate ''"), "");
  EXPECT_EQ(offered("tenon convert --l"), "--list");
}

TEST_F(Completion, IsThereForTheOtherShells) {
  const std::string zsh = run("completion zsh").out, fish = run("completion fish").out;
  EXPECT_TRUE(zsh.starts_with("#compdef tenon\n"));
  EXPECT_NE(zsh.find("'tenon convert --dtype') compadd -- f32 f16 bf16; return"), std::string::npos) << zsh;
  EXPECT_NE(fish.find("complete -c tenon -n '__fish_seen_subcommand_from convert' -l dtype -r -a 'f32 f16 bf16'"),
            std::string::npos)
      << fish;
  EXPECT_EQ(refusal("completion tcsh"),
            "2 tenon completion: shell: tcsh not in {bash,zsh,fish}; see tenon completion --help");
}

}  // namespace
}  // namespace tenon::cli
