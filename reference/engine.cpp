#include "reference/engine.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "reference/request.h"

namespace octlm::reference {
namespace {

// A path's calls, one append each.
class PathPass final : public LogitPass {
 public:
  PathPass(std::unique_ptr<Session> session, const LogitRequest& request,
           std::vector<ForwardCall> planned)
      : session_(std::move(session)),
        ids_(request.token_ids),
        wanted_(wanted_positions(request)),
        planned_(std::move(planned)) {
    begin_next();
  }

  bool advance(LogitSink& sink) override {
    while (!session_->deliver(sink)) {
      if (begun_ == planned_.size()) return false;
      begin_next();
    }
    return true;
  }

  const std::vector<ForwardCall>& calls() const override { return session_->calls(); }

 private:
  void begin_next() {
    const auto [first, count] = planned_[begun_];
    const auto from = std::ranges::lower_bound(wanted_, first);
    const auto to = std::ranges::lower_bound(wanted_, first + count);
    session_->begin(
        std::span(ids_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
        {from, to});
    ++begun_;
  }

  std::unique_ptr<Session> session_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> wanted_;
  std::vector<ForwardCall> planned_;
  std::size_t begun_ = 0;
};

}  // namespace

void Session::append(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted,
                     LogitSink& sink) {
  begin(ids, wanted);
  while (deliver(sink)) {
  }
}

std::unique_ptr<LogitPass> Engine::start(const LogitRequest& request) {
  check_request(request, vocab_size(), max_positions());
  const auto paths = capabilities().paths;
  if (std::ranges::find(paths, request.path.kind()) == paths.end()) {
    throw std::invalid_argument("[request] " + description().engine + " (" + description().source +
                                ") has no path " + request.path.text());
  }
  const auto n = static_cast<std::int64_t>(request.token_ids.size());
  std::vector<ForwardCall> planned = *request.path.calls(n);
  auto session = open_session(
      {.capacity = n, .goes_on = planned.size() > 1, .may_split = request.path.text() == "full"});
  return std::make_unique<PathPass>(std::move(session), request, std::move(planned));
}

}  // namespace octlm::reference
