#include "model/tokenizer/stop_matcher.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

namespace octlm::model {

StopMatcher::StopMatcher(std::vector<std::string> stop_strings) {
  for (std::string& text : stop_strings) {
    if (text.empty()) throw std::invalid_argument("[stop_matcher] an empty stop string");
    Stop stop{std::move(text), {}, 0};
    stop.failure.assign(stop.text.size() + 1, 0);
    for (std::size_t i = 1, k = 0; i < stop.text.size(); ++i) {
      while (k > 0 && stop.text[i] != stop.text[k]) k = stop.failure[k];
      if (stop.text[i] == stop.text[k]) ++k;
      stop.failure[i + 1] = k;
    }
    stops_.push_back(std::move(stop));
  }
}

bool StopMatcher::Stop::advance(char c) {
  while (state > 0 && c != text[state]) state = failure[state];
  if (c == text[state]) ++state;
  return state == text.size();
}

std::string StopMatcher::push(std::string_view text) {
  assert(!stopped());
  for (const char c : text) {
    held_.push_back(c);
    for (Stop& stop : stops_) {
      if (stop.advance(c) && stop.text.size() > matched_.size()) matched_ = stop.text;
    }
    if (stopped()) {
      held_.resize(held_.size() - matched_.size());
      return std::exchange(held_, {});
    }
  }
  std::size_t uncertain = 0;
  for (const Stop& stop : stops_) uncertain = std::max(uncertain, stop.state);
  std::string out = held_.substr(0, held_.size() - uncertain);
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::finish() {
  for (Stop& stop : stops_) stop.state = 0;
  return std::exchange(held_, {});
}

}  // namespace octlm::model
