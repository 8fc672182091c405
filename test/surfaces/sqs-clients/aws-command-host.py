"""Runs the aws command for each line of JSON on stdin, in a process that has loaded it already.

Loading takes most of the time of a short command. So it is loaded once here, and each run is a copy of
this process that executes the command's own file and reports what it wrote.
"""
import fcntl
import json
import os
import runpy
import signal
import sys
import tempfile

import awscli.clidriver  # noqa: F401 - what takes so long

COMMAND = "/usr/bin/aws"


def run(request, answers):
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        os.dup2(stdout.fileno(), 1)
        os.dup2(stderr.fileno(), 2)
        sys.argv = [COMMAND, *request["args"]]
        try:
            runpy.run_path(COMMAND, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        report(answers, request["id"], {"code": code, "stdout": text(stdout), "stderr": text(stderr)})


def text(file):
    file.seek(0)
    return file.read().decode()


def report(answers, request_id, answer):
    line = json.dumps({"id": request_id, "answer": answer}).encode() + b"\n"
    # Several copies may be done at the same time, and long lines are not written in one go.
    with open(__file__, encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        while line:
            line = line[os.write(answers, line) :]


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
answers = os.dup(1)
for line in sys.stdin:
    if os.fork() == 0:
        # The command may have children of its own to wait for.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            run(json.loads(line), answers)
        finally:
            os._exit(0)
