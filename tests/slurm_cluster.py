#!/usr/bin/env python3
"""Runs the Slurm recipes of docs/cluster.md on a real Slurm of one node, which it starts and stops: the array with its joining
job, srun, and lumos-mpi under srun. All must find what one process finds. usage: tests/slurm_cluster.py LUMOS
lumos-mpi is the program beside it; without one, which is a build without MPI, its recipe is left out with a word.
Exits with 77 and a word where Slurm is missing or cannot be started by this user."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DAEMONS = ("munged", "slurmctld", "slurmd")
# The recipes as they are written, but for a search and processors that one small node has.
SMALLER = (("--job gpt3-175b", "--job gpt3-15b"), ("--gpus 512", "--gpus 64"), ("global_batch_size=1536", "global_batch_size=256"),
           ("--cpus-per-task=4", "--cpus-per-task=1"), ("--threads 4", "--threads 1"), ("--ntasks=8", "--ntasks=2"),
           ("--ntasks=9", "--ntasks=2"), ("--ntasks=5", "--ntasks=2"))
PATIENCE_S = 240


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """One node that is controller and worker, with all its files in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.running = []

    def __enter__(self):
        node = socket.gethostname().split(".")[0]
        controller, worker = free_ports(2)
        for name in ("state", "spool", "key", "socket"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        key = self.folder / "key" / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        (self.folder / "key").chmod(0o700)
        for path in (self.folder / "key", key, self.folder / "socket"):
            shutil.chown(path, "munge")
        munge = self.folder / "socket" / "munge.socket"
        config = self.folder / "slurm.conf"
        config.write_text(f"""ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={worker}
AuthType=auth/munge
AuthInfo=socket={munge}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
NodeName={node} NodeAddr=127.0.0.1 CPUs={max(2, os.cpu_count())}
SlurmdParameters=config_overrides
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        self.environment = dict(os.environ, SLURM_CONF=str(config))
        key_folder = self.folder / "key"
        self.start("runuser", "-u", "munge", "--", "munged", "--foreground", f"--key-file={key}", f"--socket={munge}",
                   f"--pid-file={key_folder}/pid", f"--log-file={key_folder}/log", f"--seed-file={key_folder}/seed")
        self.wait(munge.exists, "munged")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        self.wait(lambda: " idle " in self.call("sinfo", "--noheader", check=False), "slurmd")
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait(timeout=30)

    def start(self, *words):
        log = open(self.folder / f"{len(self.running)}.log", "w", encoding="utf-8")
        self.running.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log))

    def wait(self, condition, what):
        until = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > until:
                logs = "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))
                sys.exit(f"{what} is not ready after {PATIENCE_S} s:\n{logs}")
            time.sleep(0.2)

    def call(self, *words, check=True, folder=None, environment=None):
        done = subprocess.run(words, check=False, capture_output=True, text=True, env={**self.environment, **(environment or {})},
                              cwd=folder, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def recipes():
    """The code blocks of the page, by the heading above them."""
    found, heading = {}, ""
    page = (SOURCE / "docs" / "cluster.md").read_text()
    for old, new in SMALLER:
        page = page.replace(old, new)
    for match in re.finditer(r"^#+ (?P<heading>[^\n]*)$|^```bash\n(?P<code>.*?)^```$", page, re.MULTILINE | re.DOTALL):
        heading = match["heading"] or heading
        if match["code"]:
            found.setdefault(heading, []).append(match["code"])
    return found


def best(path):
    """Ids and steps of the estimates in a results file, sorted. What is simulated is known once all parts are there."""
    lines = map(json.loads, path.read_text().splitlines())
    return sorted((line["id"], line["step_ms"]) for line in lines if not line.get("simulated"))


def array(slurm, blocks, folder, environment):
    """The array and the job that joins it, as a shell runs them."""
    script, submit = blocks["Slurm array"]
    (folder / "search.sbatch").write_text(script)
    slurm.call("bash", "-ec", submit, folder=folder, environment=environment)
    slurm.wait(lambda: not slurm.call("squeue", "--noheader").strip(), "the array")
    parts = sorted(path.name for path in folder.glob("results.*-of-8.jsonl"))
    assert len(parts) == 8, (parts, [path.read_text() for path in folder.glob("slurm-*.out")])
    return folder / "results.jsonl"


def step(slurm, blocks, folder, environment):
    setup = blocks["Work for more than one machine"][0].splitlines()[0]
    slurm.call("bash", "-ec", setup + "\n" + blocks["srun"][0], folder=folder, environment=environment)
    parts = sorted(folder.glob("results.*-of-2.jsonl"))
    assert len(parts) == 2, parts
    slurm.call("lumos", "merge", *map(str, parts), "--out", str(folder / "joined.jsonl"), environment=environment)
    return folder / "joined.jsonl"


def mpi_search(slurm, blocks, folder, environment):
    """lumos-mpi under srun, by the plugin that the recipe names."""
    (recipe,) = [line for line in blocks["MPI"][0].splitlines() if line.startswith("srun")]
    slurm.call("bash", "-ec", f"{recipe} --results results.jsonl", folder=folder, environment=environment)
    assert [path.name for path in folder.iterdir()] == ["results.jsonl"]
    return folder / "results.jsonl"


def mpi_link(slurm, blocks, folder, environment):
    """Two ranks link what one process links, to the byte."""
    (recipe,) = [line for line in blocks["Estimates and links"][0].splitlines() if line.startswith("srun")]
    slurm.call("lumos", "synth", "--job", "demo", "--cluster", "dgx-h100", "--ranks", "all", "--steps", "1", "--out", "traces",
               folder=folder, environment=environment)
    said = [slurm.call("lumos", "link", "traces", "--out", "alone.lumos", folder=folder, environment=environment),
            slurm.call("bash", "-ec", recipe, folder=folder, environment=environment)]
    graphs = [(folder / name).read_bytes() for name in ("alone.lumos", "job.lumos")]
    assert graphs[0] == graphs[1] and said[0] == said[1], "lumos-mpi link"
    print(f"mpi_link: {len(graphs[0])} bytes, the same as by one process")


def main():
    missing = [name for name in (*DAEMONS, "srun", "sbatch") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print("skipped: " + (f"no {', '.join(missing)}" if missing else "only root can start Slurm's daemons"))
        sys.exit(77)
    lumos = pathlib.Path(sys.argv[1]).resolve()
    search = ["search", "--job", "gpt3-15b", "--cluster", "dgx-h100", "--gpus", "64", "--set", "global_batch_size=256"]
    with tempfile.TemporaryDirectory(prefix="lumos-slurm-") as name, Slurm(name) as slurm:
        environment = {"PATH": f"{lumos.parent}:{os.environ['PATH']}"}
        with_mpi = (lumos.parent / "lumos-mpi").exists()
        runs = [array, step] + [mpi_search] * with_mpi
        folders = [pathlib.Path(name) / kind for kind in ("one", "link", *(run.__name__ for run in runs))]
        for folder in folders:
            folder.mkdir()
        alone = folders[0] / "results.jsonl"
        slurm.call("lumos", *search, "--results", str(alone), environment=environment)
        blocks = recipes()
        for run, folder in zip(runs, folders[2:]):
            path = run(slurm, blocks, folder, environment)
            found = best(path)
            # A part knows less of the others' results and so evaluates some more.
            assert set(best(alone)) <= set(found), f"{run.__name__}: results are missing"
            answer = [json.loads(slurm.call("lumos", *search, "--json", "--results", str(each), environment=environment))
                      for each in (alone, path)]
            assert answer[0]["configurations"] == answer[1]["configurations"], run.__name__
            print(f"{run.__name__}: {len(found)} results, the same answer as one process")
        if with_mpi:
            mpi_link(slurm, blocks, folders[1], environment)
        elif os.environ.get("CI") == "true":
            sys.exit("lumos-mpi is not built, so that srun could not run it")
        else:
            print("lumos-mpi: not built, no MPI here")


main()
