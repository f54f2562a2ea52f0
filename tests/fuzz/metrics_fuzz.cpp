// metrics.jsonl of a run.

#include "target.h"
#include "tenon/watch/metrics.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("metrics", data, size);
  tenon::fuzz::run(size, 32, [&] { tenon::watch::parse_metrics(input); });
  return 0;
}
