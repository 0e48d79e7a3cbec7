// What a program of somebody else's says: its capabilities, its word that it is ready, its answers.
#include "reference/process/filter_protocol.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm::reference;
  using octlm::formats::testing::accepted;
  const std::string line(octlm::formats::testing::text_of(data, size));
  Greeting greeting;
  if (accepted<std::runtime_error>([&] { greeting = read_greeting(line); })) {
    octlm::formats::testing::require_printable(greeting.name);
    octlm::formats::testing::require(
        accepted<std::runtime_error>([&] { check_greeting(line, greeting); }),
        "the same line is the same greeting");
  }
  accepted<std::runtime_error>([&] { check_ready(line); });
  const Asked full{.positions = 5, .rows = 5, .calls = {}, .how = "the path full"};
  const Asked split{.first_position = 2,
                    .positions = 3,
                    .rows = 1,
                    .vocab = 64,
                    .calls = std::vector<ForwardCall>{{2, 1}, {3, 2}},
                    .how = "a session"};
  for (const Asked& asked : {full, split}) {
    accepted<std::runtime_error>([&] {
      const Answer answer = read_answer(line, asked);
      octlm::formats::testing::require(answer.vocab > 0, "a vocabulary has entries");
    });
  }
  return 0;
}
