#include "tenon/data/data_loader_state.h"

#include "tenon/io/json.h"

namespace tenon::data {

using Json = nlohmann::json;

std::string to_json(const DataLoaderState& state) {
  return Json{{"seed", state.seed},       {"epoch", state.epoch},
              {"batch", state.batch},     {"batches_per_epoch", state.batches_per_epoch},
              {"samples", state.samples}, {"batch_size", state.batch_size},
              {"shuffle", state.shuffle}}
      .dump();
}

DataLoaderState data_loader_state_from_json(std::string_view text) {
  const io::Input input{"data_loader", "the saved state", std::as_bytes(std::span(text))};
  const Json json = io::parse_json<Json>(input);
  const auto count = [&](const char* key) { return io::json_field<int64_t>(input, json, key); };
  const DataLoaderState state{io::json_field<uint64_t>(input, json, "seed"),
                              count("epoch"),
                              count("batch"),
                              count("batches_per_epoch"),
                              count("samples"),
                              count("batch_size"),
                              io::json_field<bool>(input, json, "shuffle")};
  if (state.epoch < 0 || state.batch < 0 || state.batch >= state.batches_per_epoch || state.batch_size < 1 ||
      state.samples < 1) {
    io::fail(input, "is damaged: batch {} of {} in epoch {}, {} samples in batches of {}", state.batch,
             state.batches_per_epoch, state.epoch, state.samples, state.batch_size);
  }
  return state;
}

}  // namespace tenon::data
