// Text from outside (a model's, a checkpoint's, a user's), made safe for where it is shown.
#pragma once

#include <string>
#include <string_view>

namespace octlm::verify {

// For a terminal and for logs, on one line: control characters, DEL, C1, bidirectional overrides,
// line separators and bytes that are not UTF-8 become \n, \t, \x1b, \u{202e}.
std::string for_terminal(std::string_view text);

// The same for an error that lists its findings, one a line after "\n  ": those lines stay lines.
// They begin with two spaces whatever they quote, so none can pass for a line of the program's own.
std::string for_terminal_lines(std::string_view text);

// For a cell of a Markdown table: the same, and nothing in it is markup, HTML or a link. A mark
// that no renderer takes as one where it stands is left as it is: "max_abs_error@1 (host)".
std::string for_markdown(std::string_view text);

}  // namespace octlm::verify
