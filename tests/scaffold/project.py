"""A project made with an installed kubexx, as its author works on it."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "deploy"), os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "scripts")]

BUILD_SECONDS = 3600
SKIPPED = 77


def install(build, prefix):
    """Installs a build folder of kubexx, test servers included."""
    for component in ("kubexx_runtime", "kubexx_dev", "kubexx_testing"):
        subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", component], check=True, stdout=subprocess.DEVNULL)
    return prefix


class Failed(Exception):
    """A command that should have succeeded; what it said."""


class Project:
    def __init__(self, kubexx, folder, prefix=None, cxx="c++", flags=""):
        self.program = os.path.abspath(kubexx)
        self.folder = folder
        self.cmake_flags = f"-DCMAKE_PREFIX_PATH='{prefix}' -DCMAKE_CXX_COMPILER='{cxx}' -DCMAKE_CXX_FLAGS='{flags} -Wall -Wextra -Werror'"
        os.makedirs(folder, exist_ok=True)

    def kubexx(self, *args):
        return subprocess.run([self.program, *args], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False, stdin=subprocess.DEVNULL)

    def create(self, *args):
        done = self.kubexx(*args)
        if done.returncode != 0:
            raise Failed(f"kubexx {' '.join(args)}: {done.stderr}")

    def make(self, *targets, env=None):
        command = ["make", "-C", self.folder, f"CMAKE_FLAGS={self.cmake_flags}", *targets]
        # Without the settings of the make that runs the tests.
        outer = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", "KUBECTL", "ENGINE", "CLUSTER")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False, env={**outer, **(env or {})})
        if done.returncode != 0:
            raise Failed(f"make {' '.join(targets)}: {(done.stdout + done.stderr)[-20000:]}")
        return done.stdout

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as f:
            return f.read()

    def edit(self, name, before, after):
        text = self.read(name)
        if before not in text:
            raise Failed(f"{name} does not have {before}")
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text.replace(before, after))
