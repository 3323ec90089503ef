#!/usr/bin/env python3
"""Runs the kubexx program on the example manifests: every encoding and back, pipes, files, exit codes."""

import json
import os
import subprocess
import sys
import tempfile


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

    for failure in failures:
        print("FAILED", failure)
    print(f"end to end: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
