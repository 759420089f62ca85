#!/usr/bin/env python3
"""Writes tensorboard.tfevents with the tensorboard package's own messages and record writer.

tests/base/tensorboard_test.cpp writes the same events and compares the bytes.
"""

from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

WALL_TIME = 1_600_000_000.25


def scalars(**values):
    return Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])


def text(tag, markdown):
    plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[markdown.encode()])
    return Summary(value=[Summary.Value(tag=tag, metadata=plugin, tensor=tensor)])


EVENTS = [
    Event(file_version="brain.Event:2"),
    Event(step=301, session_log=SessionLog(status=SessionLog.START)),
    Event(summary=scalars(loss=0.0)),
    Event(step=301, summary=scalars(loss=2.5, learning_rate=1e-4)),
    Event(step=2**40, summary=text("config", "`d_model` is **512** – naïve")),
    Event(step=2**40, summary=text("long", "x" * 300)),
]

if __name__ == "__main__":
    with open(Path(__file__).parent / "tensorboard.tfevents", "wb") as file:
        writer = RecordWriter(file)
        for event in EVENTS:
            event.wall_time = WALL_TIME
            writer.write(event.SerializeToString(deterministic=True))
        writer.flush()
