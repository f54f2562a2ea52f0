// FFTW's transforms, in the library that the machine has: opened when a transform is first computed, so that a program
// which never does needs none.

#pragma once

#include <cstdint>
#include <vector>

namespace tenon::fft::fftw {

enum class Kind { forward, backward, real_to_complex, complex_to_real };

/// Fails in one line that says what to install, where no library is found.
void require(const char* op);

/// `count` transforms one after the other, without any factor. `sizes` are those of the complex, or of the real side;
/// complex numbers are pairs. What is given may be overwritten.
template <typename T>
void transform(Kind kind, const std::vector<int>& sizes, int64_t count, T* from, T* to);

}  // namespace tenon::fft::fftw
