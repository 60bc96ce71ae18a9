#!/usr/bin/env python3
"""Scores recovered labels (lumos.program.v1) against the truth of an emulated trace set.

    lumos inspect DIR --program --json | scripts/score-labels.py DIR/truth.json.gz

Prints one line per phase: kernels, share with the right phase, micro-batch and layer, and the first few that are wrong.
Gradient buckets (communication of data parallelism and its scaling) are left out: they carry the label of the hook that
happened to launch them.
"""
import argparse
import collections
import gzip
import json
import sys

SCORED = ("fwd", "bwd", "recompute", "opt")
BUCKET_KINDS = ("dp_comm", "scale")


def load(path):
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("truth")
    parser.add_argument("labels", nargs="?", help="default: standard input")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N wrong labels of each phase")
    parser.add_argument("--threshold", type=float, default=99.0, help="fail when a phase is below this percentage")
    args = parser.parse_args()

    truth = load(args.truth)
    found = load(args.labels) if args.labels else json.load(sys.stdin)
    by_rank = {entry["rank"]: {k[0]: k for k in entry["kernels"]} for entry in found["ranks"]}

    total, right = collections.Counter(), collections.Counter()
    wrong = collections.defaultdict(list)
    for rank, detail in truth["rank_detail"].items():
        labels = by_rank.get(int(rank), {})
        for correlation, _, phase, microbatch, chunk, layer, kind, *_ in detail["kernels"]:
            if phase not in SCORED or (phase in ("bwd", "fwd") and kind in BUCKET_KINDS):
                continue
            total[phase] += 1
            label = labels.get(correlation)
            if label and (label[1], label[2], label[4]) == (phase, microbatch, layer):
                right[phase] += 1
            elif len(wrong[phase]) < args.show:
                wrong[phase].append((int(rank), correlation, kind, (phase, microbatch, chunk, layer), label))
    worst = 100.0
    for phase in SCORED:
        if not total[phase]:
            continue
        share = 100.0 * right[phase] / total[phase]
        worst = min(worst, share)
        print(f"{phase:10} {total[phase]:8d} kernels  {share:6.2f} % right")
        for line in wrong[phase]:
            print("   ", *line)
    return 0 if worst >= args.threshold else 1


if __name__ == "__main__":
    sys.exit(main())
