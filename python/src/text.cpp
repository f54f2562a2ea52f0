// Tokenizers.

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

text::Special special_of(bool allowed) { return allowed ? text::Special::kAllowed : text::Special::kAsText; }

}  // namespace

void bind_text(Scope& m) {
  Scope t = m.def_submodule("_text");
  using text::Tokenizer;
  Class<Tokenizer>(t, "Tokenizer", "Text to token numbers and back, exactly.")
      .def("encode(text, special=False)", "The tokens of a text; special: names such as <|endoftext|> are tokens.",
           [](const Tokenizer& self, const std::string& text, bool special) {
             const ReleasedAside others_run;
             return text::encode_parallel(self, text, special_of(special));
           })
      .def("decode(tokens)", "The text of tokens; bytes that are no UTF-8 are shown as U+FFFD.",
           [](const Tokenizer& self, const py::object& tokens) {
             const py::object list = is_tensor(tokens.ptr()) ? tokens.attr("tolist")() : tokens;
             const std::string bytes = self.decode(py::cast<std::vector<int32_t>>(list));
             return text_object(bytes);
           })
      .def("decode_bytes(tokens)",
           [](const Tokenizer& self, const std::vector<int32_t>& tokens) { return py::bytes(self.decode(tokens)); })
      .def("token(id)", "The bytes a token stands for.",
           [](const Tokenizer& self, int32_t id) { return py::bytes(std::string(self.token(id))); })
      .property("vocabulary", "Token numbers are below this.", &Tokenizer::vocabulary)
      .property("end_of_text", &Tokenizer::end_of_text)
      .property("begin_of_text", &Tokenizer::begin_of_text)
      .property("kind", [](const Tokenizer& self) { return std::string(self.kind()); })
      .def("save(folder)", "Writes a tokenizer.json into a folder.", &Tokenizer::save)
      .def("__len__", &Tokenizer::vocabulary);
  t.def("load_tokenizer(path)", "Reads a tokenizer from a file, or from a folder that holds one.",
        [](const std::filesystem::path& path) { return std::shared_ptr<Tokenizer>(text::load_tokenizer(path)); });
  t.def("load_bpe(vocabulary, merges)", "Reads vocab.json and merges.txt, or encoder.json and vocab.bpe.",
        [](const std::filesystem::path& vocabulary, const std::filesystem::path& merges) {
          return std::shared_ptr<Tokenizer>(std::make_shared<text::Bpe>(text::load_bpe(vocabulary, merges)));
        });
  t.def("train_bpe(texts, vocabulary=16000, min_count=2)", "Trains a byte-level BPE.",
        [](const py::object& texts, int64_t vocabulary, int64_t min_count) {
          text::BpeTrainer trainer(text::BpeOptions{vocabulary, min_count});
          if (PyUnicode_Check(texts.ptr())) {
            trainer.add(py::cast<std::string>(texts));
          } else {
            for (const py::handle one : texts) trainer.add(py::cast<std::string>(one));
          }
          const ReleasedAside others_run;
          return std::shared_ptr<Tokenizer>(std::make_shared<text::Bpe>(trainer.train()));
        });
  t.def("char_tokenizer(corpus, unknown=False, end_of_text=False)", "One token a character of a corpus.",
        [](const std::string& corpus, bool unknown, bool end_of_text) {
          text::CharCounter counter;
          counter.add(corpus);
          return std::shared_ptr<Tokenizer>(std::make_shared<text::CharTokenizer>(counter.model(unknown, end_of_text)));
        });
  t.def("byte_tokenizer(end_of_text=False)", "One token a byte.", [](bool end_of_text) {
    return std::shared_ptr<Tokenizer>(std::make_shared<text::ByteTokenizer>(end_of_text));
  });
  t.def("word_tokenizer(corpus, vocabulary=0, min_count=1, end_of_text=False)", "One token a word of a corpus.",
        [](const std::string& corpus, int64_t vocabulary, int64_t min_count, bool end_of_text) {
          text::WordCounter counter;
          counter.add(corpus);
          return std::shared_ptr<Tokenizer>(std::make_shared<text::WordTokenizer>(
              counter.model(text::WordOptions{vocabulary, min_count, end_of_text})));
        });
}

}  // namespace tenon::python
