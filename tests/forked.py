"""Stands for a process that is forked by the server of forks.py: started by what ``python()`` names."""

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Hand all that a process is started with over to the server, and end as its child ends."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[1])
    words = [os.fsencode(word).hex() for word in sys.argv[2:]]
    variables = {key.hex(): value.hex() for key, value in os.environb.items()}
    request = json.dumps([words, os.getcwd(), variables]).encode()
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    answers = server.makefile("rb")
    child = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    for output in (0, 1, 2):  # or whoever reads them would wait for this process too
        os.close(output)
    status = int(answers.readline())
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
