"""Stores behind URLs for tests: one in this process that fails when it is told to, as stores in clouds do."""

import uuid
from typing import ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem


class Faulty(MemoryFileSystem):
    """Files in memory, kept apart from those of memory://. ``trouble(what, path)`` is called before each request, and
    may raise. Folders are remembered as they were first seen, until somebody says that this is to be forgotten."""

    protocol = "faulty"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]
    seen: ClassVar = {}
    trouble = staticmethod(lambda what, path: None)
    creates_once = True  # whether it refuses to create what is there

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("faulty:/"))

    def invalidate_cache(self, path=None):
        Faulty.seen.clear()

    def info(self, path, **more):
        self.trouble("info", path)
        return super().info(path, **more)

    def exists(self, path, **more):
        raise AssertionError("of some file systems it is silent about whatever goes wrong")

    def find(self, path, **more):
        self.trouble("find", path)
        if path not in Faulty.seen:
            Faulty.seen[path] = [x for x in self.store if x.startswith(f"{path}/")]
        return list(Faulty.seen[path])

    def cat_file(self, path, **more):
        self.trouble("cat", path)
        return self.store[self._strip_protocol(path)].getvalue()

    def pipe_file(self, path, value, mode="overwrite", **more):
        self.trouble("pipe", path)
        if mode == "create" and self.creates_once and path in self.store:
            raise FileExistsError(path)
        super().pipe_file(path, value)
        self.trouble("piped", path)

    def rm_file(self, path):
        self.trouble("rm", path)
        self.store.pop(self._strip_protocol(path))


fsspec.register_implementation("faulty", Faulty, clobber=True)


def new_url():
    return f"faulty://{uuid.uuid4().hex}/study"


def files_of(url):
    """Files with results of a study there: name → bytes."""
    root = "/" + url.removeprefix("faulty://") + "/"
    found = {name.removeprefix(root): x.getvalue() for name, x in Faulty.store.items() if name.startswith(root)}
    return {name: data for name, data in found.items() if name.startswith(("runs/", "series/"))}
