#include "convseq/study/report/paper_results.h"

#include <array>

namespace convseq::report {
namespace {

struct PaperRow {
  Start start;
  MixerKind mixer;
  std::array<double, 9> scores;  // in the order of the columns
};

constexpr PaperRow kRows[] = {
    {Start::Scratch,
     MixerKind::Attention,
     {77.22, 85.09, 91.93, 95.45, 84.81, 78.44, 58.84, 78.00, 84.25}},
    {Start::Scratch,
     MixerKind::Light,
     {78.58, 85.82, 91.05, 94.65, 85.88, 81.65, 60.64, 82.20, 87.22}},
    {Start::Scratch,
     MixerKind::Dilated,
     {79.94, 86.50, 92.29, 94.91, 85.84, 79.01, 55.62, 79.60, 81.24}},
    {Start::Scratch,
     MixerKind::Dynamic,
     {78.49, 84.71, 90.06, 95.66, 85.69, 82.80, 60.84, 80.20, 85.13}},
    {Start::Pretrained,
     MixerKind::Attention,
     {81.16, 86.56, 91.46, 95.12, 94.16, 92.09, 61.65, 93.60, 93.54}},
    {Start::Pretrained,
     MixerKind::Light,
     {81.47, 87.58, 93.61, 96.48, 93.60, 92.20, 61.65, 93.60, 93.63}},
    {Start::Pretrained,
     MixerKind::Dilated,
     {81.67, 87.78, 93.84, 96.21, 93.92, 92.09, 62.85, 94.20, 93.26}},
    {Start::Pretrained,
     MixerKind::Dynamic,
     {81.83, 87.71, 93.76, 96.53, 93.35, 91.59, 62.45, 92.40, 93.93}},
};

}  // namespace

const std::vector<PaperColumn>& paper_columns() {
  static const std::vector<PaperColumn> columns = {
      {"CivilComments accuracy", "civil_comments_binary", "accuracy"},
      {"CivilComments F1", "civil_comments_binary", "f1"},
      {"WikiToxic accuracy", "jigsaw_wiki", "accuracy"},
      {"WikiToxic F1", "jigsaw_wiki", "f1"},
      {"IMDb", "imdb", "accuracy"},
      {"SST-2", "sst2", "accuracy"},
      {"S140", "sentiment140", "accuracy"},
      {"TREC", "trec6", "accuracy"},
      {"News", "ag_news", "accuracy"}};
  return columns;
}

std::optional<double> paper_score(MixerKind mixer, Start start, const std::string& task,
                                  const std::string& metric) {
  for (const PaperRow& row : kRows) {
    if (row.start != start || row.mixer != mixer) continue;
    for (size_t i = 0; i < paper_columns().size(); ++i) {
      const PaperColumn& column = paper_columns()[i];
      if (column.task == task && column.metric == metric) return row.scores[i];
    }
  }
  return {};
}

}  // namespace convseq::report
