// The cpu device with products that can be done in three ways: as they are, and with the last bit of every f32 result
// turned, or the last but one. It has them timed, and the environment says how long each takes, so that a test decides
// which is chosen:
//
//   TIMED_US=1000,50,1000    microseconds of ways 0, 1 and 2
//   TIMED_VERSION=2          of the library that the device says it has

#pragma once

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"

namespace tenon::train {

class TimedDevice : public device::Device {
 public:
  TimedDevice() : inner_(device::open(device::find("cpu"))), compiler_(inner_.compiler()) {}

  std::string describe() const override { return "a device that is timed"; }
  const ir::Limits& limits() const override { return inner_.limits(); }
  device::Compiler& compiler() override { return compiler_; }
  device::Buffer allocate(size_t bytes) override { return inner_.allocate(bytes); }
  void release(const device::Buffer& buffer) override { inner_.release(buffer); }
  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands) {
      const auto* launch = std::get_if<device::Launch>(&command);
      const auto* product = launch ? dynamic_cast<const Product*>(launch->program.get()) : nullptr;
      if (product)
        run(*product, *launch);
      else
        inner_.enqueue({&command, 1});
    }
  }
  device::Ticket submit(bool caller_waits) override { return inner_.submit(caller_waits); }
  bool is_done(device::Ticket ticket) override { return inner_.is_done(ticket); }
  void wait(device::Ticket ticket) override { inner_.wait(ticket); }
  bool is_known_to_fail(device::Ticket ticket) override { return inner_.is_known_to_fail(ticket); }
  bool has_failed(device::Ticket ticket) override { return inner_.has_failed(ticket); }

  /// Known by this name from now on.
  static void add() {
    device::add({"timed", [] { return std::make_unique<TimedDevice>(); }, true});
  }

 private:
  struct Product : device::Program {
    device::ProgramRef inner;
    uint32_t way = 0;
    size_t scratch_bytes() const override { return inner->scratch_bytes(); }
  };

  class Compiler : public device::Compiler {
   public:
    explicit Compiler(device::Compiler& inner) : inner_(inner) {}
    device::ProgramRef compile(const device::Kernel& kernel) override {
      const auto* call = std::get_if<ir::Call>(&kernel);
      if (!call || call->op != ir::Op::contract) return inner_.compile(kernel);
      ir::Call usual = *call;
      usual.way = {};
      auto made = std::make_shared<Product>();
      made->inner = inner_.compile(usual);
      made->way = call->way.empty() ? 0 : call->way[0];
      return made;
    }
    std::vector<ir::Way> ways(const ir::Call& call) const override {
      if (call.op != ir::Op::contract) return {};
      return {ir::Way{0}, ir::Way{1}, ir::Way{2}};
    }
    std::optional<ir::Call> timed_as(const ir::Call& call) const override {
      if (call.op != ir::Op::contract) return std::nullopt;
      ir::Call alone = call;
      alone.way = {};
      return alone;
    }
    std::string timed_on() const override { return "a timed device of version " + in_environment("TIMED_VERSION"); }

   private:
    device::Compiler& inner_;
  };

  static std::string in_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "1";
  }

  void run(const Product& product, const device::Launch& launch) {
    device::Launch plain = launch;
    plain.program = product.inner;
    const device::Command command = plain;
    inner_.wait(inner_.send({&command, 1}, true));
    std::string times = in_environment("TIMED_US");
    for (uint32_t i = 0; i < product.way; ++i) times = times.substr(times.find(',') + 1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(std::atol(times.c_str()));
    while (std::chrono::steady_clock::now() < end) continue;
    const device::Arg& out = launch.args[launch.inputs];
    for (size_t at = 0; at + 4 <= out.bytes; at += 4) {
      uint32_t bits = 0;
      std::memcpy(&bits, out.buffer.host + out.offset + at, 4);
      bits ^= product.way;
      std::memcpy(out.buffer.host + out.offset + at, &bits, 4);
    }
  }

  device::Device& inner_;
  Compiler compiler_;
};

}  // namespace tenon::train
