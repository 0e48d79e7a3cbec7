#include "experiments/kinds/own_metrics.h"

namespace octlm::experiments {

const std::vector<verify::MetricDefinition>& own_metrics() {
  using Type = verify::MetricDefinition::Type;
  using Better = verify::MetricDefinition::Better;
  static const std::vector<verify::MetricDefinition> definitions = {
      {"stored_tensors@1", "tensors in the checkpoint's files", "tensors"},
      {"stored_elements@1", "elements of all of them, duplicates counted", "elements"},
      {"parameters@1", "elements of the model, a tied head counted once", "elements"},
      {"files_match@1", "every file that the spec names has the sha256 it states", "", Type::kBool,
       Better::kTrue},
      {"ids_equal@1", "lists of ids equal to the reference's and to those that the spec states",
       "lists", Type::kAgreement, Better::kHigher},
      {"text_equal@1", "texts equal to the reference's: of ids, and of chats", "texts",
       Type::kAgreement, Better::kHigher},
      {"roundtrip_equal@1", "texts that their literal ids give back byte for byte", "texts",
       Type::kAgreement, Better::kHigher},
      {"offsets_equal@1", "texts of which every id stands for the same characters", "texts",
       Type::kAgreement, Better::kHigher},
      {"control_ids_from_text@1", "ids of added tokens that no template wrote", "ids"},
  };
  return definitions;
}

}  // namespace octlm::experiments
