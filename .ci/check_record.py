"""Checks that a run of EXP-101, EXP-102 and EXP-103 compared what it had to, against the live reference.

usage: check_record.py results.jsonl      prints what it checked; exits 1 with the first thing that is not so
"""
import json
import sys

COMPARISONS = {"EXP-102": 40, "EXP-103": 20}  # 10 sequences on 4 paths; 10 on 2
PARAMETERS = {"EXP-101": 134_515_008}


def require(holds, what):
    if not holds:
        sys.exit(f"check_record: {what}")


def check(records):
    comparisons = {}
    for record in records:
        if record["type"] == "comparison":
            comparisons.setdefault(record["experiment"], []).append(record)
    for experiment, count in COMPARISONS.items():
        found = comparisons.get(experiment, [])
        require(len(found) == count, f"{experiment} has {len(found)} comparisons, expected {count}")
        for record in found:
            where = f"{experiment}, {record['case']}, {record['path']}"
            require(record["reference"]["source"] == "live", f"{where}: the reference is {record['reference']['source']}, expected live")
            for side in ("subject", "reference"):
                seconds = record["seconds"][side]
                require(isinstance(seconds, (int, float)) and seconds > 0, f"{where}: the {side} took {seconds} seconds")
        distinct = len({(record["case"], record["path"], record["device"]) for record in found})
        require(distinct == count, f"{experiment} compares only {distinct} different cases and paths")
        print(f"{experiment}: {count} comparisons, reference live, seconds of both sides above zero")
    for experiment, count in PARAMETERS.items():
        found = [record["metrics"]["parameters@1"] for record in comparisons.get(experiment, [])]
        require(found and all(value == count for value in found), f"{experiment} counts {found} parameters, expected {count}")
        print(f"{experiment}: {count} parameters")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        check([json.loads(line) for line in file])
