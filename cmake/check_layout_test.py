"""The check of the layout goes red on each kind of fault, and leaves alone what is laid out by hand."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_layout import GENERATED, faults  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
FULL = "a sentence that fills its line until the formatter has to break it, and so it is no longer"

BAD = {
    "101 columns": ("// " + "x" * 98, "101 columns, at most 100"),
    "ruler": ("// --- the plan", "ruler"),
    "ruler, its dashes below": ("// the plan\n// ------------------------", "ruler"),
    "ruler, its dashes behind": ("// the plan -----------------", "ruler"),
    "ruler of four": ("// ---- Known faults of the field.", "ruler"),
    "value below its member": (
        "  std::int64_t head_dim =\n      0;  // explicit, or hidden_size / num_attention_heads",
        "splits its statement"),
    "second declarator below": (
        "  View q_proj, k_proj,\n      v_proj;  // [heads * head_dim, hidden]", "splits its statement"),
    "argument below": (
        "  compile(code->code,\n          JIT_COMPLETE);  // without it, matching is slower",
        "splits its statement"),
    "body opened up": ("  int peak() const {\n    return peak_;\n  }  // at the highest", "splits its statement"),
    "statement goes on below": ("  const int many = a  // q^T\n      + b;", "splits its statement"),
    "a word alone": (f"// {FULL} for\n// `run\n// --reference DIR` where it is not.", "a word or two alone"),
    "two words alone": (
        "//   - A criterion holds when it holds in every comparison that took place and that its `when`\n"
        "//   matches. A\n//     comparison that lacks the metric", "a word or two alone"),
    "row that falls back": (
        "//   ranked   when a merge's parts are always made by merges of lower rank, as in every trained\n"
        "//   vocabulary,\n//            ranks are worked off in ascending order",
        "row begins"),
    "two rows in one line": (
        "//   x      [..., hidden]  activation dtype\n"
        "//   k_norm weight [hidden]       float32, float16 or bfloat16 out    as x           may be x",
        "two rows"),
}

GOOD = [
    "// " + "x" * 97,
    f"// {FULL} here\n// in time",  # the last words of a paragraph
    f"// {FULL} here:\n// both\n//   a row",
    "// at position: the\n// end of\n// a short line that was broken on purpose",
    "//   table [vocab, hidden]  float32\n//   ids   [rows]           each in [0, vocab)",
    "//   inv_freq[i] = 1 / theta^(2i / head_dim)   float32 exponent, float32-rounded power, then its\n"
    "//                                             float32 reciprocal\n//   phase[p, i]   one product",
    "enum Exit {\n  kFailed = 1,  // a criterion failed\n  kBroken = 4,  // something broke\n};",
    "  // Explicit, or hidden_size / num_attention_heads.\n  std::int64_t head_dim = 0;",
    "}  // namespace octlm::model",
    "  if (large)\n    madvise(data, bytes, kHuge);  // a hint",
    '  run(R"(\n  x =\n    0;  // text of another language\n)");',
    '  const char* url = "https://example.org";\n  f(url);',
    "  int a = some_function_with_a_name(first_argument_of_it, second_argument_of_it) +\n"
    "          another_function_with_a_name(first_argument_of_it);  // together 100 columns no more",
]


def checkout(folder, text, lists="add_library(part a.cpp)", formatter="ReflowComments: false"):
    (folder / "model").mkdir(exist_ok=True)
    (folder / "model" / "a.cpp").write_text(text + "\n")
    (folder / "model" / "CMakeLists.txt").write_text(lists + "\n")
    (folder / ".clang-format").write_text(formatter + "\n")
    return faults(folder)[0]


@pytest.mark.parametrize("name", BAD)
def test_a_fault_is_named_with_its_place(tmp_path, name):
    text, what = BAD[name]
    found = checkout(tmp_path, text)
    assert found and all(fault.startswith("model/a.cpp:") and what in fault for fault in found), found


@pytest.mark.parametrize("text", GOOD)
def test_what_is_laid_out_by_hand_is_left_alone(tmp_path, text):
    assert checkout(tmp_path, text) == []


def test_a_source_in_no_list_is_forgotten(tmp_path):
    assert checkout(tmp_path, "", lists="add_library(part ab.cpp) # a.cpp") == ["model/a.cpp: in no CMakeLists.txt"]


def test_a_source_may_be_listed_above_or_in_a_loop(tmp_path):
    (tmp_path / "model" / "ops").mkdir(parents=True)
    (tmp_path / "model" / "ops" / "add_test.cpp").write_text("")
    (tmp_path / "model" / "CMakeLists.txt").write_text("foreach(op IN ITEMS ops/add)\n  test(${op}_test.cpp)\n")
    (tmp_path / ".clang-format").write_text("ReflowComments: false\n")
    assert faults(tmp_path) == ([], 1)


def test_the_formatter_must_not_reflow_comments(tmp_path):
    assert checkout(tmp_path, "", formatter="ReflowComments: true") == [
        ".clang-format: ReflowComments: false is missing"]


def test_rulers_of_scripts_are_found(tmp_path):
    (tmp_path / "setup").mkdir()
    (tmp_path / "setup" / "steps.sh").write_text("# --- Build ---------\n")
    assert "setup/steps.sh:1" in checkout(tmp_path, "")[0]


def test_only_the_generated_tables_may_be_wide(tmp_path):
    for name in GENERATED:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x" * 200 + "\n")
        assert "Do not edit" in (ROOT / name).read_text(encoding="utf-8").split("\n")[0]
    assert checkout(tmp_path, "") == []
