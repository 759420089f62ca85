#pragma once

#include "convseq/train/finetune.h"
#include "convseq/train/pretrain.h"

namespace convseq {

// Auto is bf16 on a GPU and fp32 on a CPU.
enum class StudyPrecision { Auto, Fp32, Bf16 };
template <>
inline constexpr auto kEnumNames<StudyPrecision> =
    std::to_array<EnumName<StudyPrecision>>({{StudyPrecision::Auto, "auto"},
                                             {StudyPrecision::Fp32, "fp32"},
                                             {StudyPrecision::Bf16, "bf16"}});
torch::Dtype dtype_of(StudyPrecision precision, torch::Device device);

// The options of pre-training and fine-tuning that a study file may set, by the names of the flags
// of `convseq pretrain` and `convseq finetune` with underscores. What a study sets elsewhere
// (model, data, seed, folders) is not among them. Unknown names are refused.
struct PretrainSettings {
  PretrainOptions options = {};
  StudyPrecision precision = StudyPrecision::Auto;

  static PretrainSettings from_json(const JsonObject& json);
  Json to_json() const;  // everything that changes the result, for the identity of a cell
};

struct FinetuneSettings {
  FinetuneSettings() { options.schedule.kind = ScheduleKind::Constant; }  // as in the paper

  FinetuneOptions options = {};
  StudyPrecision precision = StudyPrecision::Auto;
  std::optional<double> dropout = {};  // while fine-tuning; none: as the model has it
  bool checkpoints = false;  // for long runs: a stopped run resumes instead of starting again

  static FinetuneSettings from_json(const JsonObject& json);
  Json to_json() const;
};

}  // namespace convseq
