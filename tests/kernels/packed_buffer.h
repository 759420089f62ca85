#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "convseq/kernels/row_ops.h"

// Packed matrices and rows with memory of their own, for tests.
namespace convseq::kernels {

class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t size)
      : data_(static_cast<std::byte*>(
            ::operator new (static_cast<size_t>(size), std::align_val_t{kPackedAlignment}))) {
    std::memset(data_.get(), 0x7f, static_cast<size_t>(size));
  }
  std::byte* get() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* data) const {
      ::operator delete (data, std::align_val_t{kPackedAlignment});
    }
  };
  std::unique_ptr<std::byte, Delete> data_;
};

struct OwnedMatrix {
  OwnedMatrix(const PackedMatrixShape& shape, const std::vector<float>& weights)
      : bytes(packed_bytes(shape)), matrix{shape, bytes.get()} {
    pack_matrix(shape, weights.data(), bytes.get());
  }
  AlignedBytes bytes;
  PackedMatrix matrix;
};

struct OwnedRows {
  explicit OwnedRows(const PackedRowsShape& shape)
      : bytes(packed_bytes(shape)), rows{shape, bytes.get()} {}
  OwnedRows(const PackedRowsShape& shape, const float* x) : OwnedRows(shape) {
    pack_rows({x, shape.inputs}, rows, all_rows(rows));
  }
  AlignedBytes bytes;
  PackedRows rows;
};

inline std::vector<float> random_floats(int64_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = normal(random);
  return values;
}

inline bool same_bits(const float* a, const float* b, int64_t count) {
  return std::memcmp(a, b, static_cast<size_t>(count) * sizeof(float)) == 0;
}

}  // namespace convseq::kernels
