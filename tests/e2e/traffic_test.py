#!/usr/bin/env python3
"""Compares what kube::Client and kubectl send for the same call: method, path, query, and the headers that the API looks at.

    traffic_test.py KUBEXX TRAFFIC_CLIENT BUILD_CONTROL_PLANE

Both talk plain HTTP to `kubexx apiserver` through a relay that keeps a copy of what goes by. Exit code 77 if there is no kubectl.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from background import PATIENCE, Background

SKIPPED = 77
MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}}
spec: {containers: [{name: web, image: nginx}]}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: default}\ndata: {a: '1'}\n"


class Relay:
    """Passes connections on to a port, and keeps what clients send."""

    def __init__(self, port):
        self.target = port
        self.sent = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            copy = bytearray()
            self.sent.append(copy)
            threading.Thread(target=self.pump, args=(client, server, copy), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, None), daemon=True).start()

    @staticmethod
    def pump(source, sink, copy):
        try:
            while data := source.recv(65536):
                if copy is not None:
                    copy += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def requests(self):
        """(method, path, query, headers) of everything that was sent since the last call."""
        taken, self.sent = self.sent, []
        found = []
        for data in taken:
            for match in re.finditer(rb"(GET|POST|PUT|PATCH|DELETE) (\S+) HTTP/1\.1\r\n(.*?)\r\n\r\n", bytes(data), re.S):
                method, target, head = (part.decode() for part in match.groups())
                headers = {}
                for line in head.split("\r\n"):
                    name, _, value = line.partition(":")
                    headers.setdefault(name.lower(), value.strip())
                url = urllib.parse.urlsplit(target)
                found.append((method, url.path, sorted(urllib.parse.parse_qsl(url.query, keep_blank_values=True)), headers))
        return found


def only(requests, path):
    """The requests below `path`: kubectl also asks for discovery and OpenAPI."""
    return [r for r in requests if r[1].startswith(path)]


def main():
    kubexx, program, find = sys.argv[1:]
    found = subprocess.run([find, "--path", "--lean", "newest"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        print("skipped: no kubectl; make control-plane builds one")
        return SKIPPED
    kubectl = os.path.join(found.stdout.strip(), "kubectl")
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        manifest = os.path.join(work, "pod.yaml")
        with open(manifest, "w", encoding="utf-8") as out:
            out.write(MANIFEST)
        command = [kubexx, "apiserver", "--http", "--echo-pods", "--load", manifest]
        with Background(command, os.path.join(work, "server.log")) as server:
            ready = server.wait_text(r"is ready at http://127\.0\.0\.1:(\d+)")
            if not ready:
                print("kubexx apiserver did not start:", server.text())
                return 1
            relay = Relay(int(ready.group(1)))
            kubeconfig = os.path.join(work, "kubeconfig")
            with open(kubeconfig, "w", encoding="utf-8") as out:
                out.write(
                    f"apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{relay.port}'}}}}]\n"
                    "contexts: [{name: c, context: {cluster: c, user: ''}}]\ncurrent-context: c\n")
            env = {"PATH": os.environ.get("PATH", ""), "HOME": work, "KUBECONFIG": kubeconfig}

            def run(argv, stdin=""):
                relay.requests()
                done = subprocess.run(argv, input=stdin, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
                return done, relay.requests()

            pods = "/api/v1/namespaces/default/pods"
            maps = "/api/v1/namespaces/default/configmaps"
            cases = [
                ("get", ["get", "pod", "web", "-o", "json"], "", pods + "/web", ["accept"]),
                ("list", ["get", "pods", "-l", "app=web", "-o", "json"], "", pods, ["accept"]),
                ("watch", ["get", "--raw", pods + "?resourceVersion=0&watch=true&timeoutSeconds=1"], "", pods, []),
                ("apply", ["apply", "--server-side", "-f", "-"], MAP, maps + "/m", ["accept", "content-type"]),
                ("exec", ["exec", "web", "-c", "web", "--", "echo", "hello"], "", pods + "/web/exec",
                 ["connection", "upgrade", "sec-websocket-version"]),
            ]
            for name, arguments, stdin, path, headers in cases:
                theirs_done, theirs = run([kubectl, *arguments], stdin)
                ours_done, ours = run([program, kubeconfig, name])
                theirs, ours = only(theirs, path), only(ours, path)
                problem = ""
                if theirs_done.returncode != 0 or ours_done.returncode != 0:
                    problem = f"exit codes {theirs_done.returncode} and {ours_done.returncode}\n{theirs_done.stderr}\n{ours_done.stderr}"
                elif not theirs or not ours:
                    problem = "nothing was seen to go by"
                else:
                    want, got = theirs[-1], ours[-1]
                    # `kubectl get --raw` shows which parameters a watch has, and ends by itself; ours has no end.
                    query = [(k, v) for k, v in want[2] if k != "timeoutSeconds"]
                    if (want[0], want[1], query) != (got[0], got[1], got[2]):
                        problem = f"kubectl: {want[0]} {want[1]} {query}\nkubexx:  {got[0]} {got[1]} {got[2]}"
                    for header in headers:
                        a, b = want[3].get(header, "-").lower(), got[3].get(header, "-").lower()
                        if a != b:
                            problem += f"\n{header}: kubectl sends {a}, kubexx {b}"
                    if name == "exec" and "v5.channel.k8s.io" not in got[3].get("sec-websocket-protocol", ""):
                        problem += "\nexec does not offer v5.channel.k8s.io"
                failures += bool(problem)
                print("FAILED" if problem else "ok    ", name, problem, flush=True)
    print(f"{len(cases) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
