#pragma once

#include "convseq/nn/feed_forward.h"
#include "convseq/nn/mixer/attention.h"
#include "convseq/nn/mixer/mixer.h"
#include "convseq/nn/norm.h"
#include "convseq/spec/model_config.h"

namespace convseq {

// The options of each layer of a model.
nn::MixerOptions mixer_options(const ModelConfig& config, Side side, int64_t layer);
nn::AttentionOptions attention_options(const ModelConfig& config);
nn::FeedForwardOptions feed_forward_options(const ModelConfig& config);
nn::NormOptions norm_options(const ModelConfig& config);
nn::ResidualOptions residual_options(const ModelConfig& config);

}  // namespace convseq
