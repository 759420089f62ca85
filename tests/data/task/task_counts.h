#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "convseq/data/task/split_summary.h"

namespace convseq::testing {

// The rows and labels of every split of configs/tasks, as the data's own README counts them.
struct ExpectedSplit {
  std::string task, split;
  int64_t rows = 0;
  size_t kinds = 0;                         // of labels or categories; 0: neither is counted
  SplitSummary::Counts most_frequent = {};  // all of them where there are few
  int64_t dropped = 0;
};

inline std::ostream& operator<<(std::ostream& out, const ExpectedSplit& expected) {
  return out << expected.task << " " << expected.split;
}

inline const std::vector<ExpectedSplit> kExpectedSplits = {
    {"ag_news",
     "train",
     16068,
     4,
     {{"Business", 4067}, {"Sports", 4050}, {"World", 3980}, {"Sci/Tech", 3971}}},
    {"ag_news",
     "validation",
     1000,
     4,
     {{"World", 262}, {"Business", 252}, {"Sci/Tech", 248}, {"Sports", 238}}},
    {"ag_news",
     "test",
     7600,
     4,
     {{"Business", 1900}, {"Sci/Tech", 1900}, {"Sports", 1900}, {"World", 1900}}},
    {"civil_comments_binary", "train", 116345, 2, {{"non-toxic", 102971}, {"toxic", 13374}}},
    {"civil_comments_binary", "validation", 2817, 2, {{"non-toxic", 2577}, {"toxic", 240}}},
    {"civil_comments_binary", "test", 5594, 2, {{"non-toxic", 5035}, {"toxic", 559}}},
    {"jigsaw_wiki", "train", 63636, 2, {{"non-toxic", 57750}, {"toxic", 5886}}, 3115},
    {"jigsaw_wiki", "validation", 2746, 2, {{"non-toxic", 2484}, {"toxic", 262}}},
    {"jigsaw_wiki", "test", 5471, 2, {{"non-toxic", 4932}, {"toxic", 539}}},
    {"civil_comments", "train", 9498, 2, {{"toxic", 6646}, {"non-toxic", 2852}}},
    {"civil_comments", "validation", 1583, 2, {{"toxic", 1120}, {"non-toxic", 463}}},
    {"civil_comments", "test", 1583, 2, {{"toxic", 1132}, {"non-toxic", 451}}},
    {"cogs", "train", 24155, 14, {{"in_distribution", 24000}, {"primitive", 143}}},
    {"cogs", "validation", 3000, 1, {{"in_distribution", 3000}}},
    {"cogs", "test", 3000, 1, {{"in_distribution", 3000}}},
    {"cogs",
     "gen",
     10665,
     21,
     {{"passive_to_active", 532}, {"prim_to_subj_common", 524}, {"prim_to_obj_common", 520}}},
    {"hate_offensive",
     "train",
     19786,
     3,
     {{"offensive", 15307}, {"neither", 3372}, {"hate", 1107}}},
    {"hate_offensive",
     "validation",
     2473,
     3,
     {{"offensive", 1924}, {"neither", 409}, {"hate", 140}}},
    {"hate_offensive", "test", 2473, 3, {{"offensive", 1913}, {"neither", 380}, {"hate", 180}}},
    {"imdb", "train", 22500, 2, {{"positive", 11251}, {"negative", 11249}}},
    {"imdb", "validation", 2500, 2, {{"negative", 1251}, {"positive", 1249}}},
    {"imdb", "test", 25000, 2, {{"negative", 12500}, {"positive", 12500}}},
    {"mnli", "train", 13832, 3, {{"contradiction", 4643}, {"entailment", 4620}, {"neutral", 4569}}},
    {"mnli",
     "validation",
     1104,
     3,
     {{"entailment", 390}, {"contradiction", 359}, {"neutral", 355}}},
    {"mnli", "test", 2892, 3, {{"entailment", 1016}, {"contradiction", 944}, {"neutral", 932}}},
    {"mnli",
     "test_mismatched",
     1000,
     3,
     {{"entailment", 346}, {"contradiction", 335}, {"neutral", 319}}},
    {"multirc", "train", 27243, 2, {{"False", 15218}, {"True", 12025}}},
    {"multirc", "validation", 4848, 2, {{"False", 2773}, {"True", 2075}}},
    {"sentiment140", "train", 28604, 2, {{"positive", 14809}, {"negative", 13795}}},
    {"sentiment140", "validation", 4978, 2, {{"positive", 2493}, {"negative", 2485}}},
    {"sentiment140", "test", 4990, 2, {{"negative", 2496}, {"positive", 2494}}},
    {"sentiment140", "test_manual", 359, 2, {{"positive", 182}, {"negative", 177}}, 139},
    {"snli", "train", 19995, 3, {{"contradiction", 6770}, {"entailment", 6665}, {"neutral", 6560}}},
    {"snli",
     "validation",
     9842,
     3,
     {{"entailment", 3329}, {"contradiction", 3278}, {"neutral", 3235}}},
    {"snli", "test", 9824, 3, {{"entailment", 3368}, {"contradiction", 3237}, {"neutral", 3219}}},
    {"squad", "train", 10047},
    {"squad", "validation", 804},
    {"squad", "test", 2281},
    {"sst2", "train", 67349, 2, {{"positive", 37569}, {"negative", 29780}}},
    {"sst2", "validation", 872, 2, {{"positive", 444}, {"negative", 428}}},
    {"sst2", "test", 1821, 2, {{"negative", 912}, {"positive", 909}}},
    {"trec50", "train", 4952, 50, {{"HUM:ind", 865}, {"LOC:other", 433}, {"DESC:def", 362}}},
    {"trec50", "validation", 500, 40, {{"HUM:ind", 97}, {"DESC:def", 59}, {"LOC:other", 31}}},
    {"trec50", "test", 500, 42, {{"DESC:def", 123}, {"HUM:ind", 55}, {"LOC:other", 50}}},
    {"trec6", "train", 4952, 6},
    {"trec6", "validation", 500, 6},
    {"trec6", "test", 500, 6},
    {"wiki_toxic", "train", 14066, 2, {{"non-toxic", 9382}, {"toxic", 4684}}},
    {"wiki_toxic", "validation", 1216, 2, {{"toxic", 615}, {"non-toxic", 601}}},
    {"wiki_toxic", "test", 1215, 2, {{"non-toxic", 625}, {"toxic", 590}}},
    {"wiki_toxic_labels",
     "train",
     1850,
     7,
     {{"(no label)", 1419},
      {"toxic", 419},
      {"obscene", 227},
      {"insult", 216},
      {"severe_toxic", 56},
      {"identity_hate", 38},
      {"threat", 15}}},
    {"wiki_toxic_labels",
     "test",
     400,
     7,
     {{"(no label)", 291},
      {"toxic", 106},
      {"obscene", 55},
      {"insult", 51},
      {"severe_toxic", 16},
      {"identity_hate", 14},
      {"threat", 3}}},
    {"wiki_toxic_subtypes", "train", 1850, 2, {{"non-toxic", 1419}, {"toxic", 431}}},
    {"wiki_toxic_subtypes", "test", 400, 2, {{"non-toxic", 291}, {"toxic", 109}}}};

}  // namespace convseq::testing
