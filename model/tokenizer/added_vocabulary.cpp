#include "model/tokenizer/added_vocabulary.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace octlm::model {

TokenId AddedVocabulary::id_for(const Vocabulary& vocabulary, const std::string& content) const {
  if (const auto found = ids_.find(content); found != ids_.end()) return found->second;
  if (const TokenId known = vocabulary.find(content); known != kNoToken) return known;
  const auto size = static_cast<TokenId>(vocabulary.size());
  const TokenId next = by_id_.empty() ? size : std::max(size, by_id_.rbegin()->first + 1);
  if (next >= Vocabulary::kIdLimit) throw std::runtime_error("too many added tokens");
  return next;
}

void AddedVocabulary::add(const Vocabulary& vocabulary, std::span<const AddedToken> tokens) {
  for (const AddedToken& token : tokens) {
    if (!token.special || token.content.empty()) continue;
    if (special_contents_.insert(token.content).second) special_.push_back(token);
  }
  for (AddedToken token : tokens) {
    if (token.content.empty()) continue;
    token.id = id_for(vocabulary, token.content);
    const auto known = by_id_.find(token.id);
    if (known != by_id_.end() && known->second == token) continue;
    ids_[token.content] = token.id;
    by_id_[token.id] = token;
    if (!special_contents_.contains(token.content)) plain_.push_back(std::move(token));
  }
}

const AddedToken* AddedVocabulary::find(std::string_view content) const {
  const auto id = ids_.find(std::string(content));
  return id == ids_.end() ? nullptr : &by_id_.at(id->second);
}

std::vector<AddedToken> AddedVocabulary::tokens() const {
  std::vector<AddedToken> all;
  for (const auto& [id, token] : by_id_) {
    all.push_back(token);
    all.back().special = special_contents_.contains(token.content);
  }
  return all;
}

std::vector<AddedPattern> AddedVocabulary::patterns() const {
  std::vector<AddedPattern> all;
  std::set<std::pair<std::string_view, bool>> seen;
  for (const auto* list : {&special_, &plain_}) {
    for (const AddedToken& token : *list) {
      if (!seen.emplace(token.content, token.normalized).second) continue;
      all.push_back({ids_.at(token.content), token.content, token.normalized});
    }
  }
  return all;
}

}  // namespace octlm::model
