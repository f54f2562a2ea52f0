// Datasets, transforms and loaders. A dataset of Python's is a class with __len__ and __getitem__.

#include <set>

#include "functions.h"

namespace tenon::python {
namespace {

using namespace py::literals;
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

/// A dataset that a class of Python's is.
class PythonDataset : public Dataset {
 public:
  explicit PythonDataset(const py::object& object)
      : object_(keep(object)), size_(static_cast<int64_t>(py::len(object))) {}
  int64_t size() const override { return size_; }
  Sample get(int64_t i) const override {
    const py::gil_scoped_acquire locked;
    return sample_of(py::reinterpret_borrow<py::object>(object_.get())[py::int_(i)]);
  }

 private:
  std::shared_ptr<PyObject> object_;
  int64_t size_;
};

std::shared_ptr<Dataset> dataset_of(const py::object& object) {
  if (py::isinstance<Dataset>(object)) return py::cast<std::shared_ptr<Dataset>>(object);
  if (!py::hasattr(object, "__len__") || !py::hasattr(object, "__getitem__"))
    throw_type_error("a dataset has __len__ and __getitem__; " + type_name_of(object.ptr()) + " has not");
  return std::make_shared<PythonDataset>(object);
}

data::LastBatch last_of(const std::string& name) {
  if (name == "keep") return data::LastBatch::kKeep;
  if (name == "drop") return data::LastBatch::kDrop;
  if (name == "pad") return data::LastBatch::kPad;
  throw_value_error("there is no way '" + name + "' to treat the last batch; there are 'keep', 'drop' and 'pad'");
}

/// A loader as Python holds it. Its workers call datasets of Python's: whoever waits for their end must not keep
/// Python's lock, and they must end before Python does.
class PythonLoader {
 public:
  explicit PythonLoader(std::unique_ptr<data::DataLoader> loader) : loader_(std::move(loader)) { all().insert(this); }
  ~PythonLoader() {
    all().erase(this);
    close();
  }
  PythonLoader(const PythonLoader&) = delete;
  PythonLoader& operator=(const PythonLoader&) = delete;

  data::DataLoader& operator*() const {
    if (!loader_) base::fail("data_loader", "the program is ending, and its loaders are closed");
    return *loader_;
  }
  data::DataLoader* operator->() const { return &**this; }

  static void close_all() {
    for (PythonLoader* one : all()) one->close();
  }

 private:
  static std::set<PythonLoader*>& all() {
    static auto* loaders = new std::set<PythonLoader*>;
    return *loaders;
  }
  void close() {
    const Released others_run;
    loader_.reset();
  }

  std::unique_ptr<data::DataLoader> loader_;
};

Sample next_of(PythonLoader& loader) {
  data::DataLoader& open = *loader;
  const Released others_run;
  return open.next();
}

/// The batches that are left of an epoch.
struct Batches {
  PythonLoader* loader;
  py::object keeps;
  int64_t epoch;
};

void bind_datasets(py::module_& m) {
  py::class_<Dataset, std::shared_ptr<Dataset>>(m, "NativeDataset", "Samples by number.")
      .def("__len__", &Dataset::size)
      .def("__getitem__", [](const Dataset& self, int64_t i) {
        const int64_t at = i < 0 ? i + self.size() : i;
        if (at < 0 || at >= self.size())
          throw py::index_error(fmt::format("there is no sample {} among {}", i, self.size()));
        Sample sample;
        {
          const Released others_run;
          sample = self.get(at);
        }
        return tuple_of(sample);
      });
  py::class_<data::TensorDataset, Dataset, std::shared_ptr<data::TensorDataset>>(m, "TensorDataset",
                                                                                 "Row i of each of several tensors.")
      .def(py::init([](const py::args& tensors) { return std::make_shared<data::TensorDataset>(sample_of(tensors)); }))
      .def_property_readonly("tensors", [](const data::TensorDataset& self) { return tuple_of(self.tensors()); });
  py::class_<data::Subset, Dataset, std::shared_ptr<data::Subset>>(m, "Subset", "Some samples of a dataset.")
      .def(py::init([](const py::object& of, const std::vector<int64_t>& indices) {
             return std::make_shared<data::Subset>(dataset_of(of), indices);
           }),
           "dataset"_a, "indices"_a)
      .def_property_readonly("indices", &data::Subset::indices);
  py::class_<data::ConcatDataset, Dataset, std::shared_ptr<data::ConcatDataset>>(m, "ConcatDataset",
                                                                                 "Datasets one behind the other.")
      .def(py::init([](const py::list& parts) {
             std::vector<data::SharedDataset> all;
             for (const py::handle one : parts) all.emplace_back(dataset_of(py::reinterpret_borrow<py::object>(one)));
             return std::make_shared<data::ConcatDataset>(std::move(all));
           }),
           "datasets"_a);
  py::class_<data::ImageFolder, Dataset, std::shared_ptr<data::ImageFolder>>(m, "ImageFolder",
                                                                             "Pictures in one folder per class.")
      .def(py::init<const std::filesystem::path&>(), "folder"_a)
      .def_property_readonly("classes", &data::ImageFolder::classes);
  py::class_<data::MappedDataset, Dataset, std::shared_ptr<data::MappedDataset>>(
      m, "MappedDataset", "Samples that go through a transform.");
  m.def(
      "random_split",
      [](const py::object& dataset, const py::list& parts, uint64_t seed) {
        const data::SharedDataset shared(dataset_of(dataset));
        const bool are_counts = !parts.empty() && PyLong_Check(py::object(parts[0]).ptr());
        py::list subsets;
        for (data::Subset& one : are_counts ? data::random_split(shared, py::cast<std::vector<int64_t>>(parts), seed)
                                            : data::random_split(shared, py::cast<std::vector<double>>(parts), seed))
          subsets.append(py::cast(std::make_shared<data::Subset>(std::move(one))));
        return subsets;
      },
      "dataset"_a, "lengths"_a, "seed"_a = 0, "Shuffles a dataset and deals it out.");
  m.def(
      "mnist",
      [](const std::filesystem::path& folder, bool train) {
        return std::make_shared<data::TensorDataset>(data::mnist(folder, train));
      },
      "folder"_a, "train"_a = true, "MNIST's images, uint8 (1, 28, 28), and labels.");
  m.def(
      "fashion_mnist",
      [](const std::filesystem::path& folder, bool train) {
        return std::make_shared<data::TensorDataset>(data::fashion_mnist(folder, train));
      },
      "folder"_a = std::filesystem::path(), "train"_a = true, "Fashion-MNIST.");
  m.def(
      "cifar10",
      [](const std::filesystem::path& folder, bool train) {
        return std::make_shared<data::TensorDataset>(data::cifar10(folder, train));
      },
      "folder"_a, "train"_a = true, "CIFAR-10's images, uint8 (3, 32, 32), and labels.");
}

void bind_loaders(py::module_& m) {
  using data::DataLoader;
  py::class_<Batches>(m, "_Batches")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", [](Batches& self) {
        if ((*self.loader)->epoch() != self.epoch) throw py::stop_iteration();
        return tuple_of(next_of(*self.loader));
      });
  py::class_<PythonLoader>(m, "DataLoader", "The batches of a dataset, epoch after epoch.")
      .def(py::init([](const py::object& dataset, int64_t batch_size, bool shuffle, int workers,
                       const py::object& collate, bool drop_last, uint64_t seed, const std::string& last, int prefetch,
                       const py::object& device) {
             data::DataLoaderOptions options{batch_size, shuffle,  seed,
                                             workers,    prefetch, drop_last ? data::LastBatch::kDrop : last_of(last)};
             options.device = Convert<Device>::from(device.ptr());
             if (!collate.is_none()) {
               options.collate = [function = keep(collate)](std::vector<Sample> samples) {
                 const py::gil_scoped_acquire locked;
                 py::list list;
                 for (const Sample& one : samples) list.append(tuple_of(one));
                 return sample_of(py::reinterpret_borrow<py::object>(function.get())(list));
               };
             }
             return std::make_unique<PythonLoader>(std::make_unique<DataLoader>(dataset_of(dataset), options));
           }),
           "dataset"_a, "batch_size"_a = 1, "shuffle"_a = false, "num_workers"_a = 0, "collate_fn"_a = py::none(),
           "drop_last"_a = false, "seed"_a = 0, "last"_a = "keep", "prefetch"_a = 2, "device"_a = py::none())
      .def("__iter__",
           [](py::object self) {
             auto& loader = py::cast<PythonLoader&>(self);
             return Batches{&loader, self, loader->epoch()};
           })
      .def("__len__", [](const PythonLoader& self) { return self->size(); })
      .def(
          "next", [](PythonLoader& self) { return tuple_of(next_of(self)); },
          "The next batch; the first of the next epoch follows the last of this one.")
      .def_property_readonly("epoch", [](const PythonLoader& self) { return self->epoch(); })
      .def(
          "set_epoch",
          [](PythonLoader& self, int64_t epoch) {
            data::DataLoader& open = *self;
            const Released others_run;
            open.set_epoch(epoch);
          },
          "epoch"_a)
      .def(
          "state", [](const PythonLoader& self) { return to_json(self->state()); }, "Where it stands, as JSON.")
      .def(
          "restore",
          [](PythonLoader& self, const std::string& state) {
            data::DataLoader& open = *self;
            const Released others_run;
            open.restore(data::data_loader_state_from_json(state));
          },
          "state"_a);
  py::module_::import("atexit").attr("register")(py::cpp_function([] { PythonLoader::close_all(); }));
  py::class_<data::Loader>(m, "TokenLoader", "Endless batches of windows of tokens, and what follows each token.")
      .def(py::init([](const py::object& tokens, int64_t batch, int64_t length, const std::string& order,
                       uint64_t seed) {
             const data::Order how = order == "shuffled"     ? data::Order::kShuffled
                                     : order == "sequential" ? data::Order::kSequential
                                                             : data::Order::kRandom;
             data::Tokens all = PyUnicode_Check(tokens.ptr()) || py::hasattr(tokens, "__fspath__")
                                    ? data::Tokens(data::TokenFile::open(py::cast<std::filesystem::path>(tokens)))
                                    : data::Tokens(py::cast<std::vector<int32_t>>(tokens));
             return std::make_unique<data::Loader>(std::move(all), data::LoaderOptions{batch, length, 1, how, seed});
           }),
           "tokens"_a, "batch_size"_a = 12, "length"_a = 64, "order"_a = "random", "seed"_a = 1)
      .def(
          "next",
          [](data::Loader& self) {
            data::Batch batch;
            {
              const Released others_run;
              batch = self.next();
            }
            const Dims shape{batch.rows(), batch.length};
            return py::make_tuple(from_vector(batch.inputs, shape), from_vector(batch.targets, shape));
          },
          "Inputs and targets, int32 (batch, length) each.");
}

void bind_transforms(py::module_& m) {
  py::class_<data::Random>(m, "Random", "The chance of one sample.")
      .def("below", &data::Random::below, "count"_a)
      .def("uniform", [](data::Random& self) { return self.uniform(); })
      .def("chance", &data::Random::chance, "probability"_a);
  struct Native {
    data::Transform transform;
  };
  py::class_<Native>(m, "Transform", "What is done to a tensor of a sample.")
      .def(
          "__call__",
          [](const Native& self, const Tensor& x, uint64_t seed) {
            data::Random random(seed, 0, 0);
            return self.transform(x, random);
          },
          "x"_a, "seed"_a = 0);
  const auto made = [](data::Transform transform) { return Native{std::move(transform)}; };
  const auto transform_of = [](const py::object& object) -> data::Transform {
    if (py::isinstance<Native>(object)) return py::cast<Native&>(object).transform;
    return [function = keep(object)](const Tensor& x, data::Random&) {
      const py::gil_scoped_acquire locked;
      return Convert<Tensor>::from(py::reinterpret_borrow<py::object>(function.get())(x).ptr());
    };
  };
  m.def(
      "compose",
      [made, transform_of](const py::list& transforms) {
        std::vector<data::Transform> all;
        for (const py::handle one : transforms) all.push_back(transform_of(py::reinterpret_borrow<py::object>(one)));
        return made(data::compose(std::move(all)));
      },
      "transforms"_a, "One after the other.");
  m.def(
      "to_float", [made] { return made(data::to_float()); }, "uint8 from 0 to 255 to float32 from 0 to 1.");
  m.def(
      "normalize",
      [made](const py::object& mean, const py::object& deviation) {
        const auto list = [](const py::object& object) {
          return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())
                     ? std::vector<double>{py::cast<double>(object)}
                     : py::cast<std::vector<double>>(object);
        };
        return made(data::normalize(list(mean), list(deviation)));
      },
      "mean"_a, "std"_a, "(x - mean) / std for each channel.");
  m.def(
      "random_crop",
      [made](int64_t height, int64_t width, int64_t padding, double fill) {
        return made(data::random_crop(height, width, {padding, fill}));
      },
      "height"_a, "width"_a, "padding"_a = 0, "fill"_a = 0.0, "A part of this size, anywhere.");
  m.def(
      "center_crop", [made](int64_t height, int64_t width) { return made(data::center_crop(height, width)); },
      "height"_a, "width"_a, "The part of this size in the middle.");
  m.def(
      "random_horizontal_flip", [made](double p) { return made(data::random_horizontal_flip(p)); }, "p"_a = 0.5,
      "Left and right changed over, with this probability.");
  m.def(
      "resize",
      [made](int64_t height, int64_t width, const std::string& interpolation) {
        return made(
            data::resize(height, width,
                         interpolation == "nearest" ? data::Interpolation::kNearest : data::Interpolation::kBilinear));
      },
      "height"_a, "width"_a, "interpolation"_a = "bilinear", "Another size.");
  m.def(
      "transformed",
      [transform_of](const py::object& dataset, const py::object& transform,
                     const std::variant<int64_t, std::string>& field) {
        return std::make_shared<data::MappedDataset>(
            data::transformed(dataset_of(dataset), transform_of(transform), field));
      },
      "dataset"_a, "transform"_a, "field"_a = 0, "A dataset whose tensor at a place goes through a transform.");
  m.def(
      "read_image",
      [](const std::filesystem::path& path, const std::string& mode) {
        const auto how = mode == "gray"   ? data::ImageMode::kGray
                         : mode == "rgb"  ? data::ImageMode::kRgb
                         : mode == "rgba" ? data::ImageMode::kRgba
                                          : data::ImageMode::kUnchanged;
        return data::read_image(path, how);
      },
      "path"_a, "mode"_a = "unchanged", "A PNG or JPEG file, uint8 (channels, height, width).");
  m.def(
      "save_image", [](const std::filesystem::path& path, const Tensor& image) { data::save_image(path, image); },
      "path"_a, "image"_a, "Writes a PNG of a picture or of a grid of pictures.");
  m.def(
      "make_grid",
      [](const Tensor& images, int64_t columns, int64_t padding) {
        return data::make_grid(images, {columns, padding, 0});
      },
      "images"_a, "columns"_a = 8, "padding"_a = 2, "Pictures as one.");
  m.def(
      "stories", [](int64_t bytes, uint64_t seed) { return data::stories(bytes, seed); }, "bytes"_a, "seed"_a = 1,
      "Short stories in simple English, made up.");
}

}  // namespace

void bind_data(py::module_& m) {
  py::module_ data = m.def_submodule("_data");
  bind_datasets(data);
  bind_loaders(data);
  bind_transforms(data);
}

}  // namespace tenon::python
