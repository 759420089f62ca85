#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/signals.h"

namespace {

constexpr int kInternalError = 1;
constexpr int kBadInput = 2;

int report(int code, std::string_view message) {
  fmt::print(stderr, "convseq: {}\n", message);
  return code;
}

int run(int argc, char** argv) {
  CLI::App program("Convolutional seq2seq models, pre-trained, and the Transformer beside them.",
                   "convseq");
  program.require_subcommand(1);
  program.fallthrough(false);
  convseq::cli::add_bench(program);
  convseq::cli::add_convert(program);
  convseq::cli::add_evaluate(program);
  convseq::cli::add_finetune(program);
  convseq::cli::add_inspect(program);
  convseq::cli::add_pretrain(program);
  convseq::cli::add_synth(program);
  convseq::cli::add_task(program);
  convseq::cli::add_tokenize(program);
  convseq::cli::add_tokenizer(program);
  convseq::cli::add_version(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return program.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return program.exit(help);
  } catch (const CLI::ParseError& error) {
    return report(kBadInput, fmt::format("{} (see --help)", error.what()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  convseq::cli::stop_at_once_on_signals();
  try {
    return run(argc, argv);
  } catch (const convseq::Stopped& stopped) {
    return report(convseq::cli::kStoppedExitCode, stopped.what());
  } catch (const convseq::Error& error) {
    return report(kBadInput, error.what());
  } catch (const std::exception& error) {
    return report(kInternalError, error.what());
  }
}
