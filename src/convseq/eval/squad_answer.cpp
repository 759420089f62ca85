#include "convseq/eval/squad_answer.h"

#include <algorithm>
#include <map>

#include "convseq/text/characters.h"

namespace convseq {
namespace {

bool is_ascii_punctuation(char32_t c) { return c > ' ' && c < 0x7F && (c == '_' || !is_word(c)); }

std::u32string without_punctuation(const std::u32string& text) {
  std::u32string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
               [](char32_t c) { return !is_ascii_punctuation(c); });
  return kept;
}

// A word is a run of word characters, also next to other characters: “the" loses its article.
std::u32string without_articles(const std::u32string& text) {
  std::u32string kept;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::u32string word = text.substr(at, end - at);
    const bool article = word == U"a" || word == U"an" || word == U"the";
    kept += article ? U" " : word;
    if (end < text.size()) kept += text[end++];
    at = end;
  }
  return kept;
}

std::vector<std::u32string> words_of(const std::string& answer) {
  std::vector<std::u32string> words;
  bool inside = false;
  for (char32_t c : without_articles(without_punctuation(lower_case(characters_of(answer))))) {
    if (is_space(c)) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    words.back() += c;
  }
  return words;
}

double f1(const std::vector<std::u32string>& answer, const std::vector<std::u32string>& reference) {
  std::map<std::u32string, int64_t> left;
  for (const auto& word : reference) ++left[word];
  int64_t shared = 0;
  for (const auto& word : answer) shared += left[word]-- > 0;
  if (shared == 0) return 0;
  return 2 * static_cast<double>(shared) / static_cast<double>(answer.size() + reference.size());
}

}  // namespace

std::string normalised_answer(const std::string& answer) {
  std::string normal;
  for (const auto& word : words_of(answer)) normal += (normal.empty() ? "" : " ") + utf8_of(word);
  return normal;
}

double squad_exact_match(const std::string& answer, const std::vector<std::string>& references) {
  const auto words = words_of(answer);
  return std::any_of(references.begin(), references.end(),
                     [&](const auto& reference) { return words_of(reference) == words; });
}

double squad_f1(const std::string& answer, const std::vector<std::string>& references) {
  const auto words = words_of(answer);
  double best = 0;
  for (const auto& reference : references) best = std::max(best, f1(words, words_of(reference)));
  return best;
}

}  // namespace convseq
