// One object per run. Checkpoints stand between games that were written to the metrics, so that a resumed run writes
// the lines that one which was never stopped would have.

#include "tenon/train/game_run.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/base/resident.h"
#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/tensor/autograd.h"
#include "tenon/train/automatic_device.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/game_metrics.h"
#include "tenon/train/resume.h"
#include "tenon/train/run_checks.h"
#include "tenon/train/run_folder.h"
#include "tenon/train/signals.h"
#include "tenon/train/step_clock.h"
#include "tenon/watch/report.h"
#include "tenon/watch/tensorboard.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;
using Json = nlohmann::ordered_json;

constexpr std::string_view kOp = "train";
constexpr int64_t kKept = 1;  // checkpoints

std::string text_of_file(const fs::path& path) {
  const auto file = io::MappedFile::open(kOp, path);
  return std::string(io::as_text(file->bytes()));
}

// What a checkpoint says of itself; fails where it is of something else, or was made by a run of other settings,
// whatever became of its folder's config since.
Json checked_state(const fs::path& path, const Checkpoint& checkpoint, const rl::DqnConfig& config) {
  const Json state = io::parse_json<Json>(kOp, path.string(), checkpoint.state);
  if (!state.is_object() || state.value("game", Json()) != "2048")
    fail(kOp, "{}: is no checkpoint of 2048; name a run of tenon train dqn2048", path.string());
  rl::DqnConfig before;
  try {
    before = rl::parse_dqn_config(state.value("config", Json()).dump(), path.string());
  } catch (const Error&) {  // of another version, which has other keys
    return state;
  }
  if (const auto one = rl::first_difference(before, config))
    fail(kOp,
         "{}: was made with {} {}, config.json says {}; put the old value back, or begin a new run in another folder",
         path.string(), one->key, one->before, one->now);
  return state;
}

// One line that is drawn anew on a terminal; elsewhere a line now and then.
class LiveLine {
 public:
  explicit LiveLine(std::FILE* out) : out_(out), is_terminal_(out && isatty(fileno(out))) {}
  ~LiveLine() { finish(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& text) {
    if (!out_) return;
    const auto now = std::chrono::steady_clock::now();
    const auto interval = is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
    last_ = text;
    is_shown_ = false;
    if (shown_ && now - *shown_ < interval) return;
    shown_ = now;
    draw();
  }
  void note(const std::string& text) {
    if (!out_) return;
    if (is_terminal_) std::fputs("\r\x1b[K", out_);
    std::fprintf(out_, "%s\n", io::harmless(text).c_str());
    if (is_terminal_ && is_shown_) draw();
  }
  void finish() {
    if (!out_ || last_.empty()) return;
    if (!is_shown_) draw();
    if (is_terminal_) std::fputs("\n", out_);
    last_.clear();
  }

 private:
  void draw() {
    winsize size{};
    const bool is_known = ioctl(fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const size_t room = !is_terminal_ ? last_.size() : is_known ? size.ws_col - 1U : 79U;
    const std::string text = last_.substr(0, room);
    std::fprintf(out_, is_terminal_ ? "\r\x1b[K%s" : "%s\n", text.c_str());
    std::fflush(out_);
    is_shown_ = true;
  }

  std::FILE* out_;
  bool is_terminal_, is_shown_ = false;
  std::string last_;
  std::optional<std::chrono::steady_clock::time_point> shown_;
};

// With a device by its name.
rl::DqnConfig game_on(rl::DqnConfig config, const AutomaticDevice* automatic) {
  if (automatic) config.device = automatic->name();
  return config;
}

class GameRun {
 public:
  GameRun(const rl::DqnConfig& config, const GameOptions& options, AutomaticDevice* automatic = nullptr)
      : config_(game_on(config, automatic)),
        options_(options),
        automatic_(automatic),
        folder_(RunFolder::open(options.folder, options.resume ? Start::resume_or_fresh : Start::fresh)),
        line_(options.out) {}

  GameResult run() {
    folder_.abandon_at_exit();
    try {
      set_up();
      return play();
    } catch (...) {
      folder_.abandon();
      throw;
    }
  }

 private:
  void set_up() {
    if (folder_.resumes()) {
      const std::string differs = rl::difference(game_run_config(folder_.path()), config_);
      if (!differs.empty())
        fail(kOp, "{}: was begun with other settings: {}; take the old ones, or begin a new run in another folder",
             folder_.path().string(), differs);
    }
    if (options_.resume && !folder_.resumes())
      note_in_any_case(folder_.path().string() + ": has played no game that it knows of; begins anew");
    // Before a learner is made, which may be too large to make where settings are not its own.
    std::optional<Checkpoint> found = folder_.resumes() ? newest() : std::nullopt;
    if (found && config_.episodes < found->step)
      fail(kOp, "{}: has played {} games, and episodes is {}; set it to as many or more", folder_.path().string(),
           found->step, config_.episodes);
    learner_ = rl::make_learner(config_);
    if (found) resume(*found);
    io::ReplacingFile file(kOp, folder_.config());
    file.write(rl::to_json(config_));
    file.commit();
    open_metrics();
  }

  // What to go on from; nothing where there was no checkpoint yet.
  std::optional<Checkpoint> newest() {
    const fs::path checkpoints = folder_.checkpoints();
    std::string passed_over;
    auto found = newest_checkpoint(checkpoints, [&](const std::string& why) {
      if (!passed_over.empty()) note_in_any_case("passed over: " + passed_over);
      passed_over = why;
    });
    if (!found && !passed_over.empty())
      fail(kOp, "{}: none of its checkpoints is good: {}; begin a new run in another folder", folder_.path().string(),
           without_tag(passed_over));
    if (!passed_over.empty()) note_in_any_case("passed over: " + passed_over);
    if (!found) {
      require_none_yet();
      note_in_any_case(folder_.path().string() + ": was stopped before its first checkpoint; begins anew");
      return found;
    }
    const fs::path path = checkpoint_path(checkpoints, found->step);
    const Json state = checked_state(path, *found, config_);
    clock_.set(io::json_field<double>(io::Input{kOp, path.string(), {}}, state, "seconds"));
    return found;
  }

  // Fails where the metrics tell of games behind a first checkpoint: the second line at or past it is only written once
  // that is saved.
  void require_none_yet() const {
    if (io::is_there(kOp, folder_.metrics())) {
      const std::vector<GameMetrics> lines = lines_so_far();
      const int64_t every = game_run_config(folder_.path()).checkpoint_every;
      const auto behind = std::count_if(lines.begin(), lines.end(),
                                        [&](const GameMetrics& one) { return every > 0 && one.episode >= every; });
      require_never_saved(folder_, behind > 1, fmt::format("played {} games", behind > 1 ? lines.back().episode : 0));
    }
    require_no_trace_of_saving(folder_);
  }

  void resume(const Checkpoint& found) {
    const fs::path checkpoints = folder_.checkpoints(), path = checkpoint_path(checkpoints, found.step);
    try {
      learner_->load(found.tensors);
    } catch (const Error& error) {
      fail(kOp, "{}: does not fit this run: {}; begin a new run in another folder", path.string(),
           without_tag(error.what()));
    }
    done_ = saved_ = found.step;
    set_aside_checkpoints(checkpoints, done_);
    prune_checkpoints(checkpoints, kKept, std::nullopt);  // a kill may have come before it
    tell_of_checkpoint();
    note(fmt::format("goes on from {}", path.string()));
  }

  void note(const std::string& text) {
    if (automatic_) automatic_->say_once();
    line_.note(text);
  }
  // Also in a quiet run.
  void note_in_any_case(const std::string& text) {
    if (options_.out)
      note(text);
    else
      std::fprintf(stderr, "%s\n", io::harmless(text).c_str());
  }

  std::vector<GameMetrics> lines_so_far() const {
    try {
      return read_game_metrics(folder_.metrics());
    } catch (const Error& error) {
      fail("metrics", "{}; take that line out, or the file away: curves then go without those games",
           without_tag(error.what()));
    }
  }

  // Keeps the lines up to the checkpoint.
  void open_metrics() {
    const bool was_there = io::is_there("metrics", folder_.metrics());
    if (done_ > 0 && was_there)
      metrics_ = lines_so_far();
    else if (done_ > 0)
      note_in_any_case(folder_.metrics().string() + ": is missing; curves begin with the games from now on");
    std::erase_if(metrics_, [&](const GameMetrics& one) { return one.episode > done_; });
    if (done_ > 0 && was_there) note_missing();
    for (const GameMetrics& one : metrics_) {
      best_score_ = std::max(best_score_, one.best_score);
      for (size_t exponent = 0; exponent < one.by_tile.size(); ++exponent) {
        if (one.by_tile[exponent] > 0) best_tile_ = std::max(best_tile_, 1 << exponent);
      }
    }
    io::ReplacingFile file("metrics", folder_.metrics());
    for (const GameMetrics& one : metrics_) file.write(game_metrics_line(one));
    file.commit();
    log_.reset(std::fopen(folder_.metrics().c_str(), "a"));
    if (!log_) fail("metrics", "{}: cannot be written", folder_.metrics().string());
    tensorboard_.emplace(folder_.tensorboard(), done_ > 0 ? std::optional(done_) : std::nullopt);
    resumed_ = done_ > 0;
  }

  // Lines that somebody cut away, or of another run.
  void note_missing() {
    int64_t games = 0;
    bool is_in_order = true;
    for (const GameMetrics& one : metrics_) {
      for (const int64_t count : one.by_tile) games += count;
      is_in_order &= games == one.episode;
    }
    if (is_in_order && games == done_) return;
    const std::string path = folder_.metrics().string();
    if (games < done_)
      note_in_any_case(fmt::format("{}: its lines tell of {} of the {} games; curves and counts go without the others",
                                   path, games, done_));
    else
      note_in_any_case(path +
                       ": its lines are not those of the games so far in their order; curves and counts are wrong");
  }

  GameResult play() {
    const StopRequest stop;
    const std::string device = rl::device_of(config_).name();
    const std::string_view what = config_.learner == "dqn"      ? "a network and a replay"
                                  : config_.learner == "tuples" ? "tables of values of afterstates"
                                                                : "a network for afterstates";
    note(fmt::format("{}: {} parameters{}", what, watch::with_separators(parameters()),
                     device == "cpu" ? "" : ", on " + device));
    const int64_t end = std::min(config_.episodes, options_.stop_after.value_or(config_.episodes));
    clock_.start();
    logged_seconds_ = clock_.seconds();
    logged_steps_ = learner_->learning_steps();
    std::vector<rl::Episode> ended;
    while (done_ < end && !stop.requested()) {
      ended.clear();
      try {
        learner_->play(ended);
      } catch (const rl::Diverged& why) {
        fail_diverged(without_tag(why.what()));
      }
      for (const rl::Episode& one : ended) {
        ++done_;
        recent_.push_back(one);
        best_score_ = std::max(best_score_, one.score);
        best_tile_ = std::max(best_tile_, 1 << one.largest_exponent);
      }
      after(done_ - std::ssize(ended));
    }
    clock_.pause();
    if (!recent_.empty()) write_metrics();
    save();
    return finish(done_ < config_.episodes, stop);
  }

  // The checkpoint before stays.
  [[noreturn]] void fail_diverged(const std::string& why) {
    line_.finish();
    report({});
    const std::string saved = saved_ >= 0 ? fmt::format("the last checkpoint is of game {}", saved_)
                                          : std::string("there is no checkpoint yet");
    fail(kOp, "after {} games {}; {}; begin a new run with a lower {}", done_, why, saved,
         config_.learner == "tuples" ? "rate" : "lr");
  }

  // The loss alone does not tell: a square that was infinite once stays in Adam's moments, and nothing is learned any
  // more.
  void require_finite(double loss) {
    if (std::isinf(loss) || !learner_->is_finite()) fail_diverged("what it learned is not finite any more");
  }

  static bool passes(int64_t before, int64_t now, int64_t every) { return every > 0 && before / every != now / every; }

  void after(int64_t before) {
    const bool saves = passes(before, done_, config_.checkpoint_every);
    if (saves || passes(before, done_, config_.log_every)) write_metrics();
    if (!saves) return;
    clock_.pause();
    save();
    report({});
    clock_.start();
  }

  void write_metrics() {
    const rl::Summary sum = rl::summary_of(recent_);
    const double seconds = clock_.seconds();
    GameMetrics now;
    now.episode = done_;
    now.mean_score = sum.mean_score;
    now.mean_moves = sum.mean_moves;
    now.best_score = sum.best_score;
    now.by_tile = sum.by_tile;
    now.epsilon = learner_->epsilon();
    now.loss = learner_->loss();
    require_finite(now.loss);
    const int64_t steps = learner_->learning_steps();
    const double passed = std::max(1e-9, seconds - logged_seconds_);
    now.episodes_per_second = static_cast<double>(recent_.size()) / passed;
    now.moves_per_second = sum.mean_moves * static_cast<double>(recent_.size()) / passed;
    now.learning_ms = steps > logged_steps_ ? passed * 1e3 / static_cast<double>(steps - logged_steps_) : 0;
    now.resident_bytes = base::resident_bytes();
    now.seconds = seconds;
    now.resumed = std::exchange(resumed_, false);
    const std::string line = game_metrics_line(now);
    const bool is_written = std::fputs(line.c_str(), log_.get()) >= 0 && std::fflush(log_.get()) == 0;
    if (!is_written) fail("metrics", "{}: cannot be written: the disk may be full", folder_.metrics().string());
    folder_.keep();
    if (automatic_) automatic_->keep();
    tensorboard_->scalar("game/mean_score", done_, now.mean_score);
    tensorboard_->scalar("game/reached_2048", done_, sum.reached(2048));
    tensorboard_->scalar("game/epsilon", done_, now.epsilon);
    tensorboard_->scalar("game/episodes_per_second", done_, now.episodes_per_second);
    show(now);
    metrics_.push_back(std::move(now));
    recent_.clear();
    logged_seconds_ = seconds;
    logged_steps_ = steps;
  }

  void show(const GameMetrics& now) {
    const double left = static_cast<double>(config_.episodes - done_) / std::max(1e-9, now.episodes_per_second);
    const std::string explores = config_.learner == "dqn" ? fmt::format("  epsilon {:.2f}", now.epsilon) : "";
    const std::string memory = now.resident_bytes > 0 ? "  " + watch::bytes_text(now.resident_bytes) : "";
    line_.show(fmt::format(
        "{}/{} games  score {}  best {} (tile {}){}  {:.0f} games/s  {} moves/s  {:.2f} ms/step{}  {} left",
        watch::with_separators(done_), watch::with_separators(config_.episodes),
        watch::with_separators(std::llround(now.mean_score)), watch::with_separators(best_score_), best_tile_, explores,
        now.episodes_per_second, watch::with_separators(std::llround(now.moves_per_second)), now.learning_ms, memory,
        watch::duration_text(left)));
  }

  void save() {
    if (saved_ == done_) return;
    const NoGrad reading;
    const rl::NamedTensors tensors = learner_->state();
    if (const std::string name = rl::first_not_finite(tensors); !name.empty())
      fail_diverged(fmt::format("{} holds numbers that are not finite", name));
    folder_.keep();
    if (fsync(fileno(log_.get())) != 0) fail("metrics", "{}: cannot be written", folder_.metrics().string());
    Json state;
    state["game"] = "2048";
    state["episodes"] = done_;
    state["seconds"] = clock_.seconds();
    state["config"] = Json::parse(rl::to_json(config_));
    save_checkpoint(folder_.checkpoints(), {done_, state.dump(), tensors});
    saved_ = done_;
    tell_of_checkpoint();
    prune_checkpoints(folder_.checkpoints(), kKept, std::nullopt);
  }

  int64_t parameters() const {
    int64_t count = 0;
    for (const auto& [name, tensor] : learner_->network().state_dict()) count += tensor.numel();
    return count;
  }

  void report(const GameResult& result) const {
    write_game_report({folder_.path(), rl::to_json(config_), metrics_, result.evaluation, result.random});
  }

  GameResult finish(bool stopped, const StopRequest& stop) {
    GameResult result;
    result.episodes = done_;
    result.stopped = stopped;
    result.seconds = clock_.seconds();
    result.report = folder_.report();
    if (!stopped && config_.evaluation_games > 0) {
      line_.finish();
      note(fmt::format("plays {} games with the best moves", config_.evaluation_games));
      const auto seed = static_cast<uint64_t>(config_.seed) + 1;  // other games than those of training
      const auto stops = [&] { return stop.requested(); };
      const auto best = rl::play_games(learner_.get(), config_.evaluation_games, seed, stops),
                 random = rl::play_games(nullptr, config_.evaluation_games, seed, stops);
      result.evaluation_stopped = best.empty() || random.empty();
      if (!result.evaluation_stopped) {
        result.evaluation = rl::summary_of(best);
        result.random = rl::summary_of(random);
      }
    }
    tensorboard_->flush();
    report(result);
    line_.finish();
    return result;
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const rl::DqnConfig config_;
  const GameOptions& options_;
  AutomaticDevice* const automatic_;  // null where the config names one
  RunFolder folder_;
  LiveLine line_;
  std::unique_ptr<rl::Learner> learner_;
  std::unique_ptr<std::FILE, Close> log_;
  std::optional<watch::TensorBoardWriter> tensorboard_;
  std::vector<GameMetrics> metrics_;
  std::vector<rl::Episode> recent_;  // since the last line of metrics
  StepClock clock_;
  int64_t done_ = 0, saved_ = -1, best_score_ = 0;
  int best_tile_ = 0;
  double logged_seconds_ = 0;
  int64_t logged_steps_ = 0;  // of learning
  bool resumed_ = false;
};

rl::DqnConfig config_in(const fs::path& run) {
  const fs::path path = run / "config.json";
  const std::string text = text_of_file(path);
  io::check_json({kOp, path.string(), std::as_bytes(std::span(text))});
  if (!is_game_config(text))
    fail(kOp, "{}: is no config of 2048, which names a learner; name a run of tenon train dqn2048", path.string());
  return rl::parse_dqn_config(text, path.string());
}

}  // namespace

GameResult train_game(const rl::DqnConfig& config, const GameOptions& options) {
  const PipesMayClose while_training;
  if (options.resume) require_run(options.folder);
  if (config.device != "auto" || config.learner == "tuples") return GameRun(config, options).run();
  std::optional<GameResult> result;
  on_automatic_device(options.out,
                      [&](AutomaticDevice& automatic) { result = GameRun(config, options, &automatic).run(); });
  return *std::move(result);
}

bool is_game_config(std::string_view json) {
  try {
    const Json object = io::parse_json<Json>(kOp, "config", json);
    return object.is_object() && object.contains("learner");
  } catch (const Error&) {
    return json.find("\"learner\"") != json.npos;  // a damaged one, and whoever reads it says where
  }
}

rl::DqnConfig load_game_config(const std::string& path_or_preset) {
  if (const rl::DqnPreset* preset = rl::find_dqn_preset(path_or_preset))
    return rl::parse_dqn_config(preset->json, preset->name);
  return rl::parse_dqn_config(text_of_file(path_or_preset), path_or_preset);
}

rl::DqnConfig game_run_config(const fs::path& folder) {
  require_run(folder);
  return config_in(folder);
}

std::unique_ptr<rl::Learner> load_learner(const fs::path& path, const std::function<void(const std::string&)>& note) {
  if (!fs::exists(path)) fail(kOp, "{}: there is no such run; tenon train dqn2048 makes one", path.string());
  const bool is_checkpoint = fs::exists(path / "checkpoint.json");
  const fs::path run = is_checkpoint ? fs::canonical(path).parent_path().parent_path() : path;
  if (!fs::exists(run / "config.json"))
    fail(kOp, "{}: is no run: it has no config.json; name a run of tenon train dqn2048", path.string());
  rl::DqnConfig config = config_in(run);
  config.device.clear();  // where it was trained need not be where it plays
  std::vector<std::string> refused;
  std::optional<Checkpoint> found;
  if (is_checkpoint)
    found = read_checkpoint(path);
  else
    found = newest_checkpoint(run / "checkpoints", [&](const std::string& why) { refused.push_back(why); });
  if (!found)
    fail(kOp, "{}: there is no good checkpoint: {}", run.string(),
         refused.empty() ? "it has none" : without_tag(refused.back()));
  if (note) {
    for (const std::string& why : refused) note("passed over: " + why);
  }
  checked_state(is_checkpoint ? path : checkpoint_path(run / "checkpoints", found->step), *found, config);
  std::unique_ptr<rl::Learner> learner = rl::make_learner(config);
  try {
    const rl::NamedTensors network = rl::part(found->tensors, "network");
    rl::require_finite(network);
    learner->network().load_state_dict(network);
  } catch (const Error& error) {
    fail(kOp, "{}: its checkpoint does not fit its config: {}", run.string(), without_tag(error.what()));
  }
  return learner;
}

}  // namespace tenon::train
