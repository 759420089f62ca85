#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "convseq/kernels/conv.h"

// Arrays of either type on the GPU, filled from and read as doubles.
namespace convseq::kernels {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

inline uint16_t to_bf16(double x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (std::isnan(x)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline double from_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

inline size_t size_of(Type type) { return type == Type::Bf16 ? 2 : 4; }

class DeviceArray {
 public:
  DeviceArray(Type type, size_t count) : type_(type), count_(count) {
    check(cudaMalloc(&data_, bytes() + 1));
    poison();
  }
  DeviceArray(Type type, const std::vector<double>& values) : DeviceArray(type, values.size()) {
    std::vector<uint8_t> host(bytes());
    for (size_t i = 0; i < count_; ++i) put(host.data(), i, values[i]);
    check(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  void poison() { check(cudaMemset(data_, 0xff, bytes())); }  // NaN in either type

  std::vector<uint8_t> raw() const {
    std::vector<uint8_t> host(bytes());
    check(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }
  std::vector<double> values() const {
    const auto host = raw();
    std::vector<double> made(count_);
    for (size_t i = 0; i < count_; ++i) {
      made[i] = type_ == Type::Bf16 ? from_bf16(reinterpret_cast<const uint16_t*>(host.data())[i])
                                    : reinterpret_cast<const float*>(host.data())[i];
    }
    return made;
  }

 private:
  size_t bytes() const { return count_ * size_of(type_); }
  void put(uint8_t* to, size_t i, double value) const {
    if (type_ == Type::Bf16) {
      reinterpret_cast<uint16_t*>(to)[i] = to_bf16(value);
    } else {
      reinterpret_cast<float*>(to)[i] = static_cast<float>(value);
    }
  }

  Type type_;
  size_t count_;
  void* data_ = nullptr;
};

// Row lengths on the GPU; null where there are none.
class DeviceLengths {
 public:
  explicit DeviceLengths(const std::vector<int64_t>& values) {
    if (values.empty()) return;
    check(cudaMalloc(&data_, values.size() * sizeof(int64_t)));
    check(
        cudaMemcpy(data_, values.data(), values.size() * sizeof(int64_t), cudaMemcpyHostToDevice));
  }
  ~DeviceLengths() { cudaFree(data_); }
  DeviceLengths(const DeviceLengths&) = delete;
  DeviceLengths& operator=(const DeviceLengths&) = delete;

  const int64_t* data() const { return static_cast<const int64_t*>(data_); }

 private:
  void* data_ = nullptr;
};

// Normal numbers that the type can hold exactly.
inline std::vector<double> random_numbers(int64_t count, Type type, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<double> made(static_cast<size_t>(count));
  for (double& each : made) {
    each = normal(random);
    if (type == Type::Bf16) each = from_bf16(to_bf16(each));
  }
  return made;
}

}  // namespace convseq::kernels
