"""Shared by all tests: one BLAS thread per worker, code of their own, reproducible hypothesis."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # two workers on two cores; matrices are small
# The algorithms are tested on NumPy; tests of compiled code ask for it. (LINKWISE_TARGET=cpu runs all compiled.)
os.environ.setdefault("LINKWISE_TARGET", "numpy")

# Compiled code of this run alone, which all its processes share.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _code = tempfile.TemporaryDirectory(prefix="linkwise-tests-", ignore_cleanup_errors=True)
    os.environ["LINKWISE_CACHE"] = _code.name

# LLVM takes the first code it finds, in a quarter of the time; tests of machine code itself have what users get.
os.environ.setdefault("LINKWISE_LLVM_LEVEL", "0")

# Programs that tests start need not compile linkwise's modules each time, nor pytest rewrite those of 300 tests in each
# worker of each run, which takes it 6 seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# JAX's programs run once or twice each; what its compiler would save it does not earn.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("linkwise", deadline=None, derandomize=True)
settings.load_profile("linkwise")


MUCH = 500_000  # objects, of which a search frees a million in half a second


def pytest_collection_finish():
    """What thousands of tests and a dozen libraries keep for good need not be searched for garbage again and again."""
    gc.collect()
    gc.freeze()
    # Python by itself looks every millisecond at what a traced program has so far, and once more when it is garbage.
    gc.set_threshold(10_000_000, 5, 20)


def pytest_runtest_logfinish():
    """Programs are looked at once, when their test is done with them."""
    if gc.get_count()[0] > MUCH:
        gc.collect(1)


def pytest_sessionfinish():
    """At its end pytest would look for garbage five times, and Python once more, among all that tests have left."""
    gc.freeze()


AS_USERS_HAVE_IT = ("codegen/llvm/", "codegen/rolled/", "codegen/runtime/", "benchmarks/")


@pytest.fixture(scope="module", autouse=True)
def code_as_users_have_it(request: pytest.FixtureRequest) -> Iterator[None]:
    """The level of LLVM's code generator is the product's own where machine code is what is tested."""
    room = Path(request.path).relative_to(Path(__file__).parent).as_posix()
    with pytest.MonkeyPatch.context() as patch:
        if room.startswith(AS_USERS_HAVE_IT):
            patch.delenv("LINKWISE_LLVM_LEVEL", raising=False)
        yield


@pytest.fixture(scope="module")
def little_garbage() -> None:
    """``gc.collect()`` is quick from here on and frees nothing of earlier tests, which may hold some gigabytes."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(20240229)
