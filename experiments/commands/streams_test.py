"""Standard streams that are closed, full, or read by nobody: no answer is lost in silence, and none lands in a file."""
import json
import os
import signal
import subprocess

import pytest
from conftest import ERROR, FAIL, PASS, PROGRAM, octlm, one_line

FULL = "standard output: cannot be written: No space left on device"
CLOSED = "standard output: cannot be written: Bad file descriptor"
ANSWERS = [("list",), ("list", "--kinds"), ("list", "--metrics"), ("show", "EXP-102"), ("check", "EXP-102"), ("audit",), ("--help",),
           ("run", "--help"), ("register", "EXP-102", "--prior-results", "none"), ("detokenize",), ("tokenize",), ("doctor", "--json")]


@pytest.fixture
def words(tmp_path):
    """A checkpoint folder with a tokenizer of whole bytes and nothing else."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def command(arguments, folder):
    model = ("--model", str(folder)) if arguments[0] in ("tokenize", "detokenize") else ()
    return [PROGRAM, *arguments, *model], {"tokenize": '{"text": "a"}\n', "detokenize": '{"ids": [1]}\n'}.get(arguments[0], "")


# facebook/zstd#42, uutils/coreutils#9782: what does not fit is lost, and the exit code is 0.
@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_an_answer_to_a_full_device_is_an_error_in_one_line(arguments, words):
    words_of_command, stdin = command(arguments, words)
    with open("/dev/full", "w") as full:
        result = subprocess.run(words_of_command, input=stdin, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == ERROR
    assert result.stderr.splitlines()[-1] == f"octlm: {FULL}"
    assert len(result.stderr.splitlines()) == 1


# rust-lang/rust#57728: the next file that is opened becomes stdout. As coreutils, octlm says that the answer is lost.
@pytest.mark.parametrize("arguments", ANSWERS[:6], ids=" ".join)
def test_an_answer_to_a_closed_stdout_is_an_error_in_one_line(arguments, words):
    result = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command(arguments, words)[0]], capture_output=True, text=True, timeout=60)
    assert result.returncode == ERROR
    assert result.stderr == f"octlm: {CLOSED}\n"


# rsyslog/rsyslog#1526: what is printed lands in the first file that was opened.
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_with_closed_streams_is_as_one_whose_output_is_dropped(closed, write_spec, tmp_path):
    def run(redirection, out):
        arguments = [PROGRAM, "run", str(write_spec()), "--out", str(tmp_path / out)]
        return subprocess.run(["sh", "-c", f'"$@" {redirection}', "sh", *arguments], capture_output=True, timeout=60).returncode

    assert run(closed, "closed") == run("</dev/null >/dev/null 2>/dev/null", "dropped")
    kinds = [[json.loads(line)["type"] for line in (tmp_path / out / "results.jsonl").read_text().splitlines()]
             for out in ("closed", "dropped")]
    assert kinds[0] == kinds[1] and kinds[0][-1] == "summary"


def test_a_verdict_stays_what_it_is_when_its_table_is_lost(tiny, claim, tmp_path):
    criteria = [{"metric": "max_abs_error@1", "at_most": 1e-12, "derivation": "below rounding, to fail"}]
    arguments = [PROGRAM, "run", claim(criteria=criteria), "--model", f"tiny={tiny}", "--out", tmp_path / "out"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert result.returncode == FAIL and FULL in result.stderr
    assert (tmp_path / "out" / "report.html").exists()


def test_a_closed_stdin_is_empty_and_one_that_cannot_be_read_is_an_error(words):
    closed = subprocess.run(["sh", "-c", '"$@" <&-', "sh", PROGRAM, "tokenize", "--model", str(words)], capture_output=True, text=True)
    assert (closed.returncode, closed.stdout) == (PASS, "")
    folder = os.open(words, os.O_RDONLY)
    broken = subprocess.run([PROGRAM, "tokenize", "--model", str(words)], stdin=folder, capture_output=True, text=True)
    os.close(folder)
    assert "standard input: cannot be read" in one_line(broken, ERROR)


# A reader that has gone: quietly, at once, as any filter, also where the parent ignores SIGPIPE (Python's does).
@pytest.mark.parametrize("restore", [True, False])
@pytest.mark.parametrize("arguments", [("tokenize",), ("list",)], ids=" ".join)
def test_a_closed_pipe_ends_it_quietly(arguments, restore, words):
    words_of_command, line = command(arguments, words)
    with subprocess.Popen(words_of_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          restore_signals=restore) as program:
        program.stdout.close()
        try:
            program.stdin.write(line.encode() * 10)
            program.stdin.flush()
        except BrokenPipeError:
            pass
        assert program.wait(timeout=30) == -signal.SIGPIPE  # its stdin is still open
        assert program.stderr.read() == b""
        try:
            program.stdin.close()
        except BrokenPipeError:
            pass


def test_a_run_whose_stderr_nobody_reads_ends_and_leaves_a_readable_record(write_spec, tmp_path):
    arguments = [PROGRAM, "run", write_spec(), "--out", tmp_path / "out"]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as program:
        program.stderr.close()
        assert program.wait(timeout=60) == -signal.SIGPIPE
    for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines():
        json.loads(line)
    assert octlm("report", tmp_path / "out").returncode == PASS


def test_an_unwritten_answer_takes_its_files_along(words, tiny, tmp_path):
    out = tmp_path / "logits"
    out.mkdir()
    with open("/dev/full", "w") as full:
        result = subprocess.run([PROGRAM, "logits", "--model", tiny, "--out", out / "x.safetensors"], stdout=full, text=True,
                                input='{"ids": [1, 2]}\n', stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == ERROR and result.stderr == f"octlm: {FULL}\n"
    assert list(out.iterdir()) == []
