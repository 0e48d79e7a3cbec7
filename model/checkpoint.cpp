// Opening a checkpoint, in the order in which things can be wrong: the folder, config.json, which
// files hold the weights, each file by itself (safetensors.cpp), the tensors against the
// architecture's list, then the values. Every finding about tensors is collected first, so that one
// error shows all of them.
#include "model/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "model/architectures/architecture.h"
#include "model/checkpoint_json.h"
#include "model/finite_scan.h"
#include "model/safetensors.h"
#include "model/tensor_names.h"

namespace octlm::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kBasePrefix = "model.";
constexpr std::size_t kMaxIndexBytes = 100'000'000;
constexpr std::size_t kAlignment = 64;  // of copies: a cache line, and the widest vector

struct AlignedFree {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kAlignment});
  }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedFree>;

AlignedBytes aligned_copy(const std::byte* data, std::size_t bytes) {
  AlignedBytes copy(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kAlignment})));
  std::memcpy(copy.get(), data, bytes);
  return copy;
}

// What went wrong with tensors, one line each.
using Problems = std::vector<std::string>;

// tensor name -> file that should hold it, from an index.
using WeightMap = std::map<std::string, std::string>;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  if (error) refuse(folder.string(), "cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// The first file of another weights format in the folder, or "".
std::string foreign_weights(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (ends_with_any(name, {".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz", ".h5", ".msgpack"})) {
      return name;
    }
  }
  return "";
}

std::string no_weights(const std::vector<std::string>& names) {
  const std::string foreign = foreign_weights(names);
  const std::string found = foreign.empty() ? "" : "; found " + in_quotes(foreign) + ", which ";
  if (foreign.empty()) {
    return "no weights: neither model.safetensors nor model.safetensors.index.json; fetch the "
           "checkpoint again";
  }
  if (foreign.ends_with(".gguf")) {
    return "no safetensors weights" + found +
           "octlm does not read; fetch the original checkpoint, or save it with Transformers' "
           "save_pretrained (from_pretrained takes gguf_file=)";
  }
  return "no safetensors weights" + found +
         "may be a pickle and is never opened; load it with Transformers where you trust it and "
         "save_pretrained(safe_serialization=True)";
}

void check_folder(const fs::path& folder, const std::vector<std::string>& names) {
  const auto has = [&](const char* name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  if (names.empty()) refuse(folder.string(), "the folder is empty; fetch the checkpoint into it");
  if (!has("config.json")) {
    const bool weights = has(kSingleFile) || has(kIndexFile);
    refuse(folder.string(), weights || foreign_weights(names).empty()
                                ? "no config.json in it, so this is not a checkpoint; give the "
                                  "folder that holds config.json and model.safetensors"
                                : "no config.json; " + no_weights(names));
  }
}

// A shard is a plain name of a file in the folder; where the file itself is a link,
// check_shards_stay says whereto it may lead.
void check_shard_name(const std::string& name, const std::string& where) {
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of("/\\") == std::string::npos &&
                     std::none_of(name.begin(), name.end(),
                                  [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!plain) {
    refuse(where, "shard name " + in_quotes(name) +
                      " is not a plain file name; shards lie in the checkpoint's folder");
  }
  if (!name.ends_with(".safetensors")) {
    refuse(where,
           "shard " + in_quotes(name) + " is not a safetensors file; nothing else is opened");
  }
}

WeightMap read_index(const fs::path& path) {
  const std::string where = path.string();
  const Json index = parse_checkpoint_json(formats::read_file(path, kMaxIndexBytes), where);
  if (!index.is_object()) refuse(where, "expected a JSON object, found " + as_found(index));
  for (const auto& [key, value] : index.items()) {
    if (key != "metadata" && key != "weight_map") refuse(where, "unknown field " + in_quotes(key));
  }
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object() || map->empty()) {
    refuse(where, "field 'weight_map': found " + (map == index.end() ? "nothing" : as_found(*map)) +
                      ", expected a non-empty map from tensor to file");
  }
  WeightMap weight_map;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      refuse(where, "field 'weight_map." + in_quotes(tensor) + "': found " + as_found(file) +
                        ", expected a file name");
    }
    check_shard_name(file.get<std::string>(), where);
    weight_map.emplace(tensor, file.get<std::string>());
  }
  return weight_map;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  const fs::path inside = file.lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

// A link may lead to another file of the folder, or to the blobs of Hugging Face's cache when the
// folder is one of its snapshots (huggingface/transformers#47176); an index must not make us read any other place.
void check_shards_stay(const fs::path& folder, const std::set<std::string>& shards) {
  const fs::path whole = fs::canonical(folder);
  const bool snapshot = whole.parent_path().filename() == "snapshots";
  const fs::path blobs = whole.parent_path().parent_path() / "blobs";
  for (const std::string& shard : shards) {
    const fs::path file = fs::canonical(folder / shard);
    if (is_below(file, whole) || (snapshot && is_below(file, blobs))) continue;
    refuse((folder / kIndexFile).string(),
           "shard " + in_quotes(shard) + " is a link that leaves the checkpoint's folder, to " +
               file.string() + "; put the file itself there");
  }
}

void check_shards_exist(const fs::path& folder, const std::set<std::string>& shards) {
  std::string missing;
  for (const std::string& shard : shards) {
    std::error_code ignored;
    if (!fs::exists(folder / shard, ignored)) missing += "\n  missing file: " + shard;
  }
  if (!missing.empty()) {
    refuse((folder / kIndexFile).string(),
           "names files that are not there; fetch the checkpoint again" + missing);
  }
  check_shards_stay(folder, shards);
}

// The cause first, where one explains the findings.
std::string first_line(const fs::path& folder, const std::string& cause, std::size_t problems) {
  return folder.string() + ": the tensors are not those of its config.json" +
         (cause.empty() ? "" : ": " + cause) + " (" + std::to_string(problems) +
         (problems == 1 ? " problem" : " problems") +
         "); fetch the checkpoint again, or check config.json";
}

}  // namespace

struct Checkpoint::Impl {
  fs::path folder;
  Config config;
  std::vector<SafetensorsFile> shards;
  std::vector<fs::path> files;
  std::vector<StoredTensor> stored;
  // The architecture's name -> index into stored. Differs from the stored name where that is a base
  // model's.
  std::map<std::string, std::size_t, std::less<>> index_of;
  bool base_names = false;
  std::vector<std::string> ignored;
  std::string cause;  // of the findings about names, "" when none is known
  std::vector<AlignedBytes> copies;
  std::vector<std::string> notes;
  std::int64_t stored_elements = 0;
  std::int64_t unique_parameters = 0;

  std::optional<WeightMap> choose_files(const std::vector<std::string>& names);
  void store(const SafetensorsFile& shard);
  void account(const std::optional<WeightMap>& weight_map);
  void check_against_index(const WeightMap& weight_map, Problems& problems) const;
  void check_against_architecture(Problems& problems);
  std::vector<std::string> parameter_names() const;
  void align();
  void check_stored_head() const;
  void check_finite() const;
  void note_tensors();
  void note_ignored(const std::vector<std::string>& names);
};

// Fills `files`; returns the index's map when there is an index. An index wins over a
// model.safetensors beside it, which is then noted: Transformers 4.57 would take that one
// (Blaizzy/mlx-vlm#1464).
std::optional<WeightMap> Checkpoint::Impl::choose_files(const std::vector<std::string>& names) {
  std::optional<WeightMap> weight_map;
  if (std::binary_search(names.begin(), names.end(), kIndexFile)) {
    weight_map = read_index(folder / kIndexFile);
    std::set<std::string> distinct;
    for (const auto& [tensor, file] : *weight_map) distinct.insert(file);
    check_shards_exist(folder, distinct);
    for (const std::string& shard : distinct) files.push_back(folder / shard);
  } else if (std::binary_search(names.begin(), names.end(), kSingleFile)) {
    files.push_back(folder / kSingleFile);
  } else {
    refuse(folder.string(), no_weights(names));
  }
  return weight_map;
}

void Checkpoint::Impl::store(const SafetensorsFile& shard) {
  for (const SafetensorsEntry& entry : shard.entries()) {
    stored.push_back({entry.name,
                      {shard.data(entry), entry.dtype, entry.shape},
                      shard.path().filename().string()});
    stored_elements += entry.shape.elements();
  }
}

// The format promises no alignment (safetensors/safetensors#231).
void Checkpoint::Impl::align() {
  for (StoredTensor& tensor : stored) {
    ConstTensorView& view = tensor.view;
    if (reinterpret_cast<std::uintptr_t>(view.data) % dtype_bytes(view.dtype) == 0) continue;
    copies.push_back(aligned_copy(static_cast<const std::byte*>(view.data), view.bytes()));
    view.data = copies.back().get();
  }
  if (!copies.empty()) {
    notes.push_back(std::to_string(copies.size()) +
                    " tensors are not aligned for their dtype in the file and were copied");
  }
}

void Checkpoint::Impl::check_against_index(const WeightMap& weight_map, Problems& problems) const {
  std::set<std::pair<std::string, std::string>> in_files;
  for (const StoredTensor& tensor : stored) {
    in_files.emplace(tensor.name, tensor.file);
    const auto listed = weight_map.find(tensor.name);
    if (listed == weight_map.end()) {
      problems.push_back("not in the index: " + in_quotes(tensor.name) + ", stored in " +
                         tensor.file);
    }
  }
  for (const auto& [name, file] : weight_map) {
    if (!in_files.contains({name, file})) {
      problems.push_back("not where the index says: " + in_quotes(name) + " is not in " + file);
    }
  }
}

// As stored, the ignored ones left out.
std::vector<std::string> Checkpoint::Impl::parameter_names() const {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : stored) {
    if (!is_stored_buffer(tensor.name, tensor.view.shape)) names.push_back(tensor.name);
  }
  return names;
}

void Checkpoint::Impl::check_against_architecture(Problems& problems) {
  WantedTensors wanted;
  for (ExpectedTensor& tensor : expected_tensors(config)) {
    unique_parameters += tensor.shape.elements();
    wanted.emplace(std::move(tensor.name), tensor.shape);
  }
  const std::vector<std::string> names = parameter_names();
  base_names = model::has_base_names(names, wanted);
  // The published Qwen3-0.6B is tied and stores the head all the same.
  WantedTensors allowed = wanted;
  allowed.emplace(kHead, Shape{config.vocab_size, config.hidden_size});

  for (std::size_t i = 0; i < stored.size(); ++i) {
    const StoredTensor& tensor = stored[i];
    if (is_stored_buffer(tensor.name, tensor.view.shape)) {
      ignored.push_back(tensor.name);
      continue;
    }
    const std::string name = (base_names ? kBasePrefix : "") + tensor.name;
    const auto [first, is_first] = index_of.emplace(name, i);
    if (!is_first) {
      problems.push_back("duplicate: " + in_quotes(tensor.name) + " is in " +
                         stored[first->second].file + " and in " + tensor.file);
      continue;
    }
    const auto expected = allowed.find(name);
    if (expected == allowed.end()) {
      problems.push_back("unexpected: " + in_quotes(tensor.name) + " " +
                         tensor.view.shape.to_string() + ", which " + config.architecture +
                         " does not use");
    } else if (!(expected->second == tensor.view.shape)) {
      problems.push_back("misshaped: " + in_quotes(tensor.name) + " is " +
                         tensor.view.shape.to_string() + ", expected " +
                         expected->second.to_string());
    }
  }
  for (const auto& [name, shape] : wanted) {
    if (index_of.contains(name)) continue;
    problems.push_back("missing: " + in_quotes(name) + " " + shape.to_string() +
                       (name == kHead ? " (tie_word_embeddings is false, so the embedding does not "
                                        "stand in for it; Transformers would draw it at random)"
                                      : ""));
  }
  if (!problems.empty()) cause = likely_cause(names, wanted, config);
}

void Checkpoint::Impl::account(const std::optional<WeightMap>& weight_map) {
  for (const SafetensorsFile& shard : shards) store(shard);
  Problems problems;
  if (weight_map) check_against_index(*weight_map, problems);
  check_against_architecture(problems);
  if (problems.empty()) return;
  std::string message = first_line(folder, cause, problems.size());
  for (const std::string& problem : problems) message += "\n  " + problem;
  throw std::runtime_error(message);
}

// Tied and stored: equal bytes are one matrix written twice; different ones leave it open which
// function is meant. Transformers 4.57.6 takes the embedding then and drops the stored head without
// a word.
void Checkpoint::Impl::check_stored_head() const {
  const auto head = index_of.find(kHead);
  if (!config.tie_word_embeddings || head == index_of.end()) return;
  const StoredTensor& stored_head = stored[head->second];
  const StoredTensor& embedding = stored[index_of.find(kEmbedding)->second];
  if (stored_head.view.dtype == embedding.view.dtype &&
      std::memcmp(stored_head.view.data, embedding.view.data, embedding.view.bytes()) == 0) {
    return;
  }
  refuse(
      (folder / stored_head.file).string(),
      "tensor 'lm_head.weight' differs from 'model.embed_tokens.weight' although config.json says "
      "tie_word_embeddings: true; Transformers 4.57.6 would use the embedding and ignore the "
      "stored head. Set tie_word_embeddings to false, or remove the tensor");
}

void Checkpoint::Impl::check_finite() const {
  // A causal mask that nothing reads may hold infinities.
  std::vector<ConstTensorView> views;
  std::vector<const StoredTensor*> read;
  for (const StoredTensor& tensor : stored) {
    if (is_stored_buffer(tensor.name, tensor.view.shape)) continue;
    views.push_back(tensor.view);
    read.push_back(&tensor);
  }
  const std::optional<NonFinite> found = find_non_finite(views);
  if (!found) return;
  const StoredTensor& tensor = *read[found->tensor];
  refuse((folder / tensor.file).string(),
         "tensor " + in_quotes(tensor.name) + " " + tensor.view.shape.to_string() + ": element " +
             std::to_string(found->element) + " (row-major) is " + found->value +
             "; the weights are damaged, fetch the checkpoint again");
}

void Checkpoint::Impl::note_tensors() {
  if (base_names) {
    notes.push_back(
        "the tensors have a base model's names, without the prefix 'model.'; they are read as "
        "Transformers reads them, with the prefix");
  }
  if (ignored.empty()) return;
  std::string list;
  for (const std::string& name : ignored) list += (list.empty() ? "" : ", ") + name;
  notes.push_back("stored, but no parameters: ignored, as Transformers computes them afresh: " +
                  list);
}

void Checkpoint::Impl::note_ignored(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool read = std::any_of(files.begin(), files.end(),
                                  [&](const fs::path& file) { return file.filename() == name; });
    if (read || !name.ends_with(".safetensors")) continue;
    notes.push_back(
        name + ": ignored, " +
        (files.front().filename() == kSingleFile && files.size() == 1
             ? "model.safetensors is read"
             : std::string("the index does not name it") +
                   (name == kSingleFile
                        ? "; Transformers 4.57 would load it instead of the index's files"
                        : "")));
  }
}

Checkpoint Checkpoint::open(const fs::path& folder, const Options& options) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    refuse(folder.string(), fs::exists(folder, ignored)
                                ? "not a folder; give the folder that holds config.json"
                                : "there is no such folder");
  }
  const std::vector<std::string> names = names_in(folder);
  check_folder(folder, names);

  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->config = read_config(folder);
  const std::optional<WeightMap> weight_map = impl->choose_files(names);
  for (const fs::path& file : impl->files) {
    impl->shards.emplace_back(file, options.read_instead_of_map);
  }
  impl->account(weight_map);
  impl->align();
  impl->check_stored_head();
  if (options.check_finite) impl->check_finite();
  impl->note_tensors();
  impl->note_ignored(names);
  Checkpoint checkpoint(std::move(impl));
  checkpoint.require_unchanged();
  return checkpoint;
}

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

const fs::path& Checkpoint::folder() const { return impl_->folder; }
const Config& Checkpoint::config() const { return impl_->config; }

ConstTensorView Checkpoint::tensor(std::string_view name) const {
  const bool tied_head = name == kHead && impl_->config.tie_word_embeddings;
  const auto found = impl_->index_of.find(tied_head ? std::string_view(kEmbedding) : name);
  if (found == impl_->index_of.end()) {
    throw std::invalid_argument("[checkpoint] " + impl_->config.architecture + " has no tensor " +
                                in_quotes(name));
  }
  return impl_->stored[found->second].view;
}

bool Checkpoint::unchanged() const {
  return std::all_of(impl_->shards.begin(), impl_->shards.end(),
                     [](const SafetensorsFile& shard) { return shard.unchanged(); });
}

void Checkpoint::require_unchanged() const {
  for (const SafetensorsFile& shard : impl_->shards) {
    if (shard.unchanged()) continue;
    refuse(shard.path().string(),
           "was changed while it was in use; try again on a file that stays as it is");
  }
}

const std::vector<StoredTensor>& Checkpoint::stored() const { return impl_->stored; }
std::int64_t Checkpoint::stored_elements() const { return impl_->stored_elements; }
std::int64_t Checkpoint::unique_parameters() const { return impl_->unique_parameters; }
const std::vector<fs::path>& Checkpoint::files() const { return impl_->files; }
const std::vector<std::string>& Checkpoint::notes() const { return impl_->notes; }
const std::vector<std::string>& Checkpoint::ignored() const { return impl_->ignored; }
bool Checkpoint::has_base_names() const { return impl_->base_names; }

}  // namespace octlm::model
