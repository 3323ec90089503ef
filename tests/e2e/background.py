"""Programs in the background of an end-to-end test, waiting for what they print, and what they leave behind."""

import os
import re
import signal
import subprocess
import time

PATIENCE = 120


def wait_for(condition):
    """The first true answer of `condition`, or its last one after PATIENCE seconds."""
    until = time.monotonic() + PATIENCE
    while True:
        answer = condition()
        if answer or time.monotonic() > until:
            return answer
        time.sleep(0.01)


class Background:
    """A process whose output goes to a file, and which is ended by its id."""

    def __init__(self, command, path, env=None):
        self.path = path
        with open(path, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def text(self):
        with open(self.path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_text(self, pattern):
        """The match of `pattern` in its output, as soon as it appears; None if it ended or took too long."""

        def found():
            ended = self.process.poll() is not None
            return re.search(pattern, self.text()) or ended

        match = wait_for(found)
        return match if isinstance(match, re.Match) else None

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def read_proc(entry, name):
    with open(f"/proc/{entry}/{name}", encoding="utf-8", errors="replace") as f:
        return f.read().replace("\0", " ")


def left_behind(text):
    """What a walk (scripts/walk.py) that printed `text` left: its folder, if it exists, and processes whose command line or environment names it."""
    folder = re.search(r"[^\s=]+/kubexx-(demo|seeds)-\w+", text)
    if not folder:
        return ["the walk named no folder"]
    found = [folder[0]] if os.path.exists(folder[0]) else []
    for entry in os.listdir("/proc"):
        try:
            command, environment = (read_proc(entry, name) for name in ("cmdline", "environ"))
        except OSError:
            continue
        if entry.isdigit() and (folder[0] in command or folder[0] in environment):
            found.append(command)
    return found
