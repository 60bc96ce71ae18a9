"""The package can be told whatever a command can: a new option without a parameter fails here."""

import inspect

import lumos
import pytest
from lumos import _lumos

# What answers the command, and what else takes options of it: Job methods read what load() was told.
LOADED = [lumos.load]
ANSWERS = {
    "calibrate": [lumos.calibrate],
    "convert": [*LOADED, lumos.Job.convert],
    "critical-path": [*LOADED, lumos.Job.critical_path, lumos.Timeline.critical_path],
    "diff": [lumos.diff],
    "estimate": [lumos.estimate],
    "export": [*LOADED, lumos.Job.export],
    "gains": [*LOADED, lumos.Job.gains],
    "inspect": [*LOADED, lumos.Job.inspect],
    "link": [*LOADED, lumos.Job.link, lumos.Job.save],
    "predict": [*LOADED, lumos.Job.predict],
    "replay": [*LOADED, lumos.Job.replay, lumos.Timeline.to_chrome_trace],
    "report": [*LOADED, lumos.Timeline.report],
    "search": [lumos.search],
    "stragglers": [*LOADED, lumos.Job.stragglers],
    "synth": [lumos.synth],
    "validate": [*LOADED, lumos.Job.validate],
}
# They are about the program itself or join what its parts have written: lumos.run() does them.
OF_THE_PROGRAM = {"merge", "demo", "completion", "schemas", "reference"}
# What an option is called here where that is not its name with other dashes.
RENAMED = {
    ("diff", "PATH"): "a",
    ("estimate", "--out"): None,  # the result is here
    ("link", "--out"): "path",
    ("replay", "--no-inter-stream"): "inter_stream",
    ("replay", "--out"): "path",
    ("report", "--no-gains"): "gains",
    ("report", "--out"): "path",
    ("search", "PATH"): "traces",
    (None, "PATH"): "paths",
    (None, "--json"): None,  # every result is one
    (None, "--set"): "settings",
    (None, "--shard"): None,  # parts are processes of the program: docs/cluster.md
}
COMMANDS = dict(_lumos.command_options())


def name_of(command, option):
    """The parameter of an option; None where there is none on purpose."""
    for key in ((command, option), (None, option)):
        if key in RENAMED:
            return RENAMED[key]
    return option.strip("-").replace("-", "_").lower()


def parameters(command):
    found = {name for answer in ANSWERS[command] for name in inspect.signature(answer).parameters}
    return found - {"self"}


def test_every_command_is_answered_or_left_to_the_program():
    assert set(ANSWERS) | OF_THE_PROGRAM == set(COMMANDS)


@pytest.mark.parametrize("command", ANSWERS)
def test_every_option_has_a_parameter(command):
    wanted = {name_of(command, option) for option in COMMANDS[command]} - {None}
    assert wanted <= parameters(command), f"{command}: {sorted(wanted - parameters(command))} cannot be told"


@pytest.mark.parametrize("command", ANSWERS)
def test_every_parameter_is_an_option(command):
    known = {name_of(command, option) for option in COMMANDS[command]}
    # The files that graphs, traces and pages go to; what replay, not the command, is told when a job is loaded; the
    # second of two paths.
    known |= {"path", "inter_stream"} | ({"b"} if command == "diff" else set())
    assert parameters(command) <= known, f"{command}: {sorted(parameters(command) - known)}"


def test_renamed_options_exist():
    for command, option in RENAMED:
        assert any(option in COMMANDS[each] for each in ([command] if command else COMMANDS)), (command, option)
