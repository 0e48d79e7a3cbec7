"""What can go wrong, with the exit code that says which. The message is one line: what, where, remedy."""


class Failure(Exception):
    exit_code = 4


class BadInput(Failure):
    """The caller asked for something that cannot be."""

    exit_code = 2


class NoNetwork(Failure):
    """The source could not be reached."""

    exit_code = 4


class NotAsPromised(Failure):
    """Bytes differ from the recorded ones: a damaged transfer, disk or build, or a changed source."""

    exit_code = 1
