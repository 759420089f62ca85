#include "convseq/study/plan.h"

#include <gtest/gtest.h>

#include <list>

#include "convseq/study/run/schedule.h"
#include "small_study.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::small_study;
using testing::TempFolder;

namespace {

StudyPlan plan_of(const Json& study, const fs::path& data = {}) {
  static std::list<DataDigests> digests;  // they outlive their plans
  return {Study::from_json({study, "study.json"}), data, digests.emplace_back()};
}

int64_t count(const StudyPlan& plan, CellKind kind) {
  int64_t found = 0;
  for (const Cell& cell : plan.cells()) found += cell.kind() == kind ? 1 : 0;
  return found;
}

std::set<std::string> ids(const StudyPlan& plan, CellKind kind) {
  std::set<std::string> found;
  for (const Cell& cell : plan.cells()) {
    if (cell.kind() == kind) found.insert(cell.id());
  }
  return found;
}

// A result of a cell with this score on validation.
CellResult scored(const Cell& cell, double score) {
  CellResult result = cell.label;
  result.splits["validation"] = {.examples = 10, .metrics = {{"accuracy", score}}};
  return result;
}

std::string refusal(const Json& study) {
  return message_of<Error>([&] { plan_of(study); });
}

TEST(StudyPlan, HasTheFirstSeedOfEveryLearningRate) {
  const StudyPlan plan = plan_of(small_study());
  EXPECT_EQ(count(plan, CellKind::Pretrain), testing::kSmallStudyPretrainings);
  EXPECT_EQ(count(plan, CellKind::Finetune), 8);
}

TEST(StudyPlan, ChoosesTheLearningRateOnValidationAndTheLowerOneOfEqualScores) {
  StudyPlan plan = plan_of(small_study());
  std::map<std::string, CellResult> results;
  for (const Cell& cell : plan.cells()) {
    const bool better = cell.label.model == "light" && cell.label.learning_rate == 3e-2;
    results.emplace(cell.id(), scored(cell, better ? 0.75 : 0.5));
  }
  plan.choose([&](const std::string& id) {
    const auto found = results.find(id);
    return found == results.end() ? nullptr : &found->second;
  });
  EXPECT_EQ(count(plan, CellKind::Finetune), testing::kSmallStudyFinetunings);
  for (const Cell& cell : plan.cells()) {
    if (cell.kind() != CellKind::Finetune) continue;
    const double chosen = cell.label.model == "light" ? 3e-2 : 1e-2;
    EXPECT_EQ(plan.is_chosen(cell), cell.label.learning_rate == chosen) << cell.name();
    if (cell.label.seed == 2) EXPECT_EQ(cell.label.learning_rate, chosen) << cell.name();
  }
}

TEST(StudyPlan, AFailedRunIsNotChosenAndAGroupOfFailuresEnds) {
  StudyPlan plan = plan_of(small_study());
  std::map<std::string, CellResult> results;
  for (const Cell& cell : plan.cells()) {
    CellResult result = scored(cell, 0.5);
    const bool fails = cell.label.model == "light" || cell.label.learning_rate == 1e-2;
    if (fails) result.failed = "out of memory";
    results.emplace(cell.id(), result);
  }
  plan.choose([&](const std::string& id) { return &results.at(id); });
  for (const StudyPlan::Group& group : plan.groups()) {
    EXPECT_EQ(group.failed, group.model == "light");
    if (group.model == "transformer") EXPECT_EQ(group.chosen, 3e-2);
  }
}

TEST(StudyPlan, AScoreThatIsNoNumberIsNotChosen) {
  StudyPlan plan = plan_of(small_study());
  std::map<std::string, CellResult> results;
  for (const Cell& cell : plan.cells()) {
    results.emplace(cell.id(), scored(cell, cell.label.learning_rate == 1e-2 ? 0.5 : std::nan("")));
  }
  plan.choose([&](const std::string& id) { return &results.at(id); });
  for (const StudyPlan::Group& group : plan.groups()) EXPECT_EQ(group.chosen, 1e-2);
}

TEST(StudyPlan, FinetuningSeedsAreSpreadOverPretrainingSeeds) {
  Json study = small_study();
  study["parts"][0]["seeds"] = 6;
  study["parts"][0]["pretraining_seeds"] = 3;
  study["learning_rates"] = Json::array({1e-2});
  const StudyPlan plan = plan_of(study);
  EXPECT_EQ(count(plan, CellKind::Pretrain), 6);
  for (const Cell& cell : plan.cells()) {
    if (cell.kind() != CellKind::Finetune) continue;
    const bool scratch = cell.label.start == Start::Scratch;
    EXPECT_EQ(cell.label.pretraining_seed, scratch ? 0 : (cell.label.seed - 1) % 3 + 1);
  }
}

TEST(StudyPlan, TheSameCellOfTwoPartsIsOneCell) {
  Json study = small_study();
  const StudyPlan one = plan_of(study);
  study["parts"].push_back(study["parts"][0]);
  study["parts"][1]["name"] = "again";
  const StudyPlan two = plan_of(study);
  EXPECT_EQ(two.cells().size(), one.cells().size());
  EXPECT_EQ(two.cells().back().label.parts, (std::vector<std::string>{"main", "again"}));
}

TEST(StudyPlan, OtherOptionsGiveOtherCellsAndProseDoesNot) {
  const StudyPlan before = plan_of(small_study());
  Json study = small_study();
  study["description"] = "other words";
  EXPECT_EQ(ids(plan_of(study), CellKind::Finetune), ids(before, CellKind::Finetune));
  study["finetuning"]["clip"] = 2.0;
  const StudyPlan clipped = plan_of(study);
  EXPECT_EQ(ids(clipped, CellKind::Pretrain), ids(before, CellKind::Pretrain));
  EXPECT_NE(ids(clipped, CellKind::Finetune), ids(before, CellKind::Finetune));
  study = small_study();
  study["tokenizer"]["pieces"] = 401;
  EXPECT_NE(ids(plan_of(study), CellKind::Pretrain), ids(before, CellKind::Pretrain));
}

TEST(FinetuneSettings, KeepTheRateConstantUnlessTheStudySaysOtherwise) {
  const auto schedule_of = [](const Json& json) {
    return FinetuneSettings::from_json(JsonObject(json, "finetuning")).to_json().at("schedule");
  };
  EXPECT_EQ(schedule_of(Json::object()), "constant");
  EXPECT_EQ(schedule_of({{"schedule", "linear"}}), "linear");
}

TEST(FinetuneSettings, DropoutIsWrittenOnlyWhereItIsSetAndRefusedOutsideItsRange) {
  const auto settings_of = [](const Json& json) {
    return FinetuneSettings::from_json(JsonObject(json, "finetuning"));
  };
  EXPECT_FALSE(settings_of(Json::object()).to_json().contains("dropout"));  // ids of old cells stay
  EXPECT_EQ(settings_of({{"dropout", 0.1}}).to_json().at("dropout"), 0.1);
  for (const double wrong : {-0.1, 1.0}) {
    EXPECT_EQ(
        message_of<Error>([&] {
          settings_of({{"dropout", wrong}});
        }),
        fmt::format("finetuning: dropout is {}; allowed: 0 up to, but not including, 1", wrong));
  }
}

TEST(StudyPlan, ModelsThatAreFinetunedInOtherWaysShareAPretraining) {
  Json study = small_study();
  const StudyPlan alone = plan_of(study);
  study["models"]["light_dropout"] = study["models"]["light"];
  study["models"]["light_dropout"]["finetuning"] = {{"dropout", 0.1}};
  study["parts"][0]["models"].push_back("light_dropout");
  const StudyPlan both = plan_of(study);
  EXPECT_EQ(ids(both, CellKind::Pretrain), ids(alone, CellKind::Pretrain));
  EXPECT_GT(count(both, CellKind::Finetune), count(alone, CellKind::Finetune));
  for (const char* model : {"model=light", "model=light_dropout"}) {
    const CellFilter filter({"kind=pretrain", model});
    EXPECT_EQ(std::ranges::count_if(both.cells(), [&](const Cell& c) { return filter.takes(c); }),
              1);
  }
}

TEST(StudyPlan, ADefaultThatIsWrittenOutChangesNothing) {
  Json study = small_study();
  study["finetuning"]["clip"] = 1.0;
  study["pretraining"]["schedule"] = "cosine";
  EXPECT_EQ(ids(plan_of(study), CellKind::Finetune),
            ids(plan_of(small_study()), CellKind::Finetune));
}

TEST(StudyPlan, AnotherNumericsVersionGivesOtherIds) {
  EXPECT_EQ(cell_id(CellKind::Pretrain, {{"a", 1}, {"b", 2}}),
            cell_id(CellKind::Pretrain, {{"b", 2}, {"a", 1}}));
  EXPECT_NE(cell_id(CellKind::Pretrain, {{"a", 1}}, kNumericsVersion),
            cell_id(CellKind::Pretrain, {{"a", 1}}, kNumericsVersion + 1));
  EXPECT_EQ(cell_id(CellKind::Pretrain, {{"a", 1}}).size(), 32u);
}

class OwnData : public ::testing::Test {
 protected:
  OwnData() {
    folder_.file("train.jsonl", R"({"text": "a good one", "label": "good"})");
    folder_.file("validation.jsonl", R"({"text": "a bad one", "label": "bad"})");
    folder_.file("task.json", R"({"name": "mine", "description": "mine",
      "files": {"train": "train.jsonl", "validation": "validation.jsonl"},
      "source": "{text}", "target": "{label}", "labels": ["good", "bad"]})");
    study_ = small_study();
    study_["tasks"] = Json::object();
    study_["tasks"]["mine"]["task"] = (folder_ / "task.json").string();
    study_["parts"][0]["tasks"] = Json::array({"mine"});
  }

  TempFolder folder_;
  Json study_;
};

TEST_F(OwnData, IdsDependOnTheContentsOfFilesAndNotOnTheirPlaces) {
  const auto before = ids(plan_of(study_), CellKind::Finetune);
  const TempFolder elsewhere;
  fs::copy(folder_.path(), elsewhere.path(), fs::copy_options::recursive);
  Json moved = study_;
  moved["tasks"]["mine"]["task"] = (elsewhere / "task.json").string();
  EXPECT_EQ(ids(plan_of(moved), CellKind::Finetune), before);
  elsewhere.file("train.jsonl", R"({"text": "a good two", "label": "good"})");
  EXPECT_NE(ids(plan_of(moved), CellKind::Finetune), before);
}

TEST_F(OwnData, AChangeOfAFileIsNoticedThroughTheCacheOfDigests) {
  const fs::path cache = folder_ / "digests.json", file = folder_.file("data", "one");
  const auto digest = [&] {
    DataDigests digests(cache);
    const std::string found = digests.of(file);
    digests.save();
    return found;
  };
  const std::string first = digest();
  EXPECT_EQ(digest(), first);
  folder_.file("data", "three");
  EXPECT_NE(digest(), first);
}

TEST_F(OwnData, MissingDataIsNamedAndThePlanStandsAllTheSame) {
  fs::remove(folder_ / "train.jsonl");
  DataDigests digests;
  const StudyPlan plan(Study::from_json({study_, "study.json"}), folder_.path(), digests);
  ASSERT_EQ(digests.missing().size(), 1u);
  EXPECT_EQ(digests.missing().front(), (folder_ / "train.jsonl").string());
  EXPECT_EQ(count(plan, CellKind::Finetune), 8);
  for (const Cell& cell : plan.cells()) {
    const auto found = missing_file_in(cell.label.inputs);
    EXPECT_EQ(found.has_value(), cell.kind() == CellKind::Finetune) << cell.name();
    if (found) EXPECT_EQ(*found, digests.missing().front()) << cell.name();
  }
}

TEST(StudyFile, UnknownKeysAndNamesAreRefusedWithTheNearestOne) {
  Json study = small_study();
  study["modles"] = Json::object();
  EXPECT_NE(refusal(study).find("did you mean models?"), std::string::npos) << refusal(study);
  study = small_study();
  study["finetuning"]["epoch"] = 3;
  EXPECT_NE(refusal(study).find("did you mean epochs?"), std::string::npos) << refusal(study);
  study = small_study();
  study["parts"][0]["models"] = Json::array({"ligth"});
  EXPECT_EQ(refusal(study), "study.json: ligth is no model of the study; did you mean light?");
  study = small_study();
  study["tasks"]["lexical"]["task"] = "synth/lexicl";
  EXPECT_NE(refusal(study).find("did you mean synth/lexical?"), std::string::npos);
}

TEST(StudyFile, WhatCouldNotBeToldApartOrNeverRunIsRefused) {
  Json study = small_study();
  study["parts"].push_back(study["parts"][0]);
  EXPECT_EQ(refusal(study), "study.json: two parts are named main");
  study = small_study();
  study["models"]["again"] = study["models"]["light"];
  study["parts"][0]["models"].push_back("again");
  EXPECT_EQ(refusal(study), "the models light and again are the same; leave one of them out");
  study = small_study();
  study["pretraining_jobs"] = 0;
  EXPECT_EQ(refusal(study), "study.json: pretraining_jobs is 0; allowed: 1 and more");
  study = small_study();
  study["learning_rates"] = Json::array();
  EXPECT_EQ(refusal(study), "part main: no learning_rates for light on lexical");
}

TEST(StudyFile, PartsThatShareRunsHaveTheSameLearningRates) {
  Json study = small_study();
  study["parts"].push_back(study["parts"][0]);
  study["parts"][1]["name"] = "again";
  study["parts"][1]["learning_rates"] = {3e-2};
  EXPECT_NE(refusal(study).find("the parts main and again share runs of "), std::string::npos)
      << refusal(study);
  EXPECT_NE(refusal(study).find(", but have other learning rates; give both the same"),
            std::string::npos);
}

TEST(StudyFile, PretrainingNeedsOneLimit) {
  Json study = small_study();
  study["pretraining"]["tokens"] = 1000;
  EXPECT_NE(refusal(study).find("tokens or steps: give one of them"), std::string::npos);
}

TEST(StudyFile, EveryBuiltInStudyHasAPlan) {
  for (const std::string& name : study_names()) {
    DataDigests digests;
    const StudyPlan plan(Study::load(name), "no-such-folder", digests);
    EXPECT_GT(count(plan, CellKind::Finetune), 0) << name;
    EXPECT_EQ(plan.study().name, name);
  }
}

TEST(CellFilter, TakesCellsByTheirNames) {
  const StudyPlan plan = plan_of(small_study());
  const auto taken = [&](const std::vector<std::string>& conditions) {
    const CellFilter filter(conditions);
    return std::count_if(plan.cells().begin(), plan.cells().end(),
                         [&](const Cell& cell) { return filter.takes(cell); });
  };
  EXPECT_EQ(taken({}), std::ssize(plan.cells()));
  EXPECT_EQ(taken({"kind=finetune", "model=light"}), 4);
  EXPECT_EQ(taken({"kind=finetune", "mixer=attention", "start=scratch"}), 2);
  EXPECT_EQ(taken({"kind=pretrain", "kind=finetune"}), 10);
  EXPECT_EQ(taken({"learning_rate=1e-2", "start=scratch"}),
            taken({"learning_rate=0.01", "start=scratch"}));
  EXPECT_GT(taken({"learning_rate=1e-2"}), 0);
  EXPECT_NO_THROW(CellFilter({"model=light", "seed=2"}).refuse_unknown(plan));
  EXPECT_EQ(
      message_of<Error>([&] { CellFilter({"model=ligth"}).refuse_unknown(plan); }),
      "only model=ligth: the study has none; it has: light, transformer; did you mean light?");
  EXPECT_NE(message_of<Error>([&] { taken({"modle=light"}); }).find("did you mean model?"),
            std::string::npos);
}

}  // namespace
}  // namespace convseq
