"""Tables reach pandas without a copy of numbers, and in time."""

import gc
import json
import time

import lumos
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

MILLION = 1_000_000
NUMBERS = ["ts_ns", "dur_ns", "correlation", "external_id"]


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A job whose rank has a million events."""
    path = tmp_path_factory.mktemp("million") / "rank0.json"
    with open(path, "w") as file:
        file.write('{"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[\n')
        file.write(",\n".join(f'{{"ph":"X","cat":"cpu_op","name":"aten::op{i % 500}","pid":1,"tid":1,"ts":{i * 5},"dur":3}}'
                              for i in range(MILLION)))
        file.write("]}")
    return lumos.load(path)


def test_a_million_events_reach_pandas_in_50_ms(million):
    def milliseconds():
        begin = time.perf_counter()
        frame = million.events(0).to_pandas()
        took = time.perf_counter() - begin
        assert len(frame) == MILLION
        return took * 1e3

    milliseconds()  # the first call imports pandas
    # Other processes may take the processor away: the best of a few is the work itself.
    times = [milliseconds() for _ in range(5)]
    print("ms:", [round(each, 1) for each in times])
    assert min(times) < 50


def test_numbers_are_not_copied(million):
    table = million.events(0)
    again = million.events(0)
    frame = table.to_pandas()
    for name in NUMBERS:
        assert frame[name].to_numpy().ctypes.data == table.address(name) == again.address(name)


def test_memory_lives_as_long_as_somebody_looks(demo):
    frame = lumos.load(demo).events(0).to_pandas()
    total = int(frame["dur_ns"].sum())
    arrow = lumos.load(demo).replay().tasks().to_arrow()
    gc.collect()
    assert int(frame["dur_ns"].sum()) == total
    assert arrow["replayed_end_ns"].to_pylist()[-1] > 0


def test_events_are_those_of_the_file(demo):
    with open(demo) as file:
        events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X" and e.get("cat") == "kernel"]
    frame = lumos.load(demo).events(0).to_pandas()
    kernels = frame[frame["kind"] == "kernel"]
    assert sorted(kernels["name"].astype(str)) == sorted(e["name"] for e in events)
    assert sorted(kernels["dur_ns"]) == sorted(round(e["dur"] * 1000) for e in events)


def test_tables_agree_with_results(demo):
    timeline = lumos.load(demo).replay()
    steps = timeline.steps().to_pandas()
    chosen = steps[steps["chosen"] == 1]
    assert chosen["replayed_ns"].mean() / 1e6 == pytest.approx(timeline.replayed_ms, abs=1e-5)
    tasks = timeline.tasks().to_pandas()
    assert (tasks["replayed_end_ns"] >= tasks["replayed_start_ns"]).all()
    assert (timeline.collectives().to_pandas()["bytes"] > 0).all()


def test_several_ranks_are_batches_of_one_table(data):
    job = lumos.load(data / "traces" / "dlrm-8rank-v100")
    frame = job.events().to_pandas()
    assert sorted(frame["rank"].unique()) == job.ranks
    assert len(job.events([0, 3])) == len(job.events(0)) + len(job.events(3))


def test_streams_that_nobody_reads_are_released(demo):
    table = lumos.load(demo).events(0)
    for _ in range(100):
        table.__arrow_c_stream__()
    pa.RecordBatchReader.from_stream(table).close()


def test_records_become_columns():
    table = lumos.Table.from_records([{"a": 1, "b": {"c": 2.5}, "d": "x"}, {"a": None, "b": {"c": 3}, "d": None}])
    assert table.column_names == ["a", "c", "d"]
    assert table.to_arrow().to_pylist() == [{"a": 1, "c": 2.5, "d": "x"}, {"a": None, "c": 3.0, "d": None}]
