# What joins several processes: MPI on the CPU, NCCL on GPUs. Both are found, not required.
set(MPI_CXX_SKIP_MPICXX TRUE)  # the C interface alone
find_package(MPI QUIET COMPONENTS CXX)
set(CONVSEQ_HAS_MPI ${MPI_CXX_FOUND})
message(STATUS "MPI: ${CONVSEQ_HAS_MPI} ${MPI_CXX_VERSION}")

set(CONVSEQ_HAS_NCCL FALSE)
if(CONVSEQ_TORCH_CUDA)
  find_package(Nccl QUIET)
  set(CONVSEQ_HAS_NCCL ${Nccl_FOUND})
endif()
message(STATUS "NCCL: ${CONVSEQ_HAS_NCCL}")
