// What the model made during a run: RUN/samples/step_00000100.txt, and where there is a picture step_00000100.png.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::watch {

/// What the model made after a step.
struct Sample {
  int64_t step = 0;          // after which it was made
  std::string text;          // what it wrote
  std::string picture = {};  // the bytes of a PNG file; empty: there is none
};

/// The samples of a run's folder by step; other files in samples/ are passed over.
///   for (const watch::Sample& sample : watch::read_samples("runs/demo")) std::cout << sample.text << "\n";
std::vector<Sample> read_samples(const std::filesystem::path& run_folder);
/// Writes one into RUN/samples, which is there already. Failures are one line that starts with `[run] path`.
void write_sample(const std::filesystem::path& run_folder, const Sample& sample);
/// Removes those of later steps, which a run that goes on from an earlier one will write again, or not at all.
void remove_samples_after(const std::filesystem::path& run_folder, int64_t step);

}  // namespace tenon::watch
