# Writes the commit of the sources to a header, where it changed; "" where they are no git checkout.
# cmake -DSOURCE=. -DHEADER=out.h -P Commit.cmake
set(commit "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --exclude * OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(WRITE ${HEADER}.new "#pragma once\n#define CONVSEQ_BUILT_FROM \"${commit}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${HEADER}.new ${HEADER})
