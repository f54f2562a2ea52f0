#!/usr/bin/env python3
"""Validates WGSL by naga, as the Python package `wgpu` brings it along (pip install wgpu).

usage: check_wgsl.py FILES

Says what is wrong with the first bad file, its name in the last line, and ends with 1. Without files it only sees
whether it could: the package must be there, and some adapter (Mesa's software one will do: mesa-vulkan-drivers), as a
shader belongs to a device. Nothing is run.
"""

import sys


def main() -> int:
    import wgpu  # here, so that --help of a machine without it still works

    adapter = wgpu.gpu.request_adapter_sync()
    device = adapter.request_device_sync(required_features=["subgroup"] if "subgroup" in adapter.features else [])
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            source = file.read()
        try:
            # naga knows subgroups without being told, and refuses to be told.
            device.create_shader_module(code=source.replace("enable subgroups;\n", ""))
        except wgpu.GPUError as error:
            print(error)
            print(name)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
