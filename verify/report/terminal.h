// What the descriptor behind a stream can show.
#pragma once

#include <cstddef>

namespace octlm::verify {

// May a line be drawn there again and again? Only on a terminal, and not where the person asked for
// plain text: NO_COLOR is set to something (no-color.org), or TERM is "dumb" or absent.
bool can_redraw(int descriptor);

// Its width now, which changes when its window does; 80 where it cannot tell.
std::size_t terminal_columns(int descriptor);

}  // namespace octlm::verify
