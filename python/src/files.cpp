// Files of tensors: safetensors, PyTorch's, numpy's.

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

std::vector<Tensor> tensors_in(const py::list& list) {
  std::vector<Tensor> tensors;
  for (const auto& tensor : list) tensors.push_back(tensor_in(tensor.ptr()).detach());
  return tensors;
}

/// What is read from a file, whose memory is that of the tensors where it is mapped.
template <typename F>
auto read(bool is_mapped, F&& load) {
  return computed_aside([&] {
    const auto whole = is_mapped ? nullptr : std::make_unique<io::OwnMemory>();
    return load();
  });
}

}  // namespace

void bind_files(Scope& m) {
  m.def("_behind_links", [](const std::filesystem::path& path) { return io::behind_links("save", path); });
  m.def("_load_safetensors", [](const std::filesystem::path& path, const Device& device, bool is_mapped) {
    const auto file = read(is_mapped, [&] { return io::load_safetensors(path, device); });
    return py::make_tuple(dict_of(file.tensors), py::cast(file.metadata));
  });
  m.def("_save_safetensors", [](const std::filesystem::path& path, const py::dict& tensors,
                                const std::map<std::string, std::string>& metadata) {
    const auto all = tensors_in(tensors);
    const Released others_run;
    io::save_safetensors(path, all, metadata);
  });
  m.def("_load_torch", [](const std::filesystem::path& path, const Device& device, bool is_mapped) {
    const auto file = read(is_mapped, [&] { return io::load_torch(path, device); });
    return py::make_tuple(dict_of(file.tensors), py::bytes(file.pickle));
  });
  m.def("_save_torch", [](const std::filesystem::path& path, const std::string& pickle, const py::list& tensors) {
    const auto all = tensors_in(tensors);
    const Released others_run;
    io::save_torch_pickle(path, pickle, all);
  });
  m.def("_stored", [](const py::list& tensors) {
    const io::StoredTensors found = io::stored(tensors_in(tensors));
    py::list storages, views;
    for (const Tensor& one : found.storages) storages.append(object_of(one));
    for (const io::StoredTensors::View& one : found.views) {
      views.append(py::make_tuple(one.storage, found.storages[one.storage].numel(), one.offset,
                                  py::tuple(py::cast(std::vector<int64_t>(one.strides.begin(), one.strides.end())))));
    }
    return py::make_tuple(storages, views);
  });
  m.def("_torch_file", [](const std::string& pickle, const py::list& tensors) {
    const auto all = tensors_in(tensors);
    return py::bytes(computed([&] { return io::torch_pickle_file(pickle, all); }));
  });
  m.def("_load_npy", [](const std::filesystem::path& path, const Device& device, bool is_mapped) {
    return read(is_mapped, [&] { return io::load_npy(path, device); });
  });
  m.def("_save_npy", [](const std::filesystem::path& path, const Tensor& tensor) { io::save_npy(path, tensor); });
  m.def("_load_npz",
        [](const std::filesystem::path& path, const Device& device) { return dict_of(io::load_npz(path, device)); });
  m.def("_save_npz",
        [](const std::filesystem::path& path, const py::dict& tensors) { io::save_npz(path, tensors_in(tensors)); });
}

}  // namespace tenon::python
