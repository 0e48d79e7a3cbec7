#include "model/chat_template/values/text_pieces.h"

#include <algorithm>
#include <cstring>

#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

std::size_t start_of_last(std::string_view bytes, std::size_t end) {
  do --end;
  while ((static_cast<unsigned char>(bytes[end]) & 0xC0u) == 0x80u);
  return end;
}

}  // namespace

// memmem is linear; std::string::find is not: "aa...ab" in "aa...a" takes it hours.
std::size_t find_first(std::string_view bytes, std::string_view part, std::size_t from) {
  if (from > bytes.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* found = ::memmem(bytes.data() + from, bytes.size() - from, part.data(), part.size());
  if (!found) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
}

std::size_t find_last(Runtime& runtime, std::string_view bytes, std::string_view part) {
  if (part.size() > bytes.size()) return std::string_view::npos;
  std::size_t at = bytes.size() - part.size();
  for (std::uint64_t looked = 0;; --at) {
    looked += 1 + part.size() / 16;
    if (looked >= 1024) {
      runtime.budget.step(looked / 64);
      looked = 0;
    }
    if (bytes.compare(at, part.size(), part) == 0) return at;
    if (at == 0) return std::string_view::npos;
  }
}

std::vector<Cut> split_at(Runtime& runtime, const std::string& bytes, const std::string& separator,
                          std::int64_t limit) {
  std::vector<Cut> cuts;
  std::size_t begin = 0;
  for (std::size_t at; limit > 0 && (at = find_first(bytes, separator, begin)) != std::string::npos;
       --limit) {
    runtime.budget.bytes(sizeof(Cut));
    cuts.push_back({begin, at});
    begin = at + separator.size();
  }
  cuts.push_back({begin, bytes.size()});
  return cuts;
}

std::vector<Cut> split_at_last(Runtime& runtime, const std::string& bytes,
                               const std::string& separator, std::int64_t limit) {
  std::vector<Cut> cuts;
  std::size_t end = bytes.size();
  for (; limit > 0 && end >= separator.size(); --limit) {
    runtime.budget.bytes(sizeof(Cut));
    const std::size_t at = find_last(runtime, std::string_view(bytes).substr(0, end), separator);
    if (at == std::string::npos) break;
    cuts.push_back({at + separator.size(), end});
    end = at;
  }
  cuts.push_back({0, end});
  std::ranges::reverse(cuts);
  return cuts;
}

std::vector<Cut> split_at_space(Runtime& runtime, const std::string& bytes, std::int64_t limit) {
  std::vector<Cut> cuts;
  std::size_t at = 0;
  while (true) {
    while (at < bytes.size() && is_space(code_point_at(bytes, at))) at += length_at(bytes, at);
    if (at == bytes.size()) return cuts;
    runtime.budget.bytes(sizeof(Cut));
    const std::size_t begin = at;
    if (limit-- <= 0) {
      cuts.push_back({begin, bytes.size()});
      return cuts;
    }
    while (at < bytes.size() && !is_space(code_point_at(bytes, at))) at += length_at(bytes, at);
    cuts.push_back({begin, at});
  }
}

Text stripped(Runtime& runtime, const Text& text, const Text* chars, bool left, bool right) {
  const std::string& bytes = text.text();
  const auto goes = [&](std::size_t at) {
    if (!chars) return is_space(code_point_at(bytes, at));
    runtime.budget.step(1 + chars->text().size() / 64);
    const std::string_view one = std::string_view(bytes).substr(at, length_at(bytes, at));
    return find_first(chars->text(), one) != std::string::npos;
  };
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (left && begin < end && goes(begin)) begin += length_at(bytes, begin);
  while (right && end > begin && goes(start_of_last(bytes, end))) end = start_of_last(bytes, end);
  return slice(runtime, text, begin, end);
}

Text replaced(Runtime& runtime, const Text& text, const Text& old, const Text& by,
              std::int64_t count) {
  if (count < 0) count = kAll;
  TextBuilder out(runtime);
  const std::string& bytes = text.text();
  std::size_t begin = 0;
  if (old.text().empty()) {  // between all characters, and at both ends
    for (; count > 0; --count) {
      out.append(by);
      if (begin == bytes.size()) return out.take();
      const std::size_t end = begin + length_at(bytes, begin);
      out.append(text, begin, end);
      begin = end;
    }
    out.append(text, begin, bytes.size());
    return out.take();
  }
  const auto cuts = split_at(runtime, bytes, old.text(), count);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (i > 0) out.append(by);
    out.append(text, cuts[i].begin, cuts[i].end);
  }
  return out.take();
}

Text escaped(Runtime& runtime, const Text& text) {
  constexpr std::string_view kMarks = "&<>'\"";
  constexpr std::string_view kReferences[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  TextBuilder out(runtime);
  for_each_run(text, 0, text.text().size(), [&](std::string_view piece, Origin origin) {
    for (std::size_t mark = piece.find_first_of(kMarks); mark != std::string_view::npos;
         mark = piece.find_first_of(kMarks)) {
      out.append(piece.substr(0, mark), origin);
      out.append(kReferences[kMarks.find(piece[mark])], origin);
      piece.remove_prefix(mark + 1);
    }
    out.append(piece, origin);
  });
  return out.take();
}

Text joined(Runtime& runtime, const Text& separator, const std::vector<Text>& pieces) {
  TextBuilder out(runtime);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(pieces[i]);
  }
  return out.take();
}

std::vector<Text> split_lines(Runtime& runtime, const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string& bytes = text.text();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t after = at + length_at(bytes, at);
    if (!is_line_end(code_point_at(bytes, at))) {
      at = after;
      continue;
    }
    if (bytes[at] == '\r' && after < bytes.size() && bytes[after] == '\n') ++after;
    lines.push_back(slice(runtime, text, begin, keep_ends ? after : at));
    begin = at = after;
  }
  if (begin < bytes.size()) lines.push_back(slice(runtime, text, begin, bytes.size()));
  return lines;
}

}  // namespace octlm::model::jinja
