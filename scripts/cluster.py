"""Requests to the API server of a kubeconfig, with nothing but Python's own library."""

import base64
import json
import os
import re
import ssl
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE = 120  # seconds


class ClusterError(Exception):
    """A request that failed, with the server's answer."""


class Cluster:
    """For kubeconfigs as kubexx writes them: one user, with a token or a certificate, everything in the file."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as f:
            field = dict(re.findall(r"([\w-]+): (\S+)", f.read()))
        self.url = field["server"]
        self.headers = {"User-Agent": "kubexx-scripts"}
        if "token" in field:
            self.headers["Authorization"] = "Bearer " + field["token"]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(field["certificate-authority-data"]).decode())
        if "client-key-data" in field:
            # The library takes certificates from files only; a temporary one is the owner's alone.
            with tempfile.NamedTemporaryFile(dir=os.path.dirname(os.path.abspath(kubeconfig))) as pem:
                pem.write(base64.b64decode(field["client-certificate-data"]) + b"\n" + base64.b64decode(field["client-key-data"]))
                pem.flush()
                self.tls.load_cert_chain(pem.name)

    def open(self, method, path, body=None, content_type="application/json", accept="application/json", timeout=PATIENCE):
        """The answer as a stream."""
        headers = {**self.headers, "Content-Type": content_type, "Accept": accept}
        request = urllib.request.Request(self.url + path, body and json.dumps(body).encode(), headers, method=method)
        return urllib.request.urlopen(request, context=self.tls, timeout=timeout)

    def call(self, method, path, body=None, **options):
        """The object that the server answers with."""
        try:
            with self.open(method, path, body, **options) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise ClusterError(f"{method} {path}: {error.code} {error.read().decode()}") from error
        except OSError as error:
            raise ClusterError(f"{method} {path}: {error}") from error

    def patch(self, path, body):
        return self.call("PATCH", path, body, content_type="application/merge-patch+json")

    def discovers(self, group):
        """Whether clients find the group, as kubectl looks for it: servers list it a moment after its definition is established."""
        listed = self.call("GET", "/apis", accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
        return any(group in (item.get("name"), item.get("metadata", {}).get("name")) for item in listed.get("items", listed.get("groups", [])))

    def wait(self, path, condition):
        """The objects of a collection, by name, as soon as `condition` holds for them; None if it does not within PATIENCE seconds. Watches them."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            listed = self.call("GET", path)
            objects = {item["metadata"]["name"]: item for item in listed["items"]}
            if condition(objects):
                return objects
            # The server ends the watch; then all starts over.
            watch = f"{path}?watch=true&resourceVersion={listed['metadata']['resourceVersion']}&timeoutSeconds={int(until - time.monotonic()) + 1}"
            try:
                with self.open("GET", watch) as stream:
                    for line in stream:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            break
                        objects.pop(event["object"]["metadata"]["name"], None)
                        if event["type"] != "DELETED":
                            objects[event["object"]["metadata"]["name"]] = event["object"]
                        if condition(objects):
                            return objects
            except OSError as error:
                raise ClusterError(f"GET {watch}: {error}") from error
        return None
