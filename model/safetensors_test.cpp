// The safetensors reader against files built byte by byte. Everything in a file is untrusted: it
// opens, or it throws one clear line, and it never crashes.
#include "model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "formats/cut_files.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return length_bytes(header.size()) + header + data;
}

// One entry of a header.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

std::vector<SafetensorsEntry> parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file.data(), file.size())), "m.safetensors");
}

// What the error says; "" when the file was accepted.
std::string refusal(const std::string& file) {
  try {
    parse(file);
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("m.safetensors: "), Not(HasSubstr("\n"))));
    return error.what();
  }
  return "";
}

// A file with the one tensor "w", a float32 pair, whose data_offsets are as given.
std::string with_offsets(const std::string& offsets) {
  return file_of("{" + entry("w", "F32", "[2]", offsets) + "}", std::string(8, '\1'));
}

const std::string kTwo =
    "{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "BF16", "[2,1]", "[8,12]") + "}";
const std::string kTwoData(12, '\1');

TEST(Safetensors, ReadsEntriesInFileOrder) {
  const auto entries = parse(file_of(kTwo, kTwoData));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].dtype, DType::kFloat32);
  EXPECT_EQ(entries[0].shape, Shape({2}));
  EXPECT_EQ(entries[0].offset, 8 + kTwo.size());
  EXPECT_EQ(entries[0].bytes, 8u);
  EXPECT_EQ(entries[1].dtype, DType::kBFloat16);
  EXPECT_EQ(entries[1].offset, 16 + kTwo.size());
}

// antirez/h3.c#48: header keys in any order; metadata and trailing spaces are part of the format.
TEST(Safetensors, AcceptsWhatTheFormatAllows) {
  const std::string reversed = "{" + entry("b", "BF16", "[2,1]", "[8,12]") + "," +
                               entry("a", "F32", "[2]", "[0,8]") +
                               R"(,"__metadata__":{"format":"pt"}})";
  EXPECT_EQ(parse(file_of(reversed, kTwoData)).front().name, "a");
  EXPECT_EQ(refusal(file_of(kTwo + "     ", kTwoData)), "");
  EXPECT_EQ(refusal(file_of("{}", "")), "");
  // A scalar.
  const std::string inner_order = R"({"w":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}})";
  EXPECT_EQ(parse(file_of(inner_order, "1234")).front().shape.rank(), 0);
  const std::string empty_tensor = "{" + entry("e", "F32", "[0,5]", "[0,0]") + "," +
                                   entry("w", "F32", "[1]", "[0,4]") + "," +
                                   entry("f", "F16", "[3,0]", "[4,4]") + "}";
  EXPECT_EQ(refusal(file_of(empty_tensor, "1234")), "");
}

// safetensors/safetensors#668, ollama/ollama#17149: the header's length is not to be trusted.
TEST(Safetensors, HeaderLengthIsCheckedBeforeAnythingIsAllocated) {
  const std::string good = file_of(kTwo, kTwoData);
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 7,
                                     std::uint64_t{100'000'001}, std::uint64_t{1} << 63}) {
    EXPECT_THAT(refusal(length_bytes(length) + good.substr(8)),
                HasSubstr("header length " + std::to_string(length) + " is beyond the limit"));
  }
  for (const std::uint64_t length :
       {std::uint64_t{good.size()}, std::uint64_t{good.size() - 7}, std::uint64_t{100'000'000}}) {
    EXPECT_THAT(refusal(length_bytes(length) + good.substr(8)),
                HasSubstr("truncated: the header needs " + std::to_string(length + 8) +
                          " bytes, found " + std::to_string(good.size())));
  }
  EXPECT_THAT(refusal(length_bytes(0) + good.substr(8)), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal(length_bytes(good.size() - 8) + good.substr(8)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
              HasSubstr("git lfs pull"));
}

// ggml-org/llama.cpp#6774, QwenLM/Qwen#462: a truncated file says how much is missing.
TEST(Safetensors, TruncatedFileSaysNeededAndFound) {
  const std::string good = file_of(kTwo, kTwoData);
  const auto size = [](std::size_t bytes) { return std::to_string(bytes); };
  EXPECT_THAT(refusal(good.substr(0, good.size() - 1)),
              HasSubstr("truncated: tensor 'b', the last, needs " + size(good.size()) +
                        " bytes, found " + size(good.size() - 1)));
  EXPECT_THAT(refusal(good.substr(0, 8 + kTwo.size())),
              HasSubstr("needs " + size(good.size()) + " bytes, found " + size(8 + kTwo.size())));
  EXPECT_THAT(refusal(good.substr(0, good.size() / 2)),
              HasSubstr("the header needs " + size(8 + kTwo.size()) + " bytes"));
  EXPECT_THAT(refusal(good.substr(0, 7)), HasSubstr("needs 8 bytes, found 7"));
  EXPECT_THAT(refusal(""), HasSubstr("needs 8 bytes, found 0"));
}

// antirez/h3.c#48, safetensors/safetensors#215, Comfy-Org/ComfyUI#15602.
TEST(Safetensors, OverlapHoleAndTrailingBytesAreRefused) {
  const auto two = [](const std::string& first, const std::string& second) {
    return "{" + entry("a", "F32", "[2]", first) + "," + entry("b", "BF16", "[2]", second) + "}";
  };
  EXPECT_THAT(refusal(file_of(two("[0,8]", "[4,8]"), std::string(8, '\1'))),
              AllOf(HasSubstr("tensor 'b'"), HasSubstr("inside the tensor before it")));
  EXPECT_THAT(refusal(file_of(two("[0,8]", "[0,4]"), std::string(8, '\1'))),
              HasSubstr("inside the tensor before it"));
  EXPECT_THAT(refusal(file_of(two("[0,8]", "[10,14]"), std::string(14, '\1'))),
              HasSubstr("a hole: no tensor covers bytes 8 to 10"));
  EXPECT_THAT(refusal(file_of(two("[2,10]", "[10,14]"), std::string(14, '\1'))),
              HasSubstr("a hole: no tensor covers bytes 0 to 2"));
  EXPECT_THAT(refusal(file_of(kTwo, kTwoData + "x")), HasSubstr("1 bytes after the last tensor"));
  EXPECT_THAT(refusal(file_of("{}", "x")), HasSubstr("1 bytes after the last tensor"));
}

// 0xShug0/audio.cpp#138, leejet/stable-diffusion.cpp#1754: offsets that are not offsets.
TEST(Safetensors, BadOffsetsAreRefusedWithTheTensorsName) {
  ASSERT_EQ(refusal(with_offsets("[0,8]")), "");
  for (const char* offsets : {"[8,0]",
                              "[-4,4]",
                              "[0]",
                              "[]",
                              "[0,8,8]",
                              "[0,9223372036854775808]",
                              "[0.5,4]",
                              "[0,8.0]",
                              "8",
                              "null",
                              "{}",
                              "\"08\"",
                              "[\"0\",\"8\"]",
                              "[true,8]",
                              "[0,1e1]",
                              "[18446744073709551608,18446744073709551615]",
                              "[0,18446744073709551616]",
                              "[0,4]",
                              "[0,16]",
                              "[-8,0]"}) {
    EXPECT_THAT(refusal(with_offsets(offsets)), HasSubstr("tensor 'w'")) << offsets;
  }
  // Spans that are right modulo 2^64: reversed, and with an end that wraps when the header's length
  // is added.
  for (const char* reversed : {"[8,0]", "[18446744073709551608,0]"}) {
    EXPECT_THAT(refusal(with_offsets(reversed)), HasSubstr("are not [begin, end]"));
  }
  EXPECT_THAT(refusal(with_offsets("[18446744073709551600,18446744073709551608]")),
              HasSubstr("are beyond 2^64"));
  EXPECT_THAT(refusal(with_offsets("[9223372036854775800,9223372036854775808]")),
              HasSubstr("a hole"));
}

TEST(Safetensors, BadShapesAreRefusedWithTheTensorsName) {
  for (const char* shape :
       {"[4]", "[1]", "[-2]", "[2.0]", "2", "null", "[\"2\"]", "[1,1,1,1,2]",
        "[9223372036854775808]", "[4611686018427387904,4]", "[4294967296,4294967296]",
        "[2147483648,2147483648,2147483648,4]", "[4611686018427387906]", "[2,2305843009213693953]",
        "[18446744073709551615]"}) {
    const std::string header = "{" + entry("w", "F32", shape, "[0,8]") + "}";
    EXPECT_THAT(refusal(file_of(header, std::string(8, '\1'))), HasSubstr("tensor 'w'")) << shape;
  }
}

// huggingface/transformers#36828, huggingface/candle#2875.
TEST(Safetensors, OtherDtypesAreRefusedWithTheTensorsName) {
  for (const char* dtype :
       {"F64", "I64", "I32", "I16", "I8", "U8", "U64", "BOOL", "F8_E4M3", "F8_E5M2", "F4", "C64"}) {
    EXPECT_EQ(refusal(file_of("{" + entry("w", dtype, "[1]", "[0,8]") + "}", std::string(8, '\1'))),
              "m.safetensors: tensor 'w': unsupported dtype \"" + std::string(dtype) +
                  "\"; supported: BF16, F16, F32");
  }
  for (const char* dtype : {"F23", "bf16", "", "BF16 "}) {
    EXPECT_THAT(
        refusal(file_of("{" + entry("w", dtype, "[4]", "[0,8]") + "}", std::string(8, '\1'))),
        HasSubstr("tensor 'w': unknown dtype"));
  }
}

TEST(Safetensors, MalformedHeadersAreRefused) {
  const std::string a = entry("a", "F32", "[2]", "[0,8]");
  const std::string data(8, '\1');
  EXPECT_THAT(refusal(file_of("{" + a + "," + a + "}", data)), HasSubstr("duplicate key 'a'"));
  EXPECT_THAT(refusal(file_of(
                  R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", data)),
              HasSubstr("duplicate key 'shape'"));
  EXPECT_THAT(refusal(file_of("{" + a + R"(,"__metadata__":{"format":1}})", data)),
              HasSubstr("'__metadata__' is not a map of strings"));
  EXPECT_THAT(refusal(file_of("{" + a + R"(,"__metadata__":"pt"})", data)),
              HasSubstr("'__metadata__'"));
  EXPECT_THAT(
      refusal(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", data)),
      HasSubstr("tensor 'a': unknown key 'x'"));
  EXPECT_THAT(refusal(file_of(R"({"a":{"dtype":"F32","shape":[2]}})", data)),
              HasSubstr("tensor 'a': no 'data_offsets'"));
  EXPECT_THAT(refusal(file_of(R"({"a":[1]})", data)), HasSubstr("tensor 'a': expected an object"));
  EXPECT_THAT(refusal(file_of(" {" + a + "}", data)), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal(file_of("{" + a + "}{}", data)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(file_of("{" + a + "}" + std::string(3, '\0'), data)), HasSubstr("NUL"));
  EXPECT_THAT(refusal(file_of("{\"a\xff\":1}", data)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(file_of("{\"a\":" + std::string(100'000, '[') + "}", data)),
              HasSubstr("deep"));
}

// A header within its limit can still hold tens of millions of numbers, at 16 bytes each once
// parsed.
TEST(Safetensors, HeaderOfTooManyValuesIsRefused) {
  std::string numbers = "{\"a\":[1";
  for (int i = 0; i < 4'000'000; ++i) numbers += ",1";
  EXPECT_THAT(refusal(file_of(numbers + "]}", "")), HasSubstr("more than 4000000 values"));
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class SafetensorsFileTest : public ::testing::TestWithParam<bool> {
 protected:
  std::string refusal_of(const std::filesystem::path& path) const {
    try {
      const SafetensorsFile file(path, GetParam());
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(MapAndRead, SafetensorsFileTest, ::testing::Bool(),
                         [](const auto& how) { return how.param ? "Read" : "Map"; });

// NVIDIA/TensorRT-LLM#17368: both ways give the same bytes.
TEST_P(SafetensorsFileTest, GivesTheBytes) {
  const auto path = folder_.path() / "m.safetensors";
  std::string data;
  for (char c = 0; c < 12; ++c) data += c;
  write_file(path, file_of(kTwo, data));
  const SafetensorsFile file(path, GetParam());
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(std::memcmp(file.data(file.entries()[0]), data.data(), 8), 0);
  EXPECT_EQ(std::memcmp(file.data(file.entries()[1]), data.data() + 8, 4), 0);
  EXPECT_TRUE(file.unchanged());
}

// Longer than what is read at once.
TEST_P(SafetensorsFileTest, GivesTheBytesOfALargeFile) {
  const auto path = folder_.path() / "m.safetensors";
  std::string data;
  while (data.size() < 10'000'000) data += std::to_string(data.size());
  data.resize(10'000'000);
  write_file(path, file_of("{" + entry("w", "F32", "[2500000]", "[0,10000000]") + "}", data));
  const SafetensorsFile file(path, GetParam());
  EXPECT_EQ(std::memcmp(file.data(file.entries().front()), data.data(), data.size()), 0);
}

TEST_P(SafetensorsFileTest, NoticesAFileWrittenToInPlace) {
  const auto path = folder_.path() / "m.safetensors";
  write_file(path, file_of(kTwo, kTwoData));
  const SafetensorsFile file(path, GetParam());
  const auto opened = std::filesystem::last_write_time(path);
  {
    std::fstream other(path, std::ios::binary | std::ios::in | std::ios::out);
    other.seekp(-1, std::ios::end);
    other.put('x');
  }
  std::filesystem::last_write_time(path, opened + std::chrono::seconds(1));
  EXPECT_FALSE(file.unchanged());
  std::filesystem::last_write_time(path, opened);
  EXPECT_TRUE(file.unchanged());  // the limit of what is noticed
  std::filesystem::resize_file(path, 5);
  std::filesystem::last_write_time(path, opened);
  EXPECT_FALSE(file.unchanged());
}

// NVIDIA/TensorRT-LLM#17368: a file cut short after it was opened was an uncatchable bus error.
TEST_P(SafetensorsFileTest, AFileCutShortAfterOpeningIsNoticedAndNoSignal) {
  const auto path = folder_.path() / "m.safetensors";
  write_file(path, file_of(kTwo, kTwoData));
  formats::outlive_cut_files();
  const SafetensorsFile file(path, GetParam());
  std::filesystem::resize_file(path, 0);
  const SafetensorsEntry& last = file.entries().back();
  int sum = 0;
  for (std::uint64_t i = 0; i < last.bytes; ++i) sum += static_cast<int>(file.data(last)[i]);
  EXPECT_EQ(formats::cut_files(), !GetParam()) << "read, it is ours; mapped, it is zeros: " << sum;
  EXPECT_FALSE(file.unchanged());
}

TEST_P(SafetensorsFileTest, WhatIsNoReadableFileIsNamed) {
  const auto path = folder_.path() / "m.safetensors";
  EXPECT_THAT(refusal_of(path),
              AllOf(StartsWith(path.string() + ": cannot be opened"), HasSubstr("No such file")));
  std::filesystem::create_directory(path);
  EXPECT_THAT(refusal_of(path), HasSubstr("not a regular file"));
  const auto fifo = folder_.path() / "fifo.safetensors";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(fifo), HasSubstr("not a regular file"));  // and does not wait for a writer
  const auto empty = folder_.path() / "empty.safetensors";
  write_file(empty, "");
  EXPECT_THAT(refusal_of(empty), HasSubstr("needs 8 bytes, found 0"));
}

// Thousands of damaged files: each opens or is refused with one line, whatever the damage.
TEST(Safetensors, DamagedFilesNeverCrash) {
  const std::uint32_t seed = 20240229;
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string good =
      file_of("{" + entry("a", "F32", "[2]", "[0,8]") + "," +
                  entry("b.c", "BF16", "[2,1]", "[8,12]") + R"(,"__metadata__":{"format":"pt"}})",
              kTwoData);
  constexpr char kTelling[] = "0123456789[]{}\",:-.eE \0\xff";
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  int opened = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string file = good;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(file.size());
      switch (below(6)) {
        case 0:
          file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
          break;
        case 1:
          file[at] = kTelling[below(sizeof kTelling - 1)];
          break;
        case 2:
          file.insert(at, 1, kTelling[below(sizeof kTelling - 1)]);
          break;
        case 3:
          file.resize(at + 1);
          break;
        case 4:
          file.erase(at, 1 + below(8));
          break;
        default:
          file.insert(at, file.substr(below(file.size()), 1 + below(20)));
          break;
      }
      if (file.empty()) file = "x";
    }
    if (refusal(file).empty()) {
      ++opened;
      for (const SafetensorsEntry& e : parse(file)) {
        ASSERT_LE(e.offset, file.size()) << "seed " << seed << " round " << round;
        ASSERT_LE(e.bytes, file.size() - e.offset) << "seed " << seed << " round " << round;
        ASSERT_EQ(e.bytes, static_cast<std::uint64_t>(e.shape.elements()) * dtype_bytes(e.dtype));
      }
    } else {
      ++refused;
    }
  }
  EXPECT_GT(opened, 100);  // damage to names and data goes through; both sides were exercised
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace octlm::model
