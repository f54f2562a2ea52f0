#!/usr/bin/env python3
"""What Doxygen reads in the place of a page or header of ours: doxygen_filter.py FILE

Pages: headings get names that are unique in the whole site, links to headings of pages become links to these, and links
to files that are no pages of the site become text. Headers: the comment that opens a file, and that Doxygen would pass
over, becomes its description; programs in comments become code; what is private is left out.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_links import ROOT, slug


# What public headers declare for the library itself.
HIDDEN = """
tenon::detail tenon::literal tenon::TensorImpl tenon::IndexEntry tenon::Generator::State tenon::Scalar::State
tenon::base::Scope tenon::base::scope_path tenon::base::Pass tenon::base::pass_name tenon::base::Label tenon::base::label tenon::base::path_of
tenon::base::pass_of tenon::base::describe_label tenon::base::LabelScope tenon::base::PassScope tenon::base::throw_error tenon::base::fail tenon::base::fail_range
tenon::base::fail_zero_division tenon::base::f16_to_double tenon::base::double_to_f16 tenon::base::bf16_to_double
tenon::base::double_to_bf16 tenon::base::check_interrupt tenon::base::InterruptClock tenon::device::fail_out_of_memory
tenon::StorageOf tenon::dispatch tenon::ir::checked_count tenon::ir::require_shape tenon::ir::iota_dims
tenon::ir::inverse_permutation tenon::ir::channels_to_last tenon::ir::channels_to_second tenon::ir::row_major_strides
tenon::ir::count tenon::ir::DeviceId fmt::formatter fmt tenon::io::MappedFile tenon::io::OpenFolder tenon::text::JsonView
tenon::is_autocast tenon::autocast tenon::autocast_values tenon::with_history_of tenon::autocast_wide tenon::autocast_product
tenon::keep_shadow tenon::write_with_shadow tenon::shadow_of tenon::release_dlpack
tenon::nn::CallScope tenon::nn::CallObserver tenon::nn::collect_tensors tenon::nn::called tenon::nn::summary_of_call
tenon::nn::Module::call_hooks tenon::nn::Module::has_hooks tenon::nn::ModuleList::Iterator tenon::nn::batch_norm_counted
tenon::nn::PlainLoss tenon::nn::LossWithNumber tenon::nn::PairLoss tenon::nn::WeightedLoss tenon::nn::AttentionWeights
tenon::nn::attend tenon::nn::attention_weights tenon::nn::recurrent tenon::nn::RecurrentCell tenon::nn::Recurrent::Cell tenon::nn::Recurrent::Weights
tenon::optim::Restart tenon::optim::restart_at tenon::optim::next_restart tenon::optim::Annealing tenon::optim::between
tenon::optim::Phase tenon::optim::along tenon::optim::Cycle tenon::optim::cycle_at tenon::optim::height_of tenon::optim::Observed
tenon::optim::observe tenon::optim::lowered tenon::optim::GradScaler::inverse
tenon::data::CsvColumn tenon::data::parse_csv tenon::data::open_documents tenon::data::shown_text tenon::data::parse_token_file
tenon::data::DataLoader::Iterator tenon::data::kTokenFileHeaderBytes tenon::data::kMostVocabulary tenon::data::tokens_before_validation
tenon::text::BertWords tenon::text::SpecialTokens tenon::text::parse_bpe_files tenon::text::parse_hugging_face_bpe
tenon::text::hugging_face_json tenon::text::parse_hugging_face_wordpiece tenon::text::special_named tenon::text::first_token
tenon::text::last_token tenon::text::parse_vocabulary_lines
tenon::io::require_unchanged_model tenon::io::save_with_config tenon::io::StoredTensors tenon::io::stored tenon::io::save_torch_pickle
tenon::io::torch_pickle_file tenon::io::Llama2cWeight tenon::io::Llama2cContent tenon::io::parse_llama2c tenon::io::for_each_part
tenon::io::is_computed tenon::io::parse_llama2c_tokenizer
tenon::models::BertEmbeddings tenon::models::BertSelfAttention tenon::models::BertOutput tenon::models::BertAttention
tenon::models::BertDense tenon::models::BertLayer tenon::models::BertEncoder tenon::models::BertPooler tenon::models::BertModel
tenon::models::BertPredictions tenon::models::BertMaskedHead tenon::models::Conv1D tenon::models::Gpt2Attention tenon::models::Gpt2Mlp
tenon::models::Gpt2Block tenon::models::Gpt2Transformer tenon::models::LlamaAttention tenon::models::LlamaMlp tenon::models::LlamaBlock
tenon::models::LlamaTransformer tenon::models::padded_rows tenon::models::completed tenon::models::as_wordpiece
tenon::models::TextStream tenon::models::require_merged
tenon::rl::refuse_cell tenon::rl::checked tenon::rl::changed_keys tenon::rl::is_dqn_key tenon::rl::dqn_config_markdown
tenon::train::default_device_name tenon::train::take_model tenon::train::config_markdown tenon::train::tell_of_checkpoint
tenon::train::PipesMayClose tenon::train::sources_of_run tenon::train::run_owning
tenon::train::RunFolder::abandon tenon::train::RunFolder::abandon_at_exit
tenon::watch::parse_metrics tenon::watch::metrics_line tenon::watch::remove_samples_after tenon::watch::write_sample
tenon::watch::with_separators tenon::watch::duration_text tenon::watch::config_table
""".split()


def name_of(page):
    """README.md of the guide is page guide."""
    path = page.relative_to(ROOT).with_suffix("").as_posix()
    return re.sub(r"\W", "_", path)


def page_of(path):
    text = path.read_text(encoding="utf-8")
    out, in_code, seen = [], False, set()
    for line in text.split("\n"):
        if line.startswith("```"):
            in_code = not in_code
            if in_code and line in ("```text", "```sh", "```json", "```cmake"):
                line = "```"
        elif not in_code:
            line = line.replace("<!-- tested -->", "")
            heading = re.match(r"(#+) +(.*)$", line)
            if heading:
                name = name_of(path) + ("" if len(heading.group(1)) == 1 else "__" + slug(heading.group(2)))
                # The first page is Doxygen's own, and its heading the title.
                is_title = path.name == "README.md" and path.parent == ROOT
                if name not in seen and not is_title:
                    line = f"{heading.group(1)} {heading.group(2).replace('`', '')} {{#{name}}}"
                elif is_title and len(heading.group(1)) > 1:
                    line = f"{heading.group(1)} {heading.group(2).replace('`', '')} {{#{name}}}"
                seen.add(name)
            else:
                line = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", lambda m: link(path, m.group(1), m.group(2)), line)
        out.append(line)
    return "\n".join(out)


def link(path, text, target):
    if re.match(r"[a-z]+:", target):
        return f"[{text}]({target})"
    file, _, anchor = target.partition("#")
    page = (path.parent / file).resolve() if file else path
    if page.suffix != ".md":
        return text
    name = name_of(page) + ("__" + anchor if anchor else "")
    # Tables of contents own the pages they name: those stand below them in the tree at the left.
    is_contents = path.name == "README.md" and path.parent != ROOT and not anchor
    return f'@subpage {name} "{text}"' if is_contents else f"[{text}](@ref {name})"


def header_of(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    out, i = ["/// @file"], 0
    while i < len(lines) and lines[i].startswith("//") and not lines[i].startswith("///"):
        out.append("///" + lines[i][2:])
        i += 1
    opening = out[1:]
    out += with_notes(without_hidden(without_private(lines[i:])))
    # "Tensor: the value type users hold." describes the class of that name, too.
    named = re.match(r"/// (\w+): ", opening[0]) if opening else None
    if named:
        for at, line in enumerate(out):
            if re.match(rf"class {named.group(1)}\b[^;]*$", line) and not out[at - 1].startswith("///"):
                out[at:at] = ["/// " + re.sub(r"^/// \w+: (.)", lambda m: m.group(1).upper(), opening[0])] + opening[1:]
                break
    shown, in_code = [], False
    for line in out:
        comment = re.match(r"( *///)(   ?)(\S.*)$", line)
        if comment:
            if not in_code:
                shown += [comment.group(1), comment.group(1) + " ```cpp"]
            in_code = True
            shown.append(f"{comment.group(1)} {comment.group(3)}" if comment.group(2) == "   " else line)
        else:
            if in_code and not (re.match(r" *///\s{4,}\S", line)):
                indent = re.match(r" *", shown[-1]).group(0)
                shown.append(f"{indent}/// ```")
                in_code = False
            before, mark, text = line.partition("///")
            shown.append(before + mark + escaped(text))
    return "\n".join(shown)


def with_notes(lines):
    """Comments behind fields and values of enums describe these; those for linters describe nothing."""
    out, owners = [], []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and not line.lstrip().startswith("//"):
            while owners and owners[-1][0] >= indent:
                owners.pop()
        if not line.lstrip().startswith("//"):
            line = re.sub(r" *// NOLINT.*$", "", line)
            note = re.match(r"(.*[;,}\w])( +)// (?!namespace|clang-format)(.*)$", line)
            if note and owners and owners[-1][1]:
                line = f"{note.group(1)}{note.group(2)}///< {note.group(3)}"
        out.append(line)
        if line.rstrip().endswith("{") or re.search(r"\{ +///", line):
            owners.append((indent, re.match(r" *((class|struct|enum|union|namespace)\b|: public)", line) is not None))
    return out


def without_private(lines):
    """Classes without their private parts, told by the indentation that clang-format gives."""
    kept, end = [], None
    for line in lines:
        if end is None and re.match(r" *private:$", line):
            end = " " * (len(line) - len(line.lstrip()) - 1)
            continue
        if end is not None and re.match(rf"{end}(\}};| (public|protected):)", line):
            end = None
        if end is None:
            kept.append(line)
    return kept


def without_hidden(lines):
    """Functions and classes that are hidden, with their comments; Doxygen would list the classes by name."""
    namespaces = [m.group(1) for line in lines if (m := re.match(r"namespace ([\w:]+) \{", line))]
    spaces = {*namespaces, *(f"{a}::{b}" for a in namespaces for b in namespaces)}
    functions, members = set(), set()
    for name in HIDDEN:
        scope, _, own = name.rpartition("::")
        if scope in spaces:
            functions.add(own)
        elif scope.rpartition("::")[0] in spaces:
            members.add((scope.rpartition("::")[2], own))
    kept, owner, skips = [], "", None
    for line in lines:
        if skips is not None:
            if line.startswith(skips + "}") or (line.rstrip().endswith(";") and not in_body):
                skips = None
            elif line.rstrip().endswith("{"):
                in_body = True
            continue
        if found := re.match(r"(?:class|struct) (\w+)\b[^;]*$", line):
            owner = found.group(1)
            if owner in functions:
                while kept and re.match(r" *(///|template|requires)", kept[-1]):
                    kept.pop()
                if not line.rstrip().endswith("}"):
                    skips, in_body = "", True
                continue
        found = re.match(r"(  )?(?! |//|#|return|using|typedef)[^()]*?\b(\w+)\(", line.replace("decltype(auto)", "auto"))
        if found and not found.group(2)[0].isupper() and (
                (owner, found.group(2)) in members if found.group(1) else found.group(2) in functions):
            while kept and re.match(r" *(///|template|requires)", kept[-1]):
                kept.pop()
            in_body = line.rstrip().endswith("{")
            if not (line.rstrip().endswith(";") or line.rstrip().endswith("}")):
                skips = found.group(1) or ""
            continue
        kept.append(line)
    return kept


def escaped(line):
    """<unk> in a comment is text, no tag."""
    return "`".join(part if i % 2 else re.sub(r"<(/?[\w|]+)>", r"&lt;\1&gt;", part) for i, part in enumerate(line.split("`")))


if __name__ == "__main__":
    file = Path(sys.argv[1]).resolve()
    sys.stdout.write(page_of(file) if file.suffix == ".md" else header_of(file))
