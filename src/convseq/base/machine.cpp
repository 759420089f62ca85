#include "convseq/base/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <thread>

namespace convseq {

std::string machine_name() {
  utsname system{};
  ::uname(&system);
  return fmt::format("{}-{}cores", system.machine, std::thread::hardware_concurrency());
}

}  // namespace convseq
