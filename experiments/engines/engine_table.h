// The engines that a spec can name, by name. Either side may be any of them: an engine against
// itself is a control. A later one is one more row of engine_table().
#pragma once

#include <string>
#include <vector>

#include "experiments/engines/environment.h"

namespace octlm::experiments {

// The engines of this build; `threads` for each, unless a request says otherwise.
EngineTable engine_table(int threads);

// What a spec's "engine" may say: formats::Reader::one_of refuses anything else with the nearest.
std::vector<std::string> engine_names();
// The same where an environment brings its own table.
std::vector<std::string> engine_names(const EngineTable& table);

// Opens the engine that the request names. NotRun also for a device or dtype that is not among its
// capabilities. Throws std::invalid_argument for a name that is not in the table.
OrNotRun<std::unique_ptr<reference::Engine>> open_engine(const EngineTable& table,
                                                         const EngineRequest& request);

// Why `engine` cannot serve the request, from what it says of itself; nullopt when it can.
std::optional<verify::NotRun> unsupported_engine(const reference::Engine& engine,
                                                 const EngineRequest& request);

// Why Transformers cannot run in this process; nullopt when it can.
std::optional<verify::NotRun> without_python();

}  // namespace octlm::experiments
