#include "model/chat_template/values/letter_case.h"

#include <string>

#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;

// A sigma that ends a word: a cased letter before it, none after, whatever may be ignored in
// between.
bool is_final_sigma(std::string_view bytes, std::size_t at) {
  std::size_t before = at;
  bool cased_before = false;
  while (before > 0 && !cased_before) {
    do --before;
    while ((static_cast<unsigned char>(bytes[before]) & 0xC0u) == 0x80u);
    const char32_t c = code_point_at(bytes, before);
    if (is_case_ignorable(c)) continue;
    if (!is_cased(c)) return false;
    cased_before = true;
  }
  if (!cased_before) return false;
  for (std::size_t after = at + 2; after < bytes.size(); after += length_at(bytes, after)) {
    const char32_t c = code_point_at(bytes, after);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

std::string lower_at(std::string_view bytes, std::size_t at) {
  const char32_t c = code_point_at(bytes, at);
  if (c == kCapitalSigma) return is_final_sigma(bytes, at) ? "\xcf\x82" : "\xcf\x83";
  return lower(c);
}

// change(bytes, at) gives the text of the character at that byte.
template <typename Change>
Text mapped(Runtime& runtime, const Text& text, Change change) {
  TextBuilder out(runtime);
  const std::string& bytes = text.text();
  runtime.budget.step(bytes.size() / 8);
  for (const Text::Run& run : text.runs()) {
    std::string changed;
    for (std::size_t at = run.begin; at < run.end; at += length_at(bytes, at)) {
      changed += change(std::string_view(bytes), at);
    }
    out.append(changed, run.origin);
  }
  return out.take();
}

bool starts_word_for_jinja(char32_t before) {
  return is_space(before) || before == '-' || before == '(' || before == '{' || before == '[' ||
         before == '<';
}

bool has_one_case(const Text& text, bool wants_upper) {
  bool found = false;
  const std::string& bytes = text.text();
  for (std::size_t at = 0; at < bytes.size(); at += length_at(bytes, at)) {
    const char32_t c = code_point_at(bytes, at);
    if (!is_cased(c)) continue;
    if (c >= 0x80) throw UnsupportedError("islower() or isupper() of a letter beyond ASCII");
    const bool is_capital = c >= 'A' && c <= 'Z';
    if (is_capital != wants_upper) return false;
    found = true;
  }
  return found;
}

}  // namespace

Text upper(Runtime& runtime, const Text& text) {
  return mapped(runtime, text, [](std::string_view bytes, std::size_t at) {
    return upper(code_point_at(bytes, at));
  });
}

Text lower(Runtime& runtime, const Text& text) { return mapped(runtime, text, lower_at); }

Text capitalized(Runtime& runtime, const Text& text) {
  return mapped(runtime, text, [](std::string_view bytes, std::size_t at) {
    return at == 0 ? title(code_point_at(bytes, at)) : lower_at(bytes, at);
  });
}

Text titled(Runtime& runtime, const Text& text) {
  bool after_letter = false;
  return mapped(runtime, text, [&](std::string_view bytes, std::size_t at) {
    const char32_t c = code_point_at(bytes, at);
    const bool begins = !after_letter;
    after_letter = is_cased(c);
    return begins ? title(c) : lower_at(bytes, at);
  });
}

// Each word is lowered by itself there, so a sigma looks no further than its word.
Text titled_by_jinja(Runtime& runtime, const Text& text) {
  bool begins = true;
  return mapped(runtime, text, [&](std::string_view bytes, std::size_t at) {
    const char32_t c = code_point_at(bytes, at);
    if (c == kCapitalSigma) throw UnsupportedError("|title of a capital sigma");
    const bool separates = starts_word_for_jinja(c);
    const std::string changed = separates || begins ? upper(c) : lower(c);
    begins = separates;
    return changed;
  });
}

bool is_upper(const Text& text) { return has_one_case(text, true); }
bool is_lower(const Text& text) { return has_one_case(text, false); }

}  // namespace octlm::model::jinja
