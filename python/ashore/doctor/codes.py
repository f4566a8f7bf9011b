"""What cuInit answers when it fails: a name, the meaning, the next step."""

from __future__ import annotations

CODES = {
    2: ("out-of-memory", "The GPU has no memory left to start.", "end what uses it: nvidia-smi"),
    3: ("cuda-error", "The driver was not initialised.", "install the driver again"),
    34: (
        "stub-library",
        "The libcuda.so.1 that is found is the toolkit's stub, not the driver's.",
        "take the folder stubs out of LD_LIBRARY_PATH",
    ),
    35: ("driver-too-old", "The driver is older than its library.", "update the driver, reboot"),
    46: (
        "busy",
        "The GPU is held by another process (exclusive mode), or cannot be used now.",
        "nvidia-smi -q -d COMPUTE; sudo nvidia-smi -c DEFAULT",
    ),
    100: (
        "no-device",
        "The driver finds no GPU that CUDA can use.",
        "nvidia-smi -L; dmesg | grep NVRM; with MIG on: make an instance (nvidia-smi mig -cgi …)",
    ),
    101: ("no-device", "The driver names a GPU that is not there.", "nvidia-smi -L, then reboot"),
    201: ("cuda-error", "The driver has no valid context.", "reboot"),
    214: (
        "ecc",
        "The GPU has memory errors that cannot be corrected (ECC).",
        "nvidia-smi -q -d ECC; reset the GPU or reboot; if it comes back, have it replaced",
    ),
    304: (
        "os-call-failed",
        "The system refused the driver a call, mostly opening /dev/nvidia* or locking memory.",
        "look at the permissions of /dev/nvidia* and at the container's limits",
    ),
    801: ("not-supported", "The driver does not support this system.", "update the driver"),
    802: (
        "fabric-manager",
        "The system is not ready: on machines with NVSwitch the fabric manager must run first.",
        "sudo systemctl start nvidia-fabricmanager (of exactly the driver's version)",
    ),
    803: (
        "driver-mismatch",
        "The kernel module and libcuda are of different versions: one was updated while in use.",
        "reboot (in a container: start it again, so that it gets the host's library)",
    ),
    804: (
        "forward-compatibility",
        "A compatibility libcuda is used on a GPU that does not support it.",
        "take /usr/local/cuda/compat out of LD_LIBRARY_PATH and /etc/ld.so.conf.d",
    ),
    999: (
        "driver-broken",
        "The driver cannot start, for a reason that it does not name.",
        "sudo rmmod nvidia_uvm; sudo modprobe nvidia_uvm (often after suspend); else reboot",
    ),
}
