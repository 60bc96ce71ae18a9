"""Results equal what the commands print with --json."""

import json

import lumos
import pytest

TRACES = ["resnet-ddp-a100", "dlrm-8rank-v100", "llama-tp2-rtx4090", "h100/bert-small.json.gz", "odd/cpu-only.json.gz"]


@pytest.mark.parametrize("name", TRACES)
def test_answers_equal_the_commands(name, data, command):
    path = data / "traces" / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    job = lumos.load(path)
    timeline = job.replay()
    assert timeline.result == command("replay", path)
    assert timeline.critical_path() == command("critical-path", path)
    assert timeline.critical_path(measured=True) == command("critical-path", path, "--measured")
    assert job.inspect() == command("inspect", path)
    assert job.link() == command("link", path)
    assert job.stragglers() == command("stragglers", path)
    assert job.predict(scale={"host": 0.5}) == command("predict", path, "--scale", "host=0.5")


def test_gains_equal_the_command(demo, command):
    assert lumos.load(demo).gains() == command("gains", demo)


@pytest.mark.parametrize("ask, words", [(lambda job: job.link(), ["link"]), (lambda job: job.stragglers(), ["stragglers"]),
                                        (lambda job: job.gains(), ["gains"]), (lambda job: job.inspect(), ["inspect"]),
                                        (lambda job: job.replay(), ["replay"])])
def test_answers_print_as_the_commands_do(ask, words, data):
    path = data / "traces" / "dlrm-8rank-v100"
    assert str(ask(lumos.load(path))) == lumos.run(*words, path)


def test_all_rows_are_printed_where_asked(data):
    job = lumos.load(data / "traces" / "resnet-ddp-a100")
    few, every = job.gains(), job.gains(all=True)
    assert few == every and len(str(few).splitlines()) < len(str(every).splitlines())


KERNEL_TIMES = "kernel,op,input_dims,grid,time_us\n.*gemm.*,,,,5\n"

# Of which trace predict is told what, and the same in words of the command.
CHANGES = [
    ("resnet-ddp-a100", dict(scale_batch=2, batch_size=32), ["--scale-batch", 2, "--batch-size", 32]),
    ("resnet-ddp-a100", dict(cluster="dgx-h100", from_cluster="dgx-a100"),
     ["--cluster", "dgx-h100", "--from-cluster", "dgx-a100"]),
    ("resnet-ddp-a100", dict(scale={"host": 0.5}, remove="op:aten::relu_", no_launch_overhead=True),
     ["--scale", "host=0.5", "--remove", "op:aten::relu_", "--no-launch-overhead"]),
    ("resnet-ddp-a100", dict(jitter="fitted", samples=20, seed=7), ["--jitter", "fitted", "--samples", 20, "--seed", 7]),
    ("dlrm-8rank-v100", dict(bandwidth={"inter": 2}, latency={"inter": 0.5}, gpus_per_node=4),
     ["--bandwidth", "inter=2", "--latency", "inter=0.5", "--gpus-per-node", 4]),
    ("resnet-ddp-a100", dict(fuse="op:aten::_foreach_add_", drop_sync=".*", overlap="none:.*"),
     ["--fuse", "op:aten::_foreach_add_", "--drop-sync", ".*", "--overlap", "none:.*"]),
]


@pytest.mark.parametrize("trace, asked, words", CHANGES)
def test_changes_equal_the_command(trace, asked, words, data, command):
    path = data / "traces" / trace
    assert lumos.load(path).predict(**asked) == command("predict", path, *words)


def test_kernel_times_and_traces_go_to_files(demo, command, tmp_path):
    job = lumos.load(demo)
    times, ours, theirs = (tmp_path / name for name in ("times.csv", "ours.json", "theirs.json"))
    times.write_text(KERNEL_TIMES)
    assert job.predict(kernel_times=times, out=ours) == command("predict", demo, "--kernel-times", times, "--out", theirs)
    assert ours.read_bytes() == theirs.read_bytes()
    job.critical_path(overlay=ours)
    command("critical-path", demo, "--overlay", theirs)
    assert ours.read_bytes() == theirs.read_bytes()


def test_changes_and_another_configuration_are_two_questions(demo):
    with pytest.raises(lumos.UsageError, match="scale and job answer different questions"):
        lumos.load(demo).predict(job="gpt3-15b", scale={"host": 0.5})
    with pytest.raises(lumos.UsageError, match="goes with job"):
        lumos.load(demo).predict(ignore="shapes", scale={"host": 0.5})


def test_what_is_inside_equals_the_command(data, command):
    path = data / "traces" / "resnet-ddp-a100"
    job = lumos.load(path)
    for words in (["dependencies"], ["unexplained"], ["program"]):
        assert job.inspect(**{words[0]: True}) == command("inspect", path, f"--{words[0]}")
    assert job.inspect(ignore=["shapes", "annotations"]) == command("inspect", path, "--ignore", "shapes,annotations")


def test_predictions_are_held_against_runs(demo, command, tmp_path):
    job = lumos.load(demo)
    prediction = job.predict(scale={"host": 0.5})
    file = tmp_path / "prediction.json"
    file.write_text(json.dumps(prediction))
    assert job.validate(file) == command("validate", file, demo)
    assert job.validate(prediction) == {**job.validate(file), "prediction": "the prediction"}
    with pytest.raises(lumos.UnreadableError, match="nothing.json"):
        job.validate(tmp_path / "nothing.json")


def test_conversions_equal_the_command(demo, command, tmp_path):
    job = lumos.load(demo)
    (ours,) = job.convert(tmp_path / "ours.json", anonymize=True)
    lumos.run("convert", demo, "--out", tmp_path / "theirs.json", "--anonymize")
    assert (tmp_path / "theirs.json").read_bytes() == open(ours, "rb").read()
    assert [name.rsplit("/", 1)[1] for name in job.export(tmp_path)] == [
        "steps.csv", "breakdown.csv", "collectives.csv", "tasks.csv"]


def test_synthesis_and_calibration_equal_the_commands(command, tmp_path):
    made = lumos.synth("demo", "dgx-h100", tmp_path / "ours", ranks=[0], steps=1, jitter=0.02, seed=3)
    words = ["synth", "--job", "demo", "--cluster", "dgx-h100", "--ranks", "0", "--steps", 1, "--jitter", 0.02,
             "--seed", 3, "--out", tmp_path / "theirs"]
    assert made.synth.step_ms == command(*words).get("synth")["step_ms"]
    assert lumos.load(tmp_path / "ours").replay().replayed_ms > 0
    rows = [{"num_gpus": 8, "size_bytes": 1 << power, "time_us": 20 + (1 << power) / 2e5} for power in range(22, 30)]
    fitted = lumos.calibrate("dgx-a100", collectives=rows, out=tmp_path / "ours.toml")
    table = tmp_path / "rows.csv"
    table.write_text("num_gpus,size_bytes,time_us\n" + "".join(
        f"{row['num_gpus']},{row['size_bytes']},{row['time_us']}\n" for row in rows))
    assert fitted == command("calibrate", "--cluster", "dgx-a100", "--collectives", table)
    assert lumos.estimate("gpt3-15b", tmp_path / "ours.toml").estimate.step_ms > 0


def test_other_configurations_equal_the_command(data, command):
    folder = data / "vcluster" / "tiny-2x2x2"
    if not (folder / "config.json").exists():
        pytest.skip(f"{folder} is not there")
    job = lumos.load(folder)
    assert job.predict(job=folder / "config.json", num_layers=8) == command(
        "predict", folder, "--job", folder / "config.json", "--set", "num_layers=8")


def test_estimates_and_searches_equal_the_commands(command):
    asked = ["--job", "gpt3-175b", "--cluster", "dgx-h100"]
    assert lumos.estimate("gpt3-175b", "dgx-h100", micro_batch_size=2) == command(
        "estimate", *asked, "--set", "micro_batch_size=2")
    # One simulation in full shows that it is the command's; ten of a model of this size are minutes.
    found = lumos.search("gpt3-175b", "dgx-h100", gpus=64, top=3, simulate=1, global_batch_size=512)
    assert found == command("search", *asked, "--gpus", 64, "--top", 3, "--simulate", 1, "--set", "global_batch_size=512")
    assert found.to_pandas()["step_ms"].iloc[0] == found.best.step_ms


def test_tables_of_jobs_equal_the_commands(command, tmp_path):
    rows = [{"tensor_model_parallel_size": tensor, "micro_batch_size": 1} for tensor in (2, 4, 8)]
    table = tmp_path / "jobs.csv"
    table.write_text("tensor_model_parallel_size,micro_batch_size\n2,1\n4,1\n8,1\n")
    asked = ["--job", "gpt3-15b", "--cluster", "dgx-h100"]
    assert lumos.estimate("gpt3-15b", "dgx-h100", jobs=rows) == command("estimate", *asked, "--jobs", table)
    found = lumos.search("gpt3-15b", "dgx-h100", configs=rows, simulate=0, report=tmp_path / "report.html")
    assert found == command("search", *asked, "--configs", table, "--simulate", 0)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_searches_from_traces_equal_the_command(data, command):
    folder = data / "vcluster" / "tiny-2x2x2"
    if not (folder / "config.json").exists():
        pytest.skip(f"{folder} is not there")
    found = lumos.search(folder / "config.json", traces=folder, simulate=1, top=3)
    assert found == command("search", folder, "--job", folder / "config.json", "--simulate", 1, "--top", 3)


def test_options_of_a_replay_reach_it(demo, command):
    timeline = lumos.load(demo, inter_stream=False).replay(steps="4-5")
    assert timeline.result == command("replay", demo, "--no-inter-stream", "--steps", "4-5")
    kept = lumos.load(demo).replay(residuals="keep")
    assert kept.result == command("replay", demo, "--residuals", "keep")


def test_files_of_changes_may_be_mappings(demo):
    job = lumos.load(demo)
    assert job.predict({"scale": ["host=0.5"]})["predicted"] == job.predict(scale="host=0.5")["predicted"]
