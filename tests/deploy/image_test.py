#!/usr/bin/env python3
"""The image without a container engine: Dockerfile's packages and commands are real ones, and its root folder runs the program, as nobody.

    image_test.py AUTO_EXPOSE SOURCE_ROOT
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from rendered import Report, run

LARGEST = 64 << 20  # bytes, of the folder


def packages_of(text):
    install = re.search(r"apt-get install -y --no-install-recommends (.*?)&&", text.replace("\\\n", " "), re.S)
    return install[1].split()


def check_dockerfile(report, root):
    with open(os.path.join(root, "deploy", "Dockerfile"), encoding="utf-8") as f:
        text = f.read()
    packages = packages_of(text)
    with open(os.path.join(root, "scripts", "install-deps"), encoding="utf-8") as f:
        known = f.read().split()
    unknown = [package for package in packages if package not in known]
    report.check("Dockerfile: its packages are among those of scripts/install-deps", packages and not unknown, unknown)
    if shutil.which("apt-cache") and run("apt-cache", "policy", "cmake").stdout:
        missing = [package for package in packages if not re.search(r"Candidate: [0-9]", run("apt-cache", "policy", package).stdout)]
        report.check("Dockerfile: apt knows its packages", not missing, missing)
    with open(os.path.join(root, "CMakePresets.json"), encoding="utf-8") as f:
        presets = f.read()
    preset = re.search(r"cmake --preset (\w+)", text)[1]
    report.check("Dockerfile: its preset is there", f'"name": "{preset}"' in presets and f"cmake --build build/{preset} --target auto-expose" in text, text)
    used = re.search(r"RUN (deploy/\S+) (\S+) (\S+)\n", text)
    good = used and os.access(os.path.join(root, used[1]), os.X_OK) and f"COPY --from=build {used[3]} /" in text
    report.check("Dockerfile: makes a root folder and copies it", good and used[2] == f"build/{preset}/apps/auto-expose/auto-expose", text)
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    pinned = all(base in ("scratch", "${BASE}") or "@sha256:" in base for base in bases) and bases[-1] == "scratch"
    report.check("Dockerfile: whoever builds it can pin its base, and it says why the default is a tag",
                 pinned and re.search(r"^ARG BASE=\S+$", text, re.M) and "digest" in text, text)
    report.check("Dockerfile: not root, and nothing below it", "\nFROM scratch\n" in text and "\nUSER 65532:65532\n" in text, text)


def entrance(folder):
    """The command that runs another with `folder` as its root, or None. /proc is mounted, as in a container: sanitizers need it."""
    os.mkdir(os.path.join(folder, "proc"))
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    change = "chroot --userspec=65532:65532" if os.getuid() == 0 else "chroot"
    enter = ["unshare", "--mount", *user, "sh", "-c", f'mount --rbind /proc "$0/proc" && exec {change} "$0" "$@"', folder]
    possible = run("unshare", "--mount", *user, "sh", "-c", 'mount --rbind /proc "$0/proc" && chroot "$0" /nothing', folder)
    return enter if possible.returncode == 127 else None  # chroot's word for a program that is not there


def check_root(report, auto_expose, root, work):
    folder = os.path.join(work, "root")
    done = run(os.path.join(root, "deploy", "make-root"), auto_expose, folder)
    if not report.check("make-root", done.returncode == 0, done.stdout + done.stderr):
        return
    files = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]
    size = sum(os.path.getsize(path) for path in files) - os.path.getsize(os.path.join(folder, "auto-expose"))
    report.check(f"its libraries and certificates are {size >> 20} MB", size < LARGEST, files)
    enter = entrance(folder)
    if not enter:
        print("left out: running it there needs root, or user namespaces")
        return
    env = {"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"}
    done = run(*enter, "/auto-expose", "version", env=env)
    report.check("the program runs there", done.returncode == 0 and done.stdout.startswith("auto-expose "), done.stdout + done.stderr)
    with open(os.path.join(root, "examples", "manifests", "hello.yaml"), encoding="utf-8") as f:
        done = run(*enter, "/auto-expose", "plan", "-f", "-", "--domain", "example.com", stdin=f.read(), env=env)
    report.check("and plans", done.returncode == 0 and "host: hello.shop.example.com" in done.stdout, done.stdout + done.stderr)
    # A name is looked up without anything of the machine: a server that is not there, not a resolver that is not.
    done = run(*enter, "/auto-expose", "--dry-run", "--master", "http://localhost:1", "--request-timeout=5s", env=env)
    report.check("and finds out that no server is there", done.returncode != 0 and "localhost:1" in done.stdout + done.stderr, done.stdout + done.stderr)


def main():
    auto_expose, root = sys.argv[1:]
    report = Report()
    check_dockerfile(report, root)
    with tempfile.TemporaryDirectory() as work:
        # The user of the image has to come to it.
        os.chmod(work, 0o755)
        try:
            check_root(report, auto_expose, root, work)
        except subprocess.TimeoutExpired as late:
            report.check("in time", False, late)
    print(f"{report.failures} failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
