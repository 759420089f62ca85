# Everything that makes a build fast, and strict. Only our own targets get it, by the target `convseq_flags`.
add_library(convseq_flags INTERFACE)

find_program(CONVSEQ_CCACHE ccache)
if(CONVSEQ_CCACHE)
  # A precompiled header hides its macros and time stamps from ccache unless told to look past them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CONVSEQ_CCACHE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(convseq_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

find_program(CONVSEQ_LLD ld.lld)
if(CONVSEQ_LLD)
  target_link_options(convseq_flags INTERFACE -fuse-ld=lld)
endif()

target_compile_options(convseq_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow>")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Designated initialisers leave fields to their defaults on purpose; the others see faults of libtorch that are not there.
  target_compile_options(convseq_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-maybe-uninitialized;-Wno-dangling-reference>")
endif()
if(CONVSEQ_WERROR OR DEFINED ENV{CI})
  target_compile_options(convseq_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()

if(CONVSEQ_SANITIZE)
  target_compile_options(convseq_flags INTERFACE -fsanitize=${CONVSEQ_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(convseq_flags INTERFACE -fsanitize=${CONVSEQ_SANITIZE})
  if(CONVSEQ_SANITIZE MATCHES undefined)
    # Null pointers stop a program anyway, and checks of pointer arithmetic triple the time to compile a kernel.
    target_compile_options(convseq_flags INTERFACE -fno-sanitize=null,pointer-overflow,vptr
      -fno-sanitize-recover=undefined)
  endif()
endif()
