#include "bad_input.h"

#include <gtest/gtest.h>

namespace convseq::testing {

TEST(BadInput, InCommandsIsRefused) { expect_refused(bad_commands()); }
TEST(BadInput, InFlagsOfTrainingIsRefused) { expect_refused(bad_training_flags()); }
TEST(BadInput, InFlagsIsRefused) { expect_refused(bad_flags()); }
TEST(BadInput, InConfigFilesIsRefused) { expect_refused(bad_config_files()); }
TEST(BadInput, OfOutputsIsRefused) { expect_refused(bad_outputs()); }
TEST(BadInput, InCorporaIsRefused) { expect_refused(bad_corpora()); }
TEST(BadInput, InTablesIsRefused) { expect_refused(bad_tables()); }
TEST(BadInput, InTasksIsRefused) { expect_refused(bad_tasks()); }
TEST(BadInput, InModelsIsRefused) { expect_refused(bad_models()); }
TEST(BadInput, OfSizesIsRefused) { expect_refused(bad_sizes()); }
TEST(BadInput, OfPredictionsIsRefused) { expect_refused(bad_predictions()); }
TEST(BadInput, InCalibrationsIsRefused) { expect_refused(bad_calibrations()); }
TEST(BadInput, OfQuantizationsIsRefused) { expect_refused(bad_quantizations()); }

TEST(BadInput, IsATableOfMoreThanThreeHundredCases) {
  size_t cases = 0;
  for (const auto& table :
       {bad_commands(), bad_training_flags(), bad_flags(), bad_config_files(), bad_outputs(),
        bad_corpora(), bad_tables(), bad_tasks(), bad_models(), bad_sizes(), bad_predictions(),
        bad_calibrations(), bad_quantizations()}) {
    cases += table.size();
  }
  EXPECT_GE(cases, 300u);
}

}  // namespace convseq::testing
