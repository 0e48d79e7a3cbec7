// The Python sources of this folder, compiled into the library (embed.cmake), so that the program
// runs from anywhere and cannot meet another version of them.
#pragma once

#include <string_view>

namespace octlm::reference {

extern const std::string_view transformers_reference_py;
extern const std::string_view text_reference_py;
extern const std::string_view environment_py;
extern const std::string_view reference_files_py;

}  // namespace octlm::reference
