# Writes a header that holds every JSON file of configs/models, so that an installed program has them.
# cmake -DSOURCE=configs/models -DHEADER=out.h -P EmbedPresets.cmake
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
inline constexpr std::array<std::pair<std::string_view, std::string_view>, ${count}> kEmbeddedPresets{{
${entries}}};
}  // namespace convseq
")
file(COPY_FILE ${HEADER}.new ${HEADER} ONLY_IF_DIFFERENT)
