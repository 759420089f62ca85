#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "convseq/spec/model_config.h"

namespace convseq::bench {

using ParameterShapes = std::map<std::string, std::vector<int64_t>>;

// A new folder among the temporary files of the machine; removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Writes a model folder with random weights in fp32. Activations keep their scale from layer to
// layer, as those of a trained model do.
void write_random_model(const std::filesystem::path& folder, const ModelConfig& config,
                        const ParameterShapes& shapes);

}  // namespace convseq::bench
