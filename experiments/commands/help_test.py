"""The texts in setup/help, which ./octlm prints without a build, are those of the program."""
import os
import pathlib
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "setup" / "help"
LAUNCHERS_OWN = {"octlm", "test", "bench", "fetch"}


def help_of(*command):
    return subprocess.run([os.environ["OCTLM_PROGRAM"], *command, "--help"], capture_output=True, text=True, check=True).stdout


def commands_of_the_program():
    listed = help_of().partition("Subcommands:")[2]
    return [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and not line.startswith("   ")]


def test_each_command_has_one():
    assert sorted(commands_of_the_program()) == sorted({path.stem for path in FOLDER.glob("*.txt")} - LAUNCHERS_OWN)


@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("*.txt")} - LAUNCHERS_OWN))
def test_it_is_the_programs(name):
    assert (FOLDER / f"{name}.txt").read_text() == help_of(name), f"write it again: octlm {name} --help >setup/help/{name}.txt"
