// One object per run; a step is: batch, rate, replay. Numbers are read from the device only when they are shown.

#include "tenon/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/base/resident.h"
#include "tenon/data/image.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/exec/compile_progress.h"
#include "tenon/exec/tuning.h"
#include "tenon/io/file.h"
#include "tenon/io/input.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/lora.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/profile.h"
#include "tenon/train/automatic_device.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/image_task.h"
#include "tenon/train/language_task.h"
#include "tenon/train/model.h"
#include "tenon/train/optimizer.h"
#include "tenon/train/resume.h"
#include "tenon/train/run_checks.h"
#include "tenon/train/run_folder.h"
#include "tenon/train/run_state.h"
#include "tenon/train/saved_tensors.h"
#include "tenon/train/signals.h"
#include "tenon/train/step.h"
#include "tenon/train/step_clock.h"
#include "tenon/train/text_task.h"
#include "tenon/watch/metrics.h"
#include "tenon/watch/report.h"
#include "tenon/watch/run_view.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;
using Clock = std::chrono::steady_clock;

// Seconds. Shorter steps are queued until their numbers are wanted; a run that is told to stop finishes what is queued.
constexpr double kLongStep = 0.5;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

using InitialFolder = std::shared_ptr<const io::OpenFolder>;

// The folder of model.init_from stays open until the model is made, so that all of it is of one model.
Config completed(Config config, std::string_view name, InitialFolder& initial) {
  validate(config, name.empty() ? "config" : name);
  initial = take_initial_model(config);
  return config;
}

// The threads of a run, which are those of the process again afterwards.
class Threads {
 public:
  explicit Threads(int64_t wanted) : before_(base::num_threads()) {
    if (wanted > 0) base::set_num_threads(static_cast<int>(wanted));
  }
  ~Threads() { base::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// A device holds at most so many MiB while this lives; 0: as many as before.
class MemoryLimit {
 public:
  MemoryLimit(const std::string& device, int64_t mebibytes)
      : pool_(device::open(device::find(device)).pool()), before_(pool_.stats().limit) {
    if (mebibytes > 0) pool_.set_limit(static_cast<size_t>(mebibytes) << 20);
  }
  ~MemoryLimit() { pool_.set_limit(before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  device::Pool& pool_;
  size_t before_;
};

// Dropout and the like are off while this lives.
class Evaluating {
 public:
  explicit Evaluating(nn::Module& model) : model_(model) { model_.eval(); }
  ~Evaluating() { model_.train(); }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  nn::Module& model_;
};

// Names that become keys of metrics.jsonl and of TensorBoard.
void require_word(const std::string& word, std::string_view what) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto fits = [&](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  if (word.empty() || !(is_letter(word[0]) || word[0] == '_') || !std::ranges::all_of(word, fits))
    fail("train", "{} of the task is called {}; take a word of small letters, digits and _", what, io::in_quotes(word));
}

std::unique_ptr<Task> make_task(const Config& config, const TrainOptions& options, const RunFolder& folder,
                                InitialFolder initial) {
  const bool is_custom = config.model.architecture == "custom";
  if (is_custom != static_cast<bool>(options.task))
    fail("train", "model.architecture is {}; {}", config.model.architecture,
         is_custom ? "only a program can train that, by giving train() a task; take gpt2, llama, bert, cnn or resnet"
                   : "a task was given, which needs custom");
  std::unique_ptr<Task> task;
  if (is_custom)
    task = options.task(config);
  else if (config.is_language())
    task = std::make_unique<LanguageTask>(config, folder.path(), folder.resumes(), std::move(initial));
  else if (config.is_text())
    task = std::make_unique<TextTask>(config, folder.path(), folder.resumes(), std::move(initial));
  else
    task = std::make_unique<ImageTask>(config);
  if (!task) fail("train", "the function that makes the task gave none");
  return task;
}

// With a device by its name, which the next run may compare with its own.
Config with_device(Config config, const AutomaticDevice* automatic) {
  if (automatic) config.device.name = automatic->name();
  return config;
}

class Run {
 public:
  Run(const Config& config, const TrainOptions& options, AutomaticDevice* automatic = nullptr)
      : automatic_(automatic),
        config_(with_device(completed(config, options.config_name, initial_), automatic)),
        options_(options),
        threads_(config_.device.threads),
        memory_(config_.device.name, config_.device.memory_limit),
        folder_(RunFolder::open(options.folder, options.resume ? Start::resume_or_fresh : Start::fresh)) {
    folder_.abandon_at_exit();
    try {
      set_up();
    } catch (...) {
      folder_.abandon();
      throw;
    }
  }

  TrainResult run() {
    try {
      return train();
    } catch (...) {
      folder_.abandon();
      throw;
    }
  }

 private:
  void set_up() {
    if (folder_.resumes()) {
      const Config before = run_config(folder_.path());
      require_same_run(before, config_, options_);
      has_moved_data_ = has_moved_data(before, config_);
      if (before.device.name != config_.device.name) device_before_ = before.device.name;
    }
    require_other_files(config_, folder_.path());
    if (!folder_.resumes()) write_config();  // from now on, --resume knows what to do
    manual_seed(static_cast<uint64_t>(config_.training.seed));
    task_ = make_task(config_, options_, folder_, std::move(initial_));
    facts_ = task_->facts();
    require_word(facts_.unit, "the unit");
    if (folder_.resumes())
      resumes_from_ = find_resume_point(folder_, config_, *task_, [&](const std::string& text) {
        note_in_any_case(text);  // some steps are lost
      });
    if (resumes_from_ && device_before_)
      note_in_any_case(fmt::format(
          "{}: was computed on {} and goes on on {}; numbers differ in their last bits from those of a run that stayed",
          resumes_from_->path.string(), *device_before_, config_.device.name));
    else if (resumes_from_)
      take_choices();  // before anything is computed
    model_ = &task_->model();
    optimizer_ = make_optimizer(config_, models::trainable(*model_));
    if (config_.optimizer.average > 0) optimizer_->keep_average(config_.optimizer.average);
    rate_.emplace(config_, *optimizer_);
    step_.emplace(
        config_, *model_, [this](std::span<const Tensor> batch) { return task_->loss(batch); }, *optimizer_);
  }

  TrainResult train() {
    const StopRequest stop;
    const int64_t end = std::min(config_.training.steps, options_.stop_after.value_or(config_.training.steps));
    const ProfiledSteps profiled = steps_to_profile(resumes_from_ ? resumes_from_->checkpoint.step : 0, end);
    say_device();
    if (folder_.resumes()) resume();
    const std::optional<int64_t> last = done_ > 0 ? std::optional(done_) : std::nullopt;
    view_.emplace(folder_.path(), last, config_.training.steps, options_.out);
    if (last) take_up_what_was_seen();
    introduce();
    model_->train();
    started_ = Clock::now();
    clock_.start();
    logged_items_ = items_;
    logged_seconds_ = clock_.seconds();
    while (done_ < end && !stop.requested()) {
      if (done_ + 1 == profiled.first) begin_profile();
      take_step();
      if (done_ == profiled.last) end_profile();
      after_step(done_ == config_.training.steps);
    }
    end_profile();  // of a run that stops within it
    return finish(done_ < config_.training.steps);
  }

  // ---- profile ----

  // Both 0 where nothing is profiled.
  ProfiledSteps steps_to_profile(int64_t done, int64_t end) const {
    constexpr int64_t kWarmUp = 10, kSteps = 5;  // by then a step is captured and its kernels are compiled
    if (!options_.profile || done >= end) return {};
    ProfiledSteps wanted = *options_.profile;
    if (wanted.first == 0) {
      wanted.last = std::min(done + kWarmUp + kSteps, end);
      wanted.first = std::max(wanted.last - kSteps, done) + 1;
    }
    if (wanted.first <= done || wanted.first > end)
      fail("train", "steps {} to {} are to be profiled, but this run takes steps {} to {}", wanted.first, wanted.last,
           done + 1, end);
    wanted.last = std::min(wanted.last, end);
    return wanted;
  }

  void begin_profile() {
    clock_.pause();
    profile_.emplace();
    profiled_from_ = done_ + 1;
    clock_.start();
  }

  // The time of tables and files is none of the steps'.
  void end_profile() {
    if (!profile_) return;
    profile_->stop();
    clock_.pause();
    io::ReplacingFile file("train", folder_.profile());
    file.write(profile_->chrome_trace());
    file.commit();
    view_->finish_progress();
    note(fmt::format("profile of steps {} to {}, written to {}\n{}", profiled_from_, done_,
                     folder_.profile().lexically_normal().string(), profile_->table()));
    profile_.reset();
    clock_.start();
  }

  // ---- steps ----

  struct Position {  // before a step
    std::string data;
    uint64_t random;
  };

  std::vector<Tensor> batch_of_task() {
    std::vector<Tensor> batch = task_->next_batch();
    if (batch.empty()) fail("train", "step {}: the task's next_batch() gave no tensors", done_ + 1);
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!batch[i].defined())
        fail("train", "step {}: tensor {} of the task's next_batch() is undefined", done_ + 1, i);
    }
    return batch;
  }

  std::vector<Tensor> profiled_batch() {
    const ProfileRange range("data");
    return batch_of_task();
  }

  void take_step() {
    since_look_.push_back({task_->position(), default_generator().position()});
    const std::vector<Tensor> batch = profiled_batch();
    tell_notes();
    rate_->set(done_);
    const ProfileRange range("step");
    step_->run(batch);
    ++done_;
    items_ += task_->items_of(batch);
  }

  static bool is_due(int64_t step, int64_t every, bool is_last) { return every > 0 && (step % every == 0 || is_last); }

  void after_step(bool is_last) {
    const TrainingConfig& t = config_.training;
    const bool evaluates = config_.has_validation() && is_due(done_, t.eval_every, is_last);
    const bool logs = done_ == 1 || is_due(done_, t.log_every, is_last) || evaluates;
    const bool samples = is_due(done_, config_.sample.every, is_last);
    const bool saves = is_due(done_, config_.checkpoint.every, false);
    if (logs)
      look();
    else if (samples || saves || step_seconds_ > kLongStep)
      require_finite(step_->is_finite());  // waits for the steps, too, whose time this is
    if (!logs && !samples && !saves) return;
    clock_.pause();
    const bool is_best = evaluates && evaluate();
    if (logs) write_metrics();
    if (samples) sample();
    if (saves || is_best) save(is_best);
    clock_.start();
  }

  void look() {
    const TrainingStep::Look seen = step_->look();
    require_finite(seen.is_finite);
    const double seconds = clock_.seconds();
    now_ = {};
    now_.step = done_;
    now_.loss = seen.loss;
    now_.lr = rate_->now();
    now_.gradient_norm = seen.gradient_norm;
    now_.items_per_second = static_cast<double>(items_ - logged_items_) / std::max(1e-9, seconds - logged_seconds_);
    step_seconds_ = (seconds - logged_seconds_) / static_cast<double>(std::max<int64_t>(1, done_ - looked_at_));
    now_.items = items_;
    now_.unit = facts_.unit;
    now_.seconds = seconds;
    now_.resident_bytes = base::resident_bytes();
    now_.loss_scale = seen.loss_scale;
    logged_items_ = items_;
    logged_seconds_ = seconds;
    looked_at_ = done_;
    if (automatic_) automatic_->keep();
    since_look_.clear();
    if (!config_.training.check_finite && !std::isfinite(seen.loss))
      view_->note(fmt::format("step {}: the loss is {}", done_, seen.loss));
  }

  // The weights are still those before the first bad step, so that it can be run again.
  void require_finite(bool is_finite) {
    if (is_finite) return;
    const int64_t good = looked_at_ + step_->good_steps(), first = done_ - std::ssize(since_look_);
    const Position& before = since_look_.at(static_cast<size_t>(good - first));
    task_->go_to(before.data);
    const std::vector<Tensor> batch = batch_of_task();
    default_generator().set(static_cast<uint64_t>(config_.training.seed), before.random);
    const std::string why = step_->explain(batch);
    view_->finish_progress();
    const std::string saved = saved_ >= 0 ? fmt::format("the last checkpoint is of step {}", saved_)
                                          : std::string("there is no checkpoint yet");
    fail("train",
         "step {}: the loss or its gradients are not finite{}; {}; lower optimizer.lr, clip gradients, or use "
         "another precision",
         good + 1, why.empty() ? "" : ": " + why, saved);
  }

  // A step may have been begun without a thread to run it on: the first one counts when its numbers were seen.
  void write_metrics() {
    folder_.keep();
    view_->show(now_);
    if (options_.on_metrics) options_.on_metrics(now_);
  }

  // Calls f, which looks at the model, with the means of the weights where they are kept. A failure ends the run, so
  // that nobody minds then which of them are in place.
  template <typename F>
  auto looking(F&& f) {
    const Evaluating evaluating(*model_);
    step_->swap_average();
    auto seen = f();
    step_->swap_average();
    return seen;
  }

  void tell_notes() {
    for (const std::string& text : task_->take_notes()) {
      view_->finish_progress();
      note_in_any_case(text);
    }
  }

  // Whether this is the best model so far, and to be kept.
  bool evaluate() {
    const std::optional<Evaluated> seen = looking([&] { return task_->evaluate(); });
    tell_notes();
    if (!seen) return false;
    for (const auto& [name, value] : seen->metrics) require_word(name, "a metric");
    now_.validation_loss = validation_loss_ = seen->loss;
    now_.validation_metrics = validation_metrics_ = seen->metrics;
    rate_->observe(seen->loss);
    const bool is_best = std::isfinite(seen->loss) && (!best_loss_ || seen->loss < *best_loss_);
    if (is_best) {
      best_loss_ = seen->loss;
      best_step_ = done_;
    }
    return is_best && config_.checkpoint.keep_best;
  }

  void sample() {
    const TaskSample made = looking([&] { return task_->sample(); });
    last_sample_ = made.text;
    view_->show(watch::Sample{done_, made.text, made.picture.defined() ? data::png_of(made.picture) : ""});
  }

  // ---- checkpoints ----

  TrainedParts parts() { return {*model_, *optimizer_, *step_}; }

  RunState state() const {
    RunState state;
    state.loader = task_->position();
    state.seed = default_generator().seed();
    state.position = default_generator().position();
    state.rate = rate_->state();
    state.items = items_;
    state.seconds = seconds();
    state.step_seconds = clock_.seconds();
    state.best_loss = best_loss_;
    state.best_step = best_step_;
    state.corpus = facts_.fingerprint;
    return state;
  }

  void save(bool is_best) {
    if (saved_ == done_) return;
    folder_.keep();
    view_->flush_metrics();
    const NoGrad reading;
    const exec::Tuning choices = exec::choices_taken(device());
    save_checkpoint(folder_.checkpoints(), {done_, to_json(state(), config_), tensors_to_save(parts()),
                                            choices.on().empty() ? "" : choices.to_text()});
    saved_ = done_;
    tell_of_checkpoint();
    if (is_best) name_best(folder_.checkpoints(), done_);
    prune_checkpoints(folder_.checkpoints(), config_.checkpoint.keep_last, kept_best());
    report(seconds());
  }

  std::optional<int64_t> kept_best() const { return config_.checkpoint.keep_best ? best_step_ : std::nullopt; }

  void note(const std::string& text) const {
    if (options_.out) note_in_any_case(text);
  }
  // Also in a quiet run.
  void say_device() const {
    if (automatic_) automatic_->say_once();
  }

  void note_in_any_case(const std::string& text) const {
    say_device();
    std::fprintf(options_.out ? options_.out : stderr, "%s\n", io::harmless(text).c_str());
  }

  device::Device& device() const { return device::open(device::find(config_.device.name)); }

  // Algorithms of products differ in their last bits: a run goes on with those that it began with.
  void take_choices() {
    const std::string& text = resumes_from_->checkpoint.products;
    std::string why;
    if (!text.empty()) {
      try {
        why = exec::take_choices(device(), exec::Tuning::read(text, "products.tuned"));
      } catch (const Error& error) {
        why = without_tag(error.what());
      }
    } else if (!device().compiler().timed_on().empty()) {
      why = "it does not say how its products were computed";
    }
    if (why.empty()) return;
    note_in_any_case(
        fmt::format("{}: {}; numbers may differ in their last bits from those of a run that was not stopped",
                    resumes_from_->path.string(), why));
  }

  void resume() {
    const fs::path checkpoints = folder_.checkpoints();
    if (!resumes_from_) {
      if (has_moved_data_)
        fail("train",
             "{}: was stopped before its first checkpoint, on other data than {}; begin a new run in another folder",
             folder_.path().string(), config_.data_name());
      note_in_any_case(folder_.path().string() + ": was stopped before its first checkpoint; begins anew");
      io::remove_stale("train", folder_.metrics());  // lines of steps that are lost, and of another config perhaps
      write_config();
      return;
    }
    const fs::path path = resumes_from_->path;
    try {
      load_tensors(parts(), resumes_from_->checkpoint.tensors);
      load(resumes_from_->state);
    } catch (const Error& error) {
      refuse_checkpoint(path, error);
    }
    done_ = saved_ = resumes_from_->checkpoint.step;
    resumes_from_.reset();  // its tensors take memory
    looked_at_ = done_ - step_->good_steps();
    rate_->set(done_);
    set_aside_checkpoints(checkpoints, done_);
    tell_of_checkpoint();
    // A kill may have come between the checkpoint and its name, or before older ones were removed.
    if (kept_best() && fs::exists(checkpoint_path(checkpoints, *best_step_))) name_best(checkpoints, *best_step_);
    prune_checkpoints(checkpoints, config_.checkpoint.keep_last, kept_best());
    watch::remove_samples_after(folder_.path(), done_);
    write_config();
    note(fmt::format("goes on from {}", path.string()));
  }

  void load(const RunState& state) {
    task_->go_to(state.loader);
    // Other data of the same length would be read from the same places, and nobody would notice.
    if (state.corpus.empty() ? has_moved_data_ : state.corpus != facts_.fingerprint)
      fail("train", "the run was begun on other data than {} holds now", config_.data_name());
    default_generator().set(state.seed, state.position);
    rate_->load(state.rate);
    items_ = state.items;
    seconds_before_ = state.seconds;
    clock_.set(state.step_seconds);
    best_loss_ = state.best_loss;
    best_step_ = state.best_step;
  }

  // For the result of a run that has nothing left to do.
  void take_up_what_was_seen() {
    for (const watch::StepMetrics& metrics : watch::read_metrics(folder_.metrics())) {
      now_ = metrics;
      if (!metrics.validation_loss) continue;
      validation_loss_ = metrics.validation_loss;
      validation_metrics_ = metrics.validation_metrics;
    }
    const std::vector<watch::Sample> samples = watch::read_samples(folder_.path());
    if (!samples.empty()) last_sample_ = samples.back().text;
  }

  // ---- what a person sees ----

  double seconds() const { return seconds_before_ + seconds_since(started_); }

  void write_config() const {
    io::ReplacingFile file("train", folder_.config());
    file.write(to_json(config_));
    file.commit();
  }

  std::string precision() const {
    if (config_.training.precision != "tf32" || device().limits().tf32) return config_.training.precision;
    return fmt::format("f32 ({} has no tf32)", config_.device.name);
  }

  void introduce() {
    view_->note(fmt::format("{}\n{} of {} parameters, {}, {} threads{}", facts_.data, config_.model.architecture,
                            model_->count_parameters(), precision(), base::num_threads(),
                            config_.device.name == "cpu" ? "" : ", on " + config_.device.name));
  }

  // Nothing where all kernels are found compiled.
  void show_compiling(size_t compiled, size_t of) {
    constexpr double kPause = 5;  // seconds between two lines
    if (!view_) return;
    if (compiled == 0 && !std::exchange(has_told_of_compiling_, true))
      view_->note(
          fmt::format("compiling {} kernels for {}; the next run finds them compiled", of, config_.device.name));
    else if (compiled > 0 && compiled < of && seconds_since(told_of_compiling_) >= kPause)
      view_->note(fmt::format("compiled {} of {} kernels", compiled, of));
    else
      return;
    told_of_compiling_ = Clock::now();
  }

  void report(double all_seconds) const {
    const watch::Table figures{{"Time in all", watch::duration_text(all_seconds)},
                               {"Parameters", watch::with_separators(model_->count_parameters())},
                               {"Training " + facts_.unit, watch::with_separators(facts_.items)}};
    watch::report_from_folder(folder_.path(), figures);
  }

  TrainResult finish(bool stopped) {
    if (!since_look_.empty()) require_finite(step_->is_finite());
    clock_.pause();
    if (stopped || config_.checkpoint.at_end) save(false);
    TrainResult result;
    result.step = done_;
    result.loss = now_.loss;
    result.validation_loss = validation_loss_;
    result.validation_metrics = validation_metrics_;
    result.best_validation_loss = best_loss_;
    result.seconds = seconds();
    result.step_seconds = now_.seconds;
    result.items_per_second = static_cast<double>(now_.items) / std::max(1e-9, now_.seconds);
    result.unit = facts_.unit;
    result.stopped = stopped;
    result.last_sample = last_sample_;
    if (!stopped) result.model = looking([&] { return task_->save(folder_.path()); });
    view_->flush_tensorboard();
    report(result.seconds);
    result.report = folder_.report();
    view_->finish_progress();
    return result;
  }

  AutomaticDevice* const automatic_;  // null where the config names one
  InitialFolder initial_;             // until the task is made
  const Config config_;
  const TrainOptions& options_;
  const Threads threads_;
  const MemoryLimit memory_;
  RunFolder folder_;
  std::unique_ptr<Task> task_;
  TaskFacts facts_;
  nn::Module* model_ = nullptr;  // the task's
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<LearningRate> rate_;
  std::optional<TrainingStep> step_;
  std::optional<watch::RunView> view_;
  bool has_told_of_compiling_ = false;
  Clock::time_point told_of_compiling_ = Clock::now();
  const exec::WatchCompiling watching_{[this](size_t compiled, size_t of) { show_compiling(compiled, of); }};

  std::deque<Position> since_look_;
  int64_t done_ = 0, looked_at_ = 0, saved_ = -1;  // steps
  int64_t items_ = 0, logged_items_ = 0;
  Clock::time_point started_;
  StepClock clock_;
  double seconds_before_ = 0, logged_seconds_ = 0, step_seconds_ = 0;
  watch::StepMetrics now_;
  std::optional<double> validation_loss_, best_loss_;
  watch::NamedNumbers validation_metrics_;
  std::optional<int64_t> best_step_;
  std::string last_sample_;
  std::optional<std::string> device_before_;  // where it is another now
  bool has_moved_data_ = false;               // since the run was last resumed
  std::optional<Profile> profile_;
  int64_t profiled_from_ = 0;
  std::optional<ResumePoint> resumes_from_;  // until the run has gone on from it
};

}  // namespace

TrainResult train(const Config& config, const TrainOptions& options) {
  const PipesMayClose while_training;
  if (options.resume) require_run(options.folder);
  if (config.device.name != "auto") return Run(config, options).run();
  std::optional<TrainResult> result;
  on_automatic_device(options.out,
                      [&](AutomaticDevice& automatic) { result = Run(config, options, &automatic).run(); });
  return *std::move(result);
}

Config run_config(const fs::path& folder) {
  require_run(folder);
  const fs::path path = folder / "config.json";
  const auto file = io::MappedFile::open("train", path);
  return parse_config(io::as_text(file->bytes()), path.string());
}

}  // namespace tenon::train
