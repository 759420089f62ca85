"""Python's side of safetensors_interop_test.cpp.

safetensors_interop.py write FILE     writes TENSORS and METADATA
safetensors_interop.py read FILE      fails unless FILE holds them
safetensors_interop.py judge FOLDER   prints the names of the files in FOLDER that the reference accepts
"""

import sys
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open
from safetensors.numpy import load_file, save_file

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "F16": "float16",
    "U32": "uint32", "I32": "int32", "F32": "float32", "U64": "uint64", "I64": "int64", "F64": "float64",
}  # fmt: skip


def tensor(dtype, shape):
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(bytes(range(count)), dtype).reshape(shape)


TENSORS = {name: tensor(dtype, (2, 1)) for name, dtype in DTYPES.items()}
TENSORS |= {"scalar": tensor("float32", ()), "empty": tensor("int64", (2, 0, 3))}
METADATA = {"névé": 'a "b"\n'}


def write(path):
    save_file(TENSORS, path, METADATA)


def read(path):
    found = load_file(path)
    assert found.keys() == TENSORS.keys(), found.keys()
    for name, wanted in TENSORS.items():
        same = (found[name].dtype, found[name].shape) == (wanted.dtype, wanted.shape)
        assert same and found[name].tobytes() == wanted.tobytes(), name
    with safe_open(path, "numpy") as file:
        assert file.metadata() == METADATA, file.metadata()


def judge(folder):
    for path in sorted(Path(folder).iterdir()):
        try:
            deserialize(path.read_bytes())
            print(path.name)
        except SafetensorError:
            pass


if __name__ == "__main__":
    {"write": write, "read": read, "judge": judge}[sys.argv[1]](sys.argv[2])
