"""Speed against Hugging Face tokenizers, one thread, the same texts, the two in turns; medians of ratios of processor
time, so that other programs disturb little.

    OCTLM_TOKENIZER_PROBE=build/release/model/tokenizer/octlm_tokenizer_probe \\
        python model/tokenizer/testing/huggingface_speed.py ../shared/models/qwen3-0.6b [rounds]

Nothing here decides anything; it prints a table. The texts: this Python's documentation strings and sources,
a seeded draw of Chinese words with punctuation, white space as in indented code, one word of a million letters.
"""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import ast  # noqa: E402
import pathlib  # noqa: E402
import random  # noqa: E402
import statistics  # noqa: E402
import struct  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from probe import Probe  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

CHINESE = ("我们 今天 研究 语言 模型 的 是 在 了 和 有 一个 问题 数据 训练 计算 方法 结果 可以 通过 使用 世界 中国 北京 上海 大学 学生 老师 "
           "历史 文化 经济 发展 社会 科学 技术 人工智能 机器学习 神经网络 算法 程序 软件 硬件 系统 网络 信息 时间 空间 生活 工作 学习 朋友 家庭 "
           "健康 天气 春天 夏天 秋天 冬天 早上 晚上 非常 特别 已经 还是 但是 因为 所以 如果 虽然 而且 或者 不仅 并且 首先 然后 最后 "
           "一 二 三 十 百 千 年 月 日 东西 南北 山水 花鸟 龙凤 麒麟 饕餮").split()


def python_sources():
    folder = pathlib.Path(os.__file__).parent
    return [p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py"))]


def prose(sources):
    texts = []
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                texts.append(" ".join(ast.get_docstring(node).split()))
    return "\n\n".join(texts)[:1_000_000]


def chinese(size):
    draw = random.Random(5)
    out = []
    while len(out) < size:
        out.extend(draw.choices(CHINESE, k=draw.randrange(4, 15)))
        out.append(draw.choice("，。，。！？"))
    return "".join(out)[:size]


def texts():
    sources = python_sources()
    draw = random.Random(6)
    return {
        "prose": prose(sources),
        "chinese": chinese(300_000),
        "code": "\n".join(sources)[:1_000_000],
        "whitespace": "".join(draw.choice([" ", "  ", "\n", "\t", "    ", "\n\n"]) for _ in range(400_000)),
        "word": "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
        "one letter": "x" * 1_000_000,
    }


def ratios(theirs, ours, rounds):
    """[(their seconds, our seconds)], in turns."""
    out = []
    for _ in range(rounds):
        first = theirs()
        mine = ours()
        again = theirs()
        out.append(((first + again) / 2, mine))
    return out


def seconds(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main(folder, rounds=5):
    file = str(pathlib.Path(folder) / "tokenizer.json")
    reference = Tokenizer.from_file(file)
    with Probe(folder) as probe:

        def timed(op, payload):
            return struct.unpack("<Q", probe.ask([(op, payload)])[0])[0] / 1e9

        def row(name, size, theirs, ours):
            pairs = ratios(theirs, ours, rounds)
            ratio = statistics.median(a / b for a, b in pairs)
            a, b = (statistics.median(x) for x in zip(*pairs))
            rate = f"{size / a / 1e6:8.2f} -> {size / b / 1e6:8.2f} MB/s" if size else f"{a:8.3f} -> {b:8.3f} s   "
            print(f"{name:20} {rate}   {ratio:6.2f}x", flush=True)

        for name, text in texts().items():
            payload = text.encode()
            row(f"encode {name}", len(payload),
                lambda: seconds(lambda: reference.encode_batch_fast([text], add_special_tokens=False)),
                lambda: timed("h", payload))
        for name in ("prose", "chinese"):
            ids = reference.encode(texts()[name]).ids
            payload = struct.pack(f"<{len(ids)}i", *ids)
            row(f"decode {name}", len(texts()[name].encode()),
                lambda: seconds(lambda: reference.decode(ids, skip_special_tokens=False)),
                lambda: timed("d", payload))
        row("load", 0, lambda: seconds(lambda: Tokenizer.from_file(file)), lambda: timed("o", b""))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
