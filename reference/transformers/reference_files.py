"""Is the reference itself? The files of every module that this process has loaded, and the libraries that came with
them, are what their wheels say (RECORD), and nothing else has been run.

What is found is told, not refused: a result whose reference is not itself does not count. RECORD can be edited by
whoever can edit the files; docs/results.md says so. Hashes are kept in a cache by path, times, size and
inode, so that a second start costs a look at each file.
"""
import base64
import concurrent.futures
import csv
import hashlib
import importlib.metadata
import io
import json
import marshal
import os
import sys
import sysconfig
import tempfile

TOLD = 3              # reasons of one kind that are spelt out
LONG_BYTES = 1 << 29  # to read, or ...
LONG_MODULES = 500    # ... to compile, before a line says that it takes a while


def cache_file():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "octlm", "reference-files.json")


def _stamp(path):
    state = os.stat(path)
    return [state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino]


class Digests:
    """sha256 of files, and whether bytecode is of its source: from the cache where the file is the same."""

    def __init__(self, file):
        self.file = file
        self.known = {}
        self.changed = False
        try:
            with open(file, encoding="utf-8") as stream:
                self.known = json.load(stream)
        except (OSError, ValueError):
            pass
        if not isinstance(self.known, dict):
            self.known = {}

    def _kept(self, path, make):
        stamp = _stamp(path)
        entry = self.known.get(path)
        if isinstance(entry, list) and len(entry) == 2 and entry[0] == stamp:
            return entry[1]
        made = make(path)
        self.known[path] = [stamp, made]
        self.changed = True
        return made

    def missing(self, path):
        entry = self.known.get(path)
        return not (isinstance(entry, list) and entry and entry[0] == _stamp(path))

    def sha256(self, path):
        def read(file):
            digest = hashlib.sha256()
            with open(file, "rb", buffering=0) as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
            return digest.hexdigest()
        return self._kept(path, read)

    def compiled_from(self, bytecode, source):
        """Python runs the bytecode beside a source whose time and size stand in it, and does not look further."""
        def same(file):
            with open(file, "rb") as stream:
                data = stream.read()
            if not _is_used(data, source):
                return source_sha256
            with open(source, "rb") as stream:
                code = compile(stream.read(), source, "exec", dont_inherit=True, optimize=0)
            return source_sha256 if code == marshal.loads(data[16:]) else "other"
        source_sha256 = self.sha256(source)
        return self._kept(bytecode, same) == source_sha256

    def save(self):
        """A cache that cannot be written is no error."""
        if not self.changed:
            return
        try:
            folder = os.path.dirname(self.file)
            os.makedirs(folder, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(self.known, stream)
            os.replace(name, self.file)
            self.changed = False
        except OSError:
            pass


def _is_used(data, source):
    flags = int.from_bytes(data[4:8], "little")
    if flags & 1:
        return True  # by a hash: used without a look at the source, or with one that is weaker than ours
    state = os.stat(source)
    return (int.from_bytes(data[8:12], "little") == int(state.st_mtime) & 0xFFFFFFFF
            and int.from_bytes(data[12:16], "little") == state.st_size & 0xFFFFFFFF)


class Wheels:
    """What the distributions in some folders say that they have brought."""

    def __init__(self, folders):
        self.folders = [os.path.realpath(folder) for folder in folders]
        self.brought = {}  # path -> (distribution, sha256 in hex, name in RECORD)
        self._real = {}
        for distribution in importlib.metadata.distributions(path=list(folders)):
            self._add(distribution)

    def _add(self, distribution):
        text = distribution.read_text("RECORD")
        if text is None:
            return
        base = str(distribution.locate_file(""))
        name = f"{distribution.metadata['Name']} {distribution.version}"
        for row in csv.reader(io.StringIO(text)):
            if len(row) == 3 and row[1].startswith("sha256=") and not row[0].startswith(".."):
                digest = row[1][len("sha256="):]
                folder, slash, leaf = row[0].rpartition("/")
                path = os.path.join(self._folder(os.path.join(base, folder) if slash else base), leaf)
                self.brought[path] = (name, base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex(), row[0])

    def _folder(self, folder):
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return self._real[folder]

    def place(self, path):
        """The path with its folder's links followed: how a file is known here."""
        folder, leaf = os.path.split(os.path.abspath(path))
        return os.path.join(self._folder(folder), leaf)

    def holds(self, path):
        return any(path.startswith(folder + os.sep) for folder in self.folders)


def loaded_files(modules):
    """name -> file, of the modules that have come from one."""
    files = {}
    for name, module in list(modules.items()):
        spec = getattr(module, "__spec__", None)
        for file in (getattr(spec, "origin", None) if getattr(spec, "has_location", False) else None,
                     getattr(module, "__file__", None)):
            if isinstance(file, str) and os.path.isabs(file):
                files[name] = file
                break
    return files


def mapped_libraries():
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.rstrip("\n").partition("/")[2] for line in maps if ".so" in line}
    except OSError:
        return []
    return sorted("/" + path for path in paths)


def standard_folders():
    """The interpreter's own, which no wheel has brought."""
    names = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    names |= {os.path.join(sys.base_prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}")}
    return [os.path.realpath(name) for name in names if name]


def is_standard(path, folders):
    return any(path.startswith(folder + os.sep) for folder in folders) and \
        not any(part in path for part in ("/site-packages/", "/dist-packages/"))


def _listed(what, items):
    items = sorted(items)
    more = f" and {len(items) - TOLD} more" if len(items) > TOLD else ""
    return [f"{what}: {', '.join(items[:TOLD])}{more}"] if items else []


def start_files(wheels, digests):
    """Lines of .pth files that run code when the interpreter starts, and that no wheel has brought."""
    found = []
    for folder in wheels.folders:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as stream:
                runs = any(line.startswith(("import ", "import\t")) for line in stream)
            if runs and not (path in wheels.brought and digests.sha256(path) == wheels.brought[path][1]):
                found.append(path)
    return found


def _announce(files, compiled, digests):
    try:
        size = sum(os.path.getsize(file) for file in files if digests.missing(file))
        modules = sum(digests.missing(file) for file in compiled)
    except OSError:
        return
    if size > LONG_BYTES or modules > LONG_MODULES:
        sys.stderr.write(f"octlm: holding the reference's own files against their wheels, this once: "
                         f"{size / 1e9:.1f} GB, {modules} modules\n")
        sys.stderr.flush()


def examine(modules, libraries, wheels, digests, standard):
    """{"reasons": why it is not itself, "files", "distributions", "sha256": of the names and contents}"""
    files = loaded_files(modules)
    customized = [files.pop(name) for name in ("sitecustomize", "usercustomize")
                  if name in files and not is_standard(wheels.place(files[name]), standard)]
    places = {wheels.place(file): file for file in files.values()}
    ours = {place for place in places if place in wheels.brought}
    ours |= {path for path in libraries if path in wheels.brought}
    foreign = [place for place in places if place not in wheels.brought and not is_standard(place, standard)]
    foreign += [path for path in libraries
                if wheels.holds(path) and path not in wheels.brought and path not in foreign]
    compiled = {file: source for source in places.values() if source.endswith(".py") and wheels.place(source) in ours
                for file in [_bytecode(source)] if file and os.path.exists(file)}
    _announce(ours, compiled, digests)
    with concurrent.futures.ThreadPoolExecutor() as workers:
        sums = dict(zip(sorted(ours), workers.map(digests.sha256, sorted(ours))))
    changed = [f"{path} (of {wheels.brought[path][0]})" for path, digest in sums.items() if digest != wheels.brought[path][1]]
    changed += [f"{file} (bytecode of another source)" for file, source in compiled.items()
                if not digests.compiled_from(file, source)]
    reasons = (_listed("files of the reference are not as their wheels brought them", changed)
               + _listed("the reference has loaded what no wheel has brought", foreign)
               + _listed("code was run before the reference", customized + start_files(wheels, digests)))
    digests.save()
    text = "".join(f"{wheels.brought[path][0]} {wheels.brought[path][2]} {digest}\n" for path, digest in sums.items())
    return {"reasons": reasons, "files": len(sums), "distributions": len({wheels.brought[path][0] for path in sums}),
            "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _bytecode(source):
    folder, name = os.path.split(source)
    return os.path.join(folder, "__pycache__", f"{name[:-3]}.{sys.implementation.cache_tag}.pyc")


_seen = None  # (modules that were loaded, what was found): the same for every engine of this process


def load_reference():
    """What a comparison loads, for who only asks (`octlm doctor`). A broken package is told elsewhere."""
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, Qwen3ForCausalLM  # noqa: F401
    except Exception:
        pass


def check(load):
    global _seen
    if load:
        load_reference()
    if _seen is None or _seen[0] != len(sys.modules):
        folders = [folder for folder in sys.path if folder.rstrip("/").endswith(("site-packages", "dist-packages"))]
        found = examine(sys.modules, mapped_libraries(), Wheels(folders), Digests(cache_file()), standard_folders())
        _seen = (len(sys.modules), found)
    return _seen[1]
