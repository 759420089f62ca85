#include "convseq/kernels/conv_checks.h"

#include <climits>

#include "convseq/base/error.h"

namespace convseq::kernels {
namespace {

constexpr int64_t kLargest = INT_MAX >> 2;  // so that sums of two or three sizes still fit an int

}  // namespace

void check_sizes(const ConvShape& shape, const char* what) {
  for (const int64_t size : {shape.batch, shape.time, shape.channels}) {
    require(size >= 0 && size <= kLargest, "{}: [{}, {}, {}] has a size that is not within 0..{}",
            what, shape.batch, shape.time, shape.channels, kLargest);
  }
}

void check_conv(const ConvShape& shape, const char* what) {
  check_sizes(shape, what);
  require(shape.kernel >= 1 && shape.kernel <= 255, "{}: kernel {} is not within 1..255", what,
          shape.kernel);
  require(shape.dilation >= 1 && shape.dilation <= 1 << 20, "{}: dilation {} is not within 1..{}",
          what, shape.dilation, 1 << 20);
  const int64_t reach = (shape.kernel - 1) * shape.dilation;
  require(shape.left >= 0 && shape.left <= reach, "{}: left {} is not within the taps' reach of {}",
          what, shape.left, reach);
  require(shape.heads >= 1 && shape.channels % shape.heads == 0,
          "{}: {} channels don't divide into {} heads", what, shape.channels, shape.heads);
}

void check_taps(const ConvShape& shape, const DynamicTaps& taps, const char* what) {
  constexpr int64_t kMost = kLargest / 64;  // positions that a warp reads at once lie within an int
  const int64_t least = shape.heads * shape.kernel, stride = stride_of(shape, taps);
  require(stride >= least && stride <= kMost, "{}: taps {} apart; wants {}..{}", what, stride,
          least, kMost);
}

unsigned grid_of(int64_t blocks, const char* what) {
  require(blocks <= INT_MAX, "{}: {} blocks are over the {} of a launch; use a smaller batch", what,
          blocks, INT_MAX);
  return static_cast<unsigned>(blocks);
}

void fail_cuda(const char* what, const char* message) { fail("{}: CUDA says '{}'", what, message); }

void fail_reach(const ConvShape& shape, const char* what, int64_t most) {
  fail("{}: kernel {} with dilation {} over {} positions needs more than the {} that fit a block",
       what, shape.kernel, shape.dilation, shape.time, most);
}

}  // namespace convseq::kernels
