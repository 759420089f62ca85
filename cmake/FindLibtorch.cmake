# The target `convseq::libtorch`: torch_cpu and c10 of the Python wheel, and torch_cuda where all that it needs
# is there (CONVSEQ_TORCH_CUDA). Imported by hand: the wheel's own CMake package asks for a CUDA toolkit even on
# a CPU. Libtorch_HINT names a folder to look into before those that tools/find_libtorch.sh knows.
find_file(CONVSEQ_FIND_LIBTORCH find_libtorch.sh NO_CACHE NO_DEFAULT_PATH
  PATHS ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/../tools)
execute_process(
  COMMAND ${CONVSEQ_FIND_LIBTORCH} ${Libtorch_HINT}
  OUTPUT_VARIABLE Libtorch_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS Libtorch_ROOT REASON_FAILURE_MESSAGE
  "no libtorch 2.11 found: run tools/setup.sh, or set the environment variable CONVSEQ_LIBTORCH to the folder that \
holds its include/ and lib/")
if(NOT Libtorch_FOUND OR TARGET convseq::libtorch)
  return()
endif()

set(torch_lib ${Libtorch_ROOT}/lib)
add_library(convseq::libtorch INTERFACE IMPORTED)
# After the system's headers: the wheel carries an fmt of its own, and there shall be only one.
target_compile_options(convseq::libtorch INTERFACE
  "SHELL:-idirafter ${Libtorch_ROOT}/include"
  "SHELL:-idirafter ${Libtorch_ROOT}/include/torch/csrc/api/include")
# The wheel's libraries find one another by their own RPATH, which the linker does not follow.
target_link_options(convseq::libtorch INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${torch_lib})

set(CONVSEQ_TORCH_CUDA FALSE)
set(cuda_libraries "")
set(missing "")
if(CONVSEQ_HAS_NVCC AND EXISTS ${torch_lib}/libtorch_cuda.so)
  execute_process(COMMAND ldd ${torch_lib}/libtorch_cuda.so OUTPUT_VARIABLE needs ERROR_QUIET)
  string(REGEX MATCHALL "[^ \t\n]+ => not found" missing "${needs}")
  if(NOT missing)
    set(CONVSEQ_TORCH_CUDA TRUE)
    set(cuda_libraries ${torch_lib}/libtorch_cuda.so ${torch_lib}/libc10_cuda.so)
    target_include_directories(convseq::libtorch INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_definitions(convseq::libtorch INTERFACE CONVSEQ_TORCH_CUDA=1)
    # The same cuBLASLt that libtorch uses: a process has one.
    if(needs MATCHES "libcublasLt[^\n]*=> ([^ \n]+)")
      add_library(convseq::cublaslt SHARED IMPORTED)
      set_target_properties(convseq::cublaslt PROPERTIES IMPORTED_LOCATION ${CMAKE_MATCH_1})
      target_include_directories(convseq::cublaslt INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    endif()
  endif()
endif()
if(missing)  # install all packages that the wheel asks for, or set LD_LIBRARY_PATH
  list(TRANSFORM missing REPLACE " => not found" "")
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing ", " missing)
  set(missing " (not found: ${missing})")
endif()
message(STATUS "libtorch with CUDA: ${CONVSEQ_TORCH_CUDA}${missing}")

# The shared libstdc++, by name and before all others: a compiler that only finds the static one (or a CUDA
# library that exports a copy) would leave two in the process, and one frees what the other allocated.
find_library(CONVSEQ_LIBSTDCXX NAMES libstdc++.so.6)
mark_as_advanced(CONVSEQ_LIBSTDCXX)
if(NOT CONVSEQ_LIBSTDCXX)
  set(CONVSEQ_LIBSTDCXX stdc++)
endif()

# Needed whether or not a symbol is asked for: torch_cuda registers itself when loaded.
target_link_libraries(convseq::libtorch INTERFACE -Wl,--push-state,--no-as-needed ${CONVSEQ_LIBSTDCXX}
  ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so ${cuda_libraries} -Wl,--pop-state)
