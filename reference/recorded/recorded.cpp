#include "reference/recorded/recorded.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "formats/sha256.h"
#include "reference/recorded/logits_file.h"
#include "reference/recorded/recorded_settings.h"
#include "reference/recorded/recording_manifest.h"
#include "reference/request.h"

namespace octlm::reference {
namespace {

constexpr std::int64_t kBlockBytes = 48 << 20;

[[noreturn]] void refuse(const std::filesystem::path& folder, const std::string& what) {
  throw std::runtime_error("[recorded] " + folder.string() + " " + what);
}

std::string list(const std::map<std::string, std::string>& weights) {
  std::string text;
  for (const auto& [file, hash] : weights) text += (text.empty() ? "" : ", ") + file + " " + hash;
  return text.empty() ? "none" : text;
}

void check_key(const std::filesystem::path& folder, const RecordingKey& found,
               const RecordingKey& expected) {
  if (found.weights != expected.weights) {
    refuse(folder, "was made from other weights: " + list(found.weights) + "; expected " +
                       list(expected.weights));
  }
  if (found.dtype != expected.dtype)
    refuse(folder, "has dtype " + found.dtype + ", expected " + expected.dtype);
  if (found.attention != expected.attention) {
    refuse(folder,
           "was made with attention " + found.attention + ", expected " + expected.attention);
  }
}

// The rows of one case, read a block at a time.
class RecordedRows {
 public:
  RecordedRows(const std::filesystem::path& folder, const RecordedCase& recorded,
               std::int64_t vocab, std::span<const std::int64_t> wanted)
      : reader_(folder / recorded.file),
        tensor_(reader_.tensor(recorded.tensor)),
        wanted_(wanted.begin(), wanted.end()),
        rows_per_block_(std::max<std::int64_t>(1, kBlockBytes / (4 * vocab))) {
    if (tensor_.vocab != vocab ||
        tensor_.positions != static_cast<std::int64_t>(recorded.token_ids.size())) {
      refuse(folder,
             recorded.file + ": " + recorded.tensor + " is not [positions, vocab] of its case");
    }
  }

  bool deliver(LogitSink& sink) {
    if (delivered_ == wanted_.size()) return false;
    const auto left = static_cast<std::int64_t>(wanted_.size() - delivered_);
    const auto count = static_cast<std::size_t>(std::min(rows_per_block_, left));
    const auto positions = std::span(wanted_).subspan(delivered_, count);
    rows_.resize(count * static_cast<std::size_t>(tensor_.vocab));
    for (std::size_t i = 0; i < count;) {  // a read per run of consecutive positions
      std::size_t end = i + 1;
      while (end < count && positions[end] == positions[end - 1] + 1) ++end;
      reader_.read(tensor_, positions[i], static_cast<std::int64_t>(end - i),
                   rows_.data() + i * static_cast<std::size_t>(tensor_.vocab));
      i = end;
    }
    delivered_ += count;
    sink.receive({positions, tensor_.vocab, rows_.data()});
    return true;
  }

 private:
  LogitsReader reader_;
  LogitsReader::Tensor tensor_;
  std::vector<std::int64_t> wanted_;
  std::size_t delivered_ = 0;
  std::int64_t rows_per_block_;
  std::vector<float> rows_;
};

// What a recording answers for: its cases, whole, and its files as they were written.
struct Recording {
  std::filesystem::path folder;
  RecordingManifest manifest;
  std::set<std::string> checked;  // files whose bytes were checked

  const RecordedCase& find(std::span<const std::int32_t> token_ids) const {
    for (const RecordedCase& recorded : manifest.cases) {
      if (std::ranges::equal(recorded.token_ids, token_ids)) return recorded;
    }
    refuse(folder, "has no logits for these " + std::to_string(token_ids.size()) +
                       " token ids (sha256 " + sha256_of_ids(token_ids) + "); it holds " +
                       std::to_string(manifest.cases.size()) + " other cases");
  }

  void check_bytes(const RecordedCase& recorded) {
    if (!checked.insert(recorded.file).second) return;
    if (formats::sha256_file(folder / recorded.file) != recorded.file_sha256) {
      checked.erase(recorded.file);
      refuse(folder,
             recorded.file + " does not have the sha256 of the manifest: it was changed or torn");
    }
  }
};

// Appended to as it was recorded and in no other way: one case, whole, to an empty session.
class RecordedSession final : public Session {
 public:
  RecordedSession(std::shared_ptr<Recording> recording, std::int64_t capacity)
      : recording_(std::move(recording)), capacity_(capacity) {}

  void begin(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted) override {
    check_delivered(rows_.has_value());
    const RecordingManifest& manifest = recording_->manifest;
    check_append(ids, wanted, length_, manifest.vocab_size, capacity_);
    if (length_ > 0) {
      throw std::invalid_argument(
          "[recorded] a recording holds whole sequences: nothing can be "
          "appended to the " +
          std::to_string(length_) + " positions of this one");
    }
    const RecordedCase& recorded = recording_->find(ids);
    recording_->check_bytes(recorded);
    rows_.emplace(recording_->folder, recorded, manifest.vocab_size, wanted);
    begun_ = &recorded;
  }

  bool deliver(LogitSink& sink) override {
    if (!rows_) return false;
    try {
      if (rows_->deliver(sink)) return true;
    } catch (...) {
      rows_.reset();
      throw;
    }
    calls_.insert(calls_.end(), begun_->calls.begin(), begun_->calls.end());
    length_ = std::ssize(begun_->token_ids);
    rows_.reset();
    return false;
  }

  void crop(std::int64_t length) override {
    check_delivered(rows_.has_value());
    check_crop(length, length_);
    if (length != 0 && length != length_) {
      throw std::invalid_argument(
          "[recorded] a recording holds whole sequences: this one cannot "
          "be cropped but to 0");
    }
    length_ = length;
  }

  std::int64_t length() const override { return length_; }
  const std::vector<ForwardCall>& calls() const override { return calls_; }

 private:
  std::shared_ptr<Recording> recording_;
  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::vector<ForwardCall> calls_;
  std::optional<RecordedRows> rows_;  // of the append under way
  const RecordedCase* begun_ = nullptr;
};

class RecordedEngine final : public Engine {
 public:
  RecordedEngine(std::filesystem::path folder, RecordingManifest manifest)
      : recording_(
            std::make_shared<Recording>(Recording{std::move(folder), std::move(manifest), {}})),
        sha256_(formats::sha256_file(recording_->folder / "manifest.json")) {}

  EngineDescription description() const override {
    EngineDescription description = recording_->manifest.producer;
    description.sha256 = sha256_;
    return description;
  }
  Capabilities capabilities() const override {
    return {.dtypes = {recording_->manifest.key.dtype}, .devices = {"cpu"}, .paths = {"full"}};
  }
  std::int64_t vocab_size() const override { return recording_->manifest.vocab_size; }
  std::int64_t max_positions() const override { return recording_->manifest.max_positions; }
  std::int64_t peak_bytes() const override { return kBlockBytes; }  // a block of rows per session

  std::unique_ptr<Session> open_session(const SessionOptions& options) override {
    return std::make_unique<RecordedSession>(recording_,
                                             session_capacity(options, max_positions()));
  }

 private:
  std::shared_ptr<Recording> recording_;
  std::string sha256_;  // of the manifest, which has those of the other files
};

void check_settings(const EngineDescription& description, const RecordingKey& key) {
  const std::string contradiction = settings_contradiction(description, key);
  if (!contradiction.empty())
    throw std::invalid_argument("[record] the engine's settings: " + contradiction);
}

RecordedCase record_case(Engine& engine, const std::vector<std::int32_t>& token_ids,
                         std::size_t index, const std::filesystem::path& folder) {
  struct Sink final : LogitSink {
    LogitsWriter* writer = nullptr;
    void receive(const LogitBlock& block) override {
      writer->append(block.logits, static_cast<std::int64_t>(block.positions.size()));
    }
  } sink;
  RecordedCase recorded;
  recorded.token_ids = token_ids;
  recorded.token_ids_sha256 = sha256_of_ids(token_ids);
  recorded.tensor = "logits." + std::to_string(index);
  recorded.file = recorded.tensor + ".safetensors";
  const auto pass = engine.start({token_ids, Split::full(), {}});
  LogitsWriter writer(folder / recorded.file, recorded.tensor,
                      static_cast<std::int64_t>(token_ids.size()), engine.vocab_size());
  sink.writer = &writer;
  while (pass->advance(sink)) {
  }
  recorded.file_sha256 = writer.finish();
  recorded.calls = pass->calls();
  return recorded;
}

}  // namespace

std::unique_ptr<Engine> make_recorded(const std::filesystem::path& folder, const RecordingKey& key,
                                      const std::string& subject, const std::string& version) {
  RecordingManifest manifest = read_manifest(folder);
  if (manifest.producer.engine == subject) {
    refuse(folder, "was recorded by " + subject +
                       ", the engine under test: it would agree with its own faults");
  }
  if (!version.empty() && manifest.producer.version != version) {
    refuse(folder, "was recorded by " + manifest.producer.engine + " " + manifest.producer.version +
                       ", expected version " + version);
  }
  check_key(folder, manifest.key, key);
  const std::string contradiction = settings_contradiction(manifest.producer, key);
  if (!contradiction.empty()) {
    throw std::runtime_error("[recorded] " + (folder / "manifest.json").string() +
                             ": producer.settings: " + contradiction + "; record it again");
  }
  return std::make_unique<RecordedEngine>(folder, std::move(manifest));
}

void record_logits(Engine& engine, const RecordingKey& key,
                   const std::vector<std::vector<std::int32_t>>& cases,
                   const std::filesystem::path& folder,
                   const std::function<void(std::size_t done, std::size_t total)>& progress) {
  if (cases.empty()) throw std::invalid_argument("[record] there is no case");
  if (std::set(cases.begin(), cases.end()).size() != cases.size()) {
    throw std::invalid_argument("[record] a case appears twice");
  }
  if (std::filesystem::exists(folder / "manifest.json"))
    refuse(folder, "already holds a recording");
  RecordingManifest manifest{
      engine.description(), key, engine.vocab_size(), engine.max_positions(), {}};
  check_settings(manifest.producer, key);
  std::filesystem::create_directories(folder);
  for (const auto& token_ids : cases) {
    manifest.cases.push_back(record_case(engine, token_ids, manifest.cases.size(), folder));
    if (progress) progress(manifest.cases.size(), cases.size());
  }
  write_manifest(manifest, folder);
}

}  // namespace octlm::reference
