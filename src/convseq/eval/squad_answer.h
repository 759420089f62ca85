#pragma once

#include <string>
#include <vector>

namespace convseq {

// SQuAD 1.1's normal form: lower case, without ASCII punctuation, without the words a, an and the,
// white space made single.
std::string normalised_answer(const std::string& answer);

// The score of one answer, 0 to 1: the best over all references.
double squad_exact_match(const std::string& answer, const std::vector<std::string>& references);
// 2PR / (P + R) over the shared words, with multiplicity. As in SQuAD 1.1, an answer without words
// after normalisation scores 0.
double squad_f1(const std::string& answer, const std::vector<std::string>& references);

}  // namespace convseq
