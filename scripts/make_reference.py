#!/usr/bin/env python3
"""Writes docs/reference, the reference of the library, from the comments of the public headers.

    make_reference.py            writes the pages, and fails where something has no comment or no example; Doxygen parses
                                 the headers
    make_reference.py --gaps     lists what has no comment or no example, and writes nothing
    make_reference.py --check    says which pages are not those of the headers as they are now; needs no Doxygen
    make_reference.py --headers  lists the headers that the pages describe; --hidden: the names they leave out
    make_reference.py examples FILE   writes a program that runs the examples of the comments

A page says in its second line of which headers it was made: a hash of their declarations and comments. A header that
tenon.h includes is on one page or among INTERNAL, with the reason; --check fails for one that is in neither.

A comment holds for the declarations that follow it without a blank line and have none of their own: those are one entry.
A field without one means what the field of that name means in the struct before it. A line of a comment that begins with
three blanks is code: an example; of a class or function that has none, the lines of the header's opening comment that name
it. Where an example ends with a comment such as `// [1 2]`, that is compared with what the line gives; of `// ?` the program
says what belongs there.
"""

import hashlib
import json
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_functions
from doxygen_filter import HIDDEN, header_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/reference"
XML = ROOT / "build/docs/reference"

# (file, title, what it holds, headers); a header that tenon.h does not include is passed over
AREAS = [
    ("tensors", "Tensors", "The tensor, its dtypes and devices, new tensors, operators, memory shared with others.",
     ["tensor/tensor.h", "tensor/creation.h", "tensor/operators.h", "tensor/number.h", "ir/dtype.h", "ir/shape.h", "base/half.h",
      "tensor/in_place.h", "tensor/event.h", "tensor/share.h", "tensor/dlpack.h", "tensor/format.h"]),
    ("functions", "Functions of tensors", "Every function of tensors. Most are methods as well, and many have a form in place.",
     ["tensor/ops.h", "tensor/arrangements.h"]),
    ("mathematics", "Linear algebra, Fourier transforms, distributions", "What is made of LAPACK and FFTW, and random variables.",
     ["linalg/linalg.h", "fft/fft.h", "distributions/distribution.h"]),
    ("autograd", "Gradients", "Gradients, functions with a gradient rule of their own, Jacobians, functions of a batch.",
     ["tensor/autograd.h", "tensor/functional.h", "tensor/vmap.h"]),
    ("modules", "Modules", "What modules are, those that own others, initial values, low-rank corrections.",
     ["nn/module.h", "nn/containers.h", "nn/init.h", "nn/lora.h"]),
    ("layers", "Layers", "Layers, and the functions that they are made of.",
     ["nn/layers.h", "nn/functional.h", "nn/activations.h", "nn/convolution.h", "nn/pooling.h", "nn/normalisation.h", "nn/images.h",
      "nn/image_layers.h", "nn/resampling.h", "nn/embedding_bag.h"]),
    ("sequences", "Layers of sequences", "Attention, transformers and recurrent layers.",
     ["nn/attention.h", "nn/rotary.h", "nn/kv_cache.h", "nn/transformer.h", "nn/recurrent.h", "nn/cells.h"]),
    ("losses", "Losses", "Losses as functions and as modules.",
     ["nn/losses.h", "nn/ctc_loss.h", "nn/linear_cross_entropy.h", "nn/adaptive_softmax.h", "nn/loss_modules.h"]),
    ("optim", "Optimizers", "Update rules, schedules of the learning rate, lower precision.",
     ["optim/optimizers.h", "optim/optimizer.h", "optim/schedule.h", "optim/grad_scaler.h", "tensor/autocast.h"]),
    ("data", "Data", "Samples, datasets, loaders, readers of files, transforms, corpora of tokens.",
     ["data/sample.h", "data/dataset.h", "data/data_loader.h", "data/data_loader_state.h", "data/sampler.h", "data/iterable.h", "data/collate.h",
      "data/random.h", "data/transforms.h", "data/image.h", "data/image_mode.h", "data/image_folder.h", "data/cifar.h", "data/mnist.h",
      "data/csv.h", "data/csv_columns.h", "data/tokens.h", "data/token_file.h", "data/loader.h", "data/loader_state.h", "data/prepare.h",
      "data/corpus.h", "data/stories.h", "data/tokenizer_fingerprint.h"]),
    ("text", "Tokenizers", "Text to tokens and back, and the vocabularies that are learned from texts.",
     ["text/tokenizer.h", "text/special_tokens.h", "text/bpe.h", "text/bpe_model.h", "text/bpe_trainer.h", "text/wordpiece.h",
      "text/wordpiece_model.h", "text/bert_words.h", "text/word_tokenizer.h", "text/char_tokenizer.h", "text/byte_tokenizer.h",
      "text/llama2c_tokenizer.h"]),
    ("models", "Models", "Language models, BERT, networks for pictures, LoRA of whole models.",
     ["models/causal_lm.h", "models/gpt2.h", "models/gpt2_config.h", "models/llama.h", "models/llama_config.h", "models/bert.h",
      "models/bert_config.h", "models/bert_texts.h", "models/text_classifier.h", "models/cnn.h", "models/picture_model.h",
      "models/resnet.h", "models/vit.h", "models/lora.h"]),
    ("generation", "Generation", "Text from models.",
     ["models/generate.h", "models/sampling.h", "models/decoder.h", "models/text_writer.h"]),
    ("training", "Training runs", "Runs from a config, tasks of one's own, metrics and reports.",
     ["train/config.h", "train/trainer.h", "train/task.h", "train/loaded_model.h", "train/run_folder.h", "train/signals.h",
      "watch/metrics.h", "watch/progress.h", "watch/report.h", "watch/samples.h", "watch/tensorboard.h",
      "watch/profile_view.h", "watch/doctor.h", "watch/profile_page.h"]),
    ("rl", "Reinforcement learning", "Environments and what learns in them; the game 2048.",
     ["rl/environment.h", "rl/agent.h", "rl/deep_q.h", "rl/ppo.h", "rl/afterstate_learner.h", "rl/board.h", "rl/games.h", "rl/random.h",
      "rl/replay.h", "rl/dqn.h", "rl/tuples.h", "rl/learner.h", "rl/dqn_learner.h", "rl/tuple_learner.h", "rl/dqn_config.h",
      "rl/diverged.h", "train/game_run.h"]),
    ("files", "Files", "Tensors and modules in files of other programs.",
     ["io/safetensors.h", "models/module_file.h", "io/npy.h", "io/torch_file.h", "io/hugging_face.h", "io/llama2c.h",
      "io/llama2c_header.h", "io/own_memory.h"]),
    ("capture", "Captured functions", "Functions that are recorded once and replayed.", ["tensor/compile.h", "tensor/scalar.h"]),
    ("devices", "Devices, memory, errors", "What evaluation costs, limits of memory, threads, and what is thrown.",
     ["tensor/stats.h", "exec/stats.h", "tensor/profile.h", "device/memory_stats.h", "base/threads.h", "base/error.h", "base/out_of_range.h",
      "base/zero_division.h", "device/out_of_memory.h", "device/lost.h", "base/interrupt.h"]),
]



def all_headers():
    """What tenon.h includes, in the end."""
    listed = ["tenon/tenon.h"]
    for one in listed:
        for found in re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<](tenon/[^">\n]+)[">]', (ROOT / one).read_text(encoding="utf-8"), re.M):
            if found not in listed:
                listed.append(found)
    return [one.removeprefix("tenon/") for one in listed[1:]]


INCLUDED = all_headers()
AREAS = [(*area, [h for h in headers if h in INCLUDED]) for *area, headers in AREAS]

# Headers that tenon.h includes because others need them.
INTERNAL = {
    "base/flat_map.h": "a table inside of tokenizers",
    "base/small_vector.h": "what Dims is made of: a vector that keeps a few elements in place",
    "base/turn.h": "turns of Python's threads",
    "data/checksum.h": "inside of token files",
    "data/documents.h": "pieces of a corpus while prepare() reads it",
    "io/input.h": "what parsers are given",
    "io/links.h": "where files are written",
    "ir/device_id.h": "inside of Device",
    "rl/saved.h": "states of learners as tensors",
    "rl/captured.h": "inside of learners",
    "rl/table_sharing.h": "inside of TupleLearner",
    "tensor/host_read.h": "reads of Python",
    "tensor/reshaped.h": "changes of shape in place of Python",
    "text/bpe_merge.h": "inside of tokenizers",
    "text/word_counts.h": "inside of trainers of tokenizers",
}

# Arguments that mean the same wherever they stand.
ARGUMENTS = {
    "keepdim": "whether reduced dims stay, with the size 1",
    "generator": "where random numbers come from; the default generator unless given",
    "options": "", "dim": "", "dims": "",
}
TYPES = {
    "Tensor": "a tensor", "const Tensor&": "a tensor", "Tensor&": "a tensor, which is changed", "const Operand&": "a tensor or a number",
    "Operand": "a tensor or a number", "Number": "a number", "int64_t": "a whole number", "int": "a whole number", "int32_t": "a whole number",
    "uint64_t": "a whole number of at least 0", "uint32_t": "a whole number of at least 0", "size_t": "a whole number of at least 0",
    "double": "a number", "float": "a number", "bool": "true or false", "const Dims&": "a list of sizes or of dims", "Dims": "a list of sizes or of dims",
    "const Axes&": "one dim, several, or none, which are all", "std::span<const Tensor>": "several tensors",
    "const std::vector<Tensor>&": "several tensors", "std::vector<Tensor>": "several tensors", "std::string_view": "a text",
    "const std::string&": "a text", "std::string": "a text", "Generator*": "a generator", "DType": "a dtype", "Device": "a device or its name",
    "const Options&": "dtype, device and requires_grad", "const std::filesystem::path&": "a path", "std::filesystem::path": "a path",
    "Size2": "one number for both axes, or `{height, width}`", "Size3": "one number for all axes, or `{depth, height, width}`",
    "Reduction": "`none`, `mean` or `sum`", "std::pair<Tensor, Tensor>": "two tensors, to unpack as `auto [a, b]`",
    "SharedDataset": "a dataset, which is copied, or a `shared_ptr` to one", "std::vector<std::string>": "texts",
    "const std::vector<std::string>&": "texts", "const std::vector<int64_t>&": "whole numbers", "std::vector<int64_t>": "whole numbers",
    "std::vector<double>": "numbers", "std::span<const Board>": "boards", "const Board&": "a board", "Board": "a board", "Move": "a move",
    "std::span<const int64_t>": "whole numbers", "std::span<const float>": "numbers", "std::span<float>": "room for numbers",
    "uint8_t": "a whole number of at least 0", "std::span<const std::string>": "texts", "const LoraOptions&": "the options of a correction",
    "const nn::Module&": "a module", "nn::Module&": "a module", "const Module&": "a module", "Module&": "a module",
    "const TensorFunction&": "a function of tensors", "std::vector<Device>": "devices", "std::vector<Schedule>": "schedules",
    "std::span<const std::byte>": "bytes", "const StateDict&": "tensors by name", "StateDict": "tensors by name",
    "const std::map<std::string, Tensor>&": "tensors by name", "std::map<std::string, Tensor>": "tensors by name", "NamedTensors": "tensors by name",
    "const NamedTensors&": "tensors by name", "Optimizer&": "an optimizer", "Generator&": "a generator",
    "const text::Tokenizer&": "a tokenizer", "const Tokenizer&": "a tokenizer", "CausalLm&": "a language model",
    "Random&": "a stream of random numbers, which goes on", "Transform": "a transform", "Schedule": "a schedule", "Course": "a schedule",
}

Argument = namedtuple("Argument", "type name default")
KINDS = {"function", "variable", "typedef", "enum"}


# ---- what Doxygen parsed ----

def flat(text):
    return re.sub(r"\s+", " ", text or "").strip()


def spelled(text):
    """A type as this code base spells it."""
    text = flat(text)
    text = re.sub(r"\s*([&*]+)(?=[\s,)>]|$)", r"\1", text)
    text = re.sub(r"\s([&*]+)(?=\w)", r"\1 ", text)
    text = re.sub(r"<\s+", "<", text)
    text = re.sub(r"\s+>", ">", text)
    text = re.sub(r"(\w)\s+\(", r"\1(", text)
    return text.replace("( ", "(").replace(" )", ")").replace("constexpr ", "").replace("inline ", "")


def markdown(node):
    """The Markdown of a description: (paragraphs, examples)."""
    parts, examples = [], []

    def inline(element):
        out = element.text or ""
        for child in element:
            if child.tag == "computeroutput":
                out += "`" + "".join(child.itertext()) + "`"
            elif child.tag in ("programlisting", "itemizedlist", "orderedlist", "verbatim", "simplesect"):
                if out.strip():
                    parts.append(flat(out))
                out = ""
                block(child)
            elif child.tag == "ndash":
                out += "--"
            elif child.tag == "linebreak":
                out += "\n"
            else:
                out += inline(child)
            out += child.tail or ""
        return out

    def block(element):
        if element.tag == "programlisting":
            lines = []
            for line in element.iter("codeline"):
                text = ""
                for piece in line.iter():
                    if piece.tag == "sp":
                        text += " "
                    text += piece.text or ""
                    if piece.tag != "codeline":
                        text += piece.tail or ""
                lines.append(text.rstrip())
            examples.append("\n".join(lines))
        elif element.tag == "verbatim":
            examples.append(textwrap.dedent(element.text or "").strip("\n"))
        elif element.tag in ("itemizedlist", "orderedlist"):
            parts.append("\n".join("- " + flat(inline(item.find("para"))) for item in element.iter("listitem")))
        else:
            for child in element:
                if child.tag == "para":
                    text = flat(inline(child))
                    if text:
                        parts.append(text)
                elif child.tag != "title":
                    block(child)

    for element in node:
        block(element)
    return parts, examples


class Entry:
    """One declaration."""

    def __init__(self, element, scope):
        self.element, self.scope = element, scope
        self.is_class = element.tag == "compounddef"
        self.kind = element.get("kind")
        name = element.findtext("compoundname" if self.is_class else "name")
        self.qualified = name if self.is_class else f"{scope}::{name}" if scope else name
        self.name = self.qualified.rsplit("::", 1)[-1] if "operator" not in self.qualified else name
        location = element.find("location")
        self.file = str(Path(location.get("file")).resolve().relative_to(ROOT)) if Path(location.get("file")).is_absolute() else location.get("file")
        self.line = int(location.get("declline") or location.get("line"))
        if location.get("declfile"):
            self.file = location.get("declfile")
        self.text, self.examples = [], []
        for tag in ("briefdescription", "detaileddescription"):
            text, examples = markdown([element.find(tag)])
            # Doxygen takes the first sentence of a comment for itself.
            if self.text and text and not text[0].startswith("- "):
                text[:1] = [self.text.pop() + " " + text[0]]
            self.text += text
            self.examples += examples
        self.members = []

    def short(self):
        return self.qualified.removeprefix("tenon::")

    def arguments(self):
        found = []
        for one in self.element.findall("param"):
            kind = spelled("".join(one.find("type").itertext()))
            if kind == "void":
                continue
            default = one.find("defval")
            array = one.findtext("array") or ""
            found.append(Argument(kind, (one.findtext("declname") or "") + array, None if default is None else spelled("".join(default.itertext()))))
        return found

    def result(self):
        kind = self.element.find("type")
        text = spelled("".join(kind.itertext())) if kind is not None else ""
        return re.sub(r"^(static|virtual|explicit|friend) ", "", text)

    def template(self):
        listed = self.element.find("templateparamlist")
        if listed is None:
            return ""
        parts = []
        for one in listed.findall("param"):
            text = spelled("".join(one.find("type").itertext()))
            name = one.findtext("declname")
            if name and not text.endswith(name):
                text += " " + name
            default = one.find("defval")
            parts.append(text + ("" if default is None else " = " + spelled("".join(default.itertext()))))
        return "template <" + ", ".join(parts) + ">\n"

    def signature(self):
        if self.is_class:
            bases = []
            for base in self.element.findall("basecompoundref"):
                name = spelled(base.text or "").replace("tenon::", "")
                if base.get("prot") == "public":
                    bases.append(name)
            # The bases that a reader does not see: ModuleOf<Self> is a Module.
            bases = [re.sub(r"^(ModuleOf|PlainLoss|LossWithNumber|PairLoss|WeightedLoss)<.*$", "Module", name) for name in bases]
            return self.template() + f"{self.kind} {self.name}" + (" : " + ", ".join("public " + b for b in bases) if bases else "") + ";"
        if self.kind == "function":
            prefix = "static " if self.element.get("static") == "yes" and self.is_member else ""
            prefix += "explicit " if self.element.get("explicit") == "yes" else ""
            prefix += "virtual " if self.element.get("virt") == "pure-virtual" else ""
            result = self.result()
            head = self.template() + prefix + (result + " " if result else "") + self.name + "("
            args = [a.type + (" " + a.name if a.name else "") + (f" = {a.default}" if a.default is not None else "") for a in self.arguments()]
            arguments_text = self.element.findtext("argsstring") or ""
            tail = ")" + (" const" if self.element.get("const") == "yes" else "")
            if re.search(r"\)\s*(?:const\s*)?&&$", flat(arguments_text)):
                tail += " &&"
            tail += " = 0" if self.element.get("virt") == "pure-virtual" else ""
            return wrapped(head, args, tail + ";")
        if self.kind == "typedef":
            return self.template() + f"using {self.name} = {self.result()};"
        if self.kind == "enum":
            return f"enum class {self.name} {{ " + ", ".join(v.findtext("name") for v in self.element.findall("enumvalue")) + " };"
        value = flat("".join(self.element.find("initializer").itertext())) if self.element.find("initializer") is not None else ""
        return f"{self.result()} {self.name}" + (" " + spelled(value) if value else "") + ";"

    is_member = False


def wrapped(head, args, tail, width=100):
    line = head + ", ".join(args) + tail
    if max(map(len, line.split("\n"))) <= width:
        return line
    lead = head.split("\n")
    column = len(lead[-1]) if len(lead[-1]) < 50 else 4
    lines, now = lead[:-1], lead[-1]
    for i, one in enumerate(args):
        piece = one + (", " if i + 1 < len(args) else tail)
        if len(now) + len(piece.rstrip()) > width and now.strip():
            lines.append(now.rstrip())
            now = " " * column
        now += piece
    return "\n".join(lines + [now])


def hidden(name):
    return any(name == one or name.startswith(one + "::") or name.startswith(one + "<") for one in HIDDEN)


def parse():
    """All public declarations, by their header."""
    XML.mkdir(parents=True, exist_ok=True)
    headers = [f"tenon/{h}" for area in AREAS for h in area[3]]
    settings = (ROOT / "docs/site/Doxyfile").read_text() + "\n".join(
        ["GENERATE_HTML = NO", "GENERATE_XML = YES", "XML_PROGRAMLISTING = NO", "MACRO_EXPANSION = YES", "WARNINGS = NO", "SEARCHENGINE = NO",
         "EXCLUDE_SYMBOLS =", "AUTOLINK_SUPPORT = NO", f"OUTPUT_DIRECTORY = {XML}", "INPUT = " + " ".join(headers)])
    (XML / "Doxyfile").write_text(settings)
    subprocess.run(["doxygen", XML / "Doxyfile"], cwd=ROOT, check=True)
    by_file, by_name = {}, {}
    compounds = []
    for listed in ElementTree.parse(XML / "xml/index.xml").getroot():
        if listed.get("kind") not in ("namespace", "class", "struct"):
            continue
        compounds.append(ElementTree.parse(XML / f"xml/{listed.get('refid')}.xml").getroot().find("compounddef"))
    for compound in compounds:
        if compound.get("kind") == "namespace":
            continue
        if compound.get("prot") in ("private", "protected") or compound.find("location") is None:
            continue
        name = compound.findtext("compoundname")
        if hidden(name) or "@" in name or "<" in name:
            continue
        by_name[name] = Entry(compound, "")
    for compound in compounds:
        name = compound.findtext("compoundname")
        owner = by_name.get(name)
        if compound.get("kind") != "namespace" and owner is None:
            continue
        for member in compound.iter("memberdef"):
            if member.get("kind") not in KINDS or member.get("prot") in ("private",) or member.find("location") is None:
                continue
            entry = Entry(member, name)
            if hidden(entry.qualified) or not entry.name or "@" in entry.name:
                continue
            entry.is_member = owner is not None
            if owner is None:
                by_file.setdefault(entry.file, []).append(entry)
            elif is_shown(entry, owner):
                owner.members.append(entry)
    for name, entry in by_name.items():
        scope = name.rsplit("::", 1)[0]
        if scope in by_name:
            entry.is_member = True
            by_name[scope].members.append(entry)
        else:
            by_file.setdefault(entry.file, []).append(entry)
    for entries in by_file.values():
        entries.sort(key=lambda e: e.line)
    for entry in by_name.values():
        entry.members.sort(key=lambda e: e.line)
    return by_file


def is_shown(entry, owner):
    if entry.is_class:
        return True
    args = entry.element.findtext("argsstring") or ""
    if entry.name == "operator==" and "=default" in args.replace(" ", ""):
        return False
    if entry.name.startswith("~") or "=delete" in args.replace(" ", "") or entry.name.startswith("@"):
        return False
    if entry.kind == "function" and "=default" in args.replace(" ", "") and not entry.arguments() and not entry.text:
        return False
    if entry.kind == "function" and entry.name in (owner.name, "operator=") and len(entry.arguments()) == 1:
        kind = entry.arguments()[0].type
        if kind in (f"const {owner.name}&", f"{owner.name}&&"):
            return False
    if entry.element.get("prot") == "protected":
        return owner.name in ("Module", "Distribution") and bool(entry.text)
    # What a class only overrides is described where it is declared first.
    if entry.kind == "function" and "override" in args and not entry.text and entry.name != "forward":
        return False
    if entry.kind == "function" and entry.name == "operator()" and any(m.name == "forward" for m in owner.members):
        return False
    return True


# ---- pages ----

def is_constructor(entry):
    return entry.kind == "function" and entry.is_member and entry.scope.rsplit("::", 1)[-1] == entry.name


def families(entries, lines):
    """Entries that share a comment: one that has none belongs to that right before it."""
    groups = []
    for entry in entries:
        before = groups[-1][-1] if groups else None
        if before and entry.kind == "function" == before.kind and entry.name == before.name and entry.qualified == before.qualified:
            groups[-1].append(entry)
            continue
        if groups and not entry.is_class and not entry.text and not entry.examples:
            before = groups[-1][-1]
            between = lines[before.line:entry.line - 1]
            is_apart = entry.name == "forward" or before.name == "forward" or (is_constructor(entry) != is_constructor(before))
            if entry.kind == before.kind and not is_apart and not any(not line.strip() or line.lstrip().startswith("//") for line in between):
                groups[-1].append(entry)
                continue
        # Overloads further down in the header, as definitions of templates are.
        same = next((g for g in groups if entry.kind == "function" and not entry.text and any(e.name == entry.name and e.kind == "function" for e in g)), None)
        if same and entry.name != "operator()":
            same.append(entry)
            continue
        groups.append([entry])
    return groups


def words_of(kind):
    optional = re.fullmatch(r"(?:const )?std::optional<(.+)>&?", kind)
    if optional:
        inner = optional.group(1)
        return words_of(inner) or f"`{inner}`"
    return TYPES.get(kind)


def default_words(default):
    if default is None:
        return ""
    if default in ("{}", "Tensor()", "nullptr"):
        return "; may be left out"
    return f"; `{default}` unless given"


def arguments_of(group, text):
    lines, seen = [], set()
    for entry in group:
        for one in entry.arguments():
            if not one.name or one.name in seen:
                continue
            seen.add(one.name)
            words = words_of(one.type) or f"`{one.type}`"
            meaning = ARGUMENTS.get(one.name, "")
            told = f"{words}{default_words(one.default)}" + (f"; {meaning}" if meaning else "")
            if lines and lines[-1][1] == told:
                lines[-1][0].append(one.name)
            else:
                lines.append(([one.name], told))
    return ["- " + ", ".join(f"`{name}`" for name in names) + f": {told}" for names, told in lines]


def result_of(entry):
    kind = entry.result()
    if not kind or kind in ("void",) or entry.name == getattr(entry, "owner_name", None):
        return ""
    words = words_of(kind) if kind != "Tensor&" else "the tensor itself"
    return f"Result: {words or f'`{kind}`'}."


def escaped(text):
    return re.sub(r"(?<![`\w])<(?=[a-zA-Z/|])", "&lt;", text)


def paragraphs(entry):
    out = []
    for text in entry.text:
        out += [text if text.startswith("- ") else "\n".join(textwrap.wrap(escaped(text), 118, break_long_words=False, break_on_hyphens=False)), ""]
    return out


def code(*texts):
    return ["```cpp", *[line for text in texts for line in text.split("\n")], "```", ""]


def heading_of(group):
    names = list(dict.fromkeys(e.short() for e in group))
    if all("operator" in n for n in names):
        return "Operators" if len(names) > 1 or not names[0].isidentifier() else names[0]
    return ", ".join(names)


FORMS = {}


def forms_of(name):
    row = FORMS.get(name)
    if not row:
        return ""
    args = ", ".join(a.name for a in row.arguments[1:])
    shown = []
    if "m" in row.forms:
        shown.append(f"method: `{row.arguments[0].name}.{name}({args})`")
    if "i" in row.forms:
        shown.append(f"in place: `{row.arguments[0].name}.{name}_({args})`")
    text = "; ".join(shown)
    return text[:1].upper() + text[1:] + "." if text else ""


def function_entry(group):
    first = group[0]
    out = [f"### {heading_of(group)}", ""]
    out += code(*[e.signature() for e in group])
    for entry in group:
        out += paragraphs(entry)
    arguments = arguments_of(group, " ".join(first.text))
    if arguments:
        out += [*arguments, ""]
    tail = " ".join(t for t in (result_of(first), forms_of(first.name) if first.file.endswith("tensor/ops.h") else "") if t)
    if tail:
        out += [tail, ""]
    examples = examples_of(group)
    if examples:
        out += ["Example:", "", *code(*examples)]
    return out


def cell(text):
    return re.sub(r"(?<!\\)\|", r"\\|", escaped(" ".join(text.split())))


def value_entry(group):
    first = group[0]
    out = [f"### {heading_of(group)}", "", *code(*[e.signature() for e in group])]
    for entry in group:
        out += paragraphs(entry)
    values = [v for e in group if e.kind == "enum" for v in e.element.findall("enumvalue")]
    told = [(v.findtext("name"), " ".join(sum((markdown([v.find(t)])[0] for t in ("briefdescription", "detaileddescription")), []))) for v in values]
    if any(text for _, text in told):
        out += [f"- `{name}`" + (f": {escaped(text)}" if text else "") for name, text in told] + [""]
    for x in [x for e in group for x in e.examples]:
        out += ["Example:", "", *code(x)]
    return out


def class_entry(entry, lines, level="###"):
    out = [f"{level} {entry.short()}", "", *code(entry.signature()), *paragraphs(entry)]
    examples = examples_of([entry])
    if examples:
        out += ["Example:", "", *code(*examples)]
    if entry.qualified == "tenon::Tensor":
        out += ["Most [functions of tensors](functions.md) are methods, too, which are not repeated here.", ""]
    fields = [m for m in entry.members if m.kind == "variable"]
    functions = [m for m in entry.members if m.kind == "function"]
    others = [m for m in entry.members if m.kind in ("typedef", "enum")]
    classes = [m for m in entry.members if m.is_class]
    if fields:
        out += ["| field | type | default | what it is |", "| --- | --- | --- | --- |"]
        told = told_of(fields)
        for one in fields:
            value = flat("".join(one.element.find("initializer").itertext())) if one.element.find("initializer") is not None else ""
            value = spelled(value.lstrip("= "))
            shown = f"`{cell(value)}`" if value and value != "{}" else ""
            out.append(f"| `{one.name}` | `{cell(one.result())}` | {shown} | {cell(told[one.name])} |")
        out.append("")
    for one in others:
        out += code(one.signature()) + paragraphs(one)
    for group in families(functions, lines):
        for one in group:
            one.owner_name = entry.name
        out += code(*[e.signature() for e in group])
        if group[0].name == "forward" and not group[0].text:
            out += ["What it makes of its input; calling the module does the same between its hooks.", ""]
        for one in group:
            out += paragraphs(one)
        arguments = arguments_of(group, " ".join(group[0].text))
        if arguments:
            out += [*arguments, ""]
        examples = [x for e in group for x in e.examples]
        if examples:
            out += code(*examples)
    for one in classes:
        out += class_entry(one, lines, "####")
    return out


def config_keys():
    """What the pages of configs say of their keys: of a struct of C++ and a field."""
    told = {}
    sections = {"model": "ModelConfig", "data": "DataConfig", "tokenizer": "TokenizerConfig", "training": "TrainingConfig",
                "optimizer": "OptimizerConfig", "schedule": "ScheduleConfig", "checkpoint": "CheckpointConfig", "sample": "SampleConfig",
                "device": "DeviceConfig"}
    for line in (ROOT / "docs/config.md").read_text(encoding="utf-8").split("\n"):
        row = re.match(r"\| `(?:(\w+)\.)?(\w+)` \| .* \| ([^|]+) \|$", line)
        if row:
            told[f"tenon::train::{sections.get(row.group(1), 'Config')}::{row.group(2)}"] = row.group(3)
    for line in (ROOT / "docs/2048.md").read_text(encoding="utf-8").split("\n"):
        row = re.match(r"\| `(?:device\.)?(\w+)` \| `.*?` \| [\w, ]+ \| (.+) \|$", line)
        if row:
            told[f"tenon::rl::DqnConfig::{'device' if 'device.name' in line else row.group(1)}"] = row.group(2) + "."
    return told


KEYS = {}
FIELDS = {}  # of each header, what fields of a name are, as the latest struct has it


def told_of(fields):
    """What the comments say of fields: those of one line share one."""
    if not KEYS:
        KEYS.update(config_keys())
    told = {one.name: " ".join(one.text) for one in fields}
    for one in fields:
        before = FIELDS.setdefault(one.file, {})
        if not told[one.name]:
            told[one.name] = next((" ".join(f.text) for f in fields if f.line == one.line and f.text), "")
        told[one.name] = KEYS.get(one.qualified, "") or told[one.name] or before.get(one.name, "")
        if told[one.name]:
            before[one.name] = told[one.name]
    return told


def opening_of(path):
    """The comment that opens a header: (paragraphs, code)."""
    parts, examples, now = [], [], []
    for line in (ROOT / path).read_text(encoding="utf-8").split("\n"):
        if not line.startswith("//"):
            break
        text = line[2:].removeprefix(" ")
        if text.startswith("  "):
            now.append(text[2:])
            continue
        if now and not text:
            now.append("")
            continue
        if now:
            parts.append(("code", "\n".join(now).strip("\n")))
            now = []
        if not text:
            parts.append(("text", ""))
        elif parts and parts[-1][0] == "text" and parts[-1][1]:
            parts[-1] = ("text", parts[-1][1] + " " + text)
        else:
            parts.append(("text", text))
    if now:
        parts.append(("code", "\n".join(now).strip("\n")))
    out = []
    for kind, text in parts:
        if kind == "code":
            language = "cpp" if re.search(r"[;{}]", text) else "text"
            out += [f"```{language}", *text.split("\n"), "```", ""]
        elif text and not text.startswith("Written by"):
            out += ["\n".join(textwrap.wrap(escaped(text), 118, break_long_words=False, break_on_hyphens=False)), ""]
    return out


def mentions(path, name):
    """The lines of the opening comment's code that use a class or function."""
    lines = opening_of(path)
    found, inside = [], False
    for line in lines:
        if line.startswith("```"):
            inside = line == "```cpp"
        elif inside and re.search(rf"\b{re.escape(name)}\b(?:[ ({{<]|::)", line):
            found.append(line)
    if not found:
        return []
    blanks = min(len(x) - len(x.lstrip()) for x in found)
    return ["\n".join(x[blanks:] for x in found)]


def examples_of(group):
    own = [x for e in group for x in e.examples]
    return own or [x for name in dict.fromkeys(e.name for e in group) for x in mentions(group[0].file, name)]


def sections_of(lines):
    return [(i + 1, m.group(1)) for i, line in enumerate(lines) if (m := re.match(r" *// ---- (.+?)(?: -*)?$", line)) and "templates" not in m.group(1)
            and "methods of functions.def" not in m.group(1)]


def is_method_of_table(entry, lines):
    begin = next((i for i, line in enumerate(lines) if "begin of the methods of functions.def" in line), None)
    if begin is None:
        return False
    end = next(i for i, line in enumerate(lines) if "end of the methods of functions.def" in line)
    return begin < entry.line <= end + 1


def page_of(area, by_file, names):
    file, title, about, headers = area
    out = [f"# {title}", "", about, ""]
    for header in headers:
        path = f"tenon/{header}"
        lines = header_of(ROOT / path).split("\n")
        entries = [e for e in by_file.get(path, []) if not hidden(e.qualified)]
        for entry in entries:
            if entry.qualified == "tenon::Tensor":
                entry.members = [m for m in entry.members if not is_method_of_table(m, lines)]
        sections = sections_of(lines)
        out += [f"## {header}", "", *opening_of(path)]
        groups = []
        for is_class_run in [False]:
            groups = families(entries, lines)
        for group in groups:
            first = group[0]
            while sections and sections[0][0] < first.line:
                if len(sections) < 2 or sections[1][0] > first.line:
                    out += [f"## {sections[0][1][0].upper() + sections[0][1][1:]}", ""]
                sections.pop(0)
            out += class_entry(first, lines) if first.is_class else function_entry(group) if first.kind == "function" else value_entry(group)
            for entry in group:
                names.append((entry.short(), file, heading_of(group)))
        if not groups:
            names.append((None, file, header))
    return "\n".join(out).rstrip("\n") + "\n"


def slug(heading):
    heading = re.sub(r"[`*]", "", heading.strip()).lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def index_page(names):
    out = ["# Reference", "", "Every public class, function and option, by subject; [all names](names.md) in one list. The pages are made of the",
           "comments of the headers, all of which `#include <tenon/tenon.h>` includes. Everything is in the namespace `tenon`, which is",
           "left out here: `nn::Linear` is `tenon::nn::Linear`. Examples are run by the tests, those that read files of",
           "their own are compiled; what they use without making it is one of these:", "", "```cpp", *GIVEN.values(), "```", "", "| page | what it holds |", "| --- | --- |"]
    out += [f"| [{title}]({file}.md) | {about} |" for file, title, about, _ in AREAS]
    return "\n".join([*out, "", "[All names](names.md)", ""])


def names_page(names):
    out = ["# All names", ""]
    last = None
    for name, file, heading in sorted({n for n in names if n[0] and "operator" not in n[0]}, key=lambda n: (n[0].rsplit("::", 1)[-1].lower(), n[0])):
        letter = name.rsplit("::", 1)[-1][0].upper()
        if letter != last:
            out += ["", f"## {letter}", ""]
            last = letter
        out.append(f"- [{name}]({file}.md#{slug(heading)})")
    return "\n".join(out).replace("\n\n\n", "\n\n") + "\n"


# ---- whether pages are those of the headers ----

def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sources_of(headers):
    return digest("".join(re.sub(r"\s+", " ", header_of(ROOT / "tenon" / h)) for h in headers))


def stamped(text, headers):
    title, rest = text.split("\n", 1)
    return f"{title}\n<!-- Written by scripts/make_reference.py; do not edit. Headers {sources_of(headers)}, page {digest(text)}. -->\n{rest}"


def page_headers():
    pages = {f"{file}.md": headers for file, _, _, headers in AREAS}
    every = [h for headers in pages.values() for h in headers]
    return {"README.md": [], "names.md": every, **pages}


def check():
    wrong = []
    shown = [h for area in AREAS for h in area[3]]
    for header in INCLUDED:
        if shown.count(header) + (header in INTERNAL) != 1:
            wrong.append(f"tenon/{header} is to be on one page of scripts/make_reference.py, or among INTERNAL")
    expected = page_headers()
    for name, headers in expected.items():
        path = PAGES / name
        if not path.exists():
            wrong.append(f"docs/reference/{name} is missing; run scripts/make_reference.py")
            continue
        text = path.read_text(encoding="utf-8")
        stamp = re.search(r"\n<!-- Written by scripts/make_reference.py; do not edit\. Headers (\w+), page (\w+)\. -->\n", text)
        if not stamp or digest(text.replace(stamp.group(0), "\n", 1)) != stamp.group(2):
            wrong.append(f"docs/reference/{name} was edited; run scripts/make_reference.py")
        elif stamp.group(1) != sources_of(headers):
            wrong.append(f"docs/reference/{name} is not what the headers say; run scripts/make_reference.py (needs doxygen)")
    for path in PAGES.glob("*.md"):
        if path.name not in expected:
            wrong.append(f"docs/reference/{path.name} belongs to no area of scripts/make_reference.py")
    for line in wrong:
        print(line)
    print(f"{len(expected)} pages, {len(wrong)} wrong")
    return 1 if wrong else 0


# ---- gaps ----

def gaps(by_file):
    found = []
    for _, _, _, headers in AREAS:
        for header in headers:
            path = f"tenon/{header}"
            lines = header_of(ROOT / path).split("\n")
            for group in families(by_file.get(path, []), lines):
                first = group[0]
                label = f"{path}:{first.short()}"
                if not first.text:
                    found.append(f"{label}: no comment")
                if first.is_class or first.kind == "function":
                    is_options = first.is_class and not any(m.kind == "function" for m in first.members)
                    if not is_options and not examples_of(group):
                        found.append(f"{label}: no example")
                if not first.is_class:
                    continue
                told = told_of([m for m in first.members if m.kind == "variable"])
                found += [f"{label}::{name}: no comment" for name, text in told.items() if not text]
                for members in families([m for m in first.members if m.kind == "function" and not is_method_of_table(m, lines)], lines):
                    one = members[0]
                    if not one.text and one.name != first.name and one.name != "forward":
                        found.append(f"{label}::{one.name}: no comment")
    return found


# ---- the program of the examples ----

# What examples use without making it.
GIVEN = {
    "x": "Tensor x = randn({2, 3});",
    "images": "Tensor images = rand({2, 3, 8, 8});",
    "net": "nn::Linear net(3, 2);",
    "optimizer": "optim::SGD optimizer(net.parameters(), {.lr = 0.1});",
    "dataset": "data::TensorDataset dataset({arange(10), arange(10)});",
    "random": "rl::Random random(1);",
    "board": "rl::Board board = rl::first_board(random);",
}
# An example that names a file it has not written is compiled, not run.
READS = re.compile(r'"[\w./-]*(?:/|\.(?:bin|json|txt|csv|png|jpg|tokens|pt|pth|npy|npz|safetensors|xml\.bz2))[\w./-]*"')
# What Tensor, Dims, bool and numbers look like where examples print them.
PRELUDE = r"""// Made of the comments of the public headers by scripts/make_reference.py.
#include <fmt/format.h>
#include <unistd.h>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include "tenon/tenon.h"
using namespace tenon;
static int wrong = 0, compared = 0;
template <typename T>
std::string shown(const T& value) {
  std::ostringstream out;
  out << std::boolalpha << value;
  return out.str();
}
static std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found(1);
  for (char c : text) {
    if (std::strchr("[](), \n", c)) {
      if (!found.back().empty()) found.emplace_back();
      if (c != ' ' && c != '\n') { found.back() = c; found.emplace_back(); }
    } else {
      found.back() += c;
    }
  }
  if (found.back().empty()) found.pop_back();
  return found;
}
template <typename T>
void same(const char* place, const T& value, const std::string& expected) {
  const std::vector<std::string> one = words(shown(value)), other = words(expected);
  bool equal = one.size() == other.size();
  for (size_t i = 0; equal && i < one.size(); ++i) {
    char *end_one, *end_other;
    const double a = std::strtod(one[i].c_str(), &end_one), b = std::strtod(other[i].c_str(), &end_other);
    equal = one[i] == other[i] || (!*end_one && !*end_other && std::abs(a - b) <= 1e-3 * std::abs(b) + 1e-6);
  }
  ++compared;
  if (equal) return;
  ++wrong;
  std::cout << place << ": gives " << shown(value) << ", not " << expected << "\n";
}
"""


def comment_examples(path):
    """(line, code) of every example in the comments of a header, but for its opening one."""
    found, now, start = [], [], 0
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    for i, line in enumerate([*lines, ""], 1):
        code_line = re.match(r" *///   (.*)$", line)
        if code_line:
            if not now:
                start = i
            now.append(code_line.group(1))
        elif now:
            found.append((start, now))
            now = []
    return found


def needed(text, made=()):
    """The lines of GIVEN that a text needs."""
    lines = []
    for name, line in GIVEN.items():
        declared_here = re.search(rf"(?:[\w>&\]] |[&,\[]){name}(?: =|\(|;|\{{|\]|,|\))", text)
        if re.search(rf"(?<![\w.:\"]){name}\b(?!\")", text) and not declared_here and name not in made:
            lines += [x for x in needed(line.split("(", 1)[-1], [*made, name]) if x not in lines] + [line]
    return lines


def example_program():
    out, calls, number = [PRELUDE], [], 0
    for _, _, _, headers in AREAS:
        for header in headers:
            path = f"tenon/{header}"
            for start, lines in comment_examples(path):
                number += 1
                text = "\n".join(lines)
                body = []
                for i, line in enumerate(lines):
                    said = re.match(r"(\s*)(.*);  // ((?:\[|-?\d|\(\d|\(\)$|\?$|\w+$|seed ).*)$", line)
                    place = f"{path}:{start + i}"
                    if not said or line.lstrip().startswith("//"):
                        body.append(line)
                        continue
                    made = re.match(r"(?:const )?(?:auto|[\w:<>]+)&? (\w+)(?: = |\(|\{)", said.group(2))
                    if made and not said.group(2).startswith("return"):
                        body.append(f"{said.group(2)}; same({json.dumps(place)}, {made.group(1)}, {json.dumps(said.group(3))});")
                    else:
                        body.append(f"same({json.dumps(place)}, {said.group(2)}, {json.dumps(said.group(3))});")
                types = [x for x in body if re.match(r"(template|struct|class) ", x)]
                given = needed(text)
                head = f"namespace example_{number} {{\n"
                if types:  # a class, to its closing brace, stands outside of the function
                    end = next(i for i, x in enumerate(body) if x.rstrip() == "};") + 1
                    head += f'#line {start} "{path}"\n' + "\n".join(body[:end]) + "\n"
                    body = body[end:]
                out.append(head + "[[maybe_unused]] static void run() {\n" + "\n".join(given) + f'\n#line {start} "{path}"\n' + "\n".join(body) + "\n}\n}\n")
                if all(re.search(r'(?:save\w*|Writer \w+|open)\(' + re.escape(name), text) for name in READS.findall(text)):
                    calls.append((number, f"{path}:{start}"))
    out.append("int main() {\n  const auto folder = std::filesystem::temp_directory_path() / fmt::format(\"tenon_examples_{}\", getpid());\n"
               "  std::filesystem::create_directories(folder);\n  std::filesystem::current_path(folder);\n"
               "  static const struct { void (*run)(); const char* place; } examples[] = {")
    out += [f'    {{example_{number}::run, "{place}"}},' for number, place in calls]
    out.append("""  };
  for (const auto& one : examples) {
    try {
      one.run();
    } catch (const std::exception& error) {
      ++wrong;
      std::cout << one.place << ": " << error.what() << "\\n";
    }
  }
  std::filesystem::current_path("/");
  std::filesystem::remove_all(folder);
  std::cout << std::size(examples) << " examples run, " << compared << " results compared, " << wrong << " wrong\\n";
  return wrong ? 1 : 0;
}
""".replace("\\\\n", "\\n"))
    return "\n".join(out)


def main():
    argument = sys.argv[1] if len(sys.argv) > 1 else ""
    if argument == "--headers":
        print("\n".join(f"tenon/{h}" for area in AREAS for h in area[3]))
        return 0
    if argument == "--hidden":
        print("\n".join(HIDDEN))
        return 0
    if argument == "--check":
        return check()
    if argument == "examples":
        file, text = Path(sys.argv[2]), example_program()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
        return 0
    by_file = parse()
    missing = gaps(by_file)
    if argument == "--gaps":
        print("\n".join(missing))
        print(len(missing), "gaps")
        return 1 if missing else 0
    FORMS.update({row.name: row for row in make_functions.read_table()})
    names, pages = [], {}
    for area in AREAS:
        pages[f"{area[0]}.md"] = page_of(area, by_file, names)
    pages["README.md"], pages["names.md"] = index_page(names), names_page(names)
    PAGES.mkdir(exist_ok=True)
    headers = page_headers()
    for name, text in pages.items():
        text = stamped(text, headers[name])
        if not (PAGES / name).exists() or (PAGES / name).read_text(encoding="utf-8") != text:
            (PAGES / name).write_text(text, encoding="utf-8")
            print(f"wrote docs/reference/{name}")
    for path in PAGES.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for line in missing:
        print(line)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
