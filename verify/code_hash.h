// What verify/code_hash.cmake writes at build time.
#pragma once

namespace octlm::verify {

extern const char* const kCodeSha256;  // 64 hexadecimal digits
extern const char* const kVersion;     // the project's, "0.1.0"

}  // namespace octlm::verify
