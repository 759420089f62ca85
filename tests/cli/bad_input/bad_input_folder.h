#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "convseq/base/file/json_file.h"
#include "convseq/base/safetensors/safetensors.h"
#include "temp_folder.h"

namespace convseq::testing {

// The files that bad input is made of: a corpus, a tokenizer, shards, a task, a pre-trained and a
// fine-tuned model, all tiny and good; and damaged copies of them.
class BadInputFolder {
 public:
  BadInputFolder();

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  using Tensors = std::map<std::string, TensorView>;

  void run(const std::string& arguments) const;
  void file(const std::string& name, const std::string& content) const;
  std::string text(const std::string& name) const;
  void make_good_files() const;
  void make_texts() const;
  void make_tables() const;
  void make_tasks() const;
  void make_config_files() const;
  void make_configs() const;
  void make_models() const;
  void make_calibrations() const;
  void make_shards() const;
  void make_outputs() const;

  // Copies of good folders, with one thing changed.
  void copy(const std::string& from, const std::string& to) const;
  void task(const std::string& name, const std::function<void(Json&)>& change) const;
  void config(const std::string& name, const std::function<void(Json&)>& change) const;
  void model(const std::string& name, const std::function<void(Json&)>& change) const;
  void calibration(const std::string& name, const std::string& content) const;
  void weights(const std::string& name, const std::function<void(Tensors&)>& change) const;

  TempFolder folder_;
};

}  // namespace convseq::testing
