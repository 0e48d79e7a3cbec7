// Is the reference as fast inside this process as in plain Python? If it were not (a passive wait policy, a
// lost thread, another BLAS), every later comparison of speed would flatter us. The one test of the project
// whose verdict is a time.
//
// Same checkpoint, same threads, same calls: a prefill of 64 tokens (large products) and 8 single-token
// steps (small products, where waking threads shows). The two sides alternate, ABBA, and wait until the
// other's threads have stopped spinning. Two estimates of the ratio, and a slowness must show in both: the
// median over the blocks, and the fastest run against the fastest run, which other programs on the machine
// can disturb least. What lasts, such as a lost thread, moves both.
//
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "reference/testing/python_checkpoint.h"
#include "reference/testing/temporary_folder.h"
#include "reference/transformers.h"

namespace octlm::reference {
namespace {

constexpr double kBound = 1.3;
constexpr int kBlocks = 15;
constexpr int kFewestBlocks = 5;
constexpr double kEnough_s = 20;  // no further blocks beyond the fewest: other programs hold the cores
constexpr int kThreads = 2;
constexpr std::int64_t kVocab = 4096;

// The environment without what would change OpenMP's and MKL's ways: what plain Python has by default.
std::vector<std::string> plain_environment() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("OMP_") || text.starts_with("GOMP_") || text.starts_with("KMP_") || text.starts_with("MKL_")) {
      continue;
    }
    kept.emplace_back(text);
  }
  return kept;
}

// Null-terminated, as posix_spawn wants them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// testing/plain_speed.py, driven over two pipes.
class PlainPython {
 public:
  explicit PlainPython(const std::string& folder) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::vector<std::string> arguments = {testing::project_python().string(), "-I",
                                          OCTLM_SOURCE_DIR "/reference/testing/plain_speed.py", folder,
                                          std::to_string(kThreads)};
    std::vector<std::string> variables = plain_environment();
    if (posix_spawn(&child_, arguments[0].c_str(), &actions, nullptr, pointers_to(arguments).data(),
                    pointers_to(variables).data()) != 0) {
      throw std::runtime_error("plain Python does not start");
    }
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    if (answer() != "ready") throw std::runtime_error("plain Python is not ready");
  }
  ~PlainPython() {
    std::fclose(to_);  // ends its loop
    std::fclose(from_);
    waitpid(child_, nullptr, 0);
  }
  PlainPython(const PlainPython&) = delete;
  PlainPython& operator=(const PlainPython&) = delete;

  double seconds(const char* work, int n) {
    std::fprintf(to_, "%s %d\n", work, n);
    std::fflush(to_);
    return std::stod(answer());
  }

 private:
  std::string answer() {
    char line[64] = "";
    if (std::fgets(line, sizeof line, from_) == nullptr) throw std::runtime_error("plain Python has ended");
    return std::string(line, std::string(line).find_last_not_of('\n') + 1);
  }

  pid_t child_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

double seconds_here(Engine& engine, const char* work, int n) {
  struct Sink final : LogitSink {
    void receive(const LogitBlock&) override {}
  } sink;
  LogitRequest request;
  for (int i = 0; i < n; ++i) request.token_ids.push_back(static_cast<std::int32_t>(i * 131 % kVocab));
  request.path = Path::parse(std::string(work) == "full" ? "full" : "cached:every");
  const auto started = std::chrono::steady_clock::now();
  const auto session = engine.start(request);
  while (session->advance(sink)) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// OpenMP workers spin for some milliseconds after a parallel region; the other side must not feel it.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

class ReferenceSpeed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder();
    testing::write_checkpoint(folder_->path(), "llama",
                              {{"hidden_size", 1024}, {"intermediate_size", 2048}, {"num_hidden_layers", 4},
                               {"num_attention_heads", 16}, {"num_key_value_heads", 8}, {"head_dim", 64},
                               {"vocab_size", kVocab}, {"initializer_range", 0.02}, {"dtype", "bfloat16"}});
    TransformersOptions options;
    options.python = testing::project_python();
    options.folder = folder_->path();
    options.threads = kThreads;
    here_ = make_transformers(options).release();
    plain_ = new PlainPython(folder_->path().string());
  }
  static void TearDownTestSuite() {
    delete plain_;
    delete here_;
    delete folder_;
  }

  // The smaller of the two estimates. A block runs here, plain, plain, here.
  static double ratio(const char* work, int n) {
    seconds_here(*here_, work, n);
    plain_->seconds(work, n);
    std::vector<double> blocks, here, plain;
    const auto started = std::chrono::steady_clock::now();
    const auto enough = [&] {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
      return blocks.size() == kBlocks || (blocks.size() >= kFewestBlocks && spent.count() > kEnough_s);
    };
    while (!enough()) {
      for (const bool ours : {true, false, false, true}) {
        settle();
        (ours ? here : plain).push_back(ours ? seconds_here(*here_, work, n) : plain_->seconds(work, n));
      }
      const auto last_two = [](const std::vector<double>& all) { return all[all.size() - 2] + all.back(); };
      blocks.push_back(last_two(here) / last_two(plain));
    }
    const double fastest = *std::min_element(here.begin(), here.end()) / *std::min_element(plain.begin(), plain.end());
    std::printf("%s %d: in this process / plain Python = %.3f median of %zu blocks, %.3f fastest (%.1f ms)\n", work, n,
                median(blocks), blocks.size(), fastest, 1e3 * *std::min_element(here.begin(), here.end()));
    return std::min(median(blocks), fastest);
  }

  static testing::TemporaryFolder* folder_;
  static Engine* here_;
  static PlainPython* plain_;
};
testing::TemporaryFolder* ReferenceSpeed::folder_ = nullptr;
Engine* ReferenceSpeed::here_ = nullptr;
PlainPython* ReferenceSpeed::plain_ = nullptr;

TEST_F(ReferenceSpeed, PrefillIsAsFastAsInPlainPython) { EXPECT_LT(ratio("full", 64), kBound); }

TEST_F(ReferenceSpeed, DecodingIsAsFastAsInPlainPython) { EXPECT_LT(ratio("every", 8), kBound); }

}  // namespace
}  // namespace octlm::reference
