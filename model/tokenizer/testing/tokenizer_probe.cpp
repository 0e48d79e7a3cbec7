// The tokenizer behind a pipe, for tests and comparisons in Python that put a hundred thousand
// questions.
//   tokenizer_probe FOLDER
//   stdin   op (1 byte), size (uint32), payload            until the end of the input
//   stdout  failed (uint32: 0 or 1), size (uint32), payload (an error's text when failed)
// Ops: L literal, H as Hugging Face, T written by a template: text -> ids (int32 each)
//      R rendered: (size | user << 31, text)... -> ids
//      D decode, S decode without special tokens, B bytes, I one id at a time: ids -> text
//      P text -> the ends (uint32) of the pieces that are encoded one by one
//      X the text of a regular expression -> its pieces' ends (uint32) in the text after a NUL byte
// A lower-case l, h, t, d: the same work, answered by the nanoseconds of processor time (uint64).
// o: nanoseconds to load FOLDER.
#include <cstdint>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "model/tokenizer/incremental_decoder.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_file.h"

namespace {

using namespace octlm::model;
using Ids = std::vector<std::int32_t>;

template <typename T>
std::string as_bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Ids as_ids(const std::string& payload) {
  Ids ids(payload.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), payload.data(), ids.size() * sizeof(std::int32_t));
  return ids;
}

RenderedText as_rendered(const std::string& payload) {
  RenderedText text;
  for (std::size_t at = 0; at + 4 <= payload.size();) {
    std::uint32_t head;
    std::memcpy(&head, payload.data() + at, 4);
    const std::size_t size = head & 0x7fffffff;
    text.append(payload.substr(at + 4, size), head >> 31 != 0 ? Origin::kUser : Origin::kTemplate);
    at += 4 + size;
  }
  return text;
}

RenderedText template_text(const std::string& text) {
  RenderedText out;
  out.append(text, Origin::kTemplate);
  return out;
}

std::string incrementally(const Tokenizer& tokenizer, const Ids& ids) {
  IncrementalDecoder decoder(tokenizer);
  std::string out;
  for (const std::int32_t id : ids) out += decoder.push(id);
  return out + decoder.finish();
}

std::string match_ends(const std::string& payload) {
  const std::size_t nul = payload.find('\0');
  const Pattern pattern = Pattern::regex(payload.substr(0, nul));
  const std::string text = payload.substr(nul + 1);
  Pattern::Search search(pattern, text);
  std::vector<std::uint32_t> ends;
  Pattern::Match match;
  for (std::size_t done = 0; search.next(done, match); done = match.end) {
    if (match.begin != done) ends.push_back(static_cast<std::uint32_t>(match.begin));
    ends.push_back(static_cast<std::uint32_t>(match.end));
  }
  if (!text.empty() && (ends.empty() || ends.back() != text.size())) {
    ends.push_back(static_cast<std::uint32_t>(text.size()));
  }
  return as_bytes(ends);
}

std::string piece_ends(const std::string& text, const char* folder) {
  static const TokenizerFile file =
      read_tokenizer_file(std::filesystem::path(folder) / "tokenizer.json");
  std::vector<std::uint32_t> ends;
  std::uint32_t end = 0;
  file.pre_tokenizer.run(
      text,
      [&](std::string_view piece) {
        ends.push_back(end += static_cast<std::uint32_t>(piece.size()));
      },
      [](std::string_view) {});
  return as_bytes(ends);
}

// Of this thread's processor time: other programs on the machine do not count.
template <typename Work>
std::string nanoseconds(Work work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
  };
  const std::uint64_t begin = now();
  work();
  return as_bytes(std::vector<std::uint64_t>{now() - begin});
}

std::string answer(char op, const std::string& payload, const Tokenizer& tokenizer,
                   const char* folder) {
  switch (op) {
    case 'L':
      return as_bytes(tokenizer.encode_literal(payload));
    case 'H':
      return as_bytes(tokenizer.encode_hf_compatible(payload));
    case 'T':
      return as_bytes(tokenizer.encode_rendered(template_text(payload)));
    case 'R':
      return as_bytes(tokenizer.encode_rendered(as_rendered(payload)));
    case 'D':
      return tokenizer.decode(as_ids(payload));
    case 'S':
      return tokenizer.decode(as_ids(payload), {.skip_special = true});
    case 'B':
      return tokenizer.decode_bytes(as_ids(payload));
    case 'I':
      return incrementally(tokenizer, as_ids(payload));
    case 'P':
      return piece_ends(payload, folder);
    case 'X':
      return match_ends(payload);
    case 'l':
      return nanoseconds([&] { tokenizer.encode_literal(payload); });
    case 'h':
      return nanoseconds([&] { tokenizer.encode_hf_compatible(payload); });
    case 't':
      return nanoseconds([&, text = template_text(payload)] { tokenizer.encode_rendered(text); });
    case 'd':
      return nanoseconds([&, ids = as_ids(payload)] { tokenizer.decode(ids); });
    case 'o':
      return nanoseconds([&] { Tokenizer::load(folder); });
    default:
      throw std::invalid_argument(std::string("no such op: ") + op);
  }
}

template <typename T>
bool read(T& value) {
  return static_cast<bool>(std::cin.read(reinterpret_cast<char*>(&value), sizeof value));
}

void reply(std::uint32_t failed, const std::string& payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::cout.write(reinterpret_cast<const char*>(&failed), 4)
      .write(reinterpret_cast<const char*>(&size), 4);
  std::cout.write(payload.data(), static_cast<std::streamsize>(payload.size()));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: tokenizer_probe FOLDER");
  std::ios::sync_with_stdio(false);
  const Tokenizer tokenizer = Tokenizer::load(argv[1]);
  char op = 0;
  std::uint32_t size = 0;
  std::string payload;
  while (read(op) && read(size)) {
    payload.resize(size);
    if (!std::cin.read(payload.data(), size)) return 1;
    try {
      reply(0, answer(op, payload, tokenizer, argv[1]));
    } catch (const std::exception& error) {
      reply(1, error.what());
    }
    if (std::cin.rdbuf()->in_avail() <= 0) std::cout.flush();
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
