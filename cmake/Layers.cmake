# One static library per folder of src/convseq, and one test program per folder of tests/.

# Two precompiled headers: one for folders that know no torch, one for those that do.
function(convseq_precompile name)  # convseq_precompile(convseq_pch_x LINK libs... HEADERS headers...)
  cmake_parse_arguments(ARG "" "" "LINK;HEADERS" ${ARGN})
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp.new "// only carries the precompiled header\n")
  configure_file(${PROJECT_BINARY_DIR}/${name}.cpp.new ${PROJECT_BINARY_DIR}/${name}.cpp COPYONLY)
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE convseq_flags ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# convseq_layer(nn TORCH SOURCES a.cpp ... LINK convseq_ops ...)
function(convseq_layer folder)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  set(name convseq_${folder})
  add_library(${name} STATIC ${ARG_SOURCES})
  add_library(convseq::${folder} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${folder})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:convseq_flags> PUBLIC ${ARG_LINK})
  convseq_install(${name})
  if(CONVSEQ_UNITY)  # most of a file's time goes into the headers and templates that all of them share
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)
  endif()
  if(ARG_TORCH)
    target_link_libraries(${name} PUBLIC convseq::libtorch)
    target_precompile_headers(${name} REUSE_FROM convseq_pch_torch)
  else()
    target_precompile_headers(${name} REUSE_FROM convseq_pch_plain)
  endif()
endfunction()

# The sources that a build writes: all that clang-tidy needs of one.
add_custom_target(convseq_generated)

# convseq_embed(model configs/models model/embedded_presets.h kEmbeddedPresets): the JSON files of a folder
# as a header of that layer, so that an installed program has them.
function(convseq_embed folder source header name)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${source}/*.json)
  set(output ${PROJECT_BINARY_DIR}/generated/convseq/${header})
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedJson.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/${source} -DHEADER=${output} -DNAME=${name}
            -P ${script}
    DEPENDS ${files} ${script})
  target_sources(convseq_${folder} PRIVATE ${output})
  add_custom_target(convseq_${folder}_embedded DEPENDS ${output})
  add_dependencies(convseq_generated convseq_${folder}_embedded)
  target_include_directories(convseq_${folder} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()

# convseq_test(nn TORCH GPU SOURCES a_test.cpp ... LINK convseq_nn ...): suites whose names begin with
# Gpu (say GPU where there are any) are run by `make test-gpu` alone, and fail where there is no GPU; those that
# begin with Long by `make test-long`. Suites under MAY_SKIP need something that may not be there: each is an
# entry of its own, of which ctest then says "Skipped", not "Passed". THREADS: what it tests starts threads, or is called
# by several; these run under the thread sanitizer too.
function(convseq_test folder)
  cmake_parse_arguments(ARG "TORCH;GPU;THREADS" "" "SOURCES;LINK;MAY_SKIP" ${ARGN})
  if(ARG_TORCH AND NOT CONVSEQ_TORCH)
    return()
  endif()
  set(name ${folder}_test)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE CONVSEQ_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE convseq_flags ${ARG_LINK} GTest::gtest_main)
  if(ARG_TORCH)
    target_precompile_headers(${name} REUSE_FROM convseq_pch_torch)
  else()
    target_precompile_headers(${name} REUSE_FROM convseq_pch_plain)
  endif()
  set(apart "")
  foreach(suite IN LISTS ARG_MAY_SKIP)
    string(APPEND apart ":${suite}*")
    add_test(NAME ${folder}_${suite} COMMAND ${name} --gtest_filter=${suite}*)
    set_tests_properties(${folder}_${suite} PROPERTIES TIMEOUT 900 ENVIRONMENT OMP_NUM_THREADS=1
      SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  endforeach()
  add_test(NAME ${folder} COMMAND ${name} --gtest_brief=1 --gtest_filter=-Gpu*:Long*${apart})
  # Tiny tensors on many threads mostly wait for one another.
  set_tests_properties(${folder} PROPERTIES TIMEOUT 900 ENVIRONMENT OMP_NUM_THREADS=1)
  if(ARG_THREADS)
    add_dependencies(thread_tests ${name})
    set_tests_properties(${folder} PROPERTIES LABELS threads)
  endif()
  if(ARG_GPU)
    add_test(NAME ${folder}_gpu COMMAND ${name} --gtest_filter=Gpu*)
    set_tests_properties(${folder}_gpu PROPERTIES TIMEOUT 900 LABELS gpu)
  endif()
endfunction()
