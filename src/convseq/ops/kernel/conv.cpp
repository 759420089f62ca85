#include "convseq/ops/kernel/conv.h"

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/kernels/conv.h"
#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/cuda_launch.h"
#include "convseq/ops/kernel/tap_rows.h"
#include "convseq/ops/kernel/torch_threads.h"
#include "convseq/ops/reference/conv.h"

namespace convseq::ops {
namespace kernel {
namespace {

using kernels::ConvShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The kernel of x's device.
template <class Arrays>
void launch(void (*cpu)(const ConvShape&, const Arrays&, const kernels::CpuRun&),
            void (*cuda)(const ConvShape&, const Arrays&, kernels::Stream), const torch::Tensor& x,
            const ConvShape& shape, const Arrays& arrays) {
  if (x.is_cpu()) return cpu(shape, arrays, {.parallel = on_torch_threads});
  const c10::DeviceGuard guard(x.device());
  cuda(shape, arrays, current_cuda_stream());
}

// The lengths on x's device, as the kernels read them.
Lengths lengths_for(const torch::Tensor& x, const Lengths& lengths) {
  if (lengths.all_full()) return {};
  return {lengths.values.to(x.device()).contiguous()};
}

const int64_t* pointer_to(const Lengths& lengths) {
  return lengths.all_full() ? nullptr : lengths.values.const_data_ptr<int64_t>();
}

torch::Tensor outputs_like(const torch::Tensor& x, const ConvShape& shape) {
  return torch::empty({shape.batch, shape.time, shape.channels}, x.options());
}

class Glu : public torch::autograd::Function<Glu> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const Lengths& lengths) {
    const ConvShape shape = shape_of(x);
    auto y = outputs_like(x, shape);
    launch<kernels::ConvForward>(
        kernels::glu_forward_cpu, kernels::glu_forward_cuda, x, shape,
        {.x = x.const_data_ptr(), .lengths = pointer_to(lengths), .y = y.mutable_data_ptr()});
    context->save_for_backward({x, lengths.values});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_double_backward("glu");
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto dy = gradients[0].contiguous();
    auto dx = torch::empty_like(x);
    launch<kernels::ConvBackward>(kernels::glu_backward_cpu, kernels::glu_backward_cuda, x,
                                  shape_of(x),
                                  {.x = x.const_data_ptr(),
                                   .lengths = pointer_to({saved[1]}),
                                   .dy = dy.const_data_ptr(),
                                   .dx = dx.mutable_data_ptr()});
    return {dx, {}};
  }

 private:
  static ConvShape shape_of(const torch::Tensor& x) {
    return {.type = kernel_type(x),
            .batch = x.size(0),
            .time = x.size(1),
            .channels = x.size(2) / 2,
            .heads = 1};
  }
};

// The shape of a convolution as integers, which autograd can save.
struct SavedShape {
  static void put(AutogradContext& context, const ConvShape& s) {
    context.saved_data["shape"] = std::vector<int64_t>{static_cast<int64_t>(s.type),
                                                       s.batch,
                                                       s.time,
                                                       s.channels,
                                                       s.heads,
                                                       s.kernel,
                                                       s.dilation,
                                                       s.left,
                                                       s.glu};
  }
  static ConvShape get(AutogradContext& context) {
    const auto n = context.saved_data["shape"].toIntVector();
    return {.type = static_cast<kernels::Type>(n[0]),
            .batch = n[1],
            .time = n[2],
            .channels = n[3],
            .heads = n[4],
            .kernel = n[5],
            .dilation = n[6],
            .left = n[7],
            .glu = n[8] != 0};
  }
};

class Conv : public torch::autograd::Function<Conv> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& taps, const Lengths& lengths,
                               const ConvShape& shape) {
    auto y = outputs_like(x, shape);
    launch<kernels::ConvForward>(kernels::conv_forward_cpu, kernels::conv_forward_cuda, x, shape,
                                 {.x = x.const_data_ptr(),
                                  .taps = taps.const_data_ptr<float>(),
                                  .lengths = pointer_to(lengths),
                                  .y = y.mutable_data_ptr()});
    context->save_for_backward({x, taps, lengths.values});
    SavedShape::put(*context, shape);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_double_backward("conv");
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &taps = saved[1];
    const ConvShape shape = SavedShape::get(*context);
    const auto dy = gradients[0].contiguous();
    // The CUDA kernel always writes both.
    const bool both = x.is_cuda();
    torch::Tensor dx, dtaps, workspace;
    if (both || context->needs_input_grad(0)) dx = torch::empty_like(x);
    if (both || context->needs_input_grad(1)) dtaps = torch::empty_like(taps);
    if (x.is_cuda()) {
      workspace = torch::empty({static_cast<int64_t>(kernels::conv_backward_workspace_cuda(shape))},
                               x.options().dtype(torch::kUInt8));
    }
    launch<kernels::ConvBackward>(kernels::conv_backward_cpu, kernels::conv_backward_cuda, x, shape,
                                  {.x = x.const_data_ptr(),
                                   .taps = taps.const_data_ptr<float>(),
                                   .lengths = pointer_to({saved[2]}),
                                   .dy = dy.const_data_ptr(),
                                   .dx = output_or_null(dx),
                                   .dtaps = output_or_null<float>(dtaps),
                                   .workspace = output_or_null(workspace)});
    return {dx, dtaps, {}, {}};
  }
};

class DynamicConv : public torch::autograd::Function<DynamicConv> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& taps, bool softmax, const ConvShape& shape) {
    auto y = outputs_like(x, shape);
    launch<kernels::DynamicConvForward>(
        kernels::dynamic_conv_forward_cpu, kernels::dynamic_conv_forward_cuda, x, shape,
        {.x = x.const_data_ptr(), .taps = taps_of(taps, softmax), .y = y.mutable_data_ptr()});
    context->save_for_backward({x, taps});
    context->saved_data["softmax"] = softmax;
    SavedShape::put(*context, shape);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_double_backward("dynamic_conv");
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &taps = saved[1];
    const auto dy = gradients[0].contiguous();
    const bool both = x.is_cuda();
    torch::Tensor dx, dtaps;
    if (both || context->needs_input_grad(0)) dx = torch::empty_like(x);
    if (both || context->needs_input_grad(1)) dtaps = empty_tap_rows(taps);
    launch<kernels::DynamicConvBackward>(
        kernels::dynamic_conv_backward_cpu, kernels::dynamic_conv_backward_cuda, x,
        SavedShape::get(*context),
        {.x = x.const_data_ptr(),
         .taps = taps_of(taps, context->saved_data["softmax"].toBool()),
         .dy = dy.const_data_ptr(),
         .dx = output_or_null(dx),
         .dtaps = output_or_null(dtaps)});
    return {dx, dtaps, {}, {}};
  }

  static kernels::DynamicTaps taps_of(const torch::Tensor& taps, bool softmax) {
    return {.values = taps.const_data_ptr(),
            .type = kernel_type(taps),
            .softmax = softmax,
            .stride = tap_row_stride(taps)};
  }
};

ConvShape shape_of(const torch::Tensor& x, int64_t heads, const ConvGeometry& geometry, bool glu) {
  return {.type = kernel_type(x),
          .batch = x.size(0),
          .time = x.size(1),
          .channels = glu ? x.size(2) / 2 : x.size(2),
          .heads = heads,
          .kernel = geometry.kernel,
          .dilation = geometry.dilation,
          .left = geometry.left(),
          .glu = glu};
}

// The conversion stands outside of the autograd function, so that the gradients of taps have the
// taps' own type.
torch::Tensor static_taps(const torch::Tensor& taps) {
  return taps.to(torch::kFloat32).contiguous();
}
// What the kernels take for dynamic taps: logits whose softmax they compute themselves, or, where
// taps are dropped after the softmax, the taps.
struct KernelTaps {
  torch::Tensor values;
  bool softmax;

  KernelTaps(const torch::Tensor& logits, const DynamicTapOptions& options) {
    const bool drops = options.dropout > 0;
    const auto given =
        drops ? reference::dynamic_taps(logits.to(torch::kFloat32), options) : logits;
    const auto narrow = is_fp32_or_bf16(given) ? given : given.to(torch::kFloat32);
    values = tap_row_stride(narrow) > 0 ? narrow : narrow.contiguous();
    softmax = options.softmax && !drops;
  }
};

torch::Tensor convolve(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                       const ConvGeometry& geometry, bool glu) {
  return Conv::apply(x.contiguous(), static_taps(taps), lengths_for(x, lengths),
                     shape_of(x, taps.size(0), geometry, glu));
}

// `step` holds the taps. The kernel reads the ring and appends x to it.
torch::Tensor run_step(const torch::Tensor& x, const ConvShape& shape, ConvRing& ring,
                       kernels::ConvStep step) {
  const auto input = x.contiguous();
  auto y = outputs_like(x, shape);
  ring.rows = ring.rows.contiguous();
  step.x = input.const_data_ptr();
  step.position = ring.position;
  step.positions = pointer_or_null<int64_t>(ring.positions);
  step.ring = ring.rows.numel() == 0 ? nullptr : ring.rows.mutable_data_ptr();
  step.y = y.mutable_data_ptr();
  launch<kernels::ConvStep>(kernels::conv_step_cpu, kernels::conv_step_cuda, x, shape, step);
  if (!ring.positions.defined()) ++ring.position;
  return y;
}

}  // namespace

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths) {
  return Glu::apply(projected.contiguous(), lengths_for(projected, lengths));
}

torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry) {
  return convolve(x, taps, lengths, geometry, /*glu=*/false);
}

torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry) {
  return convolve(projected, taps, lengths, geometry, /*glu=*/true);
}

torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry) {
  const KernelTaps taps(tap_logits, options);
  return DynamicConv::apply(x.contiguous(), taps.values, taps.softmax,
                            shape_of(x, tap_logits.size(2), geometry, /*glu=*/false));
}

torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring) {
  const auto fp32 = static_taps(taps);
  return run_step(x, shape_of(x, taps.size(0), geometry, /*glu=*/false), ring,
                  {.static_taps = fp32.const_data_ptr<float>()});
}

torch::Tensor glu_conv_step(const torch::Tensor& projected, const torch::Tensor& taps,
                            const ConvGeometry& geometry, ConvRing& ring) {
  const auto fp32 = static_taps(taps);
  return run_step(projected, shape_of(projected, taps.size(0), geometry, /*glu=*/true), ring,
                  {.static_taps = fp32.const_data_ptr<float>()});
}

torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring) {
  const KernelTaps taps(tap_logits, options);
  return run_step(x, shape_of(x, tap_logits.size(2), geometry, /*glu=*/false), ring,
                  {.dynamic_taps = DynamicConv::taps_of(taps.values, taps.softmax)});
}

}  // namespace kernel

bool has_conv_kernel(const torch::Tensor& x) {
  return is_fp32_or_bf16(x) && (x.is_cpu() || x.is_cuda());
}

bool has_conv_step_kernel(const torch::Tensor& x, const torch::Tensor& taps, const ConvRing& ring) {
  const bool wants_gradients =
      torch::GradMode::is_enabled() && (x.requires_grad() || taps.requires_grad());
  return has_conv_kernel(x) && x.size(1) == 1 && !wants_gradients &&
         ring.rows.scalar_type() == x.scalar_type() && (x.is_cuda() || !ring.positions.defined());
}

bool has_glu_conv_step_kernel(const torch::Tensor& projected, const torch::Tensor& taps,
                              const ConvRing& ring) {
  return projected.is_cuda() && has_conv_step_kernel(projected, taps, ring);
}

}  // namespace convseq::ops
