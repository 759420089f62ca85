// Configs, model folders, sizes that fit no machine, and launchers that contradict themselves.
#include "bad_input.h"

namespace convseq::testing {

std::vector<BadInput> bad_models() {
  const std::string inspect = "inspect paper-light-tiny --set ";
  const std::string evaluate = " tasks/pair_1/task.json --device cpu --limit 2";
  return {
      {"inspect paper-light-tin", {"paper-light-tin", "paper-light-tiny"}},
      {"inspect deep.json", {"deep.json"}},
      {"inspect loop", {"loop"}},
      {"inspect config/unknown.json", {"config/unknown.json", "kernal_sizes", "kernel_sizes"}},
      {"inspect config/text.json", {"config/text.json", "d_model"}},
      {"inspect config/kernels.json", {"config/kernels.json", "kernel_sizes", "3"}},
      {"inspect config/attention-layer.json", {"encoder_attention_layers", "99"}},
      {"inspect config/labels.json", {"config/labels.json", "labels"}},
      {"inspect config/same-labels.json", {"config/same-labels.json", "labels"}},
      {"inspect config/no-decoder.json", {"config/no-decoder.json", "decoder_layers"}},
      {"inspect config/start.json", {"config/start.json", "decoder_start_token_id", "512"}},
      {"inspect config/pad.json", {"config/pad.json", "pad_token_id"}},
      {"inspect config/eps.json", {"config/eps.json", "norm_eps"}},
      {inspect + "no_such_key=1", {"no_such_key"}},
      {inspect + "vocab_size=99999999999", {"vocab_size", "99999999999"}},
      {inspect + "mixer=lstm", {"mixer", "lstm", "light"}},
      {inspect + "dropout=nan", {"dropout"}},
      {inspect + "conv_heads=7", {"conv_heads", "7"}},
      {inspect + "kernel_sizes=4611686018427387904", {"kernel_sizes"}},
      {inspect + "'kernel_sizes=[3,'", {"kernel_sizes"}},
      {"inspect models/no-config", {"models/no-config", "config.json"}},
      {"inspect models/long-header", {"models/long-header/model.safetensors"}},
      {"inspect models/wide", {"models/wide"}},
      {"evaluate models/cut-weights" + evaluate, {"models/cut-weights/model.safetensors"}},
      {"evaluate models/nan" + evaluate, {"models/nan/model.safetensors", "finite"}},
      {"evaluate models/shape" + evaluate, {"models/shape/model.safetensors", "embedding"}},
      {"evaluate models/dtype" + evaluate, {"models/dtype/model.safetensors"}},
      {"evaluate models/missing" + evaluate, {"models/missing/model.safetensors", "embedding"}},
      {"evaluate models/extra" + evaluate, {"models/extra/model.safetensors", "surplus"}},
      {"evaluate models/wide" + evaluate, {"models/wide/model.safetensors"}},
      {"evaluate models/no-tokenizer" + evaluate, {"models/no-tokenizer", "tokenizer"}},
      {"evaluate models/cut-tokenizer" + evaluate, {"models/cut-tokenizer/spiece.model"}},
      {"evaluate models/vocabulary" + evaluate, {"models/vocabulary"}},
      {"evaluate models/bad-task --device cpu", {"models/bad-task/task.json"}},
      {"evaluate paper-light-tiny" + evaluate, {"paper-light-tiny"}},
      {"finetune out tasks/pair_1/task.json --from models/nan --device cpu",
       {"models/nan/model.safetensors", "finite"}},
      {"finetune out tasks/pair_1/task.json --from tuned --device cpu", {"tuned", "decoder"}},
      {"finetune out tasks/pair_1/task.json --from model --model paper-light-tiny", {"--model"}},
      {"finetune out tasks/pair_1/task.json --from model --tokenizer other-tokenizer",
       {"other-tokenizer"}},
      {"pretrain out --corpus corpus --tokenizer tokenizer --set vocab_size=100",
       {"vocab_size", "100"}},
      {"convert --from hf-t5 model out", {"model"}},
      {"convert --from hf-t5 hf-broken/bert out", {"hf-broken/bert/config.json"}},
      {"convert --from hf-t5 hf-broken/sizes out", {"hf-broken/sizes"}},
      {"convert --from hf-t5 hf-broken/bin out", {"hf-broken/bin", "safetensors"}},
      {"convert --from hf-t5 hf-broken/missing out", {"hf-broken/missing", "shared.weight"}},
      {"convert --from hf-t5 hf-broken/index out", {"hf-broken/index"}},
  };
}

std::vector<BadInput> bad_sizes() {
  const std::string pretrain = "pretrain out --corpus corpus --tokenizer tokenizer --device cpu ";
  const std::string finetune = "finetune out tasks/pair_1/task.json --from model --device cpu ";
  const std::string step = pretrain + "--batch 2 --source 32 --target 16 --steps 2 ";
  std::vector<BadInput> cases = {
      {pretrain + "--set d_model=160000 d_ff=16000000", {"memory", "--max-memory"}},
      {pretrain + "--batch 1000000000", {"memory", "--max-memory"}},
      {pretrain + "--source 1000000 --target 1000000 --batch 100000", {"memory", "--max-memory"}},
      {pretrain + "--max-memory 1M", {"--max-memory"}},
      {finetune + "--batch 8 --max-memory 1M", {"--max-memory"}},
      {finetune + "--batch 8 --dry-run --max-memory 1M", {"--max-memory"}},
      {"evaluate model tasks/pair_1/task.json --device cpu --max-memory 10K", {"--max-memory"}},
      {"synth tasks out --distances 100000000", {"--distances", "100000000"}},
      {"synth tasks out --train 1000000000 --max-memory 1G", {"memory", "--max-memory"}},
      {"bench ops --device cpu --batch 100000000000", {"--batch", "100000000000"}},
      {"bench ops --device cpu --batch 1000000 --time 100000", {"memory", "--max-memory"}},
      {"bench step --device cpu --tokens 1000000000", {"memory", "--max-memory"}},
      {"bench length --device cpu --lengths 1000000 --tokens 1000000000",
       {"memory", "--max-memory"}},
      {"bench finetune --device cpu --batch 100000000 --steps 1", {"memory", "--max-memory"}},
      {"bench decode --device cpu --batch 1000000000", {"memory", "--max-memory"}},
      {"bench step --device cpu --set d_model=160000 d_ff=16000000", {"memory", "--max-memory"}},
      {step, {"RANK", "two"}, 2, "RANK=two WORLD_SIZE=2"},
      {step, {"RANK", "2", "WORLD_SIZE"}, 2, "RANK=2 WORLD_SIZE=2"},
      {step, {"WORLD_SIZE", "0"}, 2, "RANK=0 WORLD_SIZE=0"},
      {step, {"LOCAL_RANK", "x"}, 2, "RANK=0 WORLD_SIZE=1 LOCAL_RANK=x"},
      {step, {"SLURM_PROCID", "5"}, 2, "SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=4"},
  };
  const std::string no_gpu = "CUDA_VISIBLE_DEVICES=";
  for (const char* command :
       {"pretrain out --corpus corpus --tokenizer tokenizer",
        "evaluate model tasks/pair_1/task.json", "finetune out tasks/pair_1/task.json --from model",
        "bench ops", "bench decode"}) {
    cases.push_back({std::string(command) + " --device cuda", {"--device cuda"}, 2, no_gpu});
  }
  return cases;
}

}  // namespace convseq::testing
