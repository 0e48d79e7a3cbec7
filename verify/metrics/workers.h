// A few threads of the comparison's own, parked between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace octlm::verify {

class Workers {
 public:
  // The caller is one of the `threads`; 0 = as many as the machine has.
  explicit Workers(int threads);
  ~Workers();

  int threads() const;

  // Calls task(i) for i in [0, tasks), on all threads, each i once; returns when all are done. The
  // tasks must not throw, and must not depend on their order.
  void run(std::int64_t tasks, const std::function<void(std::int64_t)>& task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octlm::verify
