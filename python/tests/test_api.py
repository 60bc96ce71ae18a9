"""Errors, interrupts, notebooks, workers: what a person meets beside the numbers."""

import concurrent.futures
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import lumos
import pytest

JOB = {"num_layers": 24, "hidden_size": 2048, "num_attention_heads": 16, "seq_length": 2048, "vocab_size": 50257,
       "micro_batch_size": 4, "global_batch_size": 64, "world_size": 8}


def test_errors_have_the_class_of_their_exit_code(tmp_path, demo):
    with pytest.raises(lumos.UnreadableError, match="no such file") as unreadable:
        lumos.load(tmp_path / "nothing.json")
    assert unreadable.value.exit_code == 3 and isinstance(unreadable.value, OSError)
    with pytest.raises(lumos.UsageError) as usage:
        lumos.load(demo).predict()
    assert usage.value.exit_code == 2 and isinstance(usage.value, (lumos.LumosError, ValueError))
    assert lumos.LumosError.exit_code == 1
    assert issubclass(lumos.Interrupted, KeyboardInterrupt) and lumos.Interrupted.exit_code == 130


def test_errors_have_the_text_of_the_command(tmp_path):
    path = tmp_path / "nothing.json"
    done = subprocess.run([sys.executable, "-m", "lumos", "replay", path], capture_output=True, text=True)
    with pytest.raises(lumos.UnreadableError) as raised:
        lumos.load(path)
    assert done.returncode == 3
    assert done.stderr.strip() == f"lumos: {raised.value}"


def test_a_whole_command_runs_once_until_its_text_is_read(monkeypatch, tmp_path, demo):
    runs = []

    def counted(*words):
        runs.append(words)
        return lumos.run(*words)

    monkeypatch.setattr(lumos.commands, "run", counted)
    monkeypatch.setattr(lumos.Job, "_run", lambda job, name, *words: counted(name, demo, *words))
    measured = [{"num_gpus": 8, "size_bytes": 1 << power, "time_us": 20 + (1 << power) / 2e5}
                for power in range(22, 30)]
    asked = {
        "estimate": lambda: lumos.estimate(JOB, "dgx-h100"),
        "calibrate": lambda: lumos.calibrate("dgx-h100", collectives=measured, out=tmp_path / "cluster.toml"),
        "diff": lambda: lumos.diff(demo, demo),
        "inspect": lambda: lumos.load(demo).inspect(dependencies=True),
    }
    for name, ask in asked.items():
        runs.clear()
        result = ask()
        assert [words[0] for words in runs] == [name] and "--json" in runs[0]
        assert str(result) == result.text == str(pickle.loads(pickle.dumps(result)))  # The job's file is still there.
        assert len(runs) == 2 and "--json" not in runs[1]
        assert not any(word == "--out" for word in runs[1])


def test_a_file_that_fails_beside_others_is_a_warning(tmp_path, demo):
    (tmp_path / "rank0.json").write_bytes(demo.read_bytes())
    (tmp_path / "rank1.json").write_text('{"traceEvents": 7}')
    with pytest.warns(UserWarning, match="rank1.json"):
        job = lumos.load(tmp_path / "rank0.json", tmp_path / "rank1.json")
    assert len(job.failures) == 1


def test_ctrl_c_stops_a_long_call_at_once(tmp_path):
    # A pipe that nobody writes to is the longest call there is.
    pipe = tmp_path / "rank0.json"
    os.mkfifo(pipe)
    writer = []
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    opener = threading.Thread(target=lambda: writer.append(open(pipe, "w")))
    opener.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        lumos.load(pipe)
    assert time.perf_counter() - begin < 2
    opener.join()
    writer[0].close()  # the work behind the call comes to its end


def threads_of_this_process():
    return len(os.listdir("/proc/self/task"))


@pytest.fixture(scope="module")
def many_events(tmp_path_factory):
    """Sixteen ranks of a million operators each: one file by sixteen names."""
    folder = tmp_path_factory.mktemp("many")
    with open(folder / "rank0.json", "w") as file:
        file.write('{"traceEvents":[\n')
        file.write(",\n".join(f'{{"ph":"X","cat":"cpu_op","name":"aten::op{i % 500}","pid":1,"tid":1,"ts":{i * 5},"dur":3}}'
                              for i in range(1_000_000)))
        file.write("]}")
    for rank in range(1, 16):
        os.link(folder / "rank0.json", folder / f"rank{rank}.json")
    return folder


# Long enough to be in the middle of the work; nothing below is over by then.
HEAD_START_S = 0.4


@pytest.mark.parametrize("question", [
    "load", "another configuration", "gains", "samples of the jitter", "link", "search"])
def test_ctrl_c_ends_the_work_too(question, many_events, demo, tmp_path):
    # Gains of a million tasks are hundreds of simulations of all of them.
    job = lumos.load(many_events / "rank0.json" if question == "gains" else demo)
    file = tmp_path / "job.json"
    file.write_text(json.dumps({**JOB, "world_size": 16}))
    asked = {
        "load": lambda: lumos.load(many_events),
        "another configuration": lambda: lumos.run("predict", many_events, "--job", file, "--set", "num_layers=48"),
        "gains": job.gains,
        "samples of the jitter": lambda: job.predict(jitter=0.1, samples=100_000),
        "link": lambda: lumos.run("link", many_events),
        "search": lambda: lumos.search("gpt3-175b", "dgx-h100", gpus=4096, global_batch_size=65536, exhaustive=True,
                                       threads=1),
    }[question]
    before = threads_of_this_process()
    begin = time.perf_counter()
    threading.Timer(HEAD_START_S, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        asked()
    took = time.perf_counter() - begin - HEAD_START_S
    assert took < 1, f"{took:.2f} s until the call came back"
    while threads_of_this_process() > before:
        assert time.perf_counter() - begin - HEAD_START_S < 2, "somebody still works on it"
        time.sleep(0.01)


def test_calls_do_not_hold_the_interpreter(demo):
    ticks = []
    done = threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.perf_counter()
    lumos.load(demo).gains()
    took = time.perf_counter() - begin
    done.set()
    thread.join()
    assert len(ticks) > took / 0.1


@pytest.mark.parametrize("workers", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_sweeps_take_any_executor(workers, demo):
    job = lumos.load(demo)
    cases = [{"scale": {"host": factor}} for factor in (0.5, 1.0, 2.0)]
    with workers(2) as executor:
        found = lumos.sweep(job.predict, cases, executor=executor)
    assert found == [job.predict(**case) for case in cases]
    steps = [each.predicted.step_ms for each in found]
    assert steps == sorted(steps)


def test_results_can_be_sent_and_seen(demo):
    result = lumos.load(demo).replay().result
    again = pickle.loads(pickle.dumps(result))
    assert again == result and str(again) == str(result)
    assert "ProfilerStep#4" in result._repr_html_()
    assert result.ranks[0].rank == result["ranks"][0]["rank"]
    with pytest.raises(AttributeError, match="measured_ms"):
        result.nothing


def test_everything_shows_itself_in_a_notebook(demo):
    job = lumos.load(demo)
    timeline = job.replay()
    for each in (job, timeline, job.events(0), timeline.steps(), timeline.critical_path()):
        assert "<" in each._repr_html_()


def test_files_are_written_where_asked(demo, tmp_path):
    job = lumos.load(demo)
    timeline = job.replay()
    (trace,) = timeline.to_chrome_trace(tmp_path / "replayed.json.gz")
    # The last step has no successor that would tell its end.
    assert lumos.load(trace).replay().measured_ms == pytest.approx(timeline.replayed_ms, rel=1e-2)
    prediction = job.predict(scale={"host": 0.5})
    page = timeline.report(tmp_path / "report.html", against=prediction)
    assert "predicted" in open(page).read()
    assert lumos.report(demo, tmp_path / "again.html") == str(tmp_path / "again.html")
    job.save(tmp_path / "job.lumos")
    assert lumos.load(tmp_path / "job.lumos").replay().replayed_ms == timeline.replayed_ms


def test_jobs_may_be_mappings():
    assert lumos.estimate(JOB, "dgx-h100", num_layers=48).estimate.step_ms > lumos.estimate(
        JOB, "dgx-h100").estimate.step_ms


def test_the_stubs_come_with_the_package():
    folder = os.path.dirname(lumos.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    if "site-packages" in folder:
        assert "class Columns" in open(os.path.join(folder, "_lumos.pyi")).read()
