// A mapped file that is cut short by somebody else makes the next access to the lost bytes a
// SIGBUS, which ends the process wherever it is: in our code, or in a library that maps the same
// file. A program that checks its files can go on instead and say which one it was.
#pragma once

namespace octlm::formats {

// From here on a page of a mapped file that is no longer there reads as zeros, in every thread and
// for every library, and cut_files() says so. To be called once, by a program, which then must hold
// its files against their stamps (file_stamp.h) before it believes what it computed. Other causes
// of SIGBUS do what they did before.
void outlive_cut_files();

// Was a page of a mapped file gone when it was needed?
bool cut_files();

}  // namespace octlm::formats
