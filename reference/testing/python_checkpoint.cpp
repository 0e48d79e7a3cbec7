#include "reference/testing/python_checkpoint.h"

#include <pybind11/embed.h>

#include "reference/transformers/python.h"
#include "reference/transformers/python_call.h"

namespace octlm::reference::testing {

namespace py = pybind11;

std::filesystem::path project_python() { return OCTLM_PYTHON; }

void write_checkpoint(const std::filesystem::path& folder, const std::string& architecture,
                      const nlohmann::json& overrides) {
  start_python(project_python());
  with_python("writing a tiny checkpoint", [&] {
    const std::string script =
        std::string(OCTLM_SOURCE_DIR) + "/reference/testing/tiny_checkpoint.py";
    const py::dict module = py::module_::import("runpy").attr("run_path")(script);
    const py::dict fields = py::module_::import("json").attr("loads")(overrides.dump());
    module["write"](folder.string(), architecture, **fields);
  });
}

}  // namespace octlm::reference::testing
