#include "convseq/base/error.h"
#include "convseq/dist/communicator.h"

namespace convseq {

std::unique_ptr<Communicator> make_mpi_communicator(const Launch& launch) {
  fail(
      "{} processes were started by {}, but this build has no MPI to join them; install "
      "libopenmpi-dev and configure again, or start one",
      launch.size, name_of(launch.launcher));
}

}  // namespace convseq
