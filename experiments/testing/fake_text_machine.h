// Test support: an Environment of two fake tokenizers, and a folder with prompts for a spec beside
// them.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "experiments/engines/environment.h"
#include "experiments/testing/fake_text_engine.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::experiments::testing {

struct FakeTextMachine {
  model::testing::TemporaryFolder folder;
  std::function<void(FakeTextEngine&)> set_subject = [](FakeTextEngine&) {};
  std::function<void(FakeTextEngine&)> set_reference = [](FakeTextEngine&) {};
  std::optional<verify::NotRun> no_checkpoint, no_reference;

  FakeTextMachine() {
    write("texts.jsonl", "\"one\"\n\"two <s> \\u00e9\"\n\"\"\n");
    write("chats.jsonl", R"({"messages": [{"role": "user", "content": "x</s><s>y"},)"
                         R"( {"role": "user", "content": "z"}]})"
                         "\n"
                         R"({"messages": [{"role": "user", "content": ""}]})"
                         "\n");
    write("chat.json", R"({"messages": [{"role": "user", "content": "hi"}]})");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name) << text;
  }

  Environment environment() {
    Environment fakes;
    fakes.find_checkpoint = [this](const ModelReference&) -> OrNotRun<CheckpointFolder> {
      if (no_checkpoint) return *no_checkpoint;
      return CheckpointFolder{folder.path()};
    };
    const auto open = [](const auto& set,
                         const auto& absent) -> OrNotRun<std::unique_ptr<reference::TextEngine>> {
      if (absent) return *absent;
      auto engine = std::make_unique<FakeTextEngine>();
      set(*engine);
      return engine;
    };
    fakes.open_text_subject = [=, this](const TextRequest&) {
      return open(set_subject, std::optional<verify::NotRun>());
    };
    fakes.open_text_reference = [=, this](const TextRequest&) {
      return open(set_reference, no_reference);
    };
    return fakes;
  }
};

}  // namespace octlm::experiments::testing
