#!/usr/bin/env python3
"""Reads TensorBoard event files and prints what they hold, one JSON object a line: check_tensorboard.py FILE_OR_FOLDER

With TensorBoard installed, its own EventFileLoader reads them. Otherwise google.protobuf does, with the messages of
tensorboard/compat/proto described below, and the records and their checksums are read here. The last line says which.
A file that cannot be read in full is an error. Without either library the status is 77: skipped.
"""

import argparse
import json
import struct
import sys
from pathlib import Path


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """The payloads of a TFRecord file; fails where a checksum or a length is wrong."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        payload = data[at + 12 : at + 12 + length]
        (payload_crc,) = struct.unpack_from("<I", data, at + 12 + length)
        if masked(data[at : at + 8]) != length_crc or masked(payload) != payload_crc:
            raise ValueError(f"{path}: the record at byte {at} has a wrong checksum")
        yield payload
        at += 16 + length


# (message, [(field, number, type, message of the field, is it repeated)]), as in event.proto, summary.proto,
# tensor.proto and tensor_shape.proto.
MESSAGES = [
    ("SessionLog", [("status", 1, "int32", None, False)]),
    ("PluginData", [("plugin_name", 1, "string", None, False), ("content", 2, "bytes", None, False)]),
    ("SummaryMetadata", [("plugin_data", 1, "message", "PluginData", False)]),
    ("Dim", [("size", 1, "int64", None, False), ("name", 2, "string", None, False)]),
    ("TensorShapeProto", [("dim", 2, "message", "Dim", True)]),
    ("TensorProto", [
        ("dtype", 1, "int32", None, False),
        ("tensor_shape", 2, "message", "TensorShapeProto", False),
        ("string_val", 8, "bytes", None, True),
    ]),
    ("Image", [
        ("height", 1, "int32", None, False),
        ("width", 2, "int32", None, False),
        ("colorspace", 3, "int32", None, False),
        ("encoded_image_string", 4, "bytes", None, False),
    ]),
    ("Value", [
        ("tag", 1, "string", None, False),
        ("simple_value", 2, "float", None, False),
        ("image", 4, "message", "Image", False),
        ("tensor", 8, "message", "TensorProto", False),
        ("metadata", 9, "message", "SummaryMetadata", False),
    ]),
    ("Summary", [("value", 1, "message", "Value", True)]),
    ("Event", [
        ("wall_time", 1, "double", None, False),
        ("step", 2, "int64", None, False),
        ("file_version", 3, "string", None, False),
        ("summary", 5, "message", "Summary", False),
        ("session_log", 7, "message", "SessionLog", False),
    ]),
]


def event_class():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="events.proto", package="events", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES:
        message = file.message_type.add(name=name)
        for field, number, kind, target, repeated in fields:
            message.field.add(
                name=field,
                number=number,
                type=getattr(kinds, "TYPE_" + kind.upper()),
                type_name=target and f".events.{target}",
                label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("events.Event")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def unknown_fields(message):
    """Whether the message holds a field that its description lacks; where the library cannot say, it does not."""
    try:
        if len(message.UnknownFields()) > 0:
            return True
    except (AttributeError, NotImplementedError):
        return False
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if any(unknown_fields(each) for each in (value if field.label == field.LABEL_REPEATED else [value])):
            return True
    return False


def events_by_protobuf(path):
    message_class = event_class()
    for payload in records(path):
        event = message_class.FromString(payload)
        if unknown_fields(event):
            raise ValueError(f"{path}: an event has fields that were never meant")
        yield event


def value_of(value):
    """The number, the text or the size of the picture of a summary's value, in either library's form."""
    if value.HasField("simple_value"):
        return value.simple_value
    if value.HasField("image"):
        return f"{value.image.width} x {value.image.height}"
    if value.metadata.plugin_data.plugin_name == "images":
        return " x ".join(size.decode() for size in value.tensor.string_val[:2])
    if value.tensor.string_val:
        assert value.tensor.dtype == 7 and [dim.size for dim in value.tensor.tensor_shape.dim] == [1]
        return value.tensor.string_val[0].decode("utf-8")
    from tensorboard.util import tensor_util  # its loader turns simple values into tensors

    return float(tensor_util.make_ndarray(value.tensor))


def show(events):
    for event in events:
        shown = {"step": event.step}
        if event.HasField("file_version"):
            shown["version"] = event.file_version
        if event.HasField("session_log"):
            shown["session"] = int(event.session_log.status)
        for value in event.summary.value:
            shown["tag"] = value.tag
            usual = "images" if value.HasField("image") else "scalars"  # what TensorBoard takes it for
            shown["plugin"] = value.metadata.plugin_data.plugin_name or usual
            shown["value"] = value_of(value)
        print(json.dumps(shown))


def main():
    parser = argparse.ArgumentParser(description="Print what TensorBoard event files hold.")
    parser.add_argument("path", type=Path, help="an event file, or a folder with some")
    path = parser.parse_args().path
    files = sorted(path.glob("events.out.tfevents.*")) if path.is_dir() else [path]
    if not files:
        raise SystemExit(f"check_tensorboard: {path}: there are no event files")
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        import tensorboard

        reader, name = (lambda file: EventFileLoader(str(file)).Load()), f"tensorboard {tensorboard.__version__}"
    except ImportError:
        try:
            import google.protobuf

            reader, name = events_by_protobuf, f"google.protobuf {google.protobuf.__version__}"
        except ImportError:
            print("check_tensorboard: skipped, neither tensorboard nor protobuf is installed")
            return 77
    for file in files:
        written = sum(1 for _ in records(file))
        events = list(reader(file))
        if len(events) != written:
            raise SystemExit(f"check_tensorboard: {file}: {len(events)} of {written} events were read")
        show(events)
    print(f"check_tensorboard: read by {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
