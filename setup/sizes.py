"""Prints name, version and installed bytes of every package of this environment, for setup/sizes.tsv.

./octlm announces the sizes of what is missing here by this table. setup/lock.sh writes it after locking.
"""
import importlib.metadata
import re


def rows():
    for distribution in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.name).lower()
        size = sum(file.size or 0 for file in distribution.files or [])
        yield f"{name}\t{distribution.version}\t{size}"


if __name__ == "__main__":
    print("\n".join(sorted(rows())))
