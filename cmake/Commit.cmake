# Writes the commit of the sources into a source file, where it changed; "" where they are no git checkout.
# cmake -DSOURCE=. -DOUTPUT=commit.cpp -P Commit.cmake
set(commit "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --exclude * OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(WRITE ${OUTPUT}.new "#include \"convseq/cli/commit.h\"

const char* const convseq::cli::kCommit = \"${commit}\";
")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUTPUT}.new ${OUTPUT})
