"""What scripts/demo and scripts/seeds share: numbered steps, programs in the background, and a server of their own.

A walk does something to a cluster and waits until the cluster is as it should be. It ends with exit code 0 if every step did what it should, 1 if
not, 77 if the real control plane is not built, and 130 after Ctrl-C. Whatever happens, it leaves nothing behind.
"""

import argparse
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

from cluster import PATIENCE, Cluster, ClusterError

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MANIFESTS = os.path.join(ROOT, "examples", "manifests")
SKIPPED = 77
COLOURS = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}


class Failed(Exception):
    """A step that did not do what it should."""


class Missing(Exception):
    """A real control plane that is not built."""


def paint(colour, text):
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\033[{COLOURS[colour]}m{text}\033[0m" if wanted else text


def say(text=""):
    print(text, flush=True)


def environment(**more):
    """Ours, without what would make programs use another cluster."""
    return {**{name: value for name, value in os.environ.items() if name not in ("USE_EXISTING_CLUSTER", "KUBECONFIG")}, **more}


def built_kubectl():
    """The path of the kubectl that make control-plane builds, or None."""
    found = subprocess.run([os.path.join(ROOT, "scripts", "build-control-plane"), "--lean", "--path", "newest"],
                           capture_output=True, text=True, check=False)
    return os.path.join(found.stdout.strip(), "kubectl") if found.returncode == 0 else None


class Program:
    """A process whose output goes to a file and to text(). It is not in the terminal's group: Ctrl-C comes to us, and we end it, by its id."""

    def __init__(self, command, log, env=None):
        self.log = log
        self.said = ""
        self.drained = False
        self.changed = threading.Condition()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                            env=env or environment(), start_new_session=True)
        except OSError as error:
            raise Failed(f"{command[0]} cannot be started: {error.strerror}") from error
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with open(self.log, "wb") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                with self.changed:
                    self.said += line.decode(errors="replace")
                    self.changed.notify_all()
        with self.changed:
            self.drained = True
            self.changed.notify_all()

    def text(self):
        with self.changed:
            return self.said

    def running(self):
        return self.process.poll() is None

    def wait_text(self, pattern, start=0):
        """The match of `pattern` in what it printed from `start` on, or None if it ended or took too long without."""
        until = time.monotonic() + PATIENCE
        with self.changed:
            while True:
                match = re.compile(pattern).search(self.said, start)
                if match or self.drained or time.monotonic() > until:
                    return match
                self.changed.wait(until - time.monotonic())

    def end(self, signalled=True):
        """Its exit code; with SIGTERM unless it ends by itself."""
        if signalled and self.running():
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join(PATIENCE)
        return code


class Walk:
    """The frame of a walk. Subclasses have `steps`, and `stay` if they may go on at the end."""

    name = "walk"

    def __init__(self, args, work):
        self.args = args
        self.work = work
        self.real = args.cluster == "real"
        self.kubexx = os.path.join(args.build, "apps", "kubexx", "kubexx")
        self.kubeconfig = os.path.join(work, "kubeconfig")
        self.cluster = None
        self.programs = {}  # by name, in the order of their start
        self.number = itertools.count(1)

    def steps(self):
        raise NotImplementedError

    def stay(self):
        pass

    def step(self, title, like=""):
        say("\n" + paint("bold", f"{next(self.number)}. {title}"))
        if like:
            say(paint("dim", "   like: " + like))

    def load(self, path):
        """The objects of a manifest."""
        done = subprocess.run([self.kubexx, "convert", "-o", "json", "-c", path], capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(f"kubexx convert {path}: {done.stderr.decode()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def start_server(self, controller_manager=True):
        if self.real:
            command = [self.kubexx, "control-plane"] + (["--controller-manager"] if controller_manager else [])
        else:
            command = [self.kubexx, "apiserver"]
        command += ["--kubeconfig-out", self.kubeconfig]
        began = time.monotonic()
        say(f"   $ kubexx {shlex.join(command[1:])}")
        server = self.start_program("the server", command)
        ready = server.wait_text(r"is ready at (https\S+?)[;\s]")
        if not ready:
            if self.real and " is not in " in server.text():
                raise Missing(server.text().strip())
            raise Failed("the server did not start")
        say(paint("dim", f"{1000 * (time.monotonic() - began):6.0f} ms") + f"  ready at {ready[1]}")
        self.cluster = Cluster(self.kubeconfig)

    def poll(self, what, condition, program=None):
        """For what cannot be watched. Fails if `program` ends."""
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until or (program and not program.running()):
                raise Failed(what)
            time.sleep(0.01)

    def start_program(self, name, command, env=None):
        log = os.path.join(self.work, re.sub(r"\W+", "-", name.removeprefix("the ")) + ".log")
        self.programs[name] = Program(command, log, env)
        return self.programs[name]

    def end(self):
        """Ends all programs, the last one first. True if all ended as they should."""
        good = True
        for name in reversed(self.programs):
            code = self.programs[name].end()
            if code != 0 and self.cluster:
                say(f"{self.name}: {name} ended with exit code {code}")
                good = False
        return good

    def blame(self):
        """What the programs said last."""
        for program in self.programs.values():
            say(f"\n{program.log}:")
            say("\n".join("  " + line for line in program.text().splitlines()[-30:]))


def main(walk_class, description, add_flags=lambda parser: None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build", metavar="BUILD_FOLDER", help="where the programs were built")
    parser.add_argument("--cluster", choices=["embedded", "real"], default="embedded")
    add_flags(parser)
    args = parser.parse_args()
    name = walk_class.name

    # SIGTERM and a closed terminal end it as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    code, staying = 0, False
    with tempfile.TemporaryDirectory(prefix=f"kubexx-{name}-") as work:
        walk = walk_class(args, work)
        try:
            walk.steps()
            if getattr(args, "stay", False):
                staying = True
                walk.stay()
        except KeyboardInterrupt:
            say("\nEnding.")
            code = 0 if staying else 130
        except Missing as missing:
            say(f"\n{missing}\nskipped: it takes a real control plane with kube-controller-manager; make control-plane builds one")
            code = SKIPPED
        except (Failed, ClusterError, subprocess.TimeoutExpired) as failure:
            say("\n" + paint("red", f"{name}: this should not happen: {failure}"))
            walk.blame()
            code = 1
        finally:
            # A second Ctrl-C does not leave anything behind.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            if not walk.end():
                code = code or 1
    return code
