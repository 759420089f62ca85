#pragma once

#include "convseq/study/report/chart.h"
#include "convseq/study/report/document.h"
#include "convseq/study/report/system_scores.h"

// One file per section of the report. A section without scores has no blocks.
namespace convseq::report {

struct Context {
  const ReportInput& input;
  const Systems& systems;

  // Of the parts that ask one of `questions`, in the order of the study file.
  std::vector<const Model*> models(const std::vector<std::string>& questions) const;
  std::vector<std::string> tasks(const std::vector<std::string>& questions) const;
  const System* find(const Model& model, Start start, const std::string& task) const;
  // The same in a section on `questions`: of its own parts, or else of the main comparison.
  const System* find(const Model& model, Start start, const std::string& task,
                     const std::vector<std::string>& questions) const;

  // The unchanged model of the same preset; null: none.
  const Model* unchanged(const Model& model) const;

  // That a pre-trained system starts from (its first run); null: not among the results.
  const CellResult* pretraining_of(const System& system) const;

  // That others are compared with: an unchanged preset if there is one; null: none.
  const Model* transformer() const;
};

// The comparison of all models on all tasks.
extern const std::vector<std::string> kMainQuestions;
// One change to a model at a time.
extern const std::vector<std::string> kAblationQuestions;

// The tasks on which every one of `models` has scores from `start`.
std::vector<std::string> common_tasks(const Context& context,
                                      const std::vector<const Model*>& models, Start start);
std::vector<const System*> systems_on(const Context& context, const Model& model, Start start,
                                      const std::vector<std::string>& tasks);

// The fewest of any of `systems`; 0: from scratch.
int64_t fewest_pretrainings(const std::vector<const System*>& systems);
// Whether one of `systems` has a single pre-training, whose luck its own interval does not count,
// and how a sentence says so: "; one pre-training only", " (one pre-training only)", or nothing.
bool has_single_pretraining(const std::vector<const System*>& systems);
std::string luck_text(bool single);
std::string luck_note(bool single);

std::string budget_of(const CellResult& pretraining);  // "600M"; its seeds differ by a few tokens

std::vector<std::string> run_links(const std::vector<const System*>& systems);  // those not null
std::string title_of(Start start);           // as a reader calls it
std::string sentence_start_of(Start start);  // the same at the beginning of a sentence
std::string task_title(const std::string& task, const System& system, const std::string& metric);

// Two cells: the difference and what may be said of it; none: what it is compared with is missing.
void add_difference(std::vector<TableCell>& row, const std::optional<Estimate>& difference);
std::optional<Estimate> difference_to(const System& system, const System* other);  // main metric

Interval in_percent(const Interval& interval);

// For plots, in percent: the interval of a score, cut at 0 and 100; the scores of its runs; both
// with the mean of the main metric as a point.
Interval score_interval(const Estimate& estimate);
std::vector<double> scores_by_run(const System& system, const std::string& metric);
LineChart::Point score_point(double x, const System& system);

Section gain_section(const Context& context);
Section paper_section(const Context& context);
Section cost_section(const Context& context);
Section attention_section(const Context& context);
Section convolution_section(const Context& context);
Section scale_section(const Context& context);
Section ablation_section(const Context& context);
Section distance_section(const Context& context);
Section split_section(const Context& context);
Section curve_section(const Context& context);
Section token_section(const Context& context);
Section problem_section(const Context& context);
Section run_section(const Context& context);

// How much of the study the scores hold; no rows: what was planned is not known.
Table parts_table(const Context& context);

// For cost_section: tables and plots, and the speed of a training step in words.
std::vector<Block> bench_blocks(const std::vector<BenchFile>& files);
std::string bench_answer(const std::vector<BenchFile>& files);

}  // namespace convseq::report
