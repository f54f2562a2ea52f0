// The pickle of a .pt file by itself, without the archive that mutations break first.

#include "target.h"
#include "tenon/io/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("torch", data, size);
  // An instruction of one byte makes an object of 64 and an entry of the memo.
  tenon::fuzz::run(size, 512, [&] {
    const auto accept_torch = [](std::string_view name) {
      return name.starts_with("torch") || name.starts_with("col");
    };
    const tenon::io::Pickle pickle = tenon::io::parse_pickle(input, accept_torch);
    for (const tenon::io::Object& object : pickle.objects) {
      for (const tenon::io::ObjectId item : object.items) {
        if (item >= pickle.objects.size()) __builtin_trap();
      }
    }
  });
  return 0;
}
