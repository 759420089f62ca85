"""Python's side of tensorboard_test.cpp: fails unless the folder holds what the test wrote."""

import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1])
events.Reload()
found = {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
assert found == {"loss": [(1, 11), (2, 12), (3, 20)], "lr": [(3, 0.5)]}, found

assert events.Tags()["tensors"] == ["config"], events.Tags()
assert events.SummaryMetadata("config").plugin_data.plugin_name == "text"
(text,) = events.Tensors("config")
assert text.tensor_proto.string_val[0].decode() == "naïve", text
