// Canonical composition (Unicode Standard Annex 15, NFC) of Unicode 9.0, which is what Hugging
// Face's tokenizers computes: later combining marks and composites are left as they are.
// Characters' data come from utf8proc, limited to the code points that 9.0 knew
// (unicode_tables.inc).
#pragma once

#include <string>
#include <string_view>

#include "model/rendered_text.h"

namespace octlm::model {

// REQUIRES: valid UTF-8. True when nfc(text) == text is certain without computing it.
bool is_surely_nfc(std::string_view text);

// REQUIRES: valid UTF-8.
std::string nfc(std::string_view text);

// The same; a character made from several is the template's only if the template wrote all of them,
// its neighbours that were reordered with it included.
RenderedText nfc(const RenderedText& text);

}  // namespace octlm::model
