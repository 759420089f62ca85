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
target_link_libraries(libtorch INTERFACE ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so)
# The wheel's libraries find one another by their own RPATH, which the linker does not follow.
target_link_options(libtorch INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${torch_lib})

set(CONVSEQ_TORCH_CUDA FALSE)
if(CONVSEQ_HAS_NVCC AND EXISTS ${torch_lib}/libtorch_cuda.so)
  execute_process(COMMAND ldd ${torch_lib}/libtorch_cuda.so OUTPUT_VARIABLE needs ERROR_QUIET)
  if(NOT needs MATCHES "not found")
    set(CONVSEQ_TORCH_CUDA TRUE)
    # Nothing refers to torch_cuda by name: it registers itself when loaded.
    target_link_libraries(libtorch INTERFACE -Wl,--no-as-needed ${torch_lib}/libtorch_cuda.so
      ${torch_lib}/libc10_cuda.so -Wl,--as-needed)
    target_include_directories(libtorch SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    target_compile_definitions(libtorch INTERFACE CONVSEQ_TORCH_CUDA=1)
  endif()
endif()
message(STATUS "libtorch with CUDA: ${CONVSEQ_TORCH_CUDA}")
