"""Becomes a command, in a network namespace where nothing but a test's loopback service is.

    unshare --map-root-user --net python inside.py DOOR PORT COMMAND…

A socket stays in the namespace where it was made. So this makes the one that listens on
127.0.0.1:PORT, hands it to the test through the Unix socket DOOR, and execs COMMAND: the service
answers from outside, and nothing else of the outside is there. Standard library only.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


def main() -> None:
    door, port, *command = sys.argv[1:]
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    request = struct.pack("16sh14x", b"lo", IFF_UP)
    fcntl.ioctl(listening, SIOCSIFFLAGS, request)
    listening.bind(("127.0.0.1", int(port)))
    listening.listen(16)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as outside:
        outside.connect(door)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listening.fileno()]))
        outside.sendmsg([b"x"], [rights])
        outside.recv(1)  # it is being served
    os.execvp(command[0], command)  # noqa: S606 - there is to be no process between


if __name__ == "__main__":
    main()
