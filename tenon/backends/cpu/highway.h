// Which instruction sets the vector code of the cpu device is compiled for. Included before any Highway header.
//
// Left out are SVE (its vector types have no size, so they fit in no struct, and on the 128- and 256-bit machines that
// exist NEON has the same throughput), SSSE3 (no machine stops there any more) and AVX3_DL (Highway 1.0.3 truncates
// 32-bit lanes to bytes by the wrong permutation there, and it would add nothing to AVX3). One-lane scalar code is
// compiled everywhere: it is the baseline of x86, and it gives the tests a second instruction set to compare with on
// every machine.

#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SSSE3 | HWY_AVX3_DL)
#define HWY_COMPILE_ALL_ATTAINABLE
