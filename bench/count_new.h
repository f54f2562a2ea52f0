// Counts calls of operator new in the program that links count_new.cpp.

#pragma once

#include <cstddef>

/// So far, on all threads.
size_t allocations();
