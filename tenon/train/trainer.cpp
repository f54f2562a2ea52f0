// One object per run; a step is: batch, rate, replay. Numbers are read from the device only when they are shown.

#include "tenon/train/trainer.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <deque>

#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/base/resident.h"
#include "tenon/data/loader.h"
#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/models/lora.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/config_keys.h"
#include "tenon/train/corpus.h"
#include "tenon/train/evaluation.h"
#include "tenon/train/model.h"
#include "tenon/train/optimizer.h"
#include "tenon/train/run_folder.h"
#include "tenon/train/sampler.h"
#include "tenon/train/signals.h"
#include "tenon/train/step.h"
#include "tenon/watch/metrics.h"
#include "tenon/watch/progress.h"
#include "tenon/watch/report.h"
#include "tenon/watch/tensorboard.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Config completed(Config config, std::string_view name) {
  validate(config, name.empty() ? "config" : name);
  take_initial_model(config);
  return config;
}

bool is_data_path(std::string_view key) { return key == "data.train" || key == "data.validation"; }

bool has_moved_data(const Config& before, const Config& now) {
  return before.data.train != now.data.train || before.data.validation != now.data.validation;
}

void require_same_run(const Config& before, const Config& now, const TrainOptions& options) {
  for (const Difference& one : differences(before, now)) {
    if (find_key(one.path)->on_resume == OnResume::may_change) continue;
    if (is_data_path(one.path)) continue;  // the same tokens may lie elsewhere: they are compared when they are read
    const std::string said = options.config_name.empty() ? "the config now says" : options.config_name + " says";
    const std::string remedy = options.config_name.empty()
                                   ? "take the old value"
                                   : fmt::format("leave out {} to go on as it was", options.config_name);
    fail("train", "{}: was begun with {} {}, {} {}; {}, or begin a new run in another folder", options.folder.string(),
         one.path, one.before, said, one.after, remedy);
  }
}

void require_run(const fs::path& folder) {
  if (!fs::exists(folder))
    fail("train", "{}: there is no such folder to resume; start a new run or name the folder of one", folder.string());
  const bool has_config = fs::exists(folder / "config.json");
  if (!has_config || !is_run(folder))
    fail("train", "{}: holds no run to resume ({}); start a new one or name the folder of a run", folder.string(),
         has_config ? "its config.json is not of a run" : "there is no config.json");
}

// A run keeps its files by fixed names, behind which may lie what it reads: links of a folder lead anywhere.
void require_other_files(const Config& config, const RunFolder& folder) {
  std::vector<fs::path> read = {config.data.train, config.data.validation};
  // An empty one names nothing, and not the working directory.
  if (const fs::path tokenizer = config.tokenizer.path; !tokenizer.empty())
    read.insert(read.end(), {tokenizer, tokenizer / "tokenizer.json"});
  if (const fs::path model = config.model.init_from; !model.empty())
    read.insert(read.end(), {model / "config.json", model / "model.safetensors", model / "tokenizer.json"});
  for (const char* name : {"config.json", "tokenizer.json", "metrics.jsonl", "report.html", "model/config.json",
                           "model/model.safetensors", "model/tokenizer.json"}) {
    const fs::path own = folder.path() / name;
    for (const fs::path& input : read) {
      std::error_code missing;
      if (fs::equivalent(input, own, missing))
        fail("train", "{}: is read by this run, which would replace it; choose another folder for the run",
             own.string());
    }
  }
}

bool is_correction(const std::string& name) { return name.find(".lora.") != std::string::npos; }

data::LoaderOptions loader_options(const Config& config) {
  const TrainingConfig& t = config.training;
  return {.batch = t.batch_size / t.micro_batches,
          .length = config.sequence_length(),
          .micro_batches = t.micro_batches,
          .order = data::order_named(config.data.order),
          .seed = static_cast<uint64_t>(config.data.seed),
          .prefetch = config.data.prefetch};
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

// The time that steps take: without evaluations, samples and checkpoints.
class StepClock {
 public:
  void start() { running_since_ = Clock::now(); }
  void pause() {
    seconds_ = seconds();
    running_since_.reset();
  }
  double seconds() const { return seconds_ + (running_since_ ? seconds_since(*running_since_) : 0); }
  void set(double seconds) { seconds_ = seconds; }

 private:
  double seconds_ = 0;
  std::optional<Clock::time_point> running_since_;
};

class Run {
 public:
  Run(const Config& config, const TrainOptions& options)
      : config_(completed(config, options.config_name)),
        options_(options),
        threads_(config_.device.threads),
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
    }
    require_other_files(config_, folder_);
    if (!folder_.resumes()) write_config();  // from now on, --resume knows what to do
    manual_seed(static_cast<uint64_t>(config_.training.seed));
    corpus_ = load_corpus(config_, folder_.path(), folder_.resumes());
    vocabulary_ = model_vocabulary(config_, corpus_.tokenizer->vocabulary());
    if (folder_.resumes()) find_checkpoint();
    model_ = make_model(config_, vocabulary_, text_tokens(*corpus_.tokenizer));
    parameters_ = models::trainable(*model_);
    optimizer_ = make_optimizer(config_, parameters_);
    rate_.emplace(config_, *optimizer_);
    step_.emplace(config_, *model_, *optimizer_);
    evaluation_.emplace(config_, *model_);
    if (config_.sample.every > 0) sampler_.emplace(config_, *model_, *corpus_.tokenizer);
    loader_.emplace(corpus_.train, loader_options(config_));
  }

  TrainResult train() {
    const StopRequest stop;
    if (folder_.resumes()) resume();
    metrics_.emplace(watch::MetricsLog::open(folder_.metrics(), done_ > 0 ? std::optional(done_) : std::nullopt));
    tensorboard_.emplace(folder_.tensorboard(), done_ > 0 ? std::optional(done_) : std::nullopt);
    if (done_ > 0) take_up_what_was_seen();
    if (options_.out) progress_.emplace(config_.training.steps, options_.out);
    introduce();
    model_->train();
    started_ = Clock::now();
    clock_.start();
    logged_tokens_ = tokens_;
    logged_seconds_ = clock_.seconds();
    const int64_t last = std::min(config_.training.steps, options_.stop_after.value_or(config_.training.steps));
    while (done_ < last && !stop.requested()) {
      take_step();
      after_step(done_ == config_.training.steps);
    }
    return finish(done_ < config_.training.steps);
  }

  // ---- steps ----

  struct Position {  // before a step
    data::LoaderState loader;
    uint64_t random;
  };

  void take_step() {
    since_look_.push_back({loader_->state(), default_generator().position()});
    loader_->next(batch_);
    rate_->set(done_);
    step_->run(batch_);
    ++done_;
    tokens_ += batch_.rows() * batch_.length;
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
    else if (samples || saves)
      require_finite(step_->is_finite());  // waits for the steps, too, whose time this is
    else
      return;
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
    now_.tokens_per_second = static_cast<double>(tokens_ - logged_tokens_) / std::max(1e-9, seconds - logged_seconds_);
    now_.tokens = tokens_;
    now_.seconds = seconds;
    now_.resident_bytes = base::resident_bytes();
    now_.loss_scale = seen.loss_scale;
    logged_tokens_ = tokens_;
    logged_seconds_ = seconds;
    looked_at_ = done_;
    since_look_.clear();
    if (!config_.training.check_finite && !std::isfinite(seen.loss) && progress_)
      progress_->note(fmt::format("step {}: the loss is {}", done_, seen.loss));
  }

  // The weights are still those before the first bad step, so that it can be run again.
  void require_finite(bool is_finite) {
    if (is_finite) return;
    const int64_t good = looked_at_ + step_->good_steps(), first = done_ - std::ssize(since_look_);
    const Position& before = since_look_.at(static_cast<size_t>(good - first));
    loader_->restore(before.loader);
    data::Batch batch;
    loader_->next(batch);
    default_generator().set(static_cast<uint64_t>(config_.training.seed), before.random);
    const std::string why = step_->explain(batch);
    if (progress_) progress_->finish();
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
    metrics_->write(now_);
    tensorboard_->scalar("train/loss", done_, now_.loss);
    tensorboard_->scalar("train/lr", done_, now_.lr);
    tensorboard_->scalar("train/gradient_norm", done_, now_.gradient_norm);
    tensorboard_->scalar("train/tokens_per_second", done_, now_.tokens_per_second);
    if (now_.loss_scale) tensorboard_->scalar("train/loss_scale", done_, *now_.loss_scale);
    if (now_.validation_loss) tensorboard_->scalar("validation/loss", done_, *now_.validation_loss);
    if (progress_) progress_->update(now_);
    if (options_.on_metrics) options_.on_metrics(now_);
  }

  // Whether this is the best model so far, and to be kept.
  bool evaluate() {
    const TrainingConfig& t = config_.training;
    const Evaluated seen =
        evaluation_->run(corpus_.validation, t.batch_size / t.micro_batches, config_.sequence_length(), t.eval_batches);
    now_.validation_loss = validation_loss_ = seen.loss;
    rate_->observe(seen.loss);
    const bool is_best = std::isfinite(seen.loss) && (!best_loss_ || seen.loss < *best_loss_);
    if (is_best) {
      best_loss_ = seen.loss;
      best_step_ = done_;
    }
    return is_best && config_.checkpoint.keep_best;
  }

  void sample() {
    last_sample_ = sampler_->write();
    watch::write_sample(folder_.path(), {done_, last_sample_});
    tensorboard_->text("sample", done_, last_sample_);
    if (progress_) progress_->note(fmt::format("sample after step {}:\n{}\n", done_, last_sample_));
  }

  // ---- checkpoints ----

  std::map<std::string, Tensor> tensors() const {
    std::map<std::string, Tensor> all;
    const nn::StateDict weights = model_->state_dict();
    const bool alone = models::has_lora(*model_);  // the rest is in model.init_from
    for (const auto& [name, tensor] : weights) {
      if (!alone || is_correction(name)) all["model." + name] = tensor.detach();
    }
    for (const auto& [name, tensor] : optimizer_->state_dict()) all["optimizer." + name] = tensor;
    for (const auto& [name, tensor] : step_->state()) all["step." + name] = tensor;
    return all;
  }

  std::string state() const {
    Json rate = Json::object();
    for (const auto& [name, value] : rate_->state()) rate[name] = fmt::format("{}", value);
    Json state = {{"tokens", tokens_},
                  {"seconds", seconds()},
                  {"step_seconds", clock_.seconds()},
                  {"vocabulary", vocabulary_},
                  {"corpus", corpus_.fingerprint},
                  {"loader", io::parse_json("train", "loader", data::to_json(loader_->state()))},
                  {"random", {{"seed", default_generator().seed()}, {"position", default_generator().position()}}},
                  {"rate", rate},
                  {"config", io::parse_json("train", "config", to_json(config_))}};
    if (best_loss_) state["best"] = {{"loss", *best_loss_}, {"step", *best_step_}};
    return state.dump();
  }

  void save(bool is_best) {
    if (saved_ == done_) return;
    folder_.keep();
    metrics_->flush();
    const NoGrad reading;
    save_checkpoint(folder_.checkpoints(), {done_, state(), tensors()});
    saved_ = done_;
    tell_of_checkpoint();
    if (is_best) name_best(folder_.checkpoints(), done_);
    prune_checkpoints(folder_.checkpoints(), config_.checkpoint.keep_last, kept_best());
    report(seconds());
  }

  std::optional<int64_t> kept_best() const { return config_.checkpoint.keep_best ? best_step_ : std::nullopt; }

  void note(const std::string& text) const {
    if (options_.out) std::fprintf(options_.out, "%s\n", io::harmless(text).c_str());
  }

  [[noreturn]] static void refuse(const fs::path& checkpoint, const Error& error, std::string_view remedy) {
    fail("train", "{}: does not fit this run: {}; {}", checkpoint.string(), without_tag(error.what()), remedy);
  }
  static constexpr std::string_view kOwnConfig = "resume it with its own config and data";

  // Before the model takes memory: its sizes must be those that were saved.
  void find_checkpoint() {
    const fs::path checkpoints = folder_.checkpoints();
    // Also in a quiet run: some steps are lost.
    std::FILE* out = options_.out ? options_.out : stderr;
    found_ = newest_checkpoint(checkpoints, [&](const std::string& why) {
      std::fprintf(out, "passed over: %s\n", io::harmless(why).c_str());
    });
    if (!found_ && !checkpoint_steps(checkpoints).empty())
      fail("train", "{}: none of its checkpoints is good; begin a new run in another folder", folder_.path().string());
    if (!found_) return;
    const fs::path path = checkpoint_path(checkpoints, found_->step);
    try {
      state_ = parse_state(found_->state);
    } catch (const Error& error) {
      refuse(path, error, "it was written by another program");
    }
    if (!config_.model.init_from.empty()) return;  // has the sizes of that model
    nn::StateDict weights;
    for (const auto& [name, tensor] : found_->tensors) {
      if (name.starts_with("model.")) weights[name.substr(6)] = tensor;
    }
    try {
      require_weights(config_, vocabulary_, "the run", models::shapes_of(weights));
    } catch (const Error& error) {
      refuse(path, error, kOwnConfig);
    }
  }

  void resume() {
    const fs::path checkpoints = folder_.checkpoints();
    if (!found_) {
      if (has_moved_data_)
        fail("train",
             "{}: was stopped before its first checkpoint, on other data than {}; begin a new run in another folder",
             folder_.path().string(), config_.data.train);
      note(folder_.path().string() + ": was stopped before its first checkpoint; begins anew");
      write_config();
      return;
    }
    const fs::path path = checkpoint_path(checkpoints, found_->step);
    try {
      load(*found_);
      load(state_);
    } catch (const Error& error) {
      refuse(path, error, kOwnConfig);
    }
    done_ = saved_ = found_->step;
    found_.reset();
    looked_at_ = done_ - step_->good_steps();
    rate_->set(done_);
    set_aside_checkpoints(checkpoints, done_);
    sweep_checkpoints(checkpoints);
    tell_of_checkpoint();
    // A kill may have come between the checkpoint and its name.
    if (kept_best() && fs::exists(checkpoint_path(checkpoints, *best_step_))) name_best(checkpoints, *best_step_);
    watch::remove_samples_after(folder_.path(), done_);
    write_config();
    note(fmt::format("goes on from {}", path.string()));
  }

  void load(const Checkpoint& checkpoint) {
    nn::StateDict weights;
    std::map<std::string, Tensor> moments, counters;
    for (const auto& [name, tensor] : checkpoint.tensors) {
      if (name.starts_with("model.")) weights[name.substr(6)] = tensor;
      if (name.starts_with("optimizer.")) moments[name.substr(10)] = tensor;
      if (name.starts_with("step.")) counters[name.substr(5)] = tensor;
    }
    if (models::has_lora(*model_)) {
      for (const auto& [name, tensor] : model_->state_dict()) {
        if (!is_correction(name)) weights.emplace(name, tensor.detach());  // as model.init_from has them
      }
    }
    model_->load_state_dict(weights);
    optimizer_->load_state_dict(moments);
    step_->load(counters);
  }

  // What checkpoint.json says besides the weights.
  struct State {
    std::string loader;
    uint64_t seed = 0, position = 0;  // of the random numbers
    std::map<std::string, double> rate;
    int64_t tokens = 0;
    double seconds = 0, step_seconds = 0;
    std::optional<double> best_loss = {};
    std::optional<int64_t> best_step = {};
    std::string corpus;  // empty in runs from before there was a fingerprint
  };

  static State parse_state(const std::string& text) {
    const io::Input input{"train", "its state", std::as_bytes(std::span(text))};
    const Json json = io::parse_json(input);
    const auto part = [&](const char* key) { return io::json_field<Json>(input, json, key); };
    State state;
    state.loader = part("loader").dump();
    const Json random = part("random"), rates = part("rate");
    state.seed = io::json_field<uint64_t>(input, random, "seed");
    state.position = io::json_field<uint64_t>(input, random, "position");
    for (const auto& [name, value] : rates.items()) state.rate[name] = number_in(input, name, value);
    state.tokens = io::json_field<int64_t>(input, json, "tokens");
    state.seconds = io::json_field<double>(input, json, "seconds");
    state.step_seconds = io::json_field<double>(input, json, "step_seconds");
    if (json.contains("best")) {
      state.best_loss = io::json_field<double>(input, part("best"), "loss");
      state.best_step = io::json_field<int64_t>(input, part("best"), "step");
    }
    if (json.contains("corpus")) state.corpus = io::json_field<std::string>(input, json, "corpus");
    return state;
  }

  void load(const State& state) {
    loader_->restore(data::loader_state_from_json(state.loader));
    // Another text of the same length would be read from the same places, and nobody would notice.
    if (state.corpus.empty() ? has_moved_data_ : state.corpus != corpus_.fingerprint)
      fail("train", "the run was begun on other data than {} holds now", config_.data.train);
    default_generator().set(state.seed, state.position);
    rate_->load(state.rate);
    tokens_ = state.tokens;
    seconds_before_ = state.seconds;
    clock_.set(state.step_seconds);
    best_loss_ = state.best_loss;
    best_step_ = state.best_step;
  }

  // Numbers of the schedule are kept as texts, because JSON has no inf.
  static double number_in(const io::Input& input, const std::string& name, const Json& value) {
    double number = 0;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      io::fail(input, "rate.{} is {}, which is no number", io::as_one_line(name), io::in_quotes(text));
    return number;
  }

  // For the result of a run that has nothing left to do.
  void take_up_what_was_seen() {
    for (const watch::StepMetrics& metrics : watch::read_metrics(folder_.metrics())) {
      now_ = metrics;
      if (metrics.validation_loss) validation_loss_ = metrics.validation_loss;
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

  void introduce() {
    if (!progress_) return;
    progress_->note(fmt::format("{}\n{} of {} parameters, {}, {} threads", corpus_.description,
                                config_.model.architecture, model_->count_parameters(), config_.training.precision,
                                base::num_threads()));
  }

  void report(double all_seconds) const {
    const watch::Table figures{{"Time in all", watch::duration_text(all_seconds)},
                               {"Parameters", watch::with_separators(model_->count_parameters())},
                               {"Training tokens", watch::with_separators(corpus_.train.size())}};
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
    result.best_validation_loss = best_loss_;
    result.seconds = seconds();
    result.step_seconds = now_.seconds;
    result.tokens_per_second = static_cast<double>(now_.tokens) / std::max(1e-9, now_.seconds);
    result.stopped = stopped;
    result.last_sample = last_sample_;
    if (!stopped) result.model = export_model();
    tensorboard_->flush();
    report(result.seconds);
    result.report = folder_.report();
    if (progress_) {
      if (stopped) progress_->note(fmt::format("stopped after step {}; --resume goes on", done_));
      progress_->finish();
    }
    return result;
  }

  fs::path export_model() {
    if (models::has_lora(*model_)) {
      const fs::path folder = folder_.path() / "adapter";
      models::save_lora(*model_, folder, lora_options(config_));
      return folder;
    }
    const fs::path folder = folder_.path() / "model";
    model_->save(folder);
    corpus_.tokenizer->save(folder);
    return folder;
  }

  const Config config_;
  const TrainOptions& options_;
  const Threads threads_;
  RunFolder folder_;
  Corpus corpus_;
  int64_t vocabulary_ = 0;
  std::unique_ptr<models::CausalLm> model_;
  std::vector<Tensor> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<LearningRate> rate_;
  std::optional<TrainingStep> step_;
  std::optional<Evaluation> evaluation_;
  std::optional<Sampler> sampler_;
  std::optional<data::Loader> loader_;
  std::optional<watch::MetricsLog> metrics_;
  std::optional<watch::TensorBoardWriter> tensorboard_;
  std::optional<watch::Progress> progress_;

  data::Batch batch_;
  std::deque<Position> since_look_;
  int64_t done_ = 0, looked_at_ = 0, saved_ = -1;  // steps
  int64_t tokens_ = 0, logged_tokens_ = 0;
  Clock::time_point started_;
  StepClock clock_;
  double seconds_before_ = 0, logged_seconds_ = 0;
  watch::StepMetrics now_;
  std::optional<double> validation_loss_, best_loss_;
  std::optional<int64_t> best_step_;
  std::string last_sample_;
  bool has_moved_data_ = false;      // since the run was last resumed
  std::optional<Checkpoint> found_;  // to go on from, until that is done
  State state_;
};

}  // namespace

TrainResult train(const Config& config, const TrainOptions& options) {
  if (options.resume) require_run(options.folder);
  return Run(config, options).run();
}

Config run_config(const fs::path& folder) {
  require_run(folder);
  const fs::path path = folder / "config.json";
  const auto file = io::MappedFile::open("train", path);
  return parse_config(io::as_text(file->bytes()), path.string());
}

}  // namespace tenon::train
