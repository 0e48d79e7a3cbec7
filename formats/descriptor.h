// What every writer of bytes does: all of them, or an error.
#pragma once

#include <cstddef>

namespace octlm::formats {

// False with errno when the other side refuses; a pipe that is full for now is waited for.
bool write_all(int descriptor, const void* data, std::size_t bytes);

}  // namespace octlm::formats
