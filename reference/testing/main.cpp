// main() of the tests that start Python: they must not run its, nor torch's, destructors.
#include <gtest/gtest.h>

#include "reference/transformers/python.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  octlm::reference::flush_and_exit(RUN_ALL_TESTS());
}
