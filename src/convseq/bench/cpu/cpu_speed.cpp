#include "convseq/bench/cpu/cpu_speed.h"

#include <algorithm>
#include <chrono>

#include "convseq/base/random.h"
#include "convseq/bench/benchmark_report.h"
#include "convseq/spec/flops.h"

namespace convseq::bench {
namespace {

constexpr int64_t kClasses = 2;

std::vector<TokenIds> random_sources(const ModelConfig& config, int64_t rows, int64_t length) {
  Random random(static_cast<uint64_t>(length));
  std::vector<TokenIds> sources(static_cast<size_t>(rows), TokenIds(static_cast<size_t>(length)));
  const int64_t first = config.eos_token_id + 1;
  for (TokenIds& source : sources) {
    for (int32_t& id : source) {
      id = static_cast<int32_t>(first + static_cast<int64_t>(random.below(
                                            static_cast<uint64_t>(config.vocab_size - first))));
    }
    source.back() = static_cast<int32_t>(config.eos_token_id);
  }
  return sources;
}

// Every row takes all steps: one that ended earlier goes on with padding.
void generate(Engine& engine, const std::vector<TokenIds>& sources, int64_t new_tokens) {
  const auto decoding = engine.start(*engine.encode(sources), new_tokens);
  const int64_t between_reads = engine.pace().steps_between_reads;
  for (int64_t step = 1; step <= new_tokens; ++step) {
    engine.step(*decoding, {});
    if (step % between_reads == 0 || step == new_tokens) engine.read(*decoding);
  }
}

ModelConfig with_pooled_head(ModelConfig config) {
  config.decoder_layers = 0;
  config.classes = kClasses;
  config.labels.clear();
  return config;
}

CpuSpeed timed(Engine& engine, CpuSpeed speed, double seconds) {
  const ModelConfig& config = engine.config();
  const auto sources = random_sources(config, speed.rows, speed.length);
  const auto call = [&] {
    if (speed.new_tokens > 0) return generate(engine, sources, speed.new_tokens);
    engine.classify(*engine.encode(sources));
  };
  speed.ms = median_ms(call, seconds);
  const int64_t flops = total_flops(forward_flops(
      config, {.source = speed.length, .target = std::max<int64_t>(1, speed.new_tokens)}));
  speed.gigaflops = 1e-9 * static_cast<double>(flops) * static_cast<double>(speed.rows);
  return speed;
}

std::string describe(const CpuSpeed& speed) {
  return fmt::format("{} {} {}×{}{}", speed.mixer, name_of(speed.precision), speed.rows,
                     speed.length, speed.new_tokens > 0 ? " generation" : "");
}

// What to measure with the engine of one model and precision.
std::vector<CpuSpeed> planned(const ModelConfig& config, CpuPrecision precision, bool generates,
                              const CpuSpeedOptions& options) {
  const CpuSpeed plan{.mixer = std::string(name_of(config.mixer)),
                      .precision = precision,
                      .d_model = config.d_model,
                      .layers = config.encoder_layers};
  std::vector<CpuSpeed> plans;
  for (const int64_t batch : generates ? options.sequences : options.batches) {
    for (const int64_t length : generates ? std::vector{options.source} : options.lengths) {
      CpuSpeed& next = plans.emplace_back(plan);
      next.batch = next.rows = batch;
      next.length = length;
      if (generates) {
        next.new_tokens = options.new_tokens;
      } else {
        next.rows = std::clamp<int64_t>(options.max_tokens / length, 1, batch);
      }
    }
  }
  return plans;
}

}  // namespace

double median_ms(const std::function<void()>& call, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto ms_since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  call();
  std::vector<double> times;
  for (const auto start = Clock::now(); times.empty() || ms_since(start) < 1e3 * seconds;) {
    const auto before = Clock::now();
    call();
    times.push_back(ms_since(before));
  }
  return median(std::move(times));
}

std::string row_name(const CpuSpeed& speed) {
  const std::string model = fmt::format("{}_{}", speed.mixer, name_of(speed.precision));
  if (speed.new_tokens > 0) return fmt::format("generate_{}_batch_{}", model, speed.batch);
  return fmt::format("cpu_{}_{}_batch_{}", model, speed.length, speed.batch);
}

std::vector<CpuSpeed> measure_cpu(const CpuSpeedOptions& options) {
  std::vector<CpuSpeed> speeds;
  const int64_t each =
      std::ssize(options.batches) * std::ssize(options.lengths) + std::ssize(options.sequences);
  const int64_t total = std::ssize(options.models) * std::ssize(options.precisions) * each;
  for (const ModelConfig& config : options.models) {
    for (const CpuPrecision precision : options.precisions) {
      for (const bool generates : {false, true}) {
        const auto plans = planned(config, precision, generates, options);
        if (plans.empty()) continue;
        const auto engine =
            options.make_engine(generates ? config : with_pooled_head(config), precision);
        for (const CpuSpeed& plan : plans) {
          if (!options.watch(std::ssize(speeds), total, describe(plan))) return speeds;
          options.before_each(precision);
          speeds.push_back(timed(*engine, plan, options.seconds));
        }
      }
    }
  }
  return speeds;
}

}  // namespace convseq::bench
