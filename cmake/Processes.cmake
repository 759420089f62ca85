# What joins several processes: MPI on the CPU, NCCL on GPUs. Both are found, not required.
set(MPI_CXX_SKIP_MPICXX TRUE)  # the C interface alone
find_package(MPI QUIET COMPONENTS CXX)
set(CONVSEQ_HAS_MPI ${MPI_CXX_FOUND})
message(STATUS "MPI: ${CONVSEQ_HAS_MPI} ${MPI_CXX_VERSION}")

set(CONVSEQ_HAS_NCCL FALSE)
if(CONVSEQ_TORCH_CUDA)
  find_path(CONVSEQ_NCCL_INCLUDE nccl.h HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  find_library(CONVSEQ_NCCL_LIBRARY NAMES nccl libnccl.so.2
    HINTS ${CONVSEQ_TORCH}/../nvidia/nccl/lib ${CONVSEQ_NCCL_INCLUDE}/../lib)
  if(CONVSEQ_NCCL_INCLUDE AND CONVSEQ_NCCL_LIBRARY)
    set(CONVSEQ_HAS_NCCL TRUE)
  endif()
endif()
message(STATUS "NCCL: ${CONVSEQ_HAS_NCCL}")
