// Datasets, transforms and loaders. A dataset of Python's is a class with __len__ and __getitem__.

#include <algorithm>

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using data::Dataset;
using data::Sample;

/// A sample as Python takes it apart: a tuple, whose tensors with names are attributes of nothing.
py::object tuple_of(const Sample& sample) {
  py::tuple tuple(static_cast<size_t>(sample.size()));
  for (int64_t i = 0; i < sample.size(); ++i) PyTuple_SET_ITEM(tuple.ptr(), i, wrap_new(sample[i]));
  return tuple;
}

Sample sample_of(const py::object& object) {
  const auto tensor = [](py::handle one) {
    return is_tensor(one.ptr()) ? tensor_in(one.ptr()) : tensor_of_object(one.ptr());
  };
  std::vector<data::Field> fields;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (const py::handle one : object) fields.push_back({"", tensor(one)});
  } else if (PyDict_Check(object.ptr())) {
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(object))
      fields.push_back({py::cast<std::string>(name), tensor(value)});
  } else {
    fields.push_back({"", tensor(object)});
  }
  return Sample(std::move(fields));
}

/// A call of the user's code. What it returns may be tensors that the program goes on to write: a worker of a loader,
/// who has no turn, gets them as they are now.
class Callback {
 public:
  Tensor returned(const Tensor& tensor) const { return is_of_worker_ ? as_of_now(tensor) : tensor; }
  Sample returned(Sample sample) const {
    for (int64_t i = 0; i < sample.size(); ++i) sample.set(i, returned(sample[i]));
    return sample;
  }

 private:
  bool is_of_worker_ = !turn::is_mine() && !PyGILState_Check();
  Locked locked_;
};

// ---- exceptions of the user's ----

// The library reports what a dataset throws as one line of its own. What Python has raised stays what it is,
// KeyboardInterrupt and SystemExit above all: it waits here for the call that makes the batch, on the same thread.
thread_local PyObject* raised = nullptr;

/// Calls the user's code; the caller holds Python's lock.
template <typename F>
auto of_the_user(F&& f) {
  try {
    return f();
  } catch (const py::error_already_set& error) {
    PyObject* const value = Py_NewRef(error.value().ptr());
    if (error.trace()) PyException_SetTraceback(value, error.trace().ptr());
    PyObject* const before = std::exchange(raised, value);
    Py_XDECREF(before);
    throw;
  }
}

/// Throws what Python has raised in the place of the library's text of it, with a note of where that was.
[[noreturn]] void throw_raised(const Error& reported) {
  const auto value = py::reinterpret_steal<py::object>(std::exchange(raised, nullptr));
  if (!value) throw Error(reported);
  const std::string text = reported.what();
  if (py::hasattr(value, "add_note")) value.attr("add_note")(text.substr(0, text.find(": ")));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
  throw py::error_already_set();
}

/// A dataset that a class of Python's is.
class PythonDataset : public Dataset {
 public:
  explicit PythonDataset(const py::object& object)
      : object_(keep(object)), size_(static_cast<int64_t>(py::len(object))) {}
  int64_t size() const override { return size_; }
  Sample get(int64_t i) const override {
    const Callback callback;
    return of_the_user(
        [&] { return callback.returned(sample_of(py::reinterpret_borrow<py::object>(object_.get())[py::int_(i)])); });
  }

 private:
  std::shared_ptr<PyObject> object_;
  int64_t size_;
};

std::shared_ptr<Dataset> dataset_of(const py::object& object) {
  if (py::isinstance<Dataset>(object)) return held<Dataset>(object);
  if (!py::hasattr(object, "__len__") || !py::hasattr(object, "__getitem__"))
    throw_type_error("a dataset has __len__ and __getitem__; " + type_name_of(object.ptr()) + " has not");
  return std::make_shared<PythonDataset>(object);
}

/// So many samples of Python's: their order alone is the library's.
class Counted final : public Dataset {
 public:
  explicit Counted(int64_t count) : count_(count) {}
  int64_t size() const override { return count_; }
  Sample get(int64_t i) const override { return {from_vector(std::vector<int64_t>{i}, {})}; }

 private:
  int64_t count_;
};

/// With `aside` other threads have their turns: those of workers, which touch no tensor that Python has.
py::object batch_at(const data::DataLoader& loader, const data::DataLoaderState& state, bool aside) {
  Py_CLEAR(raised);
  try {
    return tuple_of(aside ? computed_aside([&] { return loader.batch(state); })
                          : computed([&] { return loader.batch(state); }));
  } catch (const Error& reported) {
    throw_raised(reported);
  }
}

py::object sample_at(const Dataset& dataset, int64_t i) {
  const int64_t at = i < 0 ? i + dataset.size() : i;
  if (at < 0 || at >= dataset.size())
    throw py::index_error(fmt::format("there is no sample {} among {}", i, dataset.size()));
  return tuple_of(computed([&] { return dataset.get(at); }));
}

/// Slices, lists and tensors of numbers index the tensors themselves.
py::object samples_at(const data::TensorDataset& dataset, const py::object& i) {
  if (!PySlice_Check(i.ptr()) && !PyList_Check(i.ptr()) && !is_tensor(i.ptr()))
    return sample_at(dataset, integer_of(i.ptr(), "the number of a sample"));
  const py::tuple parts = tuple_of(dataset.tensors());
  py::tuple made(parts.size());
  for (size_t at = 0; at < parts.size(); ++at) made[at] = py::object(parts[at])[i];
  return made;
}

void bind_datasets(Scope& m) {
  Class<Dataset>(m, "NativeDataset", "Samples by number.")
      .def("__len__", &Dataset::size)
      .def("__getitem__", &sample_at)
      .def("__add__", [](const py::object& self, const py::object& other) {
        return py::module_::import("tenon.data").attr("ConcatDataset")(py::make_tuple(self, other));
      });
  Class<data::TensorDataset, Dataset>(m, "TensorDataset", "Row i of each of several tensors.")
      .init([](const py::args& tensors) { return std::make_shared<data::TensorDataset>(sample_of(tensors)); })
      .def("__getitem__", &samples_at)
      .property("tensors", [](const data::TensorDataset& self) { return tuple_of(self.tensors()); });
  Class<data::Subset, Dataset>(m, "Subset", "Some samples of a dataset.")
      .init("dataset, indices",
            [](const py::object& of, const std::vector<int64_t>& indices) {
              return std::make_shared<data::Subset>(dataset_of(of), indices);
            })
      .property("indices", &data::Subset::indices);
  Class<data::ConcatDataset, Dataset>(m, "ConcatDataset", "Datasets one behind the other.")
      .init("datasets", [](const py::list& parts) {
        std::vector<data::SharedDataset> all;
        for (const py::handle one : parts) all.emplace_back(dataset_of(py::reinterpret_borrow<py::object>(one)));
        return std::make_shared<data::ConcatDataset>(std::move(all));
      });
  Class<data::ImageFolder, Dataset>(m, "ImageFolder", "Pictures in one folder per class.")
      .init_of<const std::filesystem::path&>("folder")
      .property("classes", &data::ImageFolder::classes);
  Class<data::MappedDataset, Dataset>(m, "MappedDataset", "Samples that go through a transform.");
  m.def("_split", [](int64_t count, const py::list& parts, uint64_t seed) {
    const data::SharedDataset all(std::make_shared<Counted>(count));
    const bool are_counts = !parts.empty() && is_integer(py::object(parts[0]).ptr());
    std::vector<std::vector<int64_t>> split;
    for (const data::Subset& one : are_counts ? data::random_split(all, py::cast<std::vector<int64_t>>(parts), seed)
                                              : data::random_split(all, py::cast<std::vector<double>>(parts), seed))
      split.push_back(one.indices());
    return split;
  });
  m.def("mnist(folder, train=True)", "MNIST's images, uint8 (1, 28, 28), and labels.", &data::mnist);
  m.def("fashion_mnist(folder='', train=True)", "Fashion-MNIST.", &data::fashion_mnist);
  m.def("cifar10(folder, train=True)", "CIFAR-10's images, uint8 (3, 32, 32), and labels.", &data::cifar10);
  m.def("cifar100(folder, train=True, coarse=False)",
        "CIFAR-100's images, uint8 (3, 32, 32), and labels of its 100 classes, or of the 20 coarse ones.",
        [](const std::filesystem::path& folder, bool train, bool coarse) {
          const auto label = coarse ? data::Cifar100Label::kCoarse : data::Cifar100Label::kFine;
          return data::cifar100(folder, train, label);
        });
}

void bind_loaders(Scope& m) {
  using data::DataLoader, data::DataLoaderState;
  Class<DataLoaderState>(m, "_State")
      .property("epoch", &DataLoaderState::epoch)
      .property("batch", &DataLoaderState::batch)
      .def("json", [](const DataLoaderState& self) { return to_json(self); });
  Class<DataLoader>(m, "_Order", "Which samples are in which batch; of the library's datasets the batches as well.")
      .init("dataset, batch_size, shuffle, seed, workers, prefetch, last, device",
            [](const py::object& of, int64_t batch_size, bool shuffle, uint64_t seed, int workers, int prefetch,
               const std::string& last, const Device& device) {
              using data::LastBatch;  // Python has checked the name
              const auto last_batch = last == "drop"  ? LastBatch::kDrop
                                      : last == "pad" ? LastBatch::kPad
                                                      : LastBatch::kKeep;
              const data::SharedDataset dataset =
                  is_integer(of.ptr()) ? std::make_shared<Counted>(integer_of(of.ptr(), "a size")) : dataset_of(of);
              return std::make_unique<DataLoader>(
                  dataset,
                  data::DataLoaderOptions{batch_size, shuffle, seed, workers, prefetch, last_batch, {}, device});
            })
      .def("__len__", &DataLoader::size)
      .def("begin",
           [](DataLoader& self, int64_t epoch) {
             self.set_epoch(epoch);
             return self.state();
           })
      .def("restored",
           [](DataLoader& self, const std::string& state) {
             self.restore(data::data_loader_state_from_json(state));
             return self.state();
           })
      .def("after", &DataLoader::after)
      .def("indices", &DataLoader::indices)
      .def("batch", &batch_at);
  Class<data::Loader>(m, "TokenLoader", "Endless batches of windows of tokens, and what follows each token.")
      .init("tokens, batch_size=12, length=64, order='random', seed=1",
            [](const py::object& tokens, int64_t batch, int64_t length, const std::string& order, uint64_t seed) {
              const data::Order how = data::order_named(order);
              data::Tokens all = PyUnicode_Check(tokens.ptr()) || py::hasattr(tokens, "__fspath__")
                                     ? data::Tokens(data::TokenFile::open(py::cast<std::filesystem::path>(tokens)))
                                     : data::Tokens(py::cast<std::vector<int32_t>>(tokens));
              return std::make_unique<data::Loader>(std::move(all), data::LoaderOptions{batch, length, 1, how, seed});
            })
      .def("next", "Inputs and targets, int32 (batch, length) each.",
           [](data::Loader& self) {
             const data::Batch batch = computed([&] { return self.next(); });
             const Dims shape{batch.rows(), batch.length};
             return py::make_tuple(from_vector(batch.inputs, shape), from_vector(batch.targets, shape));
           })
      .def("state", "Where it stands, as a text for a checkpoint.",
           [](const data::Loader& self) { return to_json(self.state()); })
      .def("restore(state)", "Goes on where a state was taken.",
           [](data::Loader& self, const std::string& state) { self.restore(data::loader_state_from_json(state)); });
}

void bind_transforms(Scope& m) {
  Class<data::Random>(m, "Random", "The chance of one sample.")
      .def("below(count)", &data::Random::below)
      .def("uniform", [](data::Random& self) { return self.uniform(); })
      .def("chance(probability)", &data::Random::chance);
  struct Native {
    data::Transform transform;
  };
  Class<Native>(m, "Transform", "What is done to a tensor of a sample.")
      .def("__call__(x, seed=0)", [](const Native& self, const Tensor& x, uint64_t seed) {
        data::Random random(seed, 0, 0);
        return self.transform(x, random);
      });
  const auto made = [](data::Transform transform) { return Native{std::move(transform)}; };
  const auto transform_of = [](const py::object& object) -> data::Transform {
    if (py::isinstance<Native>(object)) return held<Native>(object)->transform;
    return [function = keep(object)](const Tensor& x, data::Random&) {
      const Callback callback;
      return of_the_user([&] {
        return callback.returned(Convert<Tensor>::from(py::reinterpret_borrow<py::object>(function.get())(x).ptr()));
      });
    };
  };
  m.def("compose(transforms)", "One after the other.", [made, transform_of](const py::list& transforms) {
    std::vector<data::Transform> all;
    for (const py::handle one : transforms) all.push_back(transform_of(py::reinterpret_borrow<py::object>(one)));
    return made(data::compose(std::move(all)));
  });
  m.def("to_float", "uint8 from 0 to 255 to float32 from 0 to 1.", [made] { return made(data::to_float()); });
  m.def("normalize(mean, std)", "(x - mean) / std for each channel.",
        [made](const py::object& mean, const py::object& deviation) {
          const auto list = [](const py::object& object) {
            return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())
                       ? std::vector<double>{py::cast<double>(object)}
                       : py::cast<std::vector<double>>(object);
          };
          return made(data::normalize(list(mean), list(deviation)));
        });
  m.def("random_crop(height, width, padding=0, fill=0.0)", "A part of this size, anywhere.",
        [made](int64_t height, int64_t width, int64_t padding, double fill) {
          return made(data::random_crop(height, width, {padding, fill}));
        });
  m.def("center_crop(height, width)", "The part of this size in the middle.",
        [made](int64_t height, int64_t width) { return made(data::center_crop(height, width)); });
  m.def("random_horizontal_flip(p=0.5)", "Left and right changed over, with this probability.",
        [made](double p) { return made(data::random_horizontal_flip(p)); });
  m.def("resize(height, width, interpolation='bilinear')", "Another size.",
        [made](int64_t height, int64_t width, const std::string& interpolation) {
          return made(data::resize(
              height, width,
              interpolation == "nearest" ? data::Interpolation::kNearest : data::Interpolation::kBilinear));
        });
  m.def("resize_shorter(side)", "Another size, whose shorter side is this one.",
        [made](int64_t side) { return made(data::resize_shorter(side)); });
  m.def("random_resized_crop(height, width, scale=(0.08,1.0), ratio=(0.75,1.3333333333333333))",
        "A part of chance area and ratio, in this size.",
        [made](int64_t height, int64_t width, const std::pair<double, double>& scale,
               const std::pair<double, double>& ratio) {
          return made(data::random_resized_crop(height, width, {scale.first, scale.second, ratio.first, ratio.second}));
        });
  m.def("transformed(dataset, transform, field=0)", "A dataset whose tensor at a place goes through a transform.",
        [transform_of](const py::object& dataset, const py::object& transform,
                       const std::variant<int64_t, std::string>& field) {
          return std::make_shared<data::MappedDataset>(
              data::transformed(dataset_of(dataset), transform_of(transform), field));
        });
  m.def("read_image(path, mode='unchanged')", "A PNG or JPEG file, uint8 (channels, height, width).",
        [](const std::filesystem::path& path, const std::string& mode) {
          const auto how = mode == "gray"   ? data::ImageMode::kGray
                           : mode == "rgb"  ? data::ImageMode::kRgb
                           : mode == "rgba" ? data::ImageMode::kRgba
                                            : data::ImageMode::kUnchanged;
          return data::read_image(path, how);
        });
  m.def("save_image(path, image)", "Writes a PNG of a picture or of a grid of pictures.",
        [](const std::filesystem::path& path, const Tensor& image) { data::save_image(path, image); });
  m.def("make_grid(images, columns=8, padding=2)", "Pictures as one.",
        [](const Tensor& images, int64_t columns, int64_t padding) {
          return data::make_grid(images, {columns, padding, 0});
        });
  Class<data::Table>(m, "Table", "Columns of a CSV file, by their names.")
      .def("__len__", &data::Table::rows)
      .def("__contains__(name)", &data::Table::contains)
      .property("names", &data::Table::names)
      .def("column(name, dtype=None)",
           "A column of numbers: int64, float32 (NaN where there is no value) or bool, or in another dtype.",
           &data::Table::column)
      .def("columns(names, dtype=tenon.float32)", "Several columns of numbers side by side: (rows, columns).",
           &data::Table::columns)
      .def("texts(name)", "A column as it stands in the file.", &data::Table::texts)
      .def("categories(name)",
           "A column of text as numbers, -1 where there is no value, and what the numbers stand for.",
           [](const data::Table& table, const std::string& name) {
             const data::Categories found = table.categories(name);
             return py::make_tuple(found.codes, found.names);
           })
      .def("missing(name)", "Which rows have no value there.", &data::Table::missing);
  m.def("read_csv(path, separator=',', header=True, names=[])",
        "The columns of a CSV file, which may be compressed; what they hold is found out.",
        [](const std::filesystem::path& path, const std::string& separator, bool header,
           const std::vector<std::string>& names) {
          if (separator.size() != 1) throw_value_error("a separator is one letter, not '" + separator + "'");
          data::CsvOptions options;
          options.separator = separator[0];
          options.header = header;
          options.names = names;
          return data::read_csv(path, options);
        });
  m.def("load_idx(path, device=None)", "The array in a file of MNIST's kind, packed with gzip or not.",
        &data::load_idx);
  m.def("stories(bytes, seed=1)", "Short stories in simple English, made up.",
        [](int64_t bytes, uint64_t seed) { return data::stories(bytes, seed); });
}

}  // namespace

void bind_data(Scope& m) {
  Scope data = m.def_submodule("_data");
  bind_datasets(data);
  bind_loaders(data);
  bind_transforms(data);
}

}  // namespace tenon::python
