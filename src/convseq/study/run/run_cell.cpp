#include "convseq/study/run/run_cell.h"

#include <ATen/DeviceAccelerator.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>

#include "convseq/base/file/atomic_file.h"
#include "convseq/base/machine.h"
#include "convseq/data/corpus/document_reader.h"
#include "convseq/data/corpus/shard/tokenize_job.h"
#include "convseq/data/io/byte_source.h"
#include "convseq/spec/flops.h"
#include "convseq/study/run/split_result.h"
#include "convseq/text/sentence_sample.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The driver names its GPUs in files.
std::string gpu_model() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    std::ifstream lines(entry.path() / "information");
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("Model:")) continue;
      return line.substr(line.find_first_not_of(" \t", 6));
    }
  }
  return "cuda";
}

std::string describe(torch::Device device) {
  return device.is_cuda() ? gpu_model() : "cpu " + machine_name();
}

// The curves of metrics.jsonl, which also covers the time before a restart.
void read_curves(const fs::path& metrics, CellResult& result) {
  std::istringstream lines(read_text_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    const Json json = parse_json(line, metrics.string());
    const auto step = json.at("step").get<int64_t>();
    const auto add = [&](const char* key, Curve& curve) {
      if (json.contains(key) && json.at(key).is_number()) {
        curve.push_back({step, json.at(key).get<double>()});
      }
    };
    add("loss", result.loss);
    add("validation_nll", result.validation);
  }
  result.loss = thinned(result.loss);
  result.validation = thinned(result.validation);
}

// The fields of an example's source without the words of the template.
std::string text_of(const TaskExample& example) {
  std::string text;
  for (const TextTemplate::Span& span : example.source.spans) {
    text +=
        (text.empty() ? "" : "\n") + example.source.text.substr(span.begin, span.end - span.begin);
  }
  return text;
}

void remove_matching(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  for (const fs::path& path : found) fs::remove_all(path);
}

// Leaves a GPU that processes share as a cell found it, whether the cell was finished, stopped or
// failed. Under MPS a process that ends while its kernels run makes them fault, which ends every
// process on the GPU; and memory that libtorch keeps for itself is missing to the others.
class SharedGpu {
 public:
  explicit SharedGpu(torch::Device device) : device_(device) {}
  SharedGpu(const SharedGpu&) = delete;
  SharedGpu& operator=(const SharedGpu&) = delete;
  ~SharedGpu() {
    if (device_.is_cpu()) return;
    try {
      at::accelerator::synchronizeDevice(at::accelerator::getDeviceIndex());
      at::accelerator::emptyCache();
    } catch (const std::exception&) {
      // The GPU is lost to this process; device_is_usable() says so.
    }
  }

 private:
  torch::Device device_;
};

}  // namespace

CellRunner::CellRunner(const StudyPlan& plan, const StudyFolder& folder, RunCellOptions options)
    : plan_(plan), folder_(folder), options_(std::move(options)) {}

std::optional<CellResult> CellRunner::run(const Cell& cell, const fs::path& out) {
  const auto start = std::chrono::steady_clock::now();
  const SharedGpu gpu(options_.device);
  CellResult result = cell.label;
  result.commit = options_.commit;
  result.device = describe(options_.device);
  fs::create_directories(out);
  const bool finished =
      std::visit([&](const auto& work) { return run(work, out, result); }, cell.work);
  if (!finished) return std::nullopt;
  result.total_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result.seconds == 0) result.seconds = result.total_seconds;
  // A pre-training that was resumed knows the time of all its pieces.
  result.total_seconds = std::max(result.total_seconds, result.seconds);
  result.finished = utc_now();
  return result;
}

bool CellRunner::device_is_usable() const {
  if (options_.device.is_cpu()) return true;
  try {
    return torch::ones({1}, options_.device).item<float>() == 1;
  } catch (const std::exception&) {
    return false;
  }
}

fs::path CellRunner::synth_folder() const {
  for (const Cell& cell : plan_.cells()) {
    if (cell.kind() == CellKind::Synth) return folder_.cell(cell.id());
  }
  return {};
}

fs::path CellRunner::tokenizer_of(const std::string& id) const {
  return folder_.cell(id) / "tokenizer";
}

std::vector<fs::path> CellRunner::files_of(const std::vector<std::string>& patterns) const {
  std::vector<fs::path> files;
  for (const std::string& pattern : patterns) {
    const auto synthetic = synth_name(pattern);
    const fs::path path = synthetic ? synth_folder() / *synthetic : plan_.data() / pattern;
    for (const fs::path& file : expand_corpus(path.string())) files.push_back(fs::absolute(file));
  }
  return files;
}

bool CellRunner::run(const SynthWork& work, const fs::path& out, CellResult&) {
  const auto poll = [&] {
    if (options_.stop()) throw Stopped("synth");
  };
  try {
    if (work.synth.corpus) {
      synth::CorpusOptions corpus = *work.synth.corpus;
      corpus.on_progress = [&](int64_t) { poll(); };
      fs::remove_all(out / "corpus");
      synth::write_corpus(out / "corpus", corpus);
    }
    if (work.synth.tasks) {
      synth::SuiteOptions suite = *work.synth.tasks;
      suite.poll = poll;
      fs::remove_all(out / "tasks");
      synth::write_suite(out / "tasks", suite);
    }
  } catch (const Stopped&) {
    return false;
  }
  return true;
}

bool CellRunner::run(const TokenizerWork& work, const fs::path& out, CellResult&) {
  const StudyTokenizer& given = work.tokenizer;
  fs::remove_all(out / "tokenizer");
  if (!given.path.empty()) {
    write_tokenizer_folder(out / "tokenizer", read_text_file(tokenizer_file(given.path)));
    return true;
  }
  SentenceSample sample(static_cast<size_t>(given.lines), given.seed);
  DocumentReader reader(files_of(work.corpus.train));
  for (std::string text; reader.next(text);) sample.add(text);
  if (options_.stop()) return false;
  write_tokenizer_folder(out / "tokenizer", train_tokenizer(sample.sentences(), given.trainer));
  return true;
}

// The files of a corpus are linked into one folder, since shards are made of one.
bool CellRunner::run(const ShardsWork& work, const fs::path& out, CellResult& result) {
  const fs::path text = out / "text";
  fs::create_directories(text);
  if (work.split.empty()) {
    int64_t number = 0;
    for (const fs::path& file : files_of(work.patterns)) {
      // Without the file's name, which may look like held-out data.
      const std::string form = uncompressed_extension(file), last = lower_extension(file);
      const fs::path link =
          text / fmt::format("{:05}{}{}", number++, form, last == form ? "" : last);
      fs::remove(link);  // of an earlier attempt, when the data may have been elsewhere
      fs::create_symlink(file, link);
    }
  } else if (!fs::exists(text / "text.jsonl")) {
    AtomicFile file(text / "text.jsonl");
    TaskReader reader(find_study_task(work.task, synth_folder() / "tasks"), work.split,
                      {.data = plan_.data(), .lines = {}});
    for (TaskExample example; reader.next(example);) {
      file.write(Json{{"text", text_of(example)}}.dump() + "\n");
    }
    file.commit();
  }
  const ShardManifest done =
      tokenize_corpus(Tokenizer::load(tokenizer_of(work.tokenizer)), {.corpus = text.string(),
                                                                      .out = out / "shards",
                                                                      .threads = options_.threads,
                                                                      .progress = false,
                                                                      .stop = options_.stop});
  result.source_tokens = done.tokens();
  return done.complete;
}

ModelConfig CellRunner::with_vocabulary(ModelConfig config, const std::string& tokenizer) const {
  config.vocab_size = Tokenizer::load(tokenizer_of(tokenizer)).vocabulary().size();
  return config;
}

void CellRunner::set_common(TrainingOptions& options, StudyPrecision precision,
                            CellResult& result) const {
  options.device = options_.device;
  options.compute = dtype_of(precision, options_.device);
  options.progress = false;
  options.stop = options_.stop;
  result.precision = options.compute == torch::kBFloat16 ? "bf16" : "fp32";
}

bool CellRunner::run(const PretrainWork& work, const fs::path& out, CellResult& result) {
  PretrainOptions options = work.settings.options;
  set_common(options, work.settings.precision, result);
  options.out = out / "model";
  options.tokenizer = tokenizer_of(work.tokenizer);
  options.model = with_vocabulary(work.model, work.tokenizer);
  options.corpus.corpora = {{.corpus = (folder_.cell(work.train) / "shards").string()}};
  if (!work.validation.empty()) {
    options.validation_corpus = (folder_.cell(work.validation) / "shards").string();
  }
  options.keep_best = false;  // the last weights are the result
  options.keep = 1;
  options.save_every = 50;
  options.save_seconds = 60;
  const TrainingSummary done = pretrain(options);
  if (!done.finished()) return false;
  remove_matching(options.out, "checkpoint-");
  read_curves(options.out / "metrics.jsonl", result);
  if (!result.validation.empty()) result.nll = result.validation.back().value;
  result.steps = done.step;
  result.source_tokens = done.source_tokens;
  result.seconds = done.seconds;
  result.parameters = parameter_count(options.model);
  const ExampleLengths room = options.corpus.room;
  const int64_t forward =
      total_flops(forward_flops(options.model, {.source = room.source, .target = room.target}));
  result.flops = static_cast<double>(training_flops(forward)) *
                 static_cast<double>(options.corpus.batch_rows * done.step);
  return true;
}

TaskSplit CellRunner::read(const std::string& key, const Task& task, const std::string& split,
                           const Tokenizer& tokenizer, const TaskSplitOptions& options) {
  // A model with learned positions has shorter texts.
  const std::string name = fmt::format("{} {} {} {} {}", key, split, options.limit,
                                       task.max_source_tokens, task.max_target_tokens);
  const auto found = splits_.find(name);
  if (found != splits_.end()) return found->second;
  return splits_[name] = read_split(task, split, tokenizer, options);
}

bool CellRunner::run(const FinetuneWork& work, const fs::path& out, CellResult& result) {
  FinetuneOptions options = work.settings.options;
  set_common(options, work.settings.precision, result);
  options.out = out / "run";
  options.in_memory = !work.settings.checkpoints && !options_.keep_models;
  options.save_seconds = 60;
  options.keep = 1;
  options.task = find_study_task(work.task, synth_folder() / "tasks");
  options.reader.data = plan_.data();
  options.tokenizer = tokenizer_of(work.tokenizer);
  options.model = with_vocabulary(work.model, work.tokenizer);
  if (work.settings.dropout) options.model.dropout = *work.settings.dropout;
  if (!work.pretrain.empty()) options.from = folder_.cell(work.pretrain) / "model";
  options.bootstrap = {.resamples = 0};
  // A step of greedy decoding takes a GPU hardly longer for many sequences than for few.
  if (options.device.is_cuda() && options.task.labels.empty()) {
    options.batches = {.max_rows = 512, .max_tokens = 65'536};
  }
  const std::string key = result.task + " " + work.tokenizer;
  options.read = [&](const auto& task, const auto& split, const auto& tokenizer, const auto& how) {
    return read(key, task, split, tokenizer, how);
  };
  options.on_log = [&](int64_t step, double loss) { result.loss.push_back({step, loss}); };
  options.on_validation = [&](int64_t step, double score) {
    result.validation.push_back({step, score});
  };
  options.on_evaluation = [&](const std::string& split, const TaskEvaluation& evaluation) {
    result.splits[split] = split_result(options.task, evaluation, split != "validation");
  };
  const FinetuneSummary done = finetune(options);
  if (!done.training.finished()) return false;
  if (!options_.keep_models) fs::remove_all(options.out);
  result.loss = thinned(result.loss, 20);
  result.validation = thinned(result.validation, 20);
  result.steps = done.training.step;
  result.source_tokens = done.training.source_tokens;
  result.seconds = done.training.seconds;
  result.parameters = parameter_count(options.model);
  result.flops = done.training.flops;
  return true;
}

}  // namespace convseq
