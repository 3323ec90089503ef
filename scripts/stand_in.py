"""The few verbs of kubectl that scripts/seeds uses, for machines without it: apply, replace, delete, patch and get."""

import json

from cluster import ClusterError


class StandIn:
    """`load` reads a manifest. Output is like kubectl's; `get` prints names, or one object as JSON, or its spec."""

    def __init__(self, cluster, load):
        self.cluster = cluster
        self.load = load
        self.verbs = {"apply": self.apply, "replace": self.replace, "delete": self.delete, "patch": self.patch, "get": self.get}

    def run(self, args):
        """The exit code and the output."""
        words = [arg for arg in args[1:] if not arg.startswith("-")]
        flags = [arg.split("=", 1) if "=" in arg else [arg, ""] for arg in args[1:] if arg.startswith("-")]
        try:
            return 0, self.verbs[args[0]](words, dict(flags))
        except ClusterError as error:
            return 1, f"Error from server{self.reason(str(error))}\n"

    @staticmethod
    def reason(text):
        """What kubectl prints of the Status in the server's answer; the whole answer if it has none."""
        try:
            status = json.loads(text[text.index("{"):])
            return f" ({status['reason']}): {status['message']}"
        except (KeyError, TypeError, ValueError):
            return f": {text}"

    def resources(self, group_version):
        path = "/api/v1" if group_version == "v1" else f"/apis/{group_version}"
        return path, [r for r in self.cluster.call("GET", path)["resources"] if "/" not in r["name"]]

    def find(self, word):
        """The path of a resource that has this name, which may be singular or short, or plural.version.group."""
        word, _, where = word.partition(".")
        groups = self.cluster.call("GET", "/apis")["groups"]
        served = ["v1"] + [version["groupVersion"] for group in groups for version in group["versions"]]
        for group_version in ["/".join(reversed(where.split(".", 1)))] if where else served:
            path, resources = self.resources(group_version)
            for r in resources:
                if word in (r["name"], r.get("singularName"), r["kind"].lower(), *r.get("shortNames", [])):
                    return f"{path}/namespaces/default/{r['name']}" if r["namespaced"] else f"{path}/{r['name']}"
        raise ClusterError(f"no kind is called {word}")

    def place(self, item):
        """Where an object is, and what kubectl calls it."""
        path, resources = self.resources(item["apiVersion"])
        found = next((r for r in resources if r["kind"] == item["kind"]), None)
        if not found:
            raise ClusterError(f"no kind is called {item['kind']}")
        namespace = item["metadata"].get("namespace", "default")
        folder = f"{path}/namespaces/{namespace}/{found['name']}" if found["namespaced"] else f"{path}/{found['name']}"
        group = item["apiVersion"].rpartition("/")[0]
        name = item["metadata"]["name"]
        return f"{folder}/{name}", f"{item['kind'].lower()}{'.' + group if group else ''}/{name}"

    def apply(self, words, flags):
        del words
        said = []
        for item in self.load(flags["--filename"]):
            path, name = self.place(item)
            try:
                before = self.cluster.call("GET", path)["metadata"]["resourceVersion"]
            except ClusterError:
                before = None
            after = self.cluster.call("PATCH", path + "?fieldManager=seeds&force=true", item, content_type="application/apply-patch+yaml")
            change = "created" if not before else "unchanged" if after["metadata"]["resourceVersion"] == before else "configured"
            said.append(f"{name} {change}\n")
        return "".join(said)

    def replace(self, words, flags):
        del words
        return "".join(f"{name} replaced\n" for item in self.load(flags["--filename"]) for path, name in [self.place(item)]
                       if self.cluster.call("PUT", path, item))

    def delete(self, words, flags):
        places = [self.place(item) for item in self.load(flags["--filename"])] if not words else [(f"{self.find(words[0])}/{words[1]}", "/".join(words))]
        for path, _ in places:
            self.cluster.call("DELETE", path + "?propagationPolicy=Background")
        return "".join(f"{name} deleted\n" for _, name in places)

    def patch(self, words, flags):
        path = f"{self.find(words[0])}/{words[1]}"
        self.cluster.patch(path + ("/status" if flags.get("--subresource") == "status" else ""), json.loads(flags["--patch"]))
        return f"{'/'.join(words)} patched\n"

    def get(self, words, flags):
        if len(words) == 2:
            found = self.cluster.call("GET", f"{self.find(words[0])}/{words[1]}")
            return json.dumps(found["spec"] if flags.get("--output") == "jsonpath={.spec}" else found) + "\n"
        return "".join(f"{word}/{item['metadata']['name']}\n" for word in words[0].split(",")
                       for item in self.cluster.call("GET", self.find(word))["items"])
