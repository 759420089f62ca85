#include "convseq/base/random.h"

#include <cmath>
#include <numbers>

namespace convseq {
namespace {

// SplitMix64's finaliser: spreads the words of a key over all 64 bits.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

Random::Random(uint64_t seed, std::initializer_list<uint64_t> key) {
  uint64_t stream = 0;
  for (uint64_t word : key) stream = mix(stream ^ word) + 1;
  const uint64_t mixed = mix(seed);
  key_ = {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
  // The upper half of the counter names the stream, the lower half runs.
  counter_ = {0, 0, static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
}

uint32_t Random::bits32() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    used_ = 0;
    if (++counter_[0] == 0) ++counter_[1];
  }
  return block_[used_++];
}

uint64_t Random::bits64() {
  const uint64_t high = bits32();
  return (high << 32) | bits32();
}

uint64_t Random::below(uint64_t bound) {
  // Values under 2^64 mod bound would make the small remainders likelier; they are drawn again.
  const uint64_t reject = -bound % bound;
  uint64_t drawn = bits64();
  while (drawn < reject) drawn = bits64();
  return drawn % bound;
}

double Random::uniform() { return static_cast<double>(bits64() >> 11) * 0x1.0p-53; }

double Random::normal() {
  // Box and Muller; 1 - u lies in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace convseq
