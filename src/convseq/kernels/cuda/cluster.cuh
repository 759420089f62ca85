#pragma once

#include <cooperative_groups.h>

#include "convseq/kernels/cuda/common.cuh"

// Thread block clusters, which GPUs have from compute capability 9.0 on: the blocks of a cluster
// read one another's shared memory.
namespace convseq::kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CONVSEQ_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
#else
#define CONVSEQ_CLUSTER(blocks)
#endif

// Whether the GPU has them and there is code for it: code for 8.x runs on later GPUs without them.
inline bool has_clusters() {
#ifdef CONVSEQ_DEPENDENT_LAUNCH  // the lowest compute capability from 9 on that there is code for
  return device_attribute(cudaDevAttrComputeCapabilityMajor) >= CONVSEQ_DEPENDENT_LAUNCH;
#else
  return false;
#endif
}

// Waits for all threads of the cluster; what they wrote to shared memory before is visible after.
__device__ inline void cluster_sync() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().sync();
#endif
}

// The address of the same shared variable in another block of the cluster.
template <class T>
__device__ const T* in_cluster_block(T* variable, int block) {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().map_shared_rank(variable, block);
#else
  return variable;
#endif
}

}  // namespace convseq::kernels
