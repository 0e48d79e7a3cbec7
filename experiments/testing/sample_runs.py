"""Runs that nobody made: folders with a results.jsonl as `octlm run` writes it, for tests of what reads one."""
import json
import math

HOSTILE = ("</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
           "\"'`&amp;\x00\x1b[31m\u202e\u2066\ufffe http://evil.example ")


def top5(first):
    return [{"token_id": first + 7 * i, "value": 20.125 - 1.5 * i - first * 1e-4} for i in range(5)]


def error_by_position(positions, error, split=None, wrong=None):
    """As a run writes it: errors that stay near `error`, and `wrong` from the split on, or from position 3."""
    first = list(range(positions))
    errors = [error * (0.3 + 0.7 * ((7 * i) % 11) / 10) for i in first]
    if wrong is not None:
        errors = [wrong if i >= (split or 3) else one for i, one in zip(first, errors)]
    powers = {}
    for one in errors:
        if isinstance(one, float) and math.isfinite(one) and one > 0:
            power = math.frexp(one)[1] - 1
            powers[power] = powers.get(power, 0) + 1
    return {"positions": positions, "last": positions - 1, "first": first, "max_abs_error": errors,
            "powers_of_two": sorted(map(list, powers.items())), "equal": sum(one == 0 for one in errors),
            "not_finite": sum(not isinstance(one, float) for one in errors)}


def comparison(experiment, case, path="full", device="cpu", dtype="float32", error=1e-4, reference="transformers",
               positions=42, model="smollm2-135m-instruct", text=" mat", **more):
    calls = [[0, positions]] if path == "full" else [[0, 5]] + [[i, 1] for i in range(5, positions)]
    finite = isinstance(error, float) and math.isfinite(error)
    series = error_by_position(positions, error) if finite else error_by_position(positions, 1e-4, None, "nan")
    return {"type": "comparison", "experiment": experiment, "case": case, "path": path, "device": device,
            "dtype": dtype, "model": model, "positions": positions,
            "metrics": {"max_abs_error@1": error, "mean_abs_error@1": error if not finite else error / 9,
                        "finite@1": finite, "rel_l2@1": error if not finite else error / 50, "kl_max@1": 3e-9,
                        "top1_agreement@1": {"agree": positions, "of": positions}},
            "subject": {"engine": "octlm", "version": "0.1.0", "source": "live", "settings": {"threads": 8}},
            "reference": {"engine": reference, "version": "4.57.6", "source": "live", "settings": {}},
            "calls": {"subject": calls, "reference": [[0, positions]]},
            "worst": {"position": 17, "token_id": 2775, "text": text, "subject": 12.3456789, "reference": 12.3457891,
                      "ulps": 116, "subject_top5": top5(2775), "reference_top5": top5(2775)[:4] + top5(9)[:1]},
            "error_by_position": series,
            "seconds": {"subject": 0.21, "reference": 0.34}, "peak_bytes": {"subject": 1, "reference": 2}} | more


def not_compared(experiment, case, path="full", device="cuda", reason="no GPU here", needs="cuda", verdict="not_run"):
    return {"type": "not_compared", "experiment": experiment, "case": case, "path": path, "device": device,
            "dtype": "float32", "verdict": verdict, "reason": reason, "needs": needs}


def criterion(metric, device, value, holds, where, at_most=None, **more):
    bound = {"equals": True} if at_most is None else {"at_most": at_most}
    used = value / at_most if at_most and isinstance(value, float) else None
    return {"metric": metric, "device": device, "value": value, "holds": holds, "used": used, "comparisons": 1,
            "where": where, "implied": False, "sees_scale": at_most is not None, "derivation": "float32 rounding measures 1e-4; a mapping bug moves "
            "logits by their range, 29 to 42"} | bound | more


def experiment(id, comparisons, bound=1e-3, kind="logit_parity", title="float32 logits match Transformers",
               model="smollm2-135m-instruct", label="confirmatory", attempt=1, failed=0, **more):
    """The experiment line that belongs to these comparisons."""
    devices, reasons, criteria = {}, {}, []
    for device in dict.fromkeys(one["device"] for one in comparisons):
        here = [one for one in comparisons if one["device"] == device]
        made = [one for one in here if one["type"] == "comparison"]
        worst = max(made, default=None, key=lambda one: math.inf if not isinstance(one["metrics"]["max_abs_error@1"], float)
                    else one["metrics"]["max_abs_error@1"])
        if worst is None:
            devices[device] = here[0]["verdict"]
            reasons[device] = here[0]["reason"]
            criteria.append(criterion("max_abs_error@1", device, None, None, {"case": "", "path": "", "dtype": ""}, bound))
            continue
        value = worst["metrics"]["max_abs_error@1"]
        holds = isinstance(value, float) and value <= bound
        where = {key: worst[key] for key in ("case", "path", "dtype")}
        devices[device] = "pass" if holds else "fail"
        if not holds:
            reasons[device] = f"max_abs_error@1 is {value}, at_most {bound} in {worst['case']}, {worst['path']}"
        criteria.append(criterion("max_abs_error@1", device, value, holds, where, bound))
        criteria.append(criterion("finite@1", device, worst["metrics"]["finite@1"], worst["metrics"]["finite@1"], where))
    ran = [verdict for word in ("fail", "error", "pass") for verdict in devices.values() if verdict == word]
    counted = label in ("confirmatory", "replication")
    return {"type": "experiment", "id": id, "kind": kind, "title": title, "model": model,
            "verdict": ran[0] if ran else "not_run", "devices": devices, "reason": "; ".join(reasons.values()),
            "reasons": reasons, "label": label, "comparisons": sum(o["type"] == "comparison" for o in comparisons),
            "planned": len(comparisons), "criteria": criteria, "spec": f"experiments/registered/{id}.json",
            "spec_sha256": "5" * 64, "attempt": attempt, "seconds": 12.5,
            "trust": {"why": "" if counted else "loosened after its results were known",
                      "registered": {"time": "2026-02-01T10:00:00Z", "commit": "f" * 40}, "entry": "e" * 64,
                      "amendments": 1, "last_amendment": "narrowing", "prior_results": {"exist": False, "source": ""},
                      "anchored": True, "teeth": "not shown",
                      "attempts": {device: {"attempt": attempt, "failed": failed, "abandoned": 0, "intent": "1" * 64}
                                   for device in devices}}} | more


def run_line(**more):
    return {"type": "run", "schema": 1, "version": "0.1.0", "commit": "1a2b3c4d5e6f" + "0" * 28, "dirty": False,
            "code_sha256": "c" * 64, "subject_sha256": None, "command": "octlm run", "started": "2026-03-01T12:00:00Z",
            "ledger_head": "a" * 64, "specs": {}, "resumed": None, "request": None, "planned": 0,
            "environment": {"cpu": {"model": "a processor", "features": ["avx2"]}, "threads": 8, "os": "Debian"}} | more


def summary(experiments, not_started=(), exit_code=None):
    counted = ("confirmatory", "replication")
    verdicts = [(one["verdict"], one["label"] in counted) for one in experiments]
    count = {word: sum(verdict == word for verdict, _ in verdicts) for word in ("fail", "not_run", "error")}
    passed, uncounted = verdicts.count(("pass", True)), verdicts.count(("pass", False))
    if exit_code is None:
        compared = sum(one["comparisons"] for one in experiments)
        exit_code = 3 if any(not good for _, good in verdicts) else 1 if count["fail"] else \
            4 if count["error"] or not compared or not passed else 0
    why = {0: "What was run passed.", 1: "A criterion failed.", 3: "Something is not registered as it stands.",
           4: "Nothing was compared."}.get(exit_code, "Interrupted: not all was run.")
    return {"type": "summary", "pass": passed, "uncounted": uncounted, **count, "exit_code": exit_code, "why": why,
            "interrupted": exit_code >= 128, "not_started": list(not_started)}


def write_run(folder, groups, run=None, end=True):
    """`groups`: for each experiment its comparison lines, and the keywords of experiment()."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = [experiment(lines[0]["experiment"], lines, **keywords) for lines, keywords in groups]
    everything = [run_line(planned=sum(len(lines) for lines, _ in groups),
                           specs={one["id"]: one["spec_sha256"] for one in judged}) | (run or {})]
    for (lines, _), one in zip(groups, judged):
        everything += [*lines, one]
    if end:
        everything.append(summary(judged))
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in everything))
    return folder


PATHS = ("full", "cached:half", "cached:every", "chunked:7")
CASES = ("story", "code", "numbers and units", "mixed languages", "two turns")


def parity(id, errors=1.05e-4, model="smollm2-135m-instruct", cuda=True, cases=CASES, paths=PATHS, **more):
    lines = [comparison(id, case, path, error=errors * (1 + 0.1 * i), model=model, **more)
             for i, path in enumerate(paths) for case in cases]
    return lines + [not_compared(id, case, path) for path in paths for case in cases if cuda]


def noise_floor(id, model="smollm2-135m-instruct", error=5.2e-5):
    return [comparison(id, case, variant, error=error, model=model, reference="transformers",
                       subject={"engine": "transformers", "version": "4.57.6", "source": "live"},
                       variant={"name": variant, "attention": variant, "path": "full", "threads": 0})
            for variant in ("sdpa", "chunked") for case in CASES]


def load(id, model):
    return [{"type": "comparison", "experiment": id, "case": "tensors", "path": "", "device": "cpu", "dtype": "",
             "metrics": {"max_abs_error@1": 0.0, "finite@1": True}, "seconds": {"subject": 0.02}}]


def green(folder):
    mini, qwen = "qwen3-mini-synthetic", "Qwen/Qwen3-0.6B"
    return write_run(folder, [
        (parity("EXP-101", 2.1e-5, mini), {"model": mini, "title": "A small synthetic Qwen3: float32 logits match Transformers"}),
        (parity("EXP-102"), {"title": "SmolLM2-135M-Instruct: float32 logits match Transformers"}),
        (parity("EXP-103", 6.4e-5, "qwen3-0.6b-synthetic"), {"model": "qwen3-0.6b-synthetic", "bound": 2e-3}),
        (load("EXP-073", qwen), {"kind": "checkpoint_load", "model": qwen, "label": "replication",
                                 "title": "Every tensor of the checkpoint is read"}),
        ([not_compared("EXP-074", case, path, "cpu", "no weights: ./octlm fetch Qwen/Qwen3-0.6B", "weights")
          for path in PATHS for case in CASES], {"model": qwen}),
        (noise_floor("EXP-107"), {"kind": "noise_floor", "bound": 5e-3, "title": "How far is Transformers from itself?"}),
        (parity("EXP-104", 3e-6, mini, False, CASES, ("cached:half", "cached:every"), reference="octlm"),
         {"kind": "cached_parity", "model": mini, "title": "The cached paths agree with the full pass"}),
    ])


def red(folder):
    lines = parity("EXP-102")
    for line in lines:
        if line["type"] == "comparison" and line["path"] == "cached:every":
            line["metrics"]["max_abs_error@1"] = 3.7
            line["worst"]["position"] = 29
            line["error_by_position"] = error_by_position(42, 1e-4, 5, 3.7)
    broken = [comparison("EXP-103", "story", error="nan"), not_compared("EXP-103", "code")]
    broken[0]["worst"] |= {"position": 3, "subject": "nan", "ulps": None}
    error = [not_compared("EXP-101", "story", device="cpu", reason="model.safetensors: the header is cut off", needs="",
                          verdict="error")]
    return write_run(folder, [(lines, {"attempt": 3, "failed": 2}), (broken, {}), (error, {}),
                              (noise_floor("EXP-107"), {"kind": "noise_floor", "bound": 5e-3})])


def not_run(folder):
    return write_run(folder, [([not_compared(id, case, path, "cpu", "no weights: ./octlm fetch Qwen/Qwen3-0.6B", "weights")
                                for path in PATHS for case in CASES], {"model": "Qwen/Qwen3-0.6B"})
                              for id in ("EXP-074", "EXP-075")])


def exploratory(folder):
    return write_run(folder, [(parity("EXP-900", cuda=False), {"label": "exploratory"})])


def large(folder, experiments=100, comparisons=40):
    cases = [f"case {i}" for i in range(comparisons // 4)]
    return write_run(folder, [(parity(f"EXP-{1000 + i}", 1e-5 * (1 + i), f"org/model-{i % 12}", False, cases),
                               {"model": f"org/model-{i % 12}"}) for i in range(experiments)])


def hostile(folder):
    lines = [comparison("EXP-950", HOSTILE, HOSTILE, HOSTILE, HOSTILE, text=HOSTILE, model=HOSTILE),
             not_compared("EXP-950", "a", HOSTILE, HOSTILE, HOSTILE)]
    lines[0]["metrics"][HOSTILE] = 1.0
    lines[0]["worst"] |= {"subject_top5": HOSTILE, "reference_top5": [HOSTILE, {"token_id": HOSTILE, "value": "inf"}]}
    lines[0]["calls"] = {"subject": [[2 ** 70, "x"], 3], "reference": HOSTILE}
    return write_run(folder, [(lines, {"title": HOSTILE, "kind": HOSTILE, "label": HOSTILE, "model": HOSTILE})],
                     {"command": HOSTILE, "commit": HOSTILE, "started": HOSTILE, "ledger_head": HOSTILE,
                      "environment": {HOSTILE: [HOSTILE]}, "specs": {HOSTILE: HOSTILE}})


def killed(folder):
    green(folder)
    text = (folder / "results.jsonl").read_text().splitlines()
    at = next(i for i, line in enumerate(text) if '"EXP-103"' in line and '"comparison"' in line) + 3
    (folder / "results.jsonl").write_text("\n".join(text[:at]) + "\n" + text[at][:60])
    return folder
