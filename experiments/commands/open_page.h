// A page shown in the browser of the person who asked for it.
#pragma once

#include <filesystem>
#include <string>

namespace octlm::experiments {

// Hands the page to the desktop (xdg-open, open) and does not wait for it. "" when that was begun;
// else why not: there is no display, or no such program.
std::string open_page(const std::filesystem::path& page);

}  // namespace octlm::experiments
