#!/usr/bin/env python3
"""Runs the kubexx program on the example manifests: every encoding and back, pipes, files, exit codes; the API server's start and end."""

import base64
import json
import os
import random
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import urllib.request


PATIENCE = 60


def first_ephemeral_port():
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        return int(f.read().split()[0])


def get_namespace(kubeconfig):
    """Reads the namespace `default` as the kubeconfig says; its name."""
    with open(kubeconfig, encoding="utf-8") as f:
        text = f.read()
    server, token = (re.search(rf"\b{key}: \"?([^\s\"]+)", text)[1] for key in ("server", "token"))
    authority = base64.b64decode(re.search(r"certificate-authority-data: \"?([^\s\"]+)", text)[1]).decode()
    request = urllib.request.Request(server + "/api/v1/namespaces/default", headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=PATIENCE, context=ssl.create_default_context(cadata=authority)) as answer:
        return json.load(answer)["metadata"]["name"]


def check_restart(program, work, expect):
    """Kills a server with a data folder the hard way: the kubeconfig of the first one is good for the second."""
    data, kubeconfig = os.path.join(work, "data"), os.path.join(work, "first.kubeconfig")
    for args in (["--kubeconfig-out", kubeconfig], []):
        with subprocess.Popen([program, "apiserver", "--data-dir", data, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                line = process.stdout.readline()
                expect("starts with a data folder", "is ready at" in line, line)
                expect("the kubeconfig works" + ("" if args else " after kill -9"), get_namespace(kubeconfig) == "default")
            except (OSError, AttributeError) as error:
                expect("the kubeconfig works" + ("" if args else " after kill -9"), False, error)
            finally:
                process.kill()
    kept = [os.path.join(data, name) for name in os.listdir(data)]
    expect("the data folder is private", stat.S_IMODE(os.stat(data).st_mode) == 0o700, oct(os.stat(data).st_mode))
    expect("its files are, too", kept and all(stat.S_IMODE(os.stat(path).st_mode) == 0o600 for path in kept), kept)


def check_api_server(program, manifests, expect):
    def refused(what, code, message, *args):
        try:
            done = subprocess.run([program, "apiserver", *args], capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            expect(what, False, "it runs")
            return
        said = done.stdout + done.stderr
        expect(what, done.returncode == code and done.stdout == "" and message in done.stderr, f"exit code {done.returncode}: {said}")
        expect(what + ": short", done.stderr.count("\n") <= 2 and done.stderr.startswith("kubexx apiserver: "), said)

    def run_until(number, *args):
        """Starts a server, and ends it by the signal as soon as it says that it is ready. The line that it said, or None."""
        with subprocess.Popen([program, "apiserver", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            line = process.stdout.readline()
            process.send_signal(number)
            try:
                rest, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                rest, err = process.communicate()
        said = f"exit code {process.returncode}: {line}{rest}{err}"
        expect(f"apiserver {' '.join(args)} ends well", process.returncode == 0 and rest == err == "", said)
        return line

    with tempfile.TemporaryDirectory() as work:
        def file(name, text):
            path = os.path.join(work, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return path

        usage = "Try 'kubexx apiserver --help'."
        refused("unknown flag", 2, "unknown flag --prt (did you mean --port?)", "--prt", "1")
        refused("flag without value", 2, "--port needs a value", "--port")
        for port in ("70000", "-1", "web", "80x"):
            refused(f"port {port}", 2, f'expected a number from 0 to 65535, not "{port}"\n{usage}', "--port", port)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            refused("used port", 1, f"listen on 127.0.0.1:{port}: Address already in use", "--port", port)
        gone = os.path.join(work, "gone.yaml")
        refused("missing manifest", 1, f"{gone}: No such file or directory", "--load", gone)
        refused("folder as manifest", 1, f"{work}: Is a directory", "--load", work)
        broken = file("broken.yaml", "a: [\n")
        refused("broken manifest", 1, f"{broken}: line 2, column 1", "--load", broken)
        unknown = file("unknown.yaml", "apiVersion: v1\nkind: Pd\nmetadata: {name: a}\n")
        refused("unknown kind", 1, f'{unknown}: line 1: Pd a: no matches for kind "Pd" in version "v1"', unknown)
        invalid = file("invalid.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
        refused("invalid object", 1, f'{invalid}: line 1: Pod a: Pod "a" is invalid: spec.containers: Required value', invalid)
        refused("no place for the kubeconfig", 1, "No such file or directory", "--kubeconfig-out", os.path.join(work, "gone", "kubeconfig"))

        kubeconfig = os.path.join(work, "kubeconfig")
        files = [os.path.join(manifests, name) for name in ("namespace.yaml", "web.yaml", "cart.yaml")]
        line = run_until(signal.SIGTERM, "--kubeconfig-out", kubeconfig, *files)
        expect("says where it is", line.startswith("kubexx apiserver is ready at https://127.0.0.1:") and kubeconfig in line, line)
        expect("kubeconfig is a secret", os.path.exists(kubeconfig) and stat.S_IMODE(os.stat(kubeconfig).st_mode) == 0o600)
        check_restart(program, work, expect)
        # A link that another user may have created: neither followed nor replaced.
        victim, link = file("victim", "untouched"), os.path.join(work, "link")
        os.symlink(victim, link)
        refused("kubeconfig through a link", 1, f"{link}: this is a symbolic link", "--kubeconfig-out", link)
        with open(victim, encoding="utf-8") as f:
            expect("the link's target is untouched", f.read() == "untouched")
        # A port below the kernel's ephemeral range: an ephemeral one that we released could be taken by another process in the meantime.
        for port in random.sample(range(10000, first_ephemeral_port()), 50):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) != 0:
                    break
        line = run_until(signal.SIGINT, "--http", "--port", str(port), "--load", files[0])
        expect("takes the port", line == f"kubexx apiserver is ready at http://127.0.0.1:{port}\n", line)


def main():
    program, manifests = sys.argv[1:]
    failures = []

    def run(*args, stdin=b""):
        done = subprocess.run([program, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr.decode()

    def expect(what, condition, detail=""):
        if not condition:
            failures.append(f"{what}: {detail}")

    web = os.path.join(manifests, "web.yaml")
    cart = os.path.join(manifests, "cart.yaml")
    with tempfile.TemporaryDirectory() as work:
        for manifest, count in ((web, 3), (cart, 2)):
            code, as_json, err = run("convert", "--strict", "-o", "json", "--compact", manifest)
            expect(f"{manifest} to JSON", code == 0, err)
            objects = [json.loads(line) for line in as_json.splitlines()]
            expect(f"{manifest} objects", len(objects) == count, len(objects))
            code, as_yaml, err = run("convert", "-", stdin=as_json)
            expect(f"{manifest} JSON to YAML", code == 0, err)
            code, again, err = run("convert", "-o", "json", "--compact", "-", stdin=as_yaml)
            expect(f"{manifest} YAML to JSON", code == 0 and again == as_json, err)
            for number, one in enumerate(objects):
                text = json.dumps(one).encode()
                path = os.path.join(work, f"{number}.pb")
                code, _, err = run("convert", "-o", "protobuf", "--out", path, "-", stdin=text)
                if one["kind"] == "Cart":
                    expect("a custom resource has no protobuf", code == 1 and "no protobuf form" in err, err)
                    continue
                expect(f"{one['kind']} to protobuf", code == 0, err)
                code, back, err = run("convert", "-o", "json", path)
                expect(f"{one['kind']} from protobuf", code == 0 and json.loads(back) == one, err)
                code, out, err = run("convert", "--diff", path, "-", stdin=text)
                expect(f"{one['kind']} diff", code == 0 and out == b"", out.decode() + err)

        deployment = run("convert", "-o", "json", "-c", web)[1].splitlines()[0]
        value = next(e for e in json.loads(deployment)["spec"]["template"]["spec"]["containers"][0]["env"] if e["name"] == "DEBUG")["value"]
        expect("quoted scalars stay strings", value == "no", value)
        code, out, err = run("convert", "--diff", "-", web, stdin=deployment.replace(b'"replicas":3', b'"replicas":5'))
        expect("differences are found", code == 1 and b"~ spec.replicas: 3 -> 5" in out and b"only in" in out, out.decode() + err)

    expect("help", run("--help")[0] == 0 and b"convert" in run("--help")[1])
    expect("version", run("version")[1].startswith(b"kubexx "))
    code, out, err = run("convert", "--strickt", web)
    expect("usage", code == 2 and out == b"" and "did you mean --strict?" in err, err)
    code, out, err = run("convert", "-", stdin=b"a: [")
    expect("bad input", code == 1 and out == b"" and "line 2, column 1" in err, err)

    check_api_server(program, manifests, expect)
    code, out, err = run("apiserver", "--help")
    expect("help of apiserver", code == 0 and err == "" and b"--kubeconfig-out FILE" in out and b"Ctrl-C" in out, err)
    examples = [word for word in out.decode().split() if word.endswith(".yaml")]
    missing = [path for path in examples if not os.path.exists(os.path.join(manifests, os.path.basename(path)))]
    expect("the manifests of its example are there", examples and not missing, missing)

    for failure in failures:
        print("FAILED", failure)
    print(f"end to end: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
