# The target `libtorch`: torch_cpu and c10 of the Python wheel, and torch_cuda where all that it needs
# is there. Imported by hand: the wheel's own CMake package asks for a CUDA toolkit even on a CPU.
execute_process(
  COMMAND ${CMAKE_SOURCE_DIR}/tools/find_libtorch.sh
  OUTPUT_VARIABLE CONVSEQ_TORCH OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT CONVSEQ_TORCH)
  message(FATAL_ERROR "no libtorch 2.11 found; run tools/setup.sh, or set CONVSEQ_LIBTORCH to the "
                      "folder that holds its include/ and lib/")
endif()
message(STATUS "libtorch: ${CONVSEQ_TORCH}")

set(torch_lib ${CONVSEQ_TORCH}/lib)
add_library(libtorch INTERFACE)
# After the system's headers: the wheel carries an fmt of its own, and there shall be only one.
target_compile_options(libtorch INTERFACE
  "SHELL:-idirafter ${CONVSEQ_TORCH}/include"
  "SHELL:-idirafter ${CONVSEQ_TORCH}/include/torch/csrc/api/include")
# The wheel's libraries find one another by their own RPATH, which the linker does not follow.
target_link_options(libtorch INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${torch_lib})

set(CONVSEQ_TORCH_CUDA FALSE)
set(CONVSEQ_CUBLASLT "")
set(cuda_libraries "")
if(CONVSEQ_HAS_NVCC AND EXISTS ${torch_lib}/libtorch_cuda.so)
  execute_process(COMMAND ldd ${torch_lib}/libtorch_cuda.so OUTPUT_VARIABLE needs ERROR_QUIET)
  if(NOT needs MATCHES "not found")
    set(CONVSEQ_TORCH_CUDA TRUE)
    set(cuda_libraries ${torch_lib}/libtorch_cuda.so ${torch_lib}/libc10_cuda.so)
    target_include_directories(libtorch SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    target_compile_definitions(libtorch INTERFACE CONVSEQ_TORCH_CUDA=1)
    # The same cuBLASLt that libtorch uses: a process has one.
    if(needs MATCHES "libcublasLt[^\n]*=> ([^ \n]+)")
      set(CONVSEQ_CUBLASLT ${CMAKE_MATCH_1})
    endif()
  endif()
endif()
message(STATUS "libtorch with CUDA: ${CONVSEQ_TORCH_CUDA}")

# The shared libstdc++, by name and before all others: a compiler that only finds the static one (or a CUDA
# library that exports a copy) would leave two in the process, and one frees what the other allocated.
find_library(CONVSEQ_LIBSTDCXX NAMES libstdc++.so.6)
if(NOT CONVSEQ_LIBSTDCXX)
  set(CONVSEQ_LIBSTDCXX stdc++)
endif()

# Needed whether or not a symbol is asked for: torch_cuda registers itself when loaded.
target_link_libraries(libtorch INTERFACE -Wl,--push-state,--no-as-needed ${CONVSEQ_LIBSTDCXX}
  ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so ${cuda_libraries} -Wl,--pop-state)
