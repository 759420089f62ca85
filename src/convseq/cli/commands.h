#pragma once

#include <CLI/CLI.hpp>

// One file per command. Each function declares its options on `program` and sets a callback that
// runs it; errors are thrown and reported in one place, main().
namespace convseq::cli {

// What a corpus may be, for every command that reads one.
inline constexpr const char* kCorpusHelp =
    "Corpus: a file, folder or glob pattern of .json or .jsonl (one object per line) or .txt (one "
    "document per line), plain, .gz or .zst; - reads standard input";

void add_bench(CLI::App& program);
void add_completion(CLI::App& program);
void add_convert(CLI::App& program);
void add_evaluate(CLI::App& program);
void add_finetune(CLI::App& program);
void add_help(CLI::App& program);  // after all other commands
void add_inspect(CLI::App& program);
void add_man(CLI::App& program);
void add_predict(CLI::App& program);
void add_pretrain(CLI::App& program);
void add_quantize(CLI::App& program);
void add_study(CLI::App& program);
void add_study_report(CLI::App& study);  // a command of `study`
void add_synth(CLI::App& program);
void add_task(CLI::App& program);
void add_tokenize(CLI::App& program);
void add_tokenizer(CLI::App& program);
void add_version(CLI::App& program);

}  // namespace convseq::cli
