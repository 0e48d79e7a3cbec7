// junit.xml: the run as CI systems read it. A suite for each experiment; in it a case for each
// planned comparison, and one for the verdict of each device. A case without failure, error or
// skipped is something that was compared, that holds, and that counts; everything else says why it
// is not. A device that failed is one failure, that of its verdict, whose text lists what broke and
// how to see it again; the comparisons that broke are skipped, and point to it. The file follows
// the schemas of Ant and Jenkins (verify/testing/junit.xsd).
#pragma once

#include <string>

#include "verify/result.h"

namespace octlm::verify {

std::string junit_xml(const RunResult& run);

}  // namespace octlm::verify
