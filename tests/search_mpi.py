#!/usr/bin/env python3
"""A search and a link by four ranks give what one process gives. usage: tests/search_mpi.py LUMOS LUMOS_MPI"""

import json
import os
import subprocess
import sys
import tempfile

SEARCH = ["search", "--job", "gpt3-15b", "--cluster", "dgx-h100", "--gpus", "64", "--set", "global_batch_size=256", "--threads", "1"]
MPIRUN = ["mpirun", "--oversubscribe", "-n", "4"]


def answer(words, folder):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=folder)
    return subprocess.run(words, check=True, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL).stdout


def main():
    lumos, lumos_mpi = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="lumos-mpi-") as folder:
        one = json.loads(answer([lumos, *SEARCH, "--json"], folder))
        many = json.loads(answer([*MPIRUN, lumos_mpi, *SEARCH, "--json"], folder))
        assert many["configurations"] and many["configurations"] == one["configurations"]
        # Everything the answer needs came from the ranks, and all of it is in the file.
        assert many["counts"]["from_results_file"] == many["counts"]["evaluated"], many["counts"]
        results = [os.path.join(folder, name) for name in ("one.jsonl", "many.jsonl")]
        answer([lumos, *SEARCH, "--exhaustive", "--results", results[0]], folder)
        answer([*MPIRUN, lumos_mpi, *SEARCH, "--exhaustive", "--results", results[1]], folder)
        lines = [open(path, encoding="utf-8").read().splitlines() for path in results]
        assert sorted(lines[0]) == lines[1]
        assert sorted(os.listdir(folder)) == ["many.jsonl", "one.jsonl"], os.listdir(folder)
        traces = os.path.join(os.environ.get("LUMOS_DATA", ""), "vcluster", "tiny-2x2x2")
        if os.path.isdir(traces):
            graphs = [os.path.join(folder, name) for name in ("one.lumos", "many.lumos")]
            said = [answer([lumos, "link", traces, "--out", graphs[0]], folder),
                    answer([*MPIRUN, lumos_mpi, "link", traces, "--out", graphs[1]], folder)]
            assert said[0] == said[1], "\n".join(said)
            contents = [open(path, "rb").read() for path in graphs]
            assert contents[0] == contents[1], "the graph files differ"
    print(f"{len(lines[0])} configurations: the same by four ranks as by one process")


main()
