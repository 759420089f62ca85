#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace convseq::synth {

// The words of a text, without the punctuation around them.
std::vector<std::string_view> words_of(std::string_view text);

// The sentences of a text, without their final punctuation.
std::vector<std::string_view> sentences_of(std::string_view text);

// The words joined by spaces. Unlike the arguments of a function, the elements of the list are
// evaluated from left to right by every compiler, so random draws are in a fixed order.
std::string phrase(std::initializer_list<std::string_view> words);

}  // namespace convseq::synth
