// A command line as a user types it, split into words as a shell would, with no shell anywhere:
// what is in it is handed to the program as it stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octlm::reference {

// Words are separated by white space; '...' is literal; in "..." a backslash escapes " \ $ `
// only; outside, a backslash takes the next character as it is. Nothing is expanded. Throws
// std::invalid_argument when there is no word, for a quote that is not closed, and for a character
// that only a shell could honour outside quotes (| & ; < > ( ) $ ` and a line break), rather than
// hand it over as text.
std::vector<std::string> command_words(std::string_view text);

}  // namespace octlm::reference
