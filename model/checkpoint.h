// A checkpoint folder: config.json and safetensors files (one model.safetensors, or shards named by
// model.safetensors.index.json), mapped read-only. Opening does all the accounting: every tensor
// the architecture needs is there once with its shape, nothing else is there but buffers that are
// known to be no parameters (tensor_names.h), nothing overlaps, every byte is covered. A checkpoint
// that opens is a checkpoint that can be computed with.
//
// Storage stays as in the file (BF16, F16, F32): views are into the mapping, no copy is made. A
// tensor whose offset is not aligned for its dtype is the exception: it is copied once, aligned.
// Threads: const after opening, share freely. Lifetime: views live as long as the Checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/tensor.h"

namespace octlm::model {

struct StoredTensor {
  std::string name;
  ConstTensorView view;
  std::string file;  // file name inside the folder
};

class Checkpoint {
 public:
  struct Options {
    // Read the whole file into memory instead of mapping it, for network disks where a vanished
    // file would be an uncatchable bus error under mmap (NVIDIA/TensorRT-LLM#17368). Either way a
    // file that changed while it was being opened is refused.
    bool read_instead_of_map = false;
    // Scan all weights for NaN and infinity when opening (one pass over the file).
    bool check_finite = true;
  };

  // Throws std::runtime_error: first line says file, place and remedy; when tensors are missing,
  // unexpected, misshaped or duplicate, it names the likely cause, and the whole list follows, one
  // per line.
  static Checkpoint open(const std::filesystem::path& folder, const Options& options);
  static Checkpoint open(const std::filesystem::path& folder) { return open(folder, Options()); }

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::filesystem::path& folder() const;
  const Config& config() const;

  // A tensor by the checkpoint's name. `lm_head.weight` of a tied checkpoint is the embedding.
  // Throws std::invalid_argument for a name the architecture does not have.
  ConstTensorView tensor(std::string_view name) const;

  // Every entry stored in the files, in file order, the stored duplicate lm_head among them.
  const std::vector<StoredTensor>& stored() const;
  // Stored entries' elements (751,632,384 for Qwen3-0.6B) and distinct parameters (596,049,920).
  std::int64_t stored_elements() const;
  std::int64_t unique_parameters() const;
  // False once a mapped file was written to in place: what was computed since is worth nothing.
  bool unchanged() const;
  // Throws std::runtime_error that names the file that is another than it was.
  void require_unchanged() const;
  // The safetensors files read, and files that were seen, ignored and should be mentioned (a stray
  // model.safetensors beside an index: Blaizzy/mlx-vlm#1464).
  const std::vector<std::filesystem::path>& files() const;
  const std::vector<std::string>& notes() const;
  // Stored tensors that are no parameters and are not read, such as
  // model.layers.0.self_attn.rotary_emb.inv_freq; they are among stored().
  const std::vector<std::string>& ignored() const;
  // The files name the tensors without "model.", as a base model's save does.
  bool has_base_names() const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octlm::model
