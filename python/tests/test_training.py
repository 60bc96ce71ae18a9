"""A real training on the CPU: two ranks over gloo, profiled by lumos.profiler, replayed, and predicted for twice the
layers beside a real run of those."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import lumos
import pytest

HERE = pathlib.Path(__file__).parent
ROUNDS = 5


@pytest.fixture(scope="module")
def torch():
    if os.environ.get("LUMOS_NEED_TORCH"):
        import torch  # a failure where it must not be missing
        return torch
    return pytest.importorskip("torch", reason="no PyTorch here: pip install torch to run a real training")


@pytest.fixture(scope="module")
def training(torch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
             HERE / "train_gpt.py", folder, str(ROUNDS)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


def test_every_step_is_replayed_within_3_percent(training):
    folder, _ = training
    errors = []
    for number in range(ROUNDS):
        job = lumos.load(folder / f"once-{number}")
        assert job.ranks == [0, 1]
        result = job.replay().result
        assert result.replayed_ms == pytest.approx(result.measured_ms, rel=0.03)
        errors += [abs(step.replayed_ms / step.measured_ms - 1) for rank in result.ranks for step in rank.steps]
    assert len(errors) >= 6 * ROUNDS
    print("worst in percent:", round(100 * max(errors), 1))
    # Each step by itself. A replay is the same every time, but what it is held against is not: where the machine stops a
    # thread between two events, on one rank and not on the other, nothing in the trace says that it did not work. One
    # step in twenty may be such a one (with a load of 13 on two processors the worst of 40 steps was 3.3 % off).
    assert sorted(errors)[len(errors) * 19 // 20 - 1] < 0.03
    assert max(errors) < 0.1


def test_gloo_operations_meet(training):
    folder, _ = training
    job = lumos.load(folder / "once-0")
    collectives = job.replay().collectives().to_pandas()
    assert len(collectives) == job.link().kernels.all == 2 * job.link().rendezvous > 0
    assert job.replay().result.ranks[0].dependencies.rendezvous > 0
    # A slower network is a longer step: the transfers are on the path.
    assert job.predict(scale={"comm:.*": 5.0}).predicted.step_ms > 1.02 * job.predict(
        scale={"comm:.*": 1.0}).predicted.step_ms


def test_groups_of_gloo_are_told_apart(torch, tmp_path):
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4",
             HERE / "train_groups.py", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    link = lumos.load(tmp_path).link()
    assert link.kernels.all == link.kernels.by_sequence == 4 * 4 * 6
    # Per step four reductions in each row, one in each column, one among all.
    assert link.rendezvous == 4 * (2 * 4 + 2 + 1)
    assert sorted(transfer.members for transfer in link.steps[0].transfers) == [2, 2, 2, 2, 4]


def test_twice_the_layers_are_predicted_within_10_percent(training):
    folder, _ = training
    errors = []
    for number in range(ROUNDS):
        once, twice = folder / f"once-{number}", folder / f"twice-{number}"
        layers = json.loads((once / "job.json").read_text())["num_layers"]
        predicted = lumos.load(once).predict(job=once / "job.json", num_layers=2 * layers).predicted.step_ms
        measured = lumos.load(twice).replay().measured_ms
        errors.append(100 * (predicted / measured - 1))
    print("errors in percent:", [round(each, 1) for each in errors])
    # The median, because two trainings minutes apart are two measurements: a round in which something else ran beside
    # one of them says what that took. Both are profiled in turns, five times.
    assert abs(statistics.median(errors)) < 10


def test_the_profiler_says_what_it_cost(training):
    folder, said = training
    assert "rank0.json.gz" in said and "under the profiler" in said
    assert not list(folder.glob("*/.rank*"))


def test_a_loop_that_is_too_short_is_told(torch, tmp_path, capsys):
    with lumos.profiler.profile(tmp_path) as profiler:
        for _ in range(3):
            torch.ones(3).sum()
            profiler.step()
    assert "3 steps were not enough" in capsys.readouterr().err


def test_job_files_come_from_megatron_torchtitan_and_words():
    megatron = argparse.Namespace(num_layers=24, hidden_size=1024, tensor_model_parallel_size=2, rank=0,
                                  data_path=["x"], params_dtype="torch.bfloat16", bf16=True)
    found = lumos.profiler.job_settings(megatron, seq_length=2048)
    assert found["params_dtype"] == "bf16"
    assert found["num_layers"] == 24 and found["seq_length"] == 2048 and "data_path" not in found
    titan = {"training": {"seq_len": 8192, "local_batch_size": 2, "global_batch_size": -1},
             "parallelism": {"tensor_parallel_degree": 8, "pipeline_parallel_degree": 1}, "model": {"n_layers": 32}}
    assert lumos.profiler.job_settings(titan) == {
        "seq_length": 8192, "micro_batch_size": 2, "tensor_model_parallel_size": 8, "pipeline_model_parallel_size": 1,
        "num_layers": 32}
    with pytest.raises(lumos.UsageError, match="no_such_field"):
        lumos.profiler.job_settings(no_such_field=1)
