"""Can this interpreter carry octlm's environment? Prints one line: its version, then what it lacks.

Needed: Python 3.10 to 3.13 (what the locked packages support), the headers and the shared library
(the program embeds the interpreter), and venv with ensurepip. The line ends after the version when
nothing is lacking. Runs on any Python, so that an old one can say what is wrong with it.
"""
import os
import sys

try:
    import sysconfig
except ImportError:  # Python 2.6
    sysconfig = None


def lacks():
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        return "is not one of 3.10 to 3.13"
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return "has no headers (Python.h)"
    name, folder = sysconfig.get_config_var("LDLIBRARY") or "", sysconfig.get_config_var("LIBDIR") or ""
    if ".so" not in name or not os.path.exists(os.path.join(folder, name)):
        return "has no shared libpython"
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as missing:
        return "has no module " + str(missing.name)
    return ""


print(("%d.%d.%d " % sys.version_info[:3] + lacks()).strip())
