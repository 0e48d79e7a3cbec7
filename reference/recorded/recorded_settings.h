// A recording says in `producer.settings` how its logits were computed, as it was read back from
// the objects that computed them. That has to be what the manifest and the experiment say it is.
#pragma once

#include <string>

#include "reference/engine.h"
#include "reference/recorded/recorded.h"

namespace octlm::reference {

// The first field that is missing or says something else: `"training" is true, expected false`; ""
// when all agree. dtype and attention are asked of every producer; of Transformers all that the
// live reference refuses to compute without (transformers_reference.py).
std::string settings_contradiction(const EngineDescription& producer, const RecordingKey& key);

}  // namespace octlm::reference
