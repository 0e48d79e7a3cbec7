# Turns a text file into a C++ source that defines it as a std::string_view.
# Run: cmake -DINPUT=<file> -DOUTPUT=<file.cpp> -DNAME=<variable> -P <this>
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}") # a line of bytes per line of text
file(WRITE ${OUTPUT} "// Generated from a file of the same name: edit that.
#include \"reference/transformers/embedded_source.h\"
namespace octlm::reference {
static const unsigned char bytes[] = {
${bytes}};
const std::string_view ${NAME}(reinterpret_cast<const char*>(bytes), sizeof bytes);
}  // namespace octlm::reference
")
