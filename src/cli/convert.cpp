#include <fmt/format.h>

#include "cli/commands.h"
#include "model/hf_t5.h"

namespace convseq::cli {
namespace {

struct ConvertOptions {
  std::string from;
  std::string folder;
  std::string out;
};

void convert(const ConvertOptions& options) {
  const ModelFolder model = read_hf_t5(options.folder);
  save_model_folder(options.out, model);
  fmt::print("{}: {} tensors, {} + {} layers, d_model {}\n", options.out, model.weights.size(),
             model.config.encoder_layers, model.config.decoder_layers, model.config.d_model);
}

}  // namespace

void add_convert(CLI::App& program) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command =
      program.add_subcommand("convert", "Turn someone else's model into a convseq model folder");
  command
      ->add_option("--from", options->from,
                   "What the folder holds: hf-t5 (Hugging Face T5, v1.0 or v1.1)")
      ->required()
      ->check(CLI::IsMember({"hf-t5"}));
  command->add_option("folder", options->folder, "The folder to read")->required();
  command->add_option("out", options->out, "The model folder to write")->required();
  command->footer("Example: convseq convert --from hf-t5 t5-small models/t5-small");
  command->callback([options] { convert(*options); });
}

}  // namespace convseq::cli
