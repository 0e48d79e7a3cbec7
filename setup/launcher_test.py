"""./octlm and its steps, on a small checkout whose program is a script and whose packages are there."""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAUNCHER_OVERHEAD_S = 0.3

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(stand_in NONE)
enable_testing()
add_test(NAME passes COMMAND ${CMAKE_COMMAND} -E true)
add_custom_target(octlm COMMAND sh ${CMAKE_SOURCE_DIR}/model/build.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
add_custom_target(octlm_all_tests)
add_custom_target(octlm_bench)
"""
PRESETS = """{"version": 6,
 "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}],
 "buildPresets": [{"name": "release", "configurePreset": "release"}]}"""
BUILD = 'echo built >>"$1/builds"; test ! -e "$1/broken" && cp "$1/model/program" "$2/octlm"\n'
PROGRAM = """#!/bin/sh
if [ "$1" = missing-checkpoints ]; then cat "$OCTLM_ROOT/missing" 2>/dev/null; exit; fi
printf '%s\\n' "$@"
echo "pwd=$PWD offline=$HF_HUB_OFFLINE root=$OCTLM_ROOT python=$OCTLM_VENV_PYTHON"
echo diagnostics >&2
exit ${PROGRAM_EXIT:-0}
"""


class Checkout:
    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "setup", folder / "setup", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "reference").mkdir()
        shutil.copy(ROOT / "reference/requirements.txt", folder / "reference")
        shutil.copy(ROOT / "octlm", folder)
        (folder / "CMakeLists.txt").write_text(CMAKE)
        (folder / "CMakePresets.json").write_text(PRESETS)
        (folder / "model").mkdir()
        (folder / "model/build.sh").write_text(BUILD)
        self.write_script("model/program", PROGRAM)
        self.stamp_packages()
        self.stamp_environment()

    def write_script(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def stamp_packages(self):
        (self.folder / "build/setup").mkdir(parents=True)
        shutil.copy(self.folder / "setup/debian-packages.txt", self.folder / "build/setup/debian-packages")

    def stamp_environment(self):
        """A .venv whose python is that of the tests, complete at every level."""
        self.write_script(".venv/bin/python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        self.steps('touch "$venv/octlm-begun"; venv_identity >"$venv/octlm-venv"; '
                   "for level in build checkpoints reference; do stamp_level $level; done")

    def environment(self, **changes):
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "OCTLM_"))}
        return outer | {"XDG_CACHE_HOME": str(self.folder / "cache")} | changes

    def run(self, *arguments, cwd=None, **changes):
        return subprocess.run([self.folder / "octlm", *arguments], cwd=cwd, env=self.environment(**changes), text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)

    def steps(self, script, **changes):
        """Runs `script` in bash with the steps sourced."""
        return subprocess.run(["/bin/bash", "-euc", f'source "$OCTLM_ROOT/setup/steps.sh"; {script}'], text=True,
                              env=self.environment(OCTLM_ROOT=str(self.folder), **changes), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)

    def builds(self):
        log = self.folder / "builds"
        return log.read_text().count("built") if log.exists() else 0


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_shellcheck_finds_nothing():
    scripts = [ROOT / "octlm", ROOT / ".ci/run", *sorted((ROOT / "setup").glob("*.sh"))]
    done = subprocess.run(["shellcheck", "-x", *scripts], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def bare(checkout):
    """A clone in which nothing was installed or built, and where nothing can be."""
    shutil.rmtree(checkout.folder / "build")
    shutil.rmtree(checkout.folder / ".venv")
    (checkout.folder / "broken").touch()
    yield checkout
    assert not (checkout.folder / "build").exists() and not (checkout.folder / ".venv").exists()


@pytest.mark.parametrize("arguments, says", [
    ([], "run [EXPERIMENT]"), (["help"], "test [CTEST"), (["--help"], "run [EXPERIMENT]"),
    (["run", "--help"], "Usage: octlm run"), (["help", "run"], "Usage: octlm run"), (["check", "-h"], "Usage: octlm check"),
    (["test", "--help"], "CTEST-ARGUMENTS"), (["fetch", "--help"], "--revision"), (["bench", "--help"], "--benchmark_filter"),
])
def test_help_is_on_stdout_at_once(bare, arguments, says):
    done = bare.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert says in done.stdout


def test_every_command_of_the_program_has_its_help(bare):
    listed = bare.run("help").stdout
    for name in sorted(path.stem for path in (ROOT / "setup/help").glob("*.txt")):
        assert name == "octlm" or re.search(rf"(^|[ |]){name}( |$)", listed, re.MULTILINE), name


def test_the_version_needs_nothing(bare):
    (bare.folder / "CMakeLists.txt").write_text("project(octlm VERSION 1.2.3 LANGUAGES CXX\n")
    done = bare.run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "octlm 1.2.3\n", "")


# uutils/coreutils#9782, rust-lang/rust#57728: an answer that nobody gets, and exit code 0.
@pytest.mark.parametrize("arguments", [["help"], ["--version"], ["run", "--help"], ["completion", "bash"], ["doctor"], ["list"]])
@pytest.mark.parametrize("stdout, why", [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_an_answer_that_cannot_be_written_is_an_error_in_one_line(bare, arguments, stdout, why):
    (bare.folder / "CMakeLists.txt").write_text("project(octlm VERSION 1.2.3 LANGUAGES CXX\n")
    shutil.copytree(ROOT / "experiments/registered", bare.folder / "experiments/registered")
    done = subprocess.run(["sh", "-c", f'"$@" {stdout}', "sh", bare.folder / "octlm", *arguments], env=bare.environment(),
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    lines = [line for line in done.stderr.splitlines() if "nothing is built yet" not in line]
    assert lines == [f"[octlm] standard output: cannot be written: {why}"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_the_program_gets_no_file_of_ours_for_a_stream_that_is_closed(checkout, closed):
    checkout.write_script("model/program", """#!/bin/sh
streams="$(for stream in 0 1 2; do readlink /proc/$$/fd/$stream; done)"
echo "$streams" >"$OCTLM_ROOT/streams"
""")
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", checkout.folder / "octlm", "audit"], env=checkout.environment(),
                          capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    streams = (checkout.folder / "streams").read_text().splitlines()
    assert len(streams) == 3 and all(name == "/dev/null" or name.startswith("pipe:") for name in streams), streams


@pytest.mark.parametrize("word, hint", [
    ("rnu", ", did you mean 'run'?"), ("chek", ", did you mean 'check'?"), ("registered", ", did you mean 'register'?"),
    ("xyzzy", ""), ("../run", ""), ("octlm", ""), ("localise", ""), ("", None),
])
def test_an_unknown_command_is_refused_before_anything_is_installed(bare, word, hint):
    done = bare.run(word)
    if hint is None:
        assert done.returncode == 0  # no command: help
        return
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"[octlm] there is no command '{word}'{hint}; ./octlm help lists them\n"


def test_the_list_without_a_build_is_that_of_the_files(bare):
    shutil.copytree(ROOT / "experiments/registered", bare.folder / "experiments/registered")
    done = bare.run("list")
    assert done.returncode == 0
    rows = [line.split()[:2] for line in done.stdout.splitlines()]
    specs = [json.loads(path.read_text()) for path in sorted((ROOT / "experiments/registered").glob("*.json"))]
    assert rows == [[spec["id"], spec["kind"]] for spec in specs]
    for spec, line in zip(specs, done.stdout.splitlines()):
        assert spec["title"] in line and ", ".join(spec["tags"]) in line
    assert "not" in done.stderr and "ledger" in done.stderr


def test_doctor_tells_what_is_there_when_nothing_can_be_built(bare):
    done = bare.run("doctor")
    assert done.returncode == 4
    assert "!! environment    no Python environment in .venv" in done.stdout
    assert "!! build          nothing is built" in done.stdout
    as_json = json.loads(bare.run("doctor", "--json").stdout)
    assert [finding["state"] for finding in as_json["findings"] if finding["name"] != "packages"] == ["wrong", "wrong"]
    assert as_json["wrong"] >= 2


def test_doctor_after_a_failed_build_says_so_and_goes_on(checkout):
    (checkout.folder / "broken").touch()
    assert checkout.run("check").returncode == 4
    done = checkout.run("doctor")
    assert done.returncode == 4 and "!! build          the last build failed" in done.stdout
    assert checkout.builds() == 1


def test_doctor_hands_over_to_the_program_with_its_findings(checkout):
    assert checkout.run("check").returncode == 0
    (checkout.folder / "model/new.cpp").write_text("")  # newer than the build, and not built for it
    checkout.write_script("build/release/octlm", '#!/bin/sh\necho "$@"; printf "%s\\n" "$OCTLM_SETUP_FINDINGS"\n')
    done = checkout.run("doctor", "--json")
    assert done.returncode == 0 and checkout.builds() == 1
    assert done.stdout.splitlines()[0] == "doctor --json"
    assert "--\tbuild\tthe sources have changed since the last build; the next command builds" in done.stdout


def complete(shell_words, folder):
    """What bash would offer for the last of the words."""
    words = " ".join(f"'{word}'" for word in shell_words)
    script = (f"source {folder}/setup/completion/octlm.bash; COMP_WORDS=({words}); COMP_CWORD={len(shell_words) - 1}; "
              '_octlm; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["/bin/bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_completion_knows_commands_options_and_experiments(bare):
    shutil.copytree(ROOT / "experiments/registered", bare.folder / "experiments/registered")
    assert bare.run("completion", "bash").stdout == (ROOT / "setup/completion/octlm.bash").read_text()
    assert bare.run("completion", "zsh").stdout.startswith("# Completion of ./octlm for zsh")
    assert bare.run("completion", "fish").returncode == 2
    assert complete(["./octlm", "r"], bare.folder) == ["record", "reduce", "register", "render", "report", "run"]
    assert "--resume" in complete(["./octlm", "run", "--re"], bare.folder)
    assert complete(["./octlm", "run", "EXP-102"], bare.folder) == ["EXP-102"]
    assert complete(["./octlm", "run", "--device", "c"], bare.folder) == ["cpu", "cuda"]


def options_of(command):
    lines = (ROOT / f"setup/help/{command}.txt").read_text().splitlines()
    return {word.split("=")[0] for line in lines if line.startswith("  -") for word in line.split()[0].split(",")}


@pytest.mark.parametrize("command", sorted(path.stem for path in (ROOT / "setup/help").glob("*.txt") if path.stem != "octlm"))
def test_completion_knows_each_command_and_each_of_its_options(bare, command):
    assert command in complete(["./octlm", command], bare.folder)
    assert options_of(command) - {"-h"} <= set(complete(["./octlm", command, "-"], bare.folder))


def test_completion_knows_what_options_and_arguments_can_be(bare):
    shutil.copytree(ROOT / "experiments/registered", bare.folder / "experiments/registered")
    shutil.copytree(ROOT / "experiments/kinds", bare.folder / "experiments/kinds")
    for run in ("20260101T000000Z-1", "published/first"):
        (bare.folder / "reports" / run).mkdir(parents=True)
        (bare.folder / "reports" / run / "results.jsonl").write_text("")

    def offers(*words):
        return complete(["./octlm", *words], bare.folder)

    ids = [f"EXP-10{i}" for i in range(1, 10)]
    for command in ("run", "show", "check", "register", "amend", "withdraw", "record"):
        assert offers(command, "EXP-10") == ids
    assert offers("run", "tag") == ["tag:cache", "tag:load", "tag:noise", "tag:parity", "tag:text"]
    assert offers("run", "tag", ":", "pa") == ["parity"]  # as bash divides the words at a colon
    assert offers("run", "tag", ":") == ["cache", "load", "noise", "parity", "text"]
    assert offers("new", "t") == ["tokenizer_parity", "template_parity"] or offers("new", "t") == ["template_parity", "tokenizer_parity"]
    assert set(offers("new", "")) == {"cached_parity", "checkpoint_load", "logit_parity", "noise_floor", "template_parity", "tokenizer_parity"}
    for command in ("report", "compare", "publish", "reduce"):
        assert offers(command, "reports/") == ["reports/20260101T000000Z-1", "reports/published/first"]
    assert offers("compare", "reports/20260101T000000Z-1", "reports/p") == ["reports/published/first"]
    assert offers("run", "--resume", "reports/2") == ["reports/20260101T000000Z-1"]
    assert offers("run", "--model", "smol") == ["smollm2-135m-instruct="]
    assert offers("tokenize", "--model", "smol") == ["smollm2-135m-instruct"]
    assert offers("run", "--device", "=", "c") == ["cpu", "cuda"]
    assert offers("run", "--require", "w") == ["weights"]
    assert offers("run", "--last") == ["--last-failed"]
    assert offers("run", "-k") == ["-k"]
    assert offers("logits", "--path", "cached:h") == ["cached:half"]
    assert offers("help", "redu") == ["reduce"]


def test_zsh_takes_its_completion(bare):
    if shutil.which("zsh") is None:
        pytest.skip("not run: no zsh (Debian: zsh)")
    shutil.copytree(ROOT / "experiments/registered", bare.folder / "experiments/registered")
    script = """compdef() { :; }
                compadd() { [[ $1 == -S ]] && shift 2; [[ $1 == -a ]] && print -l -- ${(P)2}; }
                compset() { :; }
                _files() { :; }
                source setup/completion/octlm.zsh
                offers() { words=(./octlm "$@"); CURRENT=$#words; _octlm | sort | grep -- "^${@[-1]}" | tr '\n' ' '; echo; }
                offers redu; offers run --last; offers run tag:p; offers show EXP-102; offers run --device c"""
    done = subprocess.run(["zsh", "-fc", script], cwd=bare.folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["reduce"], ["--last-failed"], ["tag:parity"], ["EXP-102"], ["cpu", "cuda"]]


def test_a_dry_run_needs_no_reference_and_fetches_nothing(checkout):
    done = checkout.steps("level_of run EXP-101; level_of run EXP-101 --dry-run; level_of reduce reports/latest; "
                          "asks_for_dry_run EXP-101 || echo no; asks_for_dry_run --dry-run && echo yes")
    assert done.stdout.split() == ["reference", "build", "reference", "no", "yes"]


def test_the_program_gets_everything_and_owns_stdout(checkout, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    done = checkout.run("check", "a b", "", "*", cwd=elsewhere, PROGRAM_EXIT="3")
    assert done.returncode == 3
    assert done.stdout == (f"check\na b\n\n*\npwd={elsewhere} offline=1 root={checkout.folder} "
                           f"python={checkout.folder}/.venv/bin/python\n")
    assert done.stderr.endswith("diagnostics\n")


def test_it_works_through_a_symbolic_link(checkout, tmp_path):
    (tmp_path / "link").symlink_to(checkout.folder / "octlm")
    done = subprocess.run([tmp_path / "link", "audit"], env=checkout.environment(), capture_output=True, text=True, check=False)
    assert f"root={checkout.folder} " in done.stdout


def test_it_builds_only_what_changed(checkout):
    for _ in range(2):
        assert checkout.run("audit").returncode == 0
    assert checkout.builds() == 1
    (checkout.folder / "model/new.cpp").write_text("")
    assert checkout.run("audit").returncode == 0
    assert checkout.builds() == 2
    (checkout.folder / "model/new.cpp").unlink()
    assert checkout.run("audit").returncode == 0
    assert checkout.builds() == 3
    done = checkout.run("audit")
    assert (checkout.builds(), done.stderr) == (3, "diagnostics\n")


def test_a_failed_build_is_exit_4_and_is_tried_again(checkout):
    (checkout.folder / "broken").touch()
    done = checkout.run("audit")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines()[-1] == "[octlm] the build of octlm failed: see above"
    (checkout.folder / "broken").unlink()
    assert checkout.run("audit").returncode == 0


def test_a_moved_checkout_starts_afresh(checkout, tmp_path_factory):
    assert checkout.run("audit").returncode == 0
    moved = tmp_path_factory.mktemp("moved") / "checkout"
    shutil.move(checkout.folder, moved)
    checkout.folder = moved
    checkout.stamp_environment()
    done = checkout.run("audit")
    assert done.returncode == 0, done.stderr
    assert f"root={moved} " in done.stdout


def test_another_interpreter_is_configured_for(checkout):
    assert checkout.run("audit").returncode == 0
    (checkout.folder / "build/release/octlm-python").write_text("/another/python\n")
    done = checkout.run("audit")
    assert done.returncode == 0 and "[octlm] configuring build/release" in done.stderr


def test_an_interrupted_build_is_done_again(checkout):
    (checkout.folder / "model/build.sh").write_text('echo started >"$1/started"; sleep 2\n')
    process = subprocess.Popen([checkout.folder / "octlm", "audit"], env=checkout.environment(), stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 20
    while not (checkout.folder / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = (checkout.folder / "model/build.sh").stat().st_mtime
    (checkout.folder / "model/build.sh").write_text(BUILD)
    os.utime(checkout.folder / "model/build.sh", (before - 60, before - 60))  # only the missing stamp tells
    done = checkout.run("audit")
    assert done.returncode == 0 and checkout.builds() == 1


def test_two_at_once_build_once(checkout):
    (checkout.folder / "model/build.sh").write_text("sleep 1; " + BUILD)
    both = [subprocess.Popen([checkout.folder / "octlm", "audit"], env=checkout.environment(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all(out.startswith("audit\n") for out, _ in outputs)
    assert checkout.builds() == 1
    assert sum("another octlm is setting up" in err for _, err in outputs) == 1


def test_run_fetches_what_the_selection_lacks(checkout):
    (checkout.folder / "missing").write_text("qwen3-mini-synthetic\n")
    done = checkout.run("run", "EXP-103", "a b")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run\nEXP-103\na b\npwd=")
    assert (checkout.folder / "cache/octlm/checkpoints/qwen3-mini-synthetic/manifest.json").exists()


def test_run_fetches_nothing_when_nothing_is_lacking_and_stops_at_a_checkpoint_it_cannot_make(checkout):
    assert checkout.run("run").returncode == 0
    assert not (checkout.folder / "cache").exists()
    (checkout.folder / "missing").write_text("no-such-checkpoint\n")
    done = checkout.run("run")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines()[-1] == "[octlm] the checkpoint no-such-checkpoint could not be made"


def test_a_checkpoint_without_a_network_does_not_stop_the_run(checkout):
    (checkout.folder / "missing").write_text("Qwen/Qwen3-0.6B\n")
    done = checkout.run("run", HF_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 0 and "cannot be reached" in done.stderr and done.stdout.startswith("run\n")


def test_fetch_ends_stdout_with_the_folder(checkout):
    done = checkout.run("fetch", "qwen3-mini-synthetic")
    assert (done.returncode, done.stdout) == (0, f"{checkout.folder}/cache/octlm/checkpoints/qwen3-mini-synthetic\n")
    assert checkout.builds() == 0
    assert checkout.run("fetch", "no-such").returncode == 2


def test_bench_runs_every_benchmark_and_needs_one(checkout):
    done = checkout.run("bench")
    assert (done.returncode, done.stdout) == (4, "")
    for name in ("a_bench", "b_bench"):
        checkout.write_script(f"build/release/bench/{name}", f'#!/bin/sh\necho {name} "$@"\n')
    assert checkout.run("bench", "--benchmark_filter=x").stdout == "a_bench --benchmark_filter=x\nb_bench --benchmark_filter=x\n"
    checkout.write_script("build/release/bench/a_bench", "#!/bin/sh\nexit 7\n")
    assert checkout.run("bench").returncode == 7


@pytest.mark.parametrize("command, level", [
    ("run", "reference"),
    ("run EXP-101 --require weights", "reference"),
    ("run --reference transformers", "reference"),
    ("run --reference=transformers EXP-101", "reference"),
    ("run --reference recorded/", "build"),
    ("run EXP-101 --reference=recorded/", "build"),
    ("list --kinds", "build"),
    ("tokenize --model x", "build"),
    ("logits --model x", "build"),
    ("report reports/latest", "build"),
    ("compare a b", "build"),
])
def test_only_what_needs_the_reference_asks_for_it(checkout, command, level):
    assert checkout.steps(f"level_of {command}").stdout == level + "\n"


def test_the_overhead_is_small_when_all_is_there(checkout):
    def seconds(command):
        begin = time.perf_counter()
        subprocess.run(command, env=checkout.environment(), capture_output=True, check=True)
        return time.perf_counter() - begin

    checkout.run("run")
    overhead = min(seconds([checkout.folder / "octlm", "run"]) for _ in range(5))
    print(f"octlm run, all present: {overhead:.3f} s")
    assert overhead < LAUNCHER_OVERHEAD_S


def test_the_packages_sizes_are_those_that_apt_reckons(checkout):
    checkout.write_script("bin/apt-get", """#!/bin/sh
echo "Need to get 31.2 MB of archives."
echo "After this operation, 136 MB of additional disk space will be used."
exit 1
""")
    done = checkout.steps("packages_size one two", PATH=f"{checkout.folder}/bin:{os.environ['PATH']}")
    assert done.stdout == ": 31.2 MB to download, 136 MB on disk"


def test_missing_packages_are_the_listed_ones_that_are_not_installed(checkout, tmp_path):
    (tmp_path / "list").write_text("# a comment\nbash\nno-such-package-octlm  # and one here\n\ncoreutils\n")
    assert checkout.steps(f"missing_packages {tmp_path}/list").stdout == "no-such-package-octlm\n"


def test_a_removed_package_whose_settings_remain_is_missing(checkout, tmp_path):
    (tmp_path / "list").write_text("one\ntwo\n")
    checkout.write_script("bin/dpkg-query", "#!/bin/sh\necho config-files one; echo installed two\n")
    done = checkout.steps(f"missing_packages {tmp_path}/list", PATH=f"{checkout.folder}/bin:{os.environ['PATH']}")
    assert done.stdout == "one\n"


def stand_in_for_apt(checkout, exits):
    """An apt-get that writes down its calls and exits with one of `exits` after the other."""
    checkout.write_script("bin/env", '#!/bin/sh\nshift\nexec "$@"\n')
    return checkout.write_script("bin/apt-get", f"""#!/bin/bash
echo "$@" >>{checkout.folder}/apt-calls
exits=({" ".join(map(str, exits))})
exit "${{exits[$(($(wc -l <{checkout.folder}/apt-calls) - 1))]}}"
""")


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: needs root, without which sudo would be asked")
def test_packages_are_installed_without_a_question_and_once_more_with_fresh_lists(checkout):
    stand_in_for_apt(checkout, [0] * 9)
    path = f"{checkout.folder}/bin:{os.environ['PATH']}"
    done = checkout.steps('find() { echo list; }; packages_size() { :; }; install_packages "one package"', PATH=path)
    assert done.returncode == 0, done.stderr
    assert (checkout.folder / "apt-calls").read_text() == "install -y --no-install-recommends one package\n"
    (checkout.folder / "apt-calls").unlink()
    stand_in_for_apt(checkout, [100, 0, 0])
    assert checkout.steps("find() { echo list; }; packages_size() { :; }; install_packages one", PATH=path).returncode == 0
    assert [line.split()[0] for line in (checkout.folder / "apt-calls").read_text().splitlines()] == ["install", "update", "install"]
    (checkout.folder / "apt-calls").unlink()
    stand_in_for_apt(checkout, [100, 100])
    done = checkout.steps("find() { echo list; }; packages_size() { :; }; install_packages one", PATH=path)
    assert done.returncode == 4 and "octlm needs: apt-get install one" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("answer, exit_code, calls", [("\n", 0, 1), ("y\n", 0, 1), ("n\n", 4, 0)])
@pytest.mark.skipif(os.geteuid() != 0, reason="not run: needs root, without which sudo would be asked")
def test_on_a_terminal_the_command_is_shown_and_asked_once(checkout, answer, exit_code, calls):
    stand_in_for_apt(checkout, [0])
    master, terminal = pty.openpty()
    os.write(master, answer.encode())
    process = subprocess.Popen(
        ["/bin/bash", "-euc", 'source "$OCTLM_ROOT/setup/steps.sh"; find() { echo list; }; packages_size() { :; }; install_packages one'],
        env=checkout.environment(OCTLM_ROOT=str(checkout.folder), PATH=f"{checkout.folder}/bin:{os.environ['PATH']}"),
        stdin=terminal, stdout=terminal, stderr=terminal)
    assert process.wait(timeout=30) == exit_code
    shown = os.read(master, 10_000).decode()
    os.close(master)
    os.close(terminal)
    assert "apt-get install -y --no-install-recommends one" in shown and shown.count("[Y/n]") == 1
    log = checkout.folder / "apt-calls"
    assert (len(log.read_text().splitlines()) if log.exists() else 0) == calls


def test_without_root_and_sudo_one_line_says_what_to_install(checkout):
    prefix = ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    for folder in (checkout.folder, *checkout.folder.parents):
        if folder.stat().st_uid == os.geteuid() and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    done = subprocess.run([*prefix, "/bin/bash", "-euc", f"source {checkout.folder}/setup/steps.sh; install_packages one two"],
                          env={"PATH": "/nowhere", "OCTLM_ROOT": str(checkout.folder)}, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr == ("[octlm] Debian packages are missing, and neither root nor sudo is here to install them: "
                           "apt-get install one two\n")


def test_the_environments_size_is_that_of_what_is_missing(checkout):
    (checkout.folder / "reference/requirements.txt").write_text("torch==2.0 \\\n    --hash=x\nsix==1.16.0\nnumpy==1.0 ; x\n")
    (checkout.folder / "setup/sizes.tsv").write_text("numpy\t1.0\t2000000\nsix\t1.16.0\t3500000\ntorch\t2.0\t4900000000\nother\t1\t9\n")
    torch = "4.9 GB (4.9 GB of it PyTorch with its GPU libraries: the registry has no build without them)"
    assert checkout.steps("describe_missing reference").stdout == "3 packages are missing, " + torch
    packages = checkout.folder / ".venv/lib/python3.11/site-packages"
    (packages / "Torch-2.0.dist-info").mkdir(parents=True)
    (packages / "six-1.15.0.dist-info").mkdir()  # another version
    assert checkout.steps("describe_missing reference").stdout == "2 packages are missing, 6 MB"


def python_that_says(checkout, line, name="python3"):
    return checkout.write_script(f"{name}-folder/python3", f"#!/bin/sh\necho '{line}'\n").parent


@pytest.mark.parametrize("line, lacks", [
    ("3.9.18 is not one of 3.10 to 3.13", "(Python 3.9.18) is not one of 3.10 to 3.13"),
    ("3.12.1 has no headers (Python.h)", "(Python 3.12.1) has no headers (Python.h)"),
    ("3.12.1 has no shared libpython", "(Python 3.12.1) has no shared libpython"),
])
def test_an_unfit_python_is_named_and_debians_taken(checkout, line, lacks):
    folder = python_that_says(checkout, line)
    done = checkout.steps("choose_python", PATH=f"{folder}:/usr/bin:/bin")
    assert done.stdout == "/usr/bin/python3\n"
    assert done.stderr == f"[octlm] {folder}/python3 {lacks}: taking /usr/bin/python3 instead\n"


def test_a_fit_python_first_on_path_is_taken_without_a_word(checkout):
    folder = python_that_says(checkout, "3.13.1")
    done = checkout.steps("choose_python", PATH=f"{folder}:/usr/bin:/bin")
    assert (done.stdout, done.stderr) == (f"{folder}/python3\n", "")


def test_the_probe_finds_what_an_interpreter_lacks():
    def probe(before):
        done = subprocess.run([sys.executable, "-I", "-c", f"{before}\nexec(open({str(ROOT / 'setup/python_probe.py')!r}).read())"],
                              capture_output=True, text=True, check=True)
        return done.stdout.strip().partition(" ")[2]

    assert probe("") == ""
    assert probe("import sys; sys.version_info = (3, 9, 1)") == "is not one of 3.10 to 3.13"
    assert probe("import sys; sys.version_info = (3, 14, 0)") == "is not one of 3.10 to 3.13"
    assert probe("import sysconfig; sysconfig.get_path = lambda name: '/nowhere'") == "has no headers (Python.h)"
    assert probe("import sysconfig; sysconfig.get_config_var = lambda name: 'libpython3.11.a'") == "has no shared libpython"
    assert probe("import sys; sys.modules['ensurepip'] = None") == "has no module ensurepip"


def test_an_interrupted_environment_is_made_anew_and_a_foreign_one_left_alone(checkout):
    fake = checkout.write_script("fake/python3", """#!/bin/bash
[[ "$*" == *python_probe.py ]] && { echo 3.11.2; exit; }
mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python"
""")
    path = f"{fake.parent}:/usr/bin:/bin"
    (checkout.folder / ".venv/octlm-venv").unlink()  # as a kill while it was made leaves it
    (checkout.folder / ".venv/half").touch()
    done = checkout.steps("virtual_environment", PATH=path)
    assert done.returncode == 0, done.stderr
    assert f"making .venv with {fake}" in done.stderr
    assert not (checkout.folder / ".venv/half").exists() and not (checkout.folder / ".venv/octlm-build").exists()
    assert checkout.steps("virtual_environment", PATH=path).stderr == ""
    (checkout.folder / ".venv/octlm-begun").unlink()
    (checkout.folder / ".venv/octlm-venv").unlink()
    done = checkout.steps("virtual_environment", PATH=path)
    assert done.returncode == 4 and "was not made by octlm: move it away" in done.stderr
    assert (checkout.folder / ".venv/bin/python").exists()


def test_each_level_is_installed_when_its_lock_changes_and_stamped_last(checkout):
    calls = checkout.folder / "calls"
    checkout.write_script(".venv/bin/python", f'#!/bin/sh\necho pip >>{calls}; exit ${{INSTALL_EXIT:-0}}\n')
    checkout.write_script(".venv/bin/uv", f'#!/bin/sh\necho uv "$2" >>{calls}; exit ${{INSTALL_EXIT:-0}}\n')

    def installs(level, **changes):
        calls.write_text("")
        done = checkout.steps(f"python_environment {level}", **changes)
        return done.returncode, calls.read_text().split("\n")[:-1]

    assert installs("reference") == (0, [])
    for path in ("setup/requirements-build.txt", "reference/requirements.txt"):
        with open(checkout.folder / path, "a") as file:
            file.write("# changed\n")
    assert installs("checkpoints") == (0, [])
    assert installs("build", INSTALL_EXIT="1") == (4, ["pip"])
    assert installs("build") == (0, ["pip"])
    assert installs("build") == (0, [])
    assert installs("reference", INSTALL_EXIT="1") == (4, ["uv sync"])
    assert installs("reference") == (0, ["uv sync"])
    assert installs("reference") == (0, [])
    with open(checkout.folder / "setup/checkpoints/requirements.txt", "a") as file:
        file.write("# changed\n")
    assert installs("checkpoints") == (0, ["uv install"])
