#include <fmt/format.h>

#include "convseq/cli/commands.h"
#include "convseq/cli/options/numbers.h"
#include "convseq/spec/flops.h"
#include "convseq/spec/model_files.h"
#include "convseq/spec/presets.h"
#include "convseq/spec/summary.h"

namespace convseq::cli {
namespace fs = std::filesystem;
namespace {

struct InspectOptions {
  std::string model;
  std::vector<std::string> overrides;
  Workload work;
  bool json = false;
};

// 208791552 -> "208.8M"
std::string short_count(double value) {
  for (const auto& [scale, suffix] :
       {std::pair{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}}) {
    if (value >= scale) return fmt::format("{:.1f}{}", value / scale, suffix);
  }
  return fmt::format("{:.0f}", value);
}

std::string short_count(int64_t value) { return short_count(static_cast<double>(value)); }

std::string describe_field(std::optional<int64_t> field) {
  return field ? fmt::format("{} tokens", *field) : "unlimited (self-attention)";
}

// The content of both forms of the report.
struct Report {
  ModelConfig config;
  Workload work;
  SummaryNode tree;
  NamedCounts parts;
  NamedCounts flops;
  DecodeBytes state;  // bf16, at the end of the target
};

Report examine(const InspectOptions& options) {
  const ModelConfig config = find_model_config(options.model, options.overrides);
  const std::vector<ParameterShape> parameters = list_parameters(config);
  if (fs::is_directory(options.model)) {
    const fs::path weights = fs::path(options.model) / kWeightsFile;
    check_weights(config, *SafetensorsFile::open(weights), weights.string());
  }
  return {.config = config,
          .work = options.work,
          .tree = summarise(parameters),
          .parts = parameters_by_part(parameters),
          .flops = forward_flops(config, options.work),
          .state = decode_state_bytes(config, options.work.source, options.work.target, 2)};
}

void print_tree(const SummaryNode& node, const std::string& indent) {
  for (size_t i = 0; i < node.children.size(); ++i) {
    const SummaryNode& child = node.children[i];
    const bool last = i + 1 == node.children.size();
    std::string label = indent + (last ? "└─ " : "├─ ") + child.name;
    if (child.repeats > 1) label += fmt::format(" (×{})", child.repeats);
    const std::string shape =
        child.shape.empty() ? "" : fmt::format("[{}]", fmt::join(child.shape, ", "));
    fmt::print("{:<44} {:>16} {:>9}\n", label, shape,
               short_count(child.parameters * child.repeats));
    print_tree(child, indent + (last ? "   " : "│  "));
  }
}

void print_parts(const std::string& title, const NamedCounts& parts, int64_t total) {
  fmt::print("\n{}\n", title);
  for (const auto& [name, value] : parts) {
    fmt::print("  {:<26} {:>9} {:>5.1f}%\n", name, short_count(value),
               100.0 * static_cast<double>(value) / static_cast<double>(total));
  }
  fmt::print("  {:<26} {:>9}\n", "total", short_count(total));
}

void print_report(const Report& report) {
  const ModelConfig& config = report.config;
  fmt::print("{} model, {} + {} layers, d_model {}, {} parameters ({})\n\n", name_of(config.mixer),
             config.encoder_layers, config.decoder_layers, config.d_model,
             short_count(report.tree.parameters), report.tree.parameters);
  print_tree(report.tree, "");
  print_parts("Parameters by part", report.parts, report.tree.parameters);
  const int64_t forward = total_flops(report.flops);
  print_parts(
      fmt::format("FLOPs forward, source {}, target {}", report.work.source, report.work.target),
      report.flops, forward);
  fmt::print("  {:<26} {:>9}\n", "training step", short_count(training_flops(forward)));
  fmt::print("\nReceptive field: encoder {}, decoder {}\n",
             describe_field(receptive_field(config, Side::Encoder)),
             describe_field(receptive_field(config, Side::Decoder)));
  fmt::print(
      "Decode state (bf16, after {} tokens): {}B of mixers, {}B of encoder-decoder attention\n",
      report.work.target, short_count(report.state.mixers), short_count(report.state.source));
}

Json to_json(const SummaryNode& node) {
  Json json = {{"name", node.name}, {"parameters", node.parameters}, {"repeats", node.repeats}};
  if (!node.shape.empty()) json["shape"] = node.shape;
  for (const SummaryNode& child : node.children) json["children"].push_back(to_json(child));
  return json;
}

Json to_json(const NamedCounts& parts) {
  Json json = Json::object();
  for (const auto& [name, value] : parts) json[name] = value;
  return json;
}

Json to_json(std::optional<int64_t> value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const Report& report) {
  const int64_t forward = total_flops(report.flops);
  return {
      {"config", report.config.to_json()},
      {"parameters", report.tree.parameters},
      {"parameters_by_part", to_json(report.parts)},
      {"source", report.work.source},
      {"target", report.work.target},
      {"forward_flops", forward},
      {"forward_flops_by_part", to_json(report.flops)},
      {"training_flops", training_flops(forward)},
      {"encoder_receptive_field", to_json(receptive_field(report.config, Side::Encoder))},
      {"decoder_receptive_field", to_json(receptive_field(report.config, Side::Decoder))},
      {"decode_state_bytes", {{"mixers", report.state.mixers}, {"source", report.state.source}}},
      {"layers", to_json(report.tree)}};
}

void inspect(const InspectOptions& options) {
  const Report report = examine(options);
  if (options.json) {
    fmt::print("{}\n", to_json(report).dump(2));
  } else {
    print_report(report);
  }
}

}  // namespace

void add_inspect(CLI::App& program) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = program.add_subcommand(
      "inspect", "Show the layers, parameters, FLOPs, receptive field and decode state of a model");
  command
      ->add_option("MODEL,--model", options->model,
                   "Model: a preset, a config file or a model folder")
      ->required();
  command->add_option("--set", options->overrides, "Config override, such as --set kernel_sizes=15")
      ->type_name("KEY=VALUE");
  add_count(*command, "--source", options->work.source, "Source length in tokens",
            {.max = kLongest});
  add_count(*command, "--target", options->work.target, "Target length in tokens",
            {.max = kLongest});
  command->add_flag("--json", options->json, "Print the report as JSON");
  command->footer(
      "Presets: " + fmt::format("{}", fmt::join(preset_names(), ", ")) +
      "\nExample:\n  convseq inspect paper-light-base --source 2048 --set kernel_sizes=15");
  command->callback([options] { inspect(*options); });
}

}  // namespace convseq::cli
