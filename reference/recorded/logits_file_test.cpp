#include "reference/recorded/logits_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "formats/testing/temporary_folder.h"

namespace octlm::reference {
namespace {

using ::testing::HasSubstr;

class LogitsFileTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return temporary_.path() / "logits.safetensors"; }
  void write(const std::string& header, std::size_t data_bytes) const {
    write_raw(header.size(), header + std::string(data_bytes, '\0'));
  }
  void write_raw(std::uint64_t length, const std::string& rest) const {
    std::ofstream stream(file(), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(&length), sizeof length);
    stream << rest;
  }
  std::string message() const {
    try {
      const LogitsReader reader(file());
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file().string()));
      return error.what();
    }
    return "";
  }

  formats::testing::TemporaryFolder temporary_;
};

TEST_F(LogitsFileTest, RowsComeBackAsTheyWentIn) {
  const std::vector<float> rows = {0, 1, 2, 10, 11, 12, -20, 1e-40F, 3e38F};
  LogitsWriter writer(file(), "logits.0", 3, 3);
  writer.append(rows.data(), 2);
  EXPECT_FALSE(std::filesystem::exists(file()));
  writer.append(rows.data() + 6, 1);
  const std::string sha256 = writer.finish();
  EXPECT_EQ(sha256, formats::sha256_file(file()));
  const LogitsReader reader(file());
  const auto& tensor = reader.tensor("logits.0");
  EXPECT_EQ(tensor.positions, 3);
  EXPECT_EQ(tensor.offset % 8, 0);
  std::vector<float> read(6);
  reader.read(tensor, 1, 2, read.data());
  EXPECT_EQ(read, std::vector<float>(rows.begin() + 3, rows.end()));
}

TEST_F(LogitsFileTest, AnUnfinishedFileLeavesNothing) {
  { const LogitsWriter writer(file(), "logits.0", 3, 3); }
  EXPECT_TRUE(std::filesystem::is_empty(temporary_.path()));
}

TEST_F(LogitsFileTest, AsManyRowsAsAnnounced) {
  const std::vector<float> rows(9);
  LogitsWriter writer(file(), "logits.0", 2, 3);
  EXPECT_THROW(writer.append(rows.data(), 3), std::invalid_argument);
  EXPECT_THROW(writer.finish(), std::invalid_argument);
}

TEST_F(LogitsFileTest, GoodHeadersAreAccepted) {
  write(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24);
  EXPECT_EQ(message(), "");
  write(R"({"b":{"dtype":"F32","shape":[1,1],"data_offsets":[24,28]},"__metadata__":{"x":"y"},)"
        R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}} )",
        28);
  EXPECT_EQ(message(), "");
}

TEST_F(LogitsFileTest, BadFilesAreRefused) {
  EXPECT_THAT(message(), HasSubstr("cannot be opened"));
  std::ofstream(file()) << "short";
  EXPECT_THAT(message(), HasSubstr("truncated"));
  write_raw(~std::uint64_t{0}, "{}");
  EXPECT_THAT(message(), HasSubstr("header length 18446744073709551615"));
  write_raw(100, "{}");
  EXPECT_THAT(message(), HasSubstr("truncated"));
  write_raw((1 << 20) + 1, "{}");
  EXPECT_THAT(message(), HasSubstr("beyond the limit"));
  write("{\"a\":", 0);
  EXPECT_THAT(message(), HasSubstr("not JSON"));
  write("{\"a\":" + std::string(100'000, '['), 0);
  EXPECT_THAT(message(), HasSubstr("nested deeper"));
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  write(entry("F16", "[2,3]", "[0,12]"), 12);
  EXPECT_THAT(message(), HasSubstr("supported: F32"));
  write(entry("F32", "[6]", "[0,24]"), 24);
  EXPECT_THAT(message(), HasSubstr("two extents"));
  write(entry("F32", "[2,3]", "[0,20]"), 20);
  EXPECT_THAT(message(), HasSubstr("span 20 bytes"));
  write(entry("F32", "[2,3]", "[0,24]"), 23);
  EXPECT_THAT(message(), HasSubstr("truncated"));
  write(entry("F32", "[2,3]", "[0,24]"), 25);
  EXPECT_THAT(message(), HasSubstr("1 bytes after the last tensor"));
  write(entry("F32", "[2,3]", "[4,28]"), 28);
  EXPECT_THAT(message(), HasSubstr("a hole"));
  write(entry("F32", "[-2,3]", "[0,24]"), 24);
  EXPECT_THAT(message(), HasSubstr("integers >= 0"));
  write(entry("F32", "[4611686018427387904,4]", "[0,0]"), 0);  // the product wraps to 0
  EXPECT_THAT(message(), HasSubstr("beyond 2^63 bytes"));
  write(R"({"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
        R"("b":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})",
        4);
  EXPECT_THAT(message(), HasSubstr("inside the tensor before it"));
  write(R"({"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
        R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})",
        4);
  EXPECT_THAT(message(), HasSubstr("duplicate key 'a'"));
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_THAT(message(), HasSubstr("not a regular file"));
}

TEST_F(LogitsFileTest, AFileCutShortAfterOpeningIsAnError) {
  write(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24);
  const LogitsReader reader(file());
  std::filesystem::resize_file(file(), 80);
  std::vector<float> rows(6);
  EXPECT_THROW(reader.read(reader.tensor("a"), 0, 2, rows.data()), std::runtime_error);
  EXPECT_THROW(reader.tensor("b"), std::runtime_error);
}

}  // namespace
}  // namespace octlm::reference
