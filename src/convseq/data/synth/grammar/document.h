#pragma once

#include <cstdint>
#include <string>

namespace convseq::synth {

enum class CorpusPart { Train, Validation };

// Document `index` of a part of the corpus, a function of its arguments alone: a small story with
// one topic, one mood, a few persons, and facts about them that are repeated in other words.
std::string write_document(uint64_t seed, CorpusPart part, uint64_t index);

}  // namespace convseq::synth
