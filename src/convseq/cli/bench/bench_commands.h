#pragma once

#include <CLI/CLI.hpp>

namespace convseq::cli {

void add_bench_ops(CLI::App& bench);
void add_bench_step(CLI::App& bench);
void add_bench_finetune(CLI::App& bench);
void add_bench_length(CLI::App& bench);
void add_bench_decode(CLI::App& bench);
void add_bench_cpu(CLI::App& bench);

}  // namespace convseq::cli
