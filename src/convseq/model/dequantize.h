#pragma once

#include <string>

#include "convseq/model/tensor_file.h"

namespace convseq {

// Replaces every int8 matrix NAME [outputs, inputs] and its NAME.scale [outputs] by the fp32 matrix
// NAME[i][j] · NAME.scale[i]. An Error names a matrix whose scales are missing, of another shape or
// type, negative, or not finite. `origin` is the file that the tensors are from.
void dequantize(TensorMap& tensors, const std::string& origin);

}  // namespace convseq
