#include "experiments/kinds/watched_files.h"

#include <stdexcept>
#include <utility>

#include "formats/sha256.h"

namespace octlm::experiments {
namespace {

class WatchedSession final : public verify::Session {
 public:
  WatchedSession(WatchedFiles watched, std::unique_ptr<verify::Session> session)
      : watched_(std::move(watched)),
        session_(std::move(session)),
        identity_(session_->identity()) {
    const auto checkpoint = identity_.find("checkpoint");
    const auto unpinned =
        watched_.unpinned(checkpoint == identity_.end() ? nlohmann::json::object() : *checkpoint);
    if (!unpinned.empty()) identity_[verify::kUnpinned] = unpinned;
    watched_.require_unchanged();
  }

  nlohmann::json identity() const override { return identity_; }

  verify::Outcome compare(std::size_t index) override {
    auto outcome = session_->compare(index);
    watched_.require_unchanged();
    return outcome;
  }

  void close() override {
    session_->close();
    watched_.require_unchanged();
  }

 private:
  WatchedFiles watched_;
  std::unique_ptr<verify::Session> session_;
  nlohmann::json identity_;
};

}  // namespace

WatchedFiles::WatchedFiles(std::filesystem::path folder, const ModelReference& model, Reads reads)
    : folder_(std::move(folder)), model_(model), reads_(reads), begun_(stamps()) {}

std::map<std::string, std::optional<formats::FileStamp>> WatchedFiles::stamps() const {
  std::map<std::string, std::optional<formats::FileStamp>> found;
  for (const std::string& name : files_known(folder_)) {
    found[name] = formats::stamp_of(folder_ / name);
  }
  for (const auto& [name, sha256] : model_.files) found[name] = formats::stamp_of(folder_ / name);
  return found;
}

void WatchedFiles::require_unchanged() const {
  auto now = stamps();
  for (const auto& [name, then] : begun_) now.try_emplace(name);
  for (const auto& [name, stamp] : now) {
    const auto begun = begun_.find(name);
    const auto then = begun == begun_.end() ? std::nullopt : begun->second;
    if (stamp == then) continue;
    throw std::runtime_error((folder_ / name).string() + ": was changed while it was in use: " +
                             formats::difference(then, stamp) +
                             "; run it again, on files that stay as they are");
  }
}

std::map<std::string, std::string> WatchedFiles::unpinned(const nlohmann::json& known) const {
  std::map<std::string, std::string> found;
  for (const std::string& name : files_read(folder_, reads_)) {
    if (model_.files.contains(name)) continue;
    const auto hash = known.find(name);
    found[name] = hash != known.end() && hash->is_string() ? hash->get<std::string>()
                                                           : formats::sha256_file(folder_ / name);
  }
  return found;
}

std::unique_ptr<verify::Session> watch(WatchedFiles watched,
                                       std::unique_ptr<verify::Session> session) {
  return std::make_unique<WatchedSession>(std::move(watched), std::move(session));
}

}  // namespace octlm::experiments
