#include "eval/characters.h"

#include <algorithm>
#include <cstdint>

namespace convseq {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // that needs so many bytes

bool within(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// How many bytes the character that begins with `lead` has; 0: none begins so.
size_t width_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

}  // namespace

std::u32string characters_of(std::string_view utf8) {
  std::u32string characters;
  for (size_t at = 0; at < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[at]);
    const size_t width = width_of(lead);
    bool whole = width > 0 && at + width <= utf8.size();
    char32_t c = width <= 1 ? lead : lead & (0x7F >> width);
    for (size_t i = 1; whole && i < width; ++i) {
      const auto next = static_cast<unsigned char>(utf8[at + i]);
      whole = (next & 0xC0) == 0x80;
      c = c << 6 | (next & 0x3F);
    }
    whole = whole && c >= kSmallest[width] && c <= 0x10FFFF && !within(c, 0xD800, 0xDFFF);
    characters += whole ? c : kReplacement;
    at += whole ? width : 1;
  }
  return characters;
}

std::string utf8_of(std::u32string_view characters) {
  std::string text;
  const auto follow = [&](char32_t c, int shift) {
    text += static_cast<char>(0x80 | (c >> shift & 0x3F));
  };
  for (char32_t c : characters) {
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else if (c < 0x800) {
      text += static_cast<char>(0xC0 | c >> 6);
      follow(c, 0);
    } else if (c < 0x10000) {
      text += static_cast<char>(0xE0 | c >> 12);
      follow(c, 6), follow(c, 0);
    } else {
      text += static_cast<char>(0xF0 | c >> 18);
      follow(c, 12), follow(c, 6), follow(c, 0);
    }
  }
  return text;
}

char32_t lower_case(char32_t c) {
  if (within(c, 'A', 'Z')) return c + 0x20;
  if (within(c, 0xC0, 0xDE) && c != 0xD7) return c + 0x20;  // À to Þ, but ×
  // Latin Extended-A: pairs, the capital first; in two runs it has the odd number. ı, ĸ and ŉ have
  // no capital here, İ is left as it is.
  if (within(c, 0x139, 0x148) || within(c, 0x179, 0x17E)) return c + (c & 1);
  if (c == 0x178) return 0xFF;  // Ÿ
  if (within(c, 0x100, 0x177) && !within(c, 0x130, 0x131) && c != 0x138 && c != 0x149) {
    return c | 1;
  }
  if (within(c, 0x1E00, 0x1EFF) && !within(c, 0x1E96, 0x1E9F)) return c | 1;  // Ḁ to Ỿ
  if (within(c, 0x388, 0x38A)) return c + 0x25;                               // Έ Ή Ί
  if (c == 0x386) return 0x3AC;                                               // Ά
  if (c == 0x38C) return 0x3CC;                                               // Ό
  if (within(c, 0x38E, 0x38F)) return c + 0x3F;                               // Ύ Ώ
  if (within(c, 0x391, 0x3AB) && c != 0x3A2) return c + 0x20;                 // Α to Ϋ
  if (within(c, 0x410, 0x42F)) return c + 0x20;                               // А to Я
  if (within(c, 0x400, 0x40F)) return c + 0x50;                               // Ѐ to Џ
  // The other Cyrillic letters stand in pairs, the capital first.
  if (within(c, 0x460, 0x481) || within(c, 0x48A, 0x4BF) || within(c, 0x4D0, 0x52F)) return c | 1;
  return c;
}

bool is_space(char32_t c) {
  static constexpr char32_t kOthers[] = {' ',    0x85,   0xA0,   0x1680, 0x2028,
                                         0x2029, 0x202F, 0x205F, 0x3000};
  return within(c, '\t', '\r') || within(c, 0x1C, 0x1F) || within(c, 0x2000, 0x200A) ||
         std::find(std::begin(kOthers), std::end(kOthers), c) != std::end(kOthers);
}

bool is_word(char32_t c) {
  if (c < 0x80) {
    return within(c, 'a', 'z') || within(c, 'A', 'Z') || within(c, '0', '9') || c == '_';
  }
  if (c < 0xC0) {  // ª ² ³ µ ¹ º ¼ ½ ¾ among the signs
    static constexpr char32_t kWords[] = {0xAA, 0xB2, 0xB3, 0xB5, 0xB9, 0xBA, 0xBC, 0xBD, 0xBE};
    return std::find(std::begin(kWords), std::end(kWords), c) != std::end(kWords);
  }
  if (c == 0xD7 || c == 0xF7) return false;     // × ÷
  if (within(c, 0x2000, 0x206F)) return false;  // dashes, quotation marks, dots
  if (within(c, 0x20A0, 0x20CF)) return false;  // currencies
  if (within(c, 0x2190, 0x245F)) return false;  // arrows, mathematics, technical signs
  if (within(c, 0x3000, 0x3004)) return false;  // ideographic space and stops
  if (within(c, 0x3008, 0x3020)) return false;  // brackets
  return c != kReplacement;
}

}  // namespace convseq
