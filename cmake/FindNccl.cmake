# The target `convseq::nccl`: the header of the CUDA toolkit, the library that libtorch loads.
find_path(Nccl_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(Nccl_LIBRARY NAMES nccl libnccl.so.2
  HINTS ${Libtorch_ROOT}/../nvidia/nccl/lib ${Nccl_INCLUDE_DIR}/../lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nccl REQUIRED_VARS Nccl_LIBRARY Nccl_INCLUDE_DIR)
mark_as_advanced(Nccl_LIBRARY Nccl_INCLUDE_DIR)
if(Nccl_FOUND AND NOT TARGET convseq::nccl)
  add_library(convseq::nccl UNKNOWN IMPORTED)
  set_target_properties(convseq::nccl PROPERTIES IMPORTED_LOCATION ${Nccl_LIBRARY})
  target_include_directories(convseq::nccl INTERFACE ${Nccl_INCLUDE_DIR})
endif()
