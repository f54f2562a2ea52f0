// Ctrl-C, a polite kill and the end of the terminal as a wish: the run ends after its step, with a checkpoint. A second
// one ends it at once.

#pragma once

namespace tenon::train {

/// Catches SIGINT, SIGTERM and SIGHUP while alive; at most one may be alive. A signal that is ignored stays ignored, as
/// a shell arranges it for programs in the background, and nohup for SIGHUP.
///
///   train::StopRequest stop;
///   for (int64_t step = 0; step < 10 && !stop.requested(); ++step) net(ones({1, 3}));
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Whether a signal has asked.
  bool requested() const { return signal() != 0; }
  /// The signal that asked, 0 while none has.
  int signal() const;
};

/// Writing to a pipe that nobody reads any more fails instead of ending the process while this lives: a run that loses
/// its terminal, as in `2>&1 | head`, goes on to its next checkpoint. A program's own choice for SIGPIPE stays.
class PipesMayClose {
 public:
  PipesMayClose();
  ~PipesMayClose();
  PipesMayClose(const PipesMayClose&) = delete;
  PipesMayClose& operator=(const PipesMayClose&) = delete;

 private:
  bool is_ours_ = false;
};

/// From now on a second Ctrl-C may say that a checkpoint stands; until the next StopRequest.
void tell_of_checkpoint();

}  // namespace tenon::train
