# Writes a header that holds every JSON file of a folder, so that an installed program has them.
# cmake -DSOURCE=configs/tasks -DHEADER=out.h -DNAME=kEmbeddedTasks -P EmbedJson.cmake
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/*.json)
set(entries "")
foreach(file IN LISTS files)
  file(READ ${SOURCE}/${file} text)
  string(REGEX REPLACE "\\.json$" "" name ${file})
  string(APPEND entries "    {\"${name}\", R\"json(${text})json\"},\n")
endforeach()
list(LENGTH files count)
file(WRITE ${HEADER}.new "#pragma once
#include <array>
#include <string_view>
#include <utility>

namespace convseq {
inline constexpr std::array<std::pair<std::string_view, std::string_view>, ${count}> ${NAME}{{
${entries}}};
}  // namespace convseq
")
file(COPY_FILE ${HEADER}.new ${HEADER} ONLY_IF_DIFFERENT)
