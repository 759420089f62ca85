# Installs the build, then configures, builds and runs examples/library with what was installed; every header that an
# installed header includes must be there. Last, the same example with the sources as a folder, configured only.
# cmake -DSOURCE=. -DBUILD=build/release -DWORK=folder -DCOMPILER=clang++ -P package_test.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --strip)

file(GLOB_RECURSE headers ${prefix}/include/convseq/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${header} includes REGEX "^#include \"convseq/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" included ${include})
    if(NOT EXISTS ${prefix}/include/${included})
      message(SEND_ERROR "${header} includes ${included}, which is not installed")
    endif()
  endforeach()
endforeach()

set(example ${CMAKE_COMMAND} -S ${SOURCE}/examples/library -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER})
run(${example} -B ${WORK}/installed -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/installed)
run(${WORK}/installed/forward)
if(NOT output MATCHES "2 x 4 x 128 logits")
  message(SEND_ERROR "the example printed: ${output}")
endif()
run(${prefix}/bin/convseq version)

run(${example} -B ${WORK}/folder -DCONVSEQ_SOURCES=${SOURCE} -DCONVSEQ_CUDA=OFF)
file(REMOVE_RECURSE ${WORK})
