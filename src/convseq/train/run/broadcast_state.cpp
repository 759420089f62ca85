#include "convseq/train/run/broadcast_state.h"

#include <torch/types.h>

#include <cstring>

namespace convseq {
namespace {

void broadcast_text(std::string& text, Communicator& communicator, torch::Device device) {
  const auto size = torch::tensor({std::ssize(text)}, torch::kInt64).to(device);
  communicator.broadcast(size, 0);
  auto bytes = torch::empty({size.item<int64_t>()}, torch::kUInt8);
  if (communicator.rank() == 0) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  bytes = bytes.to(device);
  if (bytes.numel() > 0) communicator.broadcast(bytes, 0);
  bytes = bytes.cpu();
  text.assign(static_cast<const char*>(bytes.data_ptr()), static_cast<size_t>(bytes.numel()));
}

Json describe(const TensorMap& tensors) {
  Json list = Json::array();
  for (const auto& [name, tensor] : tensors) {
    list.push_back({{"name", name},
                    {"type", static_cast<int>(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()}});
  }
  return list;
}

void broadcast_tensors(TensorMap& tensors, const Json& described, Communicator& communicator,
                       torch::Device device) {
  for (const Json& each : described) {
    torch::Tensor& tensor = tensors[each["name"].get<std::string>()];
    if (communicator.rank() != 0) {
      tensor = torch::empty(each["shape"].get<std::vector<int64_t>>(),
                            static_cast<torch::ScalarType>(each["type"].get<int>()));
    }
    if (tensor.numel() == 0) continue;
    const auto there = tensor.contiguous().to(device);
    communicator.broadcast(there, 0);
    if (communicator.rank() != 0) tensor = there.cpu();
  }
}

}  // namespace

void broadcast_state(std::optional<TrainingState>& state, Communicator& communicator,
                     torch::Device device) {
  if (communicator.size() == 1) return;
  Json header;
  if (communicator.rank() == 0 && state) {
    header = {{"state", to_json(*state)},
              {"weights", describe(state->weights)},
              {"optimizer", describe(state->optimizer)}};
  }
  std::string text = header.dump();
  broadcast_text(text, communicator, device);
  header = parse_json(text, "the first process's state");
  if (header.is_null()) {
    state.reset();
    return;
  }
  if (communicator.rank() != 0) {
    state = training_state_from({header["state"], "the first process's state"});
  }
  broadcast_tensors(state->weights, header["weights"], communicator, device);
  broadcast_tensors(state->optimizer, header["optimizer"], communicator, device);
}

void require_newest_on_first(int64_t newest_step, Communicator& communicator, torch::Device device,
                             const std::string& folder) {
  if (communicator.size() == 1) return;
  auto steps = torch::zeros({communicator.size()}, torch::kInt64);
  steps[communicator.rank()] = newest_step;
  steps = steps.to(device);
  communicator.all_reduce_sum({steps});
  steps = steps.cpu();
  const auto* newest = steps.const_data_ptr<int64_t>();
  for (int rank = 1; rank < communicator.size(); ++rank) {
    require(newest[rank] <= newest[0],
            "{}: process {} has a checkpoint of step {} there, the first process {}; start the "
            "machines in the same order as before, share the folder, or remove that checkpoint",
            folder, rank, newest[rank],
            newest[0] == 0 ? "none" : fmt::format("one of step {}", newest[0]));
  }
}

}  // namespace convseq
