// Work that goes on while the host does something else: values sent ahead, and points in a device's work to wait for.

#pragma once

#include <memory>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// Starts sending a tensor to a device, computing it first if need be, and returns it there at once; whoever reads it
/// waits.
///   Tensor next = prefetch(ones({4}), Device("cpu"));
Tensor prefetch(const Tensor& x, Device device);

/// A point in the work of a device: everything that was started before it was made.
///   Tensor y = ones({4}) * 2;
///   eval({y});
///   Event started;
///   started.synchronize();  // y is there
class Event {
 public:
  explicit Event(Device device = {});
  /// Whether all of it is known to have run; never waits. What has run a moment ago may not be known yet.
  ///   const bool is_there = Event().is_done();
  bool is_done() const;
  /// Returns when all of it has run; throws what went wrong there and nobody has been told yet.
  ///   Event().synchronize();
  void synchronize() const;
  Device device() const;

 private:
  struct Mark;
  std::shared_ptr<const Mark> mark_;
};
/// The same as event.synchronize().
///   synchronize(Event());
void synchronize(const Event& event);

}  // namespace tenon
