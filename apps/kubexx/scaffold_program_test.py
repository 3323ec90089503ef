#!/usr/bin/env python3
"""Runs `kubexx init` and `kubexx create` as a person does: on a terminal, several at once, in folders of odd names and without rights.

    scaffold_program_test.py KUBEXX
"""

import json
import os
import pty
import subprocess
import sys
import tempfile

PATIENCE = 120


def snapshot(folder):
    """Paths, sizes and times of all that is there."""
    out = {}
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            status = os.lstat(os.path.join(where, name))
            out[os.path.relpath(os.path.join(where, name), folder)] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return out


class Test:
    def __init__(self, kubexx):
        self.kubexx = kubexx
        self.failures = 0

    def expect(self, what, condition, detail=""):
        if not condition:
            self.failures += 1
            print(f"FAILED {what}: {detail}")

    def run(self, folder, *args, **options):
        return subprocess.run([self.kubexx, *args], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL, **options)

    def on_terminal(self, folder, answers, *args):
        """(exit code, what a person saw). Each answer is typed when its question is there; None is Ctrl-D."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execv(self.kubexx, [self.kubexx, *args])
        seen = b""
        left = list(answers)
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # the program has ended
                part = b""
            if not part:
                break
            seen += part
            if left and seen.endswith(left[0][0].encode() + b": "):
                answer = left.pop(0)[1]
                os.write(terminal, b"\x04" if answer is None else answer.encode() + b"\n")
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), seen.decode().replace("\r\n", "\n")

    def check_terminal(self, work):
        folder = os.path.join(work, "asked")
        os.mkdir(folder)
        code, seen = self.on_terminal(folder, [("[my.domain]", "My Domain"), ("[my.domain]", "books.example.com")], "init")
        self.expect("init asks", code == 0 and "Domain of the project's API groups [my.domain]: " in seen and "is no domain" in seen, seen)
        code, seen = self.on_terminal(folder, [("books.example.com", "webapp"), ("[v1]", ""), ("Guestbook", "guestbook"), ("Guestbook", "Guestbook")], "create", "api")
        self.expect("create api asks", code == 0 and "Version [v1]: " in seen and "wrote api/v1/guestbook_types.h" in seen, seen)
        code, seen = self.on_terminal(folder, [("Guestbook", "Guestbook")], "create", "webhook", "--defaulting")
        self.expect("create webhook asks", code == 0 and "wrote src/guestbook_webhook.cc" in seen, seen)
        with open(os.path.join(folder, "PROJECT"), encoding="utf-8") as f:
            project = json.load(f)
        self.expect("the answers count", project["domain"] == "books.example.com" and project["resources"][0]["kind"] == "Guestbook", project)
        before = snapshot(folder)
        code, seen = self.on_terminal(folder, [("books.example.com", "webapp"), ("[v1]", None)], "create", "api")
        self.expect("Ctrl-D ends it", code == 2 and "--version is missing" in seen, f"{code} {seen}")
        done = self.run(folder, "create", "api")
        self.expect("asks nobody without a terminal", done.returncode == 2 and "--group is missing" in done.stderr, done.stderr)
        self.expect("nothing was written", snapshot(folder) == before)

    def check_dry_run(self, work):
        done = self.run(work, "init", "my.domain", "--dry-run", "--project-dir", "not/yet")
        self.expect("init --dry-run", done.returncode == 0 and "would write not/yet/PROJECT" in done.stdout, done.stderr)
        self.expect("makes no folder", not os.path.exists(os.path.join(work, "not")))
        folder = os.path.join(work, "dry")
        os.mkdir(folder)
        self.run(folder, "init", "my.domain")
        self.run(folder, "create", "api", "--group", "g", "--version", "v1", "--kind", "Kind")
        before = snapshot(folder)
        for args in (["api", "--group", "g", "--version", "v1", "--kind", "Other"], ["api", "--group", "g", "--version", "v2", "--kind", "Kind"],
                     ["webhook", "--kind", "Kind", "--defaulting"], ["api", "--group", "apps", "--version", "v1", "--kind", "Deployment", "--resource=false"]):
            done = self.run(folder, "create", *args, "--dry-run", "--force")
            self.expect(f"create {args} --dry-run", done.returncode == 0 and "would " in done.stdout and "wrote " not in done.stdout, done.stdout + done.stderr)
        self.expect("--dry-run writes nothing", snapshot(folder) == before)

    def check_at_once(self, work):
        """Each command of many at a time leaves its kind in PROJECT."""
        folder = os.path.join(work, "at-once")
        os.mkdir(folder)
        self.run(folder, "init", "my.domain")
        kinds = [f"Kind{letter}" for letter in "ABCDEFGHIJKL"]
        started = [subprocess.Popen([self.kubexx, "create", "api", "--group", "g", "--version", "v1", "--kind", kind], cwd=folder, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for kind in kinds]
        for process in started:
            error = process.communicate(timeout=PATIENCE)[1]
            self.expect("one of many at once", process.returncode == 0, error)
        with open(os.path.join(folder, "PROJECT"), encoding="utf-8") as f:
            made = sorted(resource["kind"] for resource in json.load(f)["resources"])
        self.expect("all of them are in PROJECT", made == kinds, made)
        with open(os.path.join(folder, "config/kustomization.yaml"), encoding="utf-8") as f:
            self.expect("and in config/", f.read().count("crd/g.my.domain_kind") == len(kinds))

    def check_rights(self, work):
        """A folder that may only be read, for a user to whom that matters."""
        folder = os.path.join(work, "rights")
        os.mkdir(folder)
        self.run(folder, "init", "my.domain")
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        reached = subprocess.run(["test", "-x", self.kubexx], check=False, **user).returncode == 0
        if not reached:
            print("left out: another user cannot reach the program")
            return
        os.chmod(work, 0o755)
        for where, folders, names in os.walk(folder):
            for name in folders + names:
                path = os.path.join(where, name)
                os.chmod(path, 0o555 if os.path.isdir(path) else 0o444)
        os.chmod(folder, 0o555)
        before = snapshot(folder)
        done = self.run(folder, "create", "api", "--group", "g", "--version", "v1", "--kind", "Kind", **user)
        self.expect("a folder that may only be read", done.returncode == 1 and done.stderr.startswith("kubexx create api: "), done.stderr)
        self.expect("stays as it is", snapshot(folder) == before)
        # PROJECT does not list what could not be written.
        os.chmod(folder, 0o777)
        os.chmod(os.path.join(folder, "src"), 0o555)
        done = self.run(folder, "create", "api", "--group", "g", "--version", "v1", "--kind", "Kind", **user)
        with open(os.path.join(folder, "PROJECT"), encoding="utf-8") as f:
            self.expect("half of a kind is no kind", done.returncode == 1 and json.load(f)["resources"] == [], done.stderr)

    def check_names(self, work):
        """Folders of odd names, and projects called like targets of CMake."""
        for name, project in (("My  B\u00fccher", "my-b-cher"), ("\u65e5\u672c\u8a9e books", "books"), ("a'b\"c$d", "a-b-c-d"), ("-flag", "flag"), ("all", "all"),
                              ("test", "test"), ("kubexx", "kubexx"), ("new\nline", "new-line")):
            folder = os.path.join(work, name)
            os.mkdir(folder)
            done = self.run(folder, "init", "my.domain")
            with open(os.path.join(folder, "PROJECT"), encoding="utf-8") as f:
                self.expect(f"a folder {name!r}", done.returncode == 0 and json.load(f)["name"] == project, done.stderr)
            done = self.run(work, "create", "api", "--group", "g", "--version", "v1", "--kind", "Kind", "--project-dir", "./" + name)
            self.expect(f"a kind in {name!r}", done.returncode == 0, done.stderr)
        for name in ("kube", "\u65e5\u672c\u8a9e", "..."):
            folder = os.path.join(work, name)
            os.mkdir(folder)
            done = self.run(folder, "init", "my.domain")
            self.expect(f"no project of the name {name!r}", done.returncode == 2 and "--project-name" in done.stderr and not os.listdir(folder), done.stderr)
        folder = os.path.join(work, "hostile")
        os.mkdir(folder)
        self.run(folder, "init", "my.domain")
        before = snapshot(folder)
        for flag, value in (("--kind", "A;B"), ("--kind", "A\nB"), ("--kind", "../A"), ("--kind", "\u00c4"), ("--kind", "A" * 100), ("--group", "../x"),
                            ("--group", "a$(b)"), ("--group", "a\nb"), ("--version", "v1/../.."), ("--version", "V1"), ("--plural", "../b"),
                            ("--plural", "a b"), ("--controller-name", "a/b"), ("--kind", "class"), ("--kind", "Test")):
            given = {"--group": "g", "--version": "v1", "--kind": "Kind", flag: value}
            done = self.run(folder, "create", "api", *(part for pair in given.items() for part in pair))
            self.expect(f"{flag} {value!r} is refused", done.returncode == 2 and f"{flag}: " in done.stderr, done.stderr)
        self.expect("no hostile name writes anything", snapshot(folder) == before)


def main():
    test = Test(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)  # for check_rights
        for check in (test.check_terminal, test.check_dry_run, test.check_at_once, test.check_rights, test.check_names):
            folder = os.path.join(work, check.__name__)
            os.mkdir(folder)
            check(folder)
    print(f"scaffold: {test.failures} failures")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
