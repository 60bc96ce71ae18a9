"""Results equal what the commands print with --json."""

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
    found = lumos.search("gpt3-175b", "dgx-h100", gpus=64, top=3, global_batch_size=512)
    assert found == command("search", *asked, "--gpus", 64, "--top", 3, "--set", "global_batch_size=512")
    assert found.to_pandas()["step_ms"].iloc[0] == found.best.step_ms


def test_options_of_a_replay_reach_it(demo, command):
    timeline = lumos.load(demo, inter_stream=False).replay(steps="4-5")
    assert timeline.result == command("replay", demo, "--no-inter-stream", "--steps", "4-5")
    kept = lumos.load(demo).replay(residuals="keep")
    assert kept.result == command("replay", demo, "--residuals", "keep")


def test_files_of_changes_may_be_mappings(demo):
    job = lumos.load(demo)
    assert job.predict({"scale": ["host=0.5"]})["predicted"] == job.predict(scale="host=0.5")["predicted"]
