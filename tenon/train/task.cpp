#include "tenon/train/task.h"

#include "tenon/io/safetensors.h"

namespace tenon::train {

namespace fs = std::filesystem;

fs::path Task::save(const fs::path& run_folder) {
  const fs::path folder = run_folder / "model";
  fs::create_directories(folder);
  io::save_safetensors(folder / "model.safetensors", model().state_dict());
  return folder;
}

}  // namespace tenon::train
