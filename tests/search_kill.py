#!/usr/bin/env python3
"""Kills a search three times with SIGKILL and lets it go on: the results file must be that of an undisturbed run, byte for
byte. Then interrupts one with SIGINT: exit code 130, a usable answer, and the rest can be done later; and joins parts.
usage: tests/search_kill.py LUMOS"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

SPACE = "overlap_grad_reduce = [false, true]\nmicro_batch_size = [1, 2, 3, 4, 6, 8]\n"


def command(lumos, folder, results, *words):
    return [lumos, "search", "--job", "gpt3-175b", "--cluster", "dgx-h100", "--gpus", "512", "--set", "global_batch_size=1536",
            "--space", os.path.join(folder, "space.toml"), "--threads", "1", "--results", results, *words]


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def interrupted(words, results, number, until_size):
    """Starts a search and sends it the signal once its results have grown past a size."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and size_of(results) <= until_size:
            time.sleep(0.001)
        process.send_signal(number)
        out, err = process.communicate()
    return process.returncode, out, err


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    lumos = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="lumos-kill-") as folder:
        with open(os.path.join(folder, "space.toml"), "w", encoding="utf-8") as file:
            file.write(SPACE)
        whole, killed, stopped = (os.path.join(folder, name) for name in ("whole.jsonl", "killed.jsonl", "stopped.jsonl"))
        subprocess.run(command(lumos, folder, whole, "--exhaustive"), check=True, stdout=subprocess.DEVNULL)
        total = os.path.getsize(whole)

        for time_killed in range(1, 4):
            code, _, _ = interrupted(command(lumos, folder, killed, "--exhaustive"), killed, signal.SIGKILL, total * time_killed // 5)
            assert code == -signal.SIGKILL, f"the search ended before kill {time_killed}"
            assert 0 < os.path.getsize(killed) < total
            # What a kill in the middle of a write leaves.
            with open(killed, "ab") as file:
                file.write(b'{"id":"0123')
        last = subprocess.run(command(lumos, folder, killed, "--exhaustive"), check=True, capture_output=True, text=True)
        assert "the last line was damaged" in last.stderr, last.stderr
        assert read(killed) == read(whole), "the resumed file differs"

        code, out, err = interrupted(command(lumos, folder, stopped, "--exhaustive", "--json"), stopped, signal.SIGINT, total // 4)
        assert code == 130, (code, err)
        answer = json.loads(out)
        assert not answer["complete"] and answer["configurations"], out
        subprocess.run(command(lumos, folder, stopped, "--exhaustive"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert read(stopped) == read(whole), "the file that ctrl-C left does not go on"

        base = os.path.join(folder, "parts.jsonl")
        for index in (2, 1):
            subprocess.run(command(lumos, folder, base, "--exhaustive", "--shard", f"{index}/2"), check=True, stdout=subprocess.DEVNULL)
        parts = [base.replace(".jsonl", f".{index}-of-2.jsonl") for index in (1, 2)]
        merged = [subprocess.run([lumos, "merge", *order], check=True, capture_output=True).stdout for order in (parts, parts[::-1])]
        assert merged[0] == merged[1], "the order of parts matters"
        # What is simulated is known once all parts are there.
        estimated = [line for line in read(whole).splitlines() if b'"simulated"' not in line]
        assert merged[0].splitlines() == sorted(estimated), "parts joined are not the whole"
    print(f"{total} bytes of results: the same after three kills, an interruption, and in two parts")


main()
