#pragma once

#include <gtest/gtest.h>

#include <string>

namespace convseq::testing {

// Root, more processes than cores, and a network with nothing but this machine are all welcome.
inline std::string mpirun_line(const std::string& arguments) {
  return "env OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "ASAN_OPTIONS=detect_leaks=0 '" CONVSEQ_MPIRUN "' --oversubscribe --bind-to none " +
         arguments;
}

class Mpirun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CONVSEQ_MPIRUN).empty()) {
      GTEST_SKIP() << "this build has no MPI; install libopenmpi-dev and openmpi-bin";
    }
  }
};

}  // namespace convseq::testing
