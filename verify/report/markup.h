// Text from outside (a model's, a checkpoint's, a user's) inside HTML and XML. The same form serves
// both, as an element's text and as an attribute's value in double quotes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octlm::verify {

// As for_terminal (control characters, directional marks and bytes that are not UTF-8 are written
// out), so that nothing is left that XML 1.0 forbids, and & < > " ' as references.
std::string for_markup(std::string_view text);

// At most `bytes` of it, cut between code points, "…" where something is missing. Not escaped.
std::string shortened(std::string_view text, std::size_t bytes);

// Both: what a cell of a table shows of a name, and a paragraph of a reason.
std::string name_markup(std::string_view text);
std::string prose_markup(std::string_view text);

}  // namespace octlm::verify
