#!/usr/bin/env python3
"""What `kubexx generate` costs beside controller-gen, on the same types with the same markers, and how long the compiler takes for its tables.

    run.py --build BUILD_FOLDER [--rounds 20] [--cxx COMPILER]

The kinds are those of tests/generate/testdata: networks (a small kind) and cron (a kind with an embedded JobTemplateSpec). Both programs write the
CRD; kubexx also writes field tables, as controller-gen's users run a second generator for DeepCopy. CPU is user and system time of the process and
its children, as the median of the rounds, which take turns. controller-gen asks `go list` for the packages: its caches are warm, because a round
that does not count goes first. Without Go only kubexx is measured.

The tables: a header of 60 structs of 20 fields, which is generated here.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TESTDATA = os.path.join(ROOT, "tests/generate/testdata")
sys.path.insert(0, os.path.join(ROOT, "tests/generate"))
import controller_gen_test as peer  # noqa: E402

KINDS = {"small kind (networks)": "networks", "CronJob-like kind (cron)": "cron"}
WANTED_MS = {"networks": 5, "cron": 50}
TYPES = ["kube::String", "std::int32_t", "std::optional<std::int64_t>", "bool", "kube::List<kube::String>", "kube::Map<kube::String>"]


def cpu(command, cwd=None, env=None) -> float:
    """Milliseconds of user and system time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def prepare_peer(work):
    """The Go module with the types, and the command that reads one package of it; None without Go."""
    try:
        controller_gen = peer.find_controller_gen()
        os.makedirs(os.path.join(work, "go"))
        peer.run_controller_gen(controller_gen, TESTDATA, os.path.join(work, "go"))
    except SystemExit:  # the reason is printed
        return None
    return lambda name: [controller_gen, "crd", f"paths=./{name}", f"output:crd:dir={work}/theirs"]


def generate(args, work):
    theirs = prepare_peer(work)
    env = {**os.environ, "GOFLAGS": "-mod=mod"}
    print(f"{'CPU, median of ' + str(args.rounds):32} {'kubexx ms':>10} {'controller-gen ms':>18} {'ratio':>7}  wanted")
    for title, name in KINDS.items():
        ours = [os.path.join(args.build, "apps/kubexx/kubexx"), "generate", "--headers", os.path.join(TESTDATA, name, "types.h")]
        figures = {"ours": [], "theirs": []}
        for number in range(args.rounds + 1):
            out = os.path.join(work, f"{name}{number}")  # new, so that there is something to write in each round
            sides = {"ours": cpu([*ours, "--tables", out, "--manifests", out])}
            if theirs:
                sides["theirs"] = cpu(theirs(name), cwd=os.path.join(work, "go"), env=env)
            if number > 0:
                for side, value in sides.items():
                    figures[side].append(value)
        mine = statistics.median(figures["ours"])
        other = statistics.median(figures["theirs"]) if theirs else None
        columns = f"{other:18.0f} {other / mine:6.0f}x" if other else f"{'-':>18} {'-':>7}"
        print(f"{title:32} {mine:10.1f} {columns}  at most {WANTED_MS[name]} ms: {'yes' if mine <= WANTED_MS[name] else 'NO'}")


def many_structs(structs, fields) -> str:
    lines = ["// +groupName=bench.example.com", "// +versionName=v1", "#pragma once", "#include <kube/kind.h>", "", "namespace bench::v1 {"]
    for s in range(structs):
        lines.append(f"struct Part{s} {{")
        for f in range(fields):
            kind = TYPES[(s + f) % len(TYPES)] if f > 0 or s == 0 else f"kube::Box<Part{s - 1}>"
            lines.append(f"  {kind} field_{f}{{}};")
        lines += ["", f"  KUBE_TABLE(Part{s});", "};"]
    lines += ["struct Whole {", "  kube::meta::v1::ObjectMeta metadata{};", f"  Part{structs - 1} spec{{}};", "", "  KUBE_TABLE(Whole);", "};", "}"]
    return "\n".join(lines) + "\n"


def compile_tables(args, work):
    header = os.path.join(work, "many_types.h")
    with open(header, "w", encoding="utf-8") as file:
        file.write(many_structs(60, 20))
    tables = os.path.join(work, "tables")
    subprocess.run([os.path.join(args.build, "apps/kubexx/kubexx"), "generate", "--headers", header, "--include", work, "--tables", tables], check=True,
                   stdout=subprocess.DEVNULL)
    (source,) = os.listdir(tables)
    # Fifteen times: the compiler takes a second each.
    figures = [cpu([args.cxx, "-std=c++20", "-O2", "-c", f"-I{ROOT}/include", f"-I{work}", os.path.join(tables, source), "-o", "/dev/null"])
               for _ in range(min(args.rounds, 15))]
    seconds = statistics.median(figures) / 1000
    print(f"tables of 60 structs of 20 fields, {args.cxx} -O2: {seconds:.2f} s of CPU; at most 1 s: {'yes' if seconds <= 1 else 'NO'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True, help="a release build")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cxx", default=os.environ.get("CXX") or "c++")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    work = tempfile.mkdtemp(prefix="kubexx-bench-generate-")
    try:
        generate(args, work)
        compile_tables(args, work)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
