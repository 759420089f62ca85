#pragma once

#include <filesystem>
#include <functional>

namespace convseq::synth {

// Writes a folder that appears whole or not at all. Refuses one that holds something already: what
// stands there may be the user's own.
void write_new_folder(const std::filesystem::path& path,
                      const std::function<void(const std::filesystem::path&)>& fill);

}  // namespace convseq::synth
