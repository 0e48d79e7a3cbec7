"""The interpreter inside a C++ program: where it starts, what it sees, how the program leaves.

Runs testing/interpreter_probe.cpp; the build names the programs in OCTLM_PROBE, OCTLM_PLUGIN_HOST and
OCTLM_PLUGIN, and this file runs in the environment that they embed.
"""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

PROBE = os.environ["OCTLM_PROBE"]
PLUGIN_HOST = os.environ["OCTLM_PLUGIN_HOST"]
PLUGIN = os.environ["OCTLM_PLUGIN"]
PYTHON = sys.executable
EXIT_LIMIT_S = 5  # from the end of the work to the end of the process


def probe(*arguments, program=(PROBE,), python=PYTHON, cwd=None, timeout_s=60, **variables):
    return subprocess.run([*program, str(python), *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          timeout=timeout_s, env={**os.environ, **variables}, check=False)


def info(**options):
    done = probe("info", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_runs_in_the_environment_whatever_surrounds_it(tmp_path):
    """Another directory, another active environment, hostile PYTHON* variables (pybind/pybind11#4471)."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    seen = info(cwd=tmp_path, PYTHONPATH=str(tmp_path), PYTHONHOME="/nonexistent", PYTHONSTARTUP=str(tmp_path / "json.py"),
                VIRTUAL_ENV="/nonexistent", PYTHONNOUSERSITE="", LC_ALL="C")
    assert seen["prefix"] == sys.prefix
    assert seen["executable"] == PYTHON
    assert seen["numpy"].startswith(sys.prefix)
    assert not seen["json"].startswith(str(tmp_path))
    assert str(tmp_path) not in seen["path"] and "" not in seen["path"]
    assert seen["cwd"] == str(tmp_path)
    assert seen["encoding"] == "utf-8"


def test_no_environment_need_be_active():
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not p.startswith(sys.prefix))
    assert info(PATH=path or "/usr/bin", VIRTUAL_ENV="")["prefix"] == sys.prefix


def test_a_relative_path_to_the_interpreter_will_do():
    prefix = pathlib.Path(sys.prefix)
    assert info(python="bin/python", cwd=prefix)["prefix"] == sys.prefix


def test_python_installs_no_signal_handler():
    assert info()["sigint"] == "default"
    with subprocess.Popen([PROBE, PYTHON, "wait"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=EXIT_LIMIT_S) == -signal.SIGINT


def refused(python, *, code=4, **options):
    done = probe("info", python=python, **options)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    message = done.stderr.strip()
    assert "\n" not in message
    assert str(python) in message and "remedy: run ./octlm test" in message
    return message


def fake_python(folder, output, status=0):
    folder.mkdir()
    script = folder / "python"
    script.write_text(f"#!/bin/sh\ncat <<'X'\n{output}\nX\nexit {status}\n")
    script.chmod(0o755)
    return script


def test_another_version_is_said(tmp_path):
    answer = {"version": "3.99", "free_threaded": False, "prefix": "/else/where", "path": ["/else/where/lib"]}
    message = refused(fake_python(tmp_path / "a", json.dumps(answer)))
    own = "%d.%d" % sys.version_info[:2]
    assert "is Python 3.99" in message and f"linked with libpython {own}" in message
    assert "/else/where/lib" in message
    answer.update(version=own, free_threaded=True)
    assert "free-threaded" in refused(fake_python(tmp_path / "b", json.dumps(answer)))


def test_an_environment_that_cannot_be_entered_is_said(tmp_path):
    own = "%d.%d" % sys.version_info[:2]
    answer = {"version": own, "free_threaded": False, "prefix": "/else/where", "path": []}
    message = refused(fake_python(tmp_path / "a", json.dumps(answer)))
    assert '"/else/where", but inside this process it is' in message and "search path [" in message


def test_what_is_no_python_is_said(tmp_path):
    assert "cannot be run (No such file" in refused(tmp_path / "absent")
    assert "does not answer as a Python" in refused(fake_python(tmp_path / "a", "hello"))
    assert "does not answer as a Python" in refused(fake_python(tmp_path / "b", "{}"))
    assert "does not run as a Python" in refused(fake_python(tmp_path / "c", "", status=3))


def test_a_second_environment_is_refused():
    done = probe("other", 4, "/usr/bin/another-python")
    assert done.returncode == 4
    assert f"already runs {PYTHON} and cannot run /usr/bin/another-python" in done.stderr


@pytest.mark.parametrize("attempt", range(10))
@pytest.mark.parametrize("action", ["exit", "throw"])
def test_the_program_leaves_at_once_with_its_code_and_everything_printed(action, attempt):
    """pytorch/pytorch#23540, pybind/pybind11#1472: hangs and crashes at exit. 20 runs."""
    started = time.monotonic()
    done = probe(action, attempt + 1, timeout_s=EXIT_LIMIT_S)
    assert time.monotonic() - started < EXIT_LIMIT_S
    assert done.returncode == attempt + 1
    assert sorted(done.stdout.split("|")) == ["", "from C", "from C++", "from Python"]
    if action == "throw":
        assert done.stderr.startswith("[running the probe] ValueError: thrown in Python\n")
        assert "in inner" in done.stderr
    else:
        assert done.stderr == ""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = pathlib.Path(__file__).parents[1] / "testing" / "tiny_checkpoint.py"
    spec = importlib.util.spec_from_file_location("tiny_checkpoint", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write(tmp_path_factory.mktemp("checkpoint"), "llama")


@pytest.mark.parametrize("attempt", range(2))
def test_it_leaves_while_a_model_and_its_tensors_live(attempt, checkpoint):
    """The limit is for leaving, so it starts with the message that the handler prints."""
    code = 40 + attempt
    with subprocess.Popen([PROBE, PYTHON, "tensors", str(code), str(checkpoint)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == "thrown from a sink\n"
        assert process.wait(timeout=EXIT_LIMIT_S) == code


def test_it_works_inside_a_plug_in_that_was_opened_locally(checkpoint):
    """numpy/numpy#13717: undefined Python symbols when libpython is not in the global scope."""
    assert info(program=(PLUGIN_HOST, PLUGIN))["numpy"].startswith(sys.prefix)
    done = probe("tensors", 7, checkpoint, program=(PLUGIN_HOST, PLUGIN))
    assert (done.returncode, done.stderr) == (7, "thrown from a sink\n")
