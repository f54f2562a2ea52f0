// `tenon convert`: weights from one file format to another, and a look at what a file holds.
//
// The format is told from the name: a folder is Hugging Face's, else the ending decides. A folder needs a config.json,
// which only another folder and llama2.c's files bring along; for the rest it has to be given.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/io/file.h"
#include "tenon/io/folder.h"
#include "tenon/io/hugging_face.h"
#include "tenon/io/json.h"
#include "tenon/io/json_text.h"
#include "tenon/io/open_folder.h"
#include "tenon/tenon.h"
#include "tenon/train/loaded_model.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;
using base::fail;
using Weights = std::map<std::string, Tensor>;

struct ConvertArguments {
  std::string in, out, dtype, config;
  bool list = false;
};

constexpr std::string_view kConfig = "config.json", kIndex = "model.safetensors.index.json";
constexpr std::string_view kEndings = "there are .safetensors, .pt, .npz, .npy, .bin (llama2.c) and folders";

enum class Format { folder, run, safetensors, torch, npz, npy, llama2c };

// A run of `tenon train` or one of its checkpoints, which is loaded as the other commands do.
bool is_run(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / "checkpoint.json", ignored) || fs::is_directory(path / "checkpoints", ignored);
}

Format format_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  std::error_code ignored;
  if (is_run(path)) return Format::run;
  if (fs::is_directory(path, ignored) || ending.empty()) return Format::folder;
  if (ending == ".safetensors" || path.string().ends_with(".safetensors.index.json")) return Format::safetensors;
  if (ending == ".pt" || ending == ".pth") return Format::torch;
  if (ending == ".npz") return Format::npz;
  if (ending == ".npy") return Format::npy;
  if (ending == ".bin") return Format::llama2c;
  fail("convert", "{}: {} is no ending of a known format; {}", path.string(), ending, kEndings);
}

std::string text_of_file(const fs::path& path) {
  return std::string(io::as_text(io::MappedFile::open("convert", path)->bytes()));
}

struct Loaded {
  Weights weights;
  std::string config;                                // of a folder, a run or a llama2.c file that becomes a folder
  std::shared_ptr<const text::Tokenizer> tokenizer;  // of a run
  std::shared_ptr<const io::OpenFolder> folder{};    // that it was read from
};

bool lies_in(const fs::path& place, const fs::path& folder) {
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), place.begin(), place.end());
  return rest == folder.end();
}

// A link in a folder from anywhere may name any file of who converts it, whose text would be copied. Those of a cache
// of Hugging Face's lead from REPOSITORY/snapshots/REVISION to REPOSITORY/blobs.
void require_no_way_out(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error), place = fs::canonical(folder / name, error);
  const fs::path snapshots = whole.parent_path();
  const bool is_cached = snapshots.filename() == "snapshots" && lies_in(place, snapshots.parent_path() / "blobs");
  if (!error && !is_cached && !lies_in(place, whole))
    fail("convert", "{}: is a link out of the folder, which is not followed; put the file itself there",
         (folder / name).string());
}

Loaded load_run(const fs::path& path) {
  const train::LoadedModel loaded = train::load_model(path);
  models::CausalLm::Files files = loaded.model->files();
  return {std::move(files.weights), std::move(files.config), loaded.tokenizer};
}

// Without an ending a file would be taken for a folder.
void require_readable(const fs::path& path) {
  const fs::file_type type = io::type_of("convert", path);
  if (type != fs::file_type::regular && type != fs::file_type::directory)
    fail("convert", "{}: is neither a file nor a folder; write it to a file first", path.string());
  if (type == fs::file_type::regular && path.extension().empty())
    fail("convert", "{}: its name has no ending, which tells the format; {}", path.string(), kEndings);
}

// The names of llama2.c are not those of transformers; the model knows both.
Loaded load_llama2c_for_folder(const fs::path& path) {
  models::CausalLm::Files files = models::Llama::load_llama2c(path)->files();
  return {std::move(files.weights), std::move(files.config), nullptr};
}

Loaded load(const fs::path& path) {
  require_readable(path);
  switch (format_of(path)) {
    case Format::folder: {
      require_no_way_out(path, std::string(kConfig));
      const auto open = std::make_shared<const io::OpenFolder>("hugging_face", path);
      io::HuggingFaceFolder folder = io::load_folder(*open);
      io::require_unchanged_model(*open);
      return {std::move(folder.tensors), std::move(folder.config), nullptr, open};
    }
    case Format::run: return load_run(path);
    case Format::safetensors: return {io::load_safetensors(path).tensors, {}, nullptr};
    case Format::torch: return {io::load_torch(path).tensors, {}, nullptr};
    case Format::npz: return {io::load_npz(path), {}, nullptr};
    case Format::npy: return {{{path.stem().string(), io::load_npy(path)}}, {}, nullptr};
    case Format::llama2c: return {io::load_llama2c(path).tensors, {}, nullptr};
  }
  return {};
}

// What f16 cannot hold would silently become infinite.
Tensor cast(const std::string& from, const std::string& name, const Tensor& tensor, DType dtype) {
  if (!is_float(tensor.dtype()) || tensor.dtype() == dtype) return tensor;
  const Tensor made = tensor.to(dtype);
  if (dtype != DType::f16 || made.numel() == 0) return made;
  const Tensor lost = isinf(made) & isfinite(tensor);
  if (lost.any().item<bool>())
    fail("convert", "{}: tensor {} has numbers too large for f16; use --dtype bf16 or f32", from, io::in_quotes(name));
  return made;
}

void cast_all(const ConvertArguments& job, Weights& weights) {
  if (job.dtype.empty()) return;
  for (auto& [name, tensor] : weights) tensor = cast(job.in, name, tensor, parse_dtype(job.dtype));
}

// transformers takes the dtype it loads into from the config.
std::string with_dtype(const std::string& config, const std::string& name_of_config, const std::string& dtype) {
  if (dtype.empty()) return config;
  const io::Input input{"convert", name_of_config, std::as_bytes(std::span(config))};
  io::check_json_object(input);
  const std::string name = dtype == "f32" ? "float32" : dtype == "f16" ? "float16" : "bfloat16";
  nlohmann::ordered_json json = io::parse_json(input);
  json["torch_dtype"] = name;
  return json.dump(2) + "\n";
}

// A folder without its tokenizer would be half a model.
constexpr std::string_view kCompanions[] = {"tokenizer.json",
                                            "tokenizer_config.json",
                                            "vocab.json",
                                            "merges.txt",
                                            "vocab.txt",
                                            "tokenizer.model",
                                            "special_tokens_map.json",
                                            "added_tokens.json",
                                            "generation_config.json"};

void copy_companions(const io::OpenFolder& from, const fs::path& to) {
  for (const std::string_view known : kCompanions) {
    const std::string name(known);
    if (!from.has(name)) continue;
    require_no_way_out(from.path(), name);
    io::ReplacingFile file("convert", to / name);
    file.write(io::as_text(from.open("convert", name)->bytes()));
    file.commit();
  }
  io::require_unchanged_model(from);
}

// model.safetensors, or one of its shards: model-00001-of-00002.safetensors.
bool is_weights(const std::string& name) {
  return name == "model.safetensors" || (name.starts_with("model-") && name.ends_with(".safetensors"));
}

bool is_of_model(const fs::path& path) {
  const std::string name = path.filename().string();
  const bool is_known = name == kConfig || name == kIndex || is_weights(name) ||
                        std::ranges::find(kCompanions, name) != std::end(kCompanions);
  std::error_code ignored;
  return is_known && !fs::is_directory(fs::symlink_status(path, ignored));
}

// Whether a JSON object in a file has one of these fields.
bool has_field(const fs::path& path, std::initializer_list<const char*> fields) {
  try {
    const auto file = io::MappedFile::open("convert", path);
    const auto json = io::parse_json({"convert", path.string(), file->bytes()});
    return std::ranges::any_of(fields, [&](const char* field) { return json.is_object() && json.contains(field); });
  } catch (const Error&) {
    return false;
  }
}

// A folder is replaced as a whole, so nothing but a model may be in it.
void require_model_or_nothing(const fs::path& folder) {
  constexpr std::string_view kRemedy = "choose a folder that is new, empty or a model's";
  if (!fs::exists(folder) || fs::is_empty(folder)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_of_model(entry.path()))
      fail("convert", "{}: holds {}, which is no file of a model; {}", folder.string(),
           io::as_one_line(entry.path().filename().string()), kRemedy);
  }
  if (!has_field(folder / kConfig, {"model_type", "architectures"}))
    fail("convert", "{}: is not empty and has no config.json of a model; {}", folder.string(), kRemedy);
  if (fs::exists(folder / kIndex) && !has_field(folder / kIndex, {"weight_map"}))
    fail("convert", "{}: its {} is no index of weights; {}", folder.string(), kIndex, kRemedy);
}

// All of it or nothing: weights beside the config or the tokenizer of another model would be neither's.
void save_to_folder(const ConvertArguments& job, Loaded& loaded) {
  const std::string config = job.config.empty() ? loaded.config : text_of_file(job.config);
  if (config.empty())
    fail("convert",
         "{}: a folder needs a config.json, which {} does not bring; give one with --config, or write a "
         ".safetensors file",
         job.out, job.in);
  const std::string name = job.config.empty() ? (fs::path(job.in) / kConfig).string() : job.config;
  const std::string written_config = with_dtype(config, name, job.dtype);
  io::ReplacingFolder folder("convert", job.out);
  try {
    io::save_folder(folder.place(), written_config, loaded.weights);
    if (loaded.folder) copy_companions(*loaded.folder, folder.place());
    if (loaded.tokenizer) loaded.tokenizer->save(folder.place());
  } catch (const Error& error) {
    throw Error(folder.with_target(error.what()));
  }
  require_model_or_nothing(job.out);  // again: somebody may have come meanwhile
  folder.commit(kConfig);
}

// llama2.c's files hold one kind of model, in f32.
void folder_to_llama2c(const ConvertArguments& job) {
  if (!job.dtype.empty() && job.dtype != "f32") throw CLI::ValidationError("--dtype", "is f32 for .bin files");
  if (format_of(job.in) == Format::llama2c) return models::Llama::load_llama2c(job.in)->save_llama2c(job.out);
  if (format_of(job.in) == Format::run) {
    const train::LoadedModel loaded = train::load_model(job.in);
    const auto* llama = dynamic_cast<const models::Llama*>(loaded.model.get());
    if (!llama) fail("convert", "{}: a .bin file is made of a Llama, and the model of {} is none", job.out, job.in);
    return llama->save_llama2c(job.out);
  }
  if (format_of(job.in) != Format::folder)
    fail("convert", "{}: a .bin file is made of a folder with a Llama in it, not of {}", job.out, job.in);
  models::Llama::load(job.in)->save_llama2c(job.out);
}

// The weights are read where they lie while the new ones are written, and what is read stays as it is.
void require_other_place(const ConvertArguments& job) {
  std::vector<fs::path> read = {job.in, job.config};
  if (job.in.ends_with(".safetensors.index.json")) {
    for (const fs::path& shard : io::safetensors_shards(job.in)) read.push_back(shard);
  }
  if (is_run(job.in)) {
    for (const fs::path& part : train::sources_of_run(job.in)) read.push_back(part);
  }
  io::require_apart("convert", job.out, read);
  require_no_run("convert", job.out);
}

void convert(const ConvertArguments& job) {
  require_readable(job.in);
  require_other_place(job);
  const Format to = format_of(job.out);
  if (job.out.ends_with(".safetensors.index.json"))
    fail("convert", "{}: an index is only read; write a .safetensors file or a folder", job.out);
  if (!job.config.empty() && to != Format::folder) throw CLI::ValidationError("--config", "goes with a folder as OUT");
  if (to == Format::llama2c) return folder_to_llama2c(job);
  if (to == Format::folder) require_model_or_nothing(job.out);
  const bool is_renamed = to == Format::folder && format_of(job.in) == Format::llama2c;
  Loaded loaded = is_renamed ? load_llama2c_for_folder(job.in) : load(job.in);
  cast_all(job, loaded.weights);
  if (to == Format::folder) return save_to_folder(job, loaded);
  if (to == Format::torch) return io::save_torch(job.out, loaded.weights);
  if (to == Format::npz) return io::save_npz(job.out, loaded.weights);
  if (to == Format::safetensors) return io::save_safetensors(job.out, loaded.weights, {{"format", "pt"}});
  if (loaded.weights.size() != 1)
    fail("convert", "{}: a .npy file holds one array, but {} has {}; write .npz", job.out, job.in,
         loaded.weights.size());
  io::save_npy(job.out, loaded.weights.begin()->second);
}

void list(const fs::path& path) {
  const Weights weights = load(path).weights;
  size_t longest = 0;
  for (const auto& [name, tensor] : weights) longest = std::max(longest, io::escaped(name).size());
  int64_t numbers = 0;
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : weights) {
    print("{:{}}  {:5} {}\n", io::escaped(name), longest, tenon::name(tensor.dtype()), ir::to_string(tensor.shape()));
    numbers += tensor.numel();
    bytes += static_cast<uint64_t>(tensor.numel()) * size_of(tensor.dtype());
  }
  print("{} tensors, {} numbers, {:.1f} MB\n", weights.size(), numbers, static_cast<double>(bytes) / 1e6);
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App* command = app.add_subcommand("convert", "Convert weights between file formats, or list them");
  command->footer(
      "Formats: Hugging Face folders, .safetensors, .pt, .npz, .npy and llama2.c's .bin.\n"
      "\n"
      "Examples:\n"
      "  tenon convert stories260K.bin stories260K/\n"
      "  tenon convert model.pt model.safetensors --dtype bf16\n"
      "  tenon convert --list distilgpt2/");
  const auto job = std::make_shared<ConvertArguments>();
  command->add_option("in", job->in, "What to read")->required()->type_name("IN")->check(path_name());
  command->add_option("out", job->out, "What to write; its name tells the format")
      ->type_name("OUT")
      ->check(path_name());
  command->add_flag("--list", job->list, "Only list names, dtypes and shapes of what IN holds");
  command->add_option("--dtype", job->dtype, "Convert floating-point tensors")
      ->check(CLI::IsMember(std::vector<std::string>{"f32", "f16", "bf16"}));
  command->add_option("--config", job->config, "A config.json for a folder made of a file that has none")
      ->type_name("FILE")
      ->check(path_name());
  command->callback([job] {
    if (job->list != job->out.empty())
      throw CLI::ValidationError("OUT", job->list ? "is not written with --list" : "is missing; or use --list");
    if (job->list && (!job->dtype.empty() || !job->config.empty()))
      throw CLI::ValidationError("--list", "goes without --dtype and --config");
    if (job->list) return list(job->in);
    convert(*job);
    print("wrote {}\n", shown(job->out));
  });
}

}  // namespace tenon::cli
