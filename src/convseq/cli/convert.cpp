#include <fmt/format.h>

#include "convseq/base/error.h"
#include "convseq/base/file/output_folder.h"
#include "convseq/cli/commands.h"
#include "convseq/model/hf_t5.h"

namespace convseq::cli {
namespace {

struct ConvertOptions {
  std::string from;
  std::string folder;
  std::string out;
  bool force = false;
};

void convert(const ConvertOptions& options) {
  require(options.from == "hf-t5", "--from: {}; allowed: hf-t5", options.from);
  check_output_folder(options.out, FolderKind::Model,
                      {.force = options.force, .input = options.folder});
  const ModelFolder model = read_hf_t5(options.folder);
  save_model_folder(options.out, model);
  fmt::print("{}: {} tensors, {} + {} layers, d_model {}\n", options.out, model.weights.size(),
             model.config.encoder_layers, model.config.decoder_layers, model.config.d_model);
}

}  // namespace

void add_convert(CLI::App& program) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = program.add_subcommand(
      "convert", "Convert a Hugging Face T5 model into a convseq model folder");
  command->add_option("--from", options->from, "Input format: Hugging Face T5, v1.0 or v1.1")
      ->required()
      ->type_name("hf-t5");
  command
      ->add_option("FOLDER,--folder", options->folder,
                   "Local folder of the Hugging Face model, with config.json and model.safetensors")
      ->required();
  command->add_option("OUT,--out", options->out, "Output folder for the model")->required();
  command->add_flag("--force", options->force, "Replace the model in the output folder");
  command->footer("Example:\n  convseq convert --from hf-t5 t5-small models/t5-small");
  command->callback([options] { convert(*options); });
}

}  // namespace convseq::cli
