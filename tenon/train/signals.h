// Ctrl-C and a polite kill as a wish: the run ends after its step, with a checkpoint. A second one ends it at once.

#pragma once

namespace tenon::training {

/// Catches SIGINT and SIGTERM while alive; at most one may be alive. A signal that is ignored stays ignored, as a shell
/// arranges it for programs in the background.
///
///   StopRequest stop;
///   while (step < steps && !stop.requested()) ...
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  bool requested() const { return signal() != 0; }
  /// The signal that asked, 0 while none has.
  int signal() const;
};

}  // namespace tenon::training
