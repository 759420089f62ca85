#!/usr/bin/env bash
# Trains small models to be given away, on text and comments whose licences allow it (tools/model_cards/SOURCES.md).
#   tools/make_models.sh DATA OUT [STEPS] [ROWS]
#   tools/take_models.py OUT --speed COMMENTS && tools/write_model_cards.py    # then copies them to models/, with their cards
# DATA holds corpus/, corpus2/, toxicity_extra/ and wiki_toxic*/. OUT receives the runs, the int8 folders (OUT/models) and
# OUT/scores.jsonl. STEPS are those of pre-training; ROWS limits the rows of every task (0 = all). What is done is not done again, so the
# same command continues an interrupted one.
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(readlink -f "$1") out=$2 steps=${3:-18000} rows=${4:-0}
program=${BIN:-build}/convseq
rates=(0.0005 0.001 0.003)  # peak learning rates of toxicity-mini; the best one on validation is used
seeds=(1 2 3)               # of fine-tuning; the models of the first are shipped
mkdir -p "$out/text" "$out/shards" "$out/runs" "$out/models" "$out/scores"

log() { echo "$(date +%T) $*" >&2; }

# Runs a command unless its output file is there; the file appears when the command has succeeded.
make_file() {  # FILE COMMAND...
  local file=$1
  shift
  [ ! -e "$file" ] || return 0
  "$@" > "$file.part" 2> "$file.log" || { log "failed: $*"; tail -n 5 "$file.log" >&2; return 1; }
  mv "$file.part" "$file"
}

# Runs a function once per argument, at the same time; fails if one of them fails.
at_once() {  # FUNCTION ARGUMENT...
  local function=$1 job jobs=() status=0
  shift
  for argument in "$@"; do
    "$function" $argument &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job" || status=1; done
  return $status
}

# Text: the sources with a clear licence, and the comments of the training sets without their labels.
make_file "$out/selection.txt" python3 tools/select_comments.py "$data" "$out/text"
select_sources() { gzip -dc "$data"/corpus/en.train.*.gz | grep -E '"url": "(wiki|wiki18|openstax|digitalgov|mdn|k8s|18f)/'; }
make_file "$out/text/sources.train.json" select_sources
train_text=("$out/text/sources.train.json" "$out/text/comments.train.jsonl" "$data/corpus2/en2.train.*")
weights=(0.2 0.2 0.6)  # a fifth of the examples are comments, which are a ninth of the tokens

# Trained on this text: convseq tokenizer train "${train_text[@]}" --out configs/tokenizers/pieces-8k --vocabulary 8000 --lines 300000
tokenizer=configs/tokenizers/pieces-8k
log "tokenizing"
shards=()
for number in "${!train_text[@]}"; do
  make_file "$out/shards/$number.json" "$program" tokenize "${train_text[$number]}" "$out/shards/$number" --tokenizer "$tokenizer" \
    --threads "$(nproc)" --quiet --json
  shards+=("$out/shards/$number=${weights[$number]}")
done
make_file "$out/shards/validation.json" "$program" tokenize "$data/corpus2/en2.validation.*" "$out/shards/validation" \
  --tokenizer "$tokenizer" --quiet --json

log "pre-training: $steps steps"
make_file "$out/pretrain.json" "$program" pretrain "$out/runs/pretrained" --model paper-light-mini --corpus "${shards[@]}" \
  --tokenizer "$tokenizer" --validation "$out/shards/validation" --batch "${BATCH:-128}" --steps "$steps" \
  --precision bf16 --threads 8 --validate-every 3000 --no-best --quiet --json

# The filter: a comment is toxic or non-toxic, by a head on the pooled encoder output.
limits=(--train-limit "$rows" --validation-limit "$rows")
natural_rate=("$data"/toxicity_extra/{jigsaw_wiki,civil_comments_binary}/validation.jsonl.zst)
toxic_or_not=(--source '{text}' --target '{label}' --labels non-toxic,toxic --positive-label toxic
  --metrics average_precision,roc_auc,f1,accuracy)
filter() {  # RATE SEED
  make_file "$out/toxicity-$1-$2.json" "$program" finetune "$out/runs/toxicity-$1-$2" --train "$out/text/comments.train.jsonl" \
    --validation "${natural_rate[@]}" "${toxic_or_not[@]}" --max-source-tokens 512 --from "$out/runs/pretrained" --answer pooled \
    --batch 128 --epochs 3 --schedule linear --lr "$1" --seed "$2" "${limits[@]}" --quiet --json
}
validation_score() {  # REPORT -> the best validation score
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["best_validation"])' "$1"
}
log "fine-tuning: learning rates ${rates[*]}"
at_once filter "${rates[@]/%/ ${seeds[0]}}"
best=$(for rate in "${rates[@]}"; do echo "$(validation_score "$out/toxicity-$rate-${seeds[0]}.json") $rate"; done | sort -gr | head -n 1)
best=${best#* }

# The six labels of Jigsaw, from the comments whose labels are known, starting from the filter.
labels=toxic,severe_toxic,obscene,threat,insult,identity_hate
label_model() {  # SEED
  make_file "$out/labels-$1.json" "$program" finetune "$out/runs/labels-$1" --train "$out/text/labels.train.jsonl" \
    --validation "$out/text/labels.validation.jsonl" --source '{text}' --target '{subtypes}' --label-kind multi --labels $labels \
    --metrics micro_f1,macro_f1,roc_auc,average_precision --max-source-tokens 512 --from "$out/runs/toxicity-$best-${seeds[0]}" \
    --answer pooled --batch 32 --epochs 4 --schedule linear --lr 0.001 --seed "$1" "${limits[@]}" --quiet --json
}
fine_tune_seed() {  # SEED
  filter "$best" "$1"
  label_model "$1"
}
log "fine-tuning: seeds ${seeds[*]} at learning rate $best"
at_once fine_tune_seed "${seeds[@]}"

# int8 on a CPU, as the models are used. Temperature and threshold are fitted at the natural rate of toxic comments; rare labels, to
# which a threshold cannot be fitted, keep 0.5.
limit=(--limit "$rows" --threads 4 --quiet --json)
fit=(--split validation --fit-temperature --fit-threshold f1 --save)
fit_labels=("${fit[@]}" --fit-min-positives "$((rows > 0 ? 1 : 100))")
toxicity_sets=(toxicity_extra/jigsaw_wiki/test toxicity_extra/civil_comments_binary/test wiki_toxic/test wiki_toxic_context/all)
score() {  # NAME PART MODEL OPTIONS...
  make_file "$out/scores/$1.$2.json" "$program" evaluate "${@:3}" "${limit[@]}"
}
score_filter() {  # NAME MODEL DEVICE
  score "$1" calibration "$2" --validation "${natural_rate[@]}" "${fit[@]}" --device "$3"
  for set in "${toxicity_sets[@]}"; do score "$1" "${set//\//.}" "$2" --test "$data/$set.jsonl.zst" --device "$3"; done
}
score_labels() {  # NAME MODEL DEVICE
  score "$1" calibration "$2" --validation "$out/text/labels.validation.jsonl" "${fit_labels[@]}" --device "$3"
  score "$1" jigsaw_wiki.known "$2" --test "$out/text/labels.test.jsonl" --device "$3"
  score "$1" wiki_toxic_subtypes.test "$2" --test "$data/wiki_toxic_subtypes/test.jsonl.zst" --device "$3"
}
# wiki_toxic is balanced: a threshold for its rate of toxic comments, fitted on its validation part.
score_balanced() {  # NAME MODEL
  local copy=$out/runs/$1
  [ -d "$copy" ] || cp -r "$2" "$copy"
  score "$1" calibration "$copy" --validation "$data/wiki_toxic/validation.jsonl.zst" --split validation --fit-threshold f1 --save --device cpu
  score "$1" wiki_toxic.test "$copy" --test "$data/wiki_toxic/test.jsonl.zst" --device cpu
}
quantize() {  # RUN NAME
  make_file "$out/scores/$2.size.json" "$program" quantize "$out/runs/$1" "$out/models/$2" --int8 --force --quiet --json
}
score_run() {  # SEED, or fp32
  local suffix=-$1
  if [ "$1" = fp32 ]; then
    score_filter toxicity-fp32 "$out/runs/toxicity-$best-${seeds[0]}" auto
    score_labels toxicity-labels-fp32 "$out/runs/labels-${seeds[0]}" auto
    return
  fi
  [ "$1" != "${seeds[0]}" ] || suffix=
  quantize "toxicity-$best-$1" "toxicity-mini$suffix"
  quantize "labels-$1" "toxicity-labels-mini$suffix"
  score_filter "toxicity-mini$suffix" "$out/models/toxicity-mini$suffix" cpu
  score_labels "toxicity-labels-mini$suffix" "$out/models/toxicity-labels-mini$suffix" cpu
  score_balanced "toxicity-mini$suffix-balanced" "$out/models/toxicity-mini$suffix"
}
log "int8 and scores"
quantize pretrained convseq-mini
at_once score_run fp32 "${seeds[@]}"
make_file "$out/version.txt" "$program" version
# Probabilities at the natural rate, for the thresholds of the card.
make_file "$out/natural_rate.jsonl" "$program" evaluate "$out/models/toxicity-mini" --test "$data/wiki_toxic_context/all.jsonl.zst" \
  --predictions - --resamples 0 --device cpu --limit "$rows" --quiet

python3 - "$out" > "$out/scores.jsonl" <<'END'
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])
for file in sorted(out.glob("scores/*.json")):
    name, part = file.stem.split(".", 1)
    print(json.dumps({"name": name, "part": part, **json.loads(file.read_text())}))
rows = [json.loads(line) for line in open(out / "natural_rate.jsonl")]
for threshold in (0.3, 0.5, 0.7, 0.9, 0.95):
    called = [row["answers"] == ["toxic"] for row in rows if row["probabilities"]["toxic"] >= threshold]
    print(json.dumps({"name": "toxicity-mini", "part": f"wiki_toxic_context.threshold_{threshold}", "called": len(called), "right": sum(called),
                      "toxic": sum(row["answers"] == ["toxic"] for row in rows), "comments": len(rows)}))
END
log "done: $out/models, $out/scores.jsonl"
