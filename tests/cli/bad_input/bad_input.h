#pragma once

#include <string>
#include <utility>
#include <vector>

namespace convseq::testing {

// A command that must be refused. It runs in the folder that BadInputFolder makes, through the
// shell, with little memory and little time.
struct BadInput {
  std::string arguments;
  std::vector<std::string> named;  // what the one line on standard error has to say
  int exit_code = 2;               // 1 where something outside the program failed
  std::string environment = "";    // variables, as env takes them
  bool prints_before = false;      // answers to the lines before the bad one
  std::string leaves = "";         // the folder of a run that began, and met a bad line later
};

// Exit code; one line that begins "convseq: " and names the thing; nothing on standard output;
// every file of the folder as it was. Prints the number of cases.
void expect_refused(const std::vector<BadInput>& cases);

// The table, by what is bad.
std::vector<BadInput> bad_commands();
std::vector<BadInput> bad_training_flags();
std::vector<BadInput> bad_flags();
std::vector<BadInput> bad_config_files();
std::vector<BadInput> bad_outputs();
std::vector<BadInput> bad_corpora();
std::vector<BadInput> bad_tables();
std::vector<BadInput> bad_tasks();
std::vector<BadInput> bad_models();
std::vector<BadInput> bad_sizes();
std::vector<BadInput> bad_predictions();
std::vector<BadInput> bad_calibrations();
std::vector<BadInput> bad_quantizations();

// Model folders whose weights do not fit, and what an error has to name.
std::vector<std::pair<std::string, std::vector<std::string>>> bad_weights();

}  // namespace convseq::testing
