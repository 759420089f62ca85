#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace convseq::synth {

// The words of a text, without the punctuation around them.
std::vector<std::string_view> words_of(std::string_view text);

// The sentences of a text, without the marks that end them.
std::vector<std::string_view> sentences_of(std::string_view text);

// The words with a space between each two. Unlike a function's arguments, the words of the list are
// drawn from left to right with every compiler: what is random comes out the same.
std::string phrase(std::initializer_list<std::string_view> words);

}  // namespace convseq::synth
