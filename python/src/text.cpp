// Tokenizers.

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using namespace py::literals;

text::Special special_of(bool allowed) { return allowed ? text::Special::kAllowed : text::Special::kAsText; }

}  // namespace

void bind_text(Scope& m) {
  Scope t = m.def_submodule("_text");
  using text::Tokenizer;
  Class<Tokenizer>(t, "Tokenizer", "Text to token numbers and back, exactly.")
      .def(
          "encode",
          [](const Tokenizer& self, const std::string& text, bool special) {
            const ReleasedAside others_run;
            return text::encode_parallel(self, text, special_of(special));
          },
          "text"_a, "special"_a = false, "The tokens of a text; special: names such as <|endoftext|> are tokens.")
      .def(
          "decode",
          [](const Tokenizer& self, const py::object& tokens) {
            const py::object list = is_tensor(tokens.ptr()) ? tokens.attr("tolist")() : tokens;
            const std::string bytes = self.decode(py::cast<std::vector<int32_t>>(list));
            PyObject* made = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
            if (!made) throw py::error_already_set();
            return py::reinterpret_steal<py::object>(made);
          },
          "tokens"_a, "The text of tokens; bytes that are no UTF-8 are shown as U+FFFD.")
      .def(
          "decode_bytes",
          [](const Tokenizer& self, const std::vector<int32_t>& tokens) { return py::bytes(self.decode(tokens)); },
          "tokens"_a)
      .def(
          "token", [](const Tokenizer& self, int32_t id) { return py::bytes(std::string(self.token(id))); }, "id"_a,
          "The bytes a token stands for.")
      .def_property_readonly("vocabulary", &Tokenizer::vocabulary, "Token numbers are below this.")
      .def_property_readonly("end_of_text", &Tokenizer::end_of_text)
      .def_property_readonly("begin_of_text", &Tokenizer::begin_of_text)
      .def_property_readonly("kind", [](const Tokenizer& self) { return std::string(self.kind()); })
      .def("save", &Tokenizer::save, "folder"_a, "Writes a tokenizer.json into a folder.")
      .def("__len__", &Tokenizer::vocabulary);
  t.def(
      "load_tokenizer",
      [](const std::filesystem::path& path) { return std::shared_ptr<Tokenizer>(text::load_tokenizer(path)); },
      "path"_a, "Reads a tokenizer from a file, or from a folder that holds one.");
  t.def(
      "load_bpe",
      [](const std::filesystem::path& vocabulary, const std::filesystem::path& merges) {
        return std::shared_ptr<Tokenizer>(std::make_shared<text::Bpe>(text::load_bpe(vocabulary, merges)));
      },
      "vocabulary"_a, "merges"_a, "Reads vocab.json and merges.txt, or encoder.json and vocab.bpe.");
  t.def(
      "train_bpe",
      [](const py::object& texts, int64_t vocabulary, int64_t min_count) {
        text::BpeTrainer trainer(text::BpeOptions{vocabulary, min_count});
        if (PyUnicode_Check(texts.ptr())) {
          trainer.add(py::cast<std::string>(texts));
        } else {
          for (const py::handle one : texts) trainer.add(py::cast<std::string>(one));
        }
        const ReleasedAside others_run;
        return std::shared_ptr<Tokenizer>(std::make_shared<text::Bpe>(trainer.train()));
      },
      "texts"_a, "vocabulary"_a = 16000, "min_count"_a = 2, "Trains a byte-level BPE.");
  t.def(
      "char_tokenizer",
      [](const std::string& corpus, bool unknown, bool end_of_text) {
        text::CharCounter counter;
        counter.add(corpus);
        return std::shared_ptr<Tokenizer>(std::make_shared<text::CharTokenizer>(counter.model(unknown, end_of_text)));
      },
      "corpus"_a, "unknown"_a = false, "end_of_text"_a = false, "One token a character of a corpus.");
  t.def(
      "byte_tokenizer",
      [](bool end_of_text) { return std::shared_ptr<Tokenizer>(std::make_shared<text::ByteTokenizer>(end_of_text)); },
      "end_of_text"_a = false, "One token a byte.");
  t.def(
      "word_tokenizer",
      [](const std::string& corpus, int64_t vocabulary, int64_t min_count, bool end_of_text) {
        text::WordCounter counter;
        counter.add(corpus);
        return std::shared_ptr<Tokenizer>(std::make_shared<text::WordTokenizer>(
            counter.model(text::WordOptions{vocabulary, min_count, end_of_text})));
      },
      "corpus"_a, "vocabulary"_a = 0, "min_count"_a = 1, "end_of_text"_a = false, "One token a word of a corpus.");
}

}  // namespace tenon::python
