// The result of a run made again from its results.jsonl: of one that ended, and of one that was
// killed. Every rendering is made from this, at the end of a run as well.
#pragma once

#include "verify/program.h"
#include "verify/result.h"
#include "verify/run_file.h"

namespace octlm::verify {

// What is missing or of another type than a run writes is taken as absent. An experiment without
// its line, because the run was killed or is still at work, has the comparisons it has and no
// verdict. `program`: in whose words it will be rendered, and which role a kind had before records
// said so.
RunResult read_back(const RunFile& file, const Program& program);

}  // namespace octlm::verify
