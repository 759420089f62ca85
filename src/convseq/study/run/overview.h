#pragma once

#include <string>
#include <vector>

#include "convseq/study/run/cost.h"
#include "convseq/study/run/schedule.h"

namespace convseq {

// The cells of one part. A cell of several parts counts in the first one.
struct PartOverview {
  std::string part, question;
  int64_t pretrainings = 0, finetunings = 0;  // also those whose learning rate is not chosen yet
  int64_t done = 0, failed = 0, running = 0, left = 0;
  double tokens = 0, steps = 0;
  double seconds = 0, seconds_left = 0;
  bool seconds_known = true;
};

struct StudyOverview {
  std::string name;
  std::vector<PartOverview> parts = {};
  PartOverview total = {};
  double disk_bytes = 0;  // of pre-trained models
  std::vector<std::string> missing_data = {};
  std::vector<std::string> failures = {};
  std::vector<std::string> running = {};

  std::string plan_text() const;    // what there is to do, and its cost
  std::string status_text() const;  // how far it is
  Json to_json() const;

 private:
  std::string missing_text() const;
};

StudyOverview overview(const StudyPlan& plan, const StudyFolder& folder, const CellFilter& filter,
                       const DataDigests& digests);

}  // namespace convseq
