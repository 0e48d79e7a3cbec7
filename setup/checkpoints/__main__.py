"""python -m checkpoints fetch NAME [--revision COMMIT] [--verify]

Prints the checkpoint's folder as the last line on stdout; everything else goes to stderr. Exit codes: 0 it
is there and complete · 1 its bytes are not the recorded ones · 2 bad input · 4 no network, or another error.
"""
import argparse
import functools
import sys

from . import hub, store
from .catalogue import CHECKPOINTS
from .failure import BadInput, Failure
from .progress import say


def fetch(name, revision=None):
    """The folder of the checkpoint `name`, made or downloaded if it is not complete in the cache."""
    if "/" in name:
        return fetch_from_hub(hub.resolve(name, revision))
    if name not in CHECKPOINTS:
        raise BadInput(f"there is no checkpoint '{name}': known are {', '.join(CHECKPOINTS)}, and hub ids ORG/NAME with --revision COMMIT")
    if revision is not None:
        raise BadInput(f"{name} has no revisions: leave --revision away")
    checkpoint = CHECKPOINTS[name]
    return store.present(name, checkpoint.expected) or store.ensure(
        name, functools.partial(checkpoint.module().write, checkpoint=checkpoint), name=name, revision=None,
        source=checkpoint.module().source_of(checkpoint), expected=checkpoint.expected)


def fetch_from_hub(checkpoint):
    there = store.present(checkpoint.place, checkpoint.expected)
    if there:
        return there
    hub.configure_environment()
    files = hub.plan(checkpoint)  # before anything is written
    return store.ensure(
        checkpoint.place, functools.partial(hub.write, checkpoint=checkpoint, files=files),
        name=checkpoint.repository, revision=checkpoint.revision, source=checkpoint.source,
        expected=checkpoint.expected, keep_partial=True)


def arguments_of(argv):
    parser = argparse.ArgumentParser(prog="octlm", description="Puts a checkpoint into the cache and prints its folder.")
    fetch_parser = parser.add_subparsers(dest="command", required=True).add_parser(
        "fetch", description=f"NAME is one of {', '.join(CHECKPOINTS)}, or a hub id ORG/NAME.")
    fetch_parser.add_argument("name", metavar="NAME")
    fetch_parser.add_argument("--revision", metavar="COMMIT", help="full commit of a hub id")
    fetch_parser.add_argument("--verify", action="store_true", help="hash the files of a present checkpoint again")
    return parser.parse_args(argv)


def main(argv):
    try:
        arguments = arguments_of(argv)
        folder = fetch(arguments.name, arguments.revision)
        if arguments.verify:
            store.verify(folder, store.manifest_of(folder))
        print(folder)
        return 0
    except Failure as failure:
        say(f"fetch: {failure}")
        return failure.exit_code
    except KeyboardInterrupt:
        say("fetch: interrupted; the same command goes on or starts again")
        return 130
    except OSError as error:  # a full disk, a folder that cannot be written
        say(f"fetch: {hub.one_line(error)}")
        return 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
