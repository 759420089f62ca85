#include "convseq/study/settings.h"

#include "convseq/base/contains.h"

namespace convseq {
namespace {

// Each visit() names the settings once, for reading, writing and listing them. A setting that is
// added later is to be written only where it differs from its default: ids of old cells then stay.
template <class Visitor>
void visit(Visitor& each, TrainingOptions& options) {
  each("steps", options.limits.steps);
  each("patience", options.limits.patience);
  each("optimizer", options.optimizer.kind);
  each("schedule", options.schedule.kind);
  each("lr", options.schedule.learning_rate);
  each("warmup", options.schedule.warmup_steps);
  each("decay", options.schedule.decay_steps);
  each("weight_decay", options.optimizer.weight_decay);
  each("clip", options.step.clip_norm);
  each("label_smoothing", options.step.label_smoothing);
  each("z_loss", options.step.z_loss);
  each("validate_every", options.validate_every);
  each("micro_batch", options.micro_batch_rows);
}

template <class Visitor>
void visit(Visitor& each, PretrainSettings& settings) {
  visit(each, static_cast<TrainingOptions&>(settings.options));
  each("tokens", settings.options.limits.source_tokens);
  each("batch", settings.options.corpus.batch_rows);
  each("source", settings.options.corpus.room.source);
  each("target", settings.options.corpus.room.target);
  each("validation_batches", settings.options.validation_batches);
  each("precision", settings.precision);
}

template <class Visitor>
void visit(Visitor& each, FinetuneSettings& settings) {
  FinetuneOptions& options = settings.options;
  visit(each, static_cast<TrainingOptions&>(options));
  each("batch", options.batch_rows);
  each("epochs", options.epochs);
  each("max_steps", options.max_steps);
  each("answer", options.form);
  each("freeze_encoder", options.freeze_encoder);
  each("balance_classes", options.balance_classes);
  each("held_out", options.held_out);
  each("train_limit", options.train_limit);
  each("validation_limit", options.validation_limit);
  each("evaluate", options.evaluate);
  each("precision", settings.precision);
  each("dropout", settings.dropout);
}

struct Names {
  std::vector<std::string> names;
  template <class T>
  void operator()(const char* name, T&) {
    names.emplace_back(name);
  }
};

struct Reader {
  const JsonObject& json;
  template <class T>
  void operator()(const char* name, T& value) {
    value = json.get_or<T>(name, value);
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value) {
    if (json.has(name)) value = json.get<T>(name);
  }
};

struct Writer {
  Json json = Json::object();
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (NamedEnum<T>) {
      json[name] = name_of(value);
    } else {
      json[name] = value;
    }
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
};

template <class Settings>
void read(Settings& settings, const JsonObject& json, const std::vector<std::string>& others) {
  Names known;
  visit(known, settings);
  known.names.insert(known.names.end(), others.begin(), others.end());
  json.allow_only(known.names);
  Reader reader{json};
  visit(reader, settings);
}

template <class Settings>
Json written(Settings settings) {
  Writer writer;
  visit(writer, settings);
  return writer.json;
}

}  // namespace

torch::Dtype dtype_of(StudyPrecision precision, torch::Device device) {
  if (precision == StudyPrecision::Auto) {
    return device.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
  }
  return precision == StudyPrecision::Bf16 ? torch::kBFloat16 : torch::kFloat32;
}

PretrainSettings PretrainSettings::from_json(const JsonObject& json) {
  PretrainSettings settings;
  settings.options.limits = {};
  read(settings, json, {"objective", "threads"});
  if (json.has("objective")) {
    settings.options.objective = ObjectiveOptions::from_json(json.inner("objective"));
  }
  settings.options.corpus.threads = json.get_or("threads", settings.options.corpus.threads);
  const TrainingLimits& limits = settings.options.limits;
  if ((limits.steps > 0) == (limits.source_tokens > 0)) {
    json.refuse("tokens", "or steps: give one of them");
  }
  return settings;
}

Json PretrainSettings::to_json() const {
  Json json = written(*this);
  json["objective"] = make_objective(options.objective, Vocabulary(1000))->to_json();
  return json;
}

FinetuneSettings FinetuneSettings::from_json(const JsonObject& json) {
  FinetuneSettings settings;
  read(settings, json, {"checkpoints"});
  settings.checkpoints = json.get_or("checkpoints", false);
  const std::vector<std::string>& splits = settings.options.evaluate;
  if (!contains(splits, "validation")) {
    json.refuse("evaluate", "has no validation split, on which the learning rate is chosen");
  }
  if (settings.dropout && !(*settings.dropout >= 0 && *settings.dropout < 1)) {
    json.refuse("dropout", "is {}; allowed: 0 up to, but not including, 1", *settings.dropout);
  }
  return settings;
}

Json FinetuneSettings::to_json() const { return written(*this); }

}  // namespace convseq
