// What tests tell the stand-in of NVIDIA's driver, and ask it. It is a library of its own, which the device under test
// opens in place of libcuda.so.1; tests find these functions in it by name.

#pragma once

#include <cstdint>

struct StandInControls {
  /// The call of this function after so many others fails with this code. A code after which a context is unusable
  /// stays.
  void (*fail)(const char* function, int code, int after);
  /// Forgets what was told and counted; what is wrong with the context is right again.
  void (*reset)();
  /// What was done wrong so far, one line each.
  const char* (*complaints)();
  /// The next kernel that runs leaves these eight words where its fault words are.
  void (*fault)(const uint32_t* words);
  /// Calls of a function so far.
  int (*calls)(const char* function);
  /// Things that were made and not destroyed: memory, host memory, streams, events, modules, graphs.
  int (*alive)(const char* kind);
};
