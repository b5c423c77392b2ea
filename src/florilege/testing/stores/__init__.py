"""What every store must do, as tests to subclass.

    class TestMyStore(StoreTests):
        def open(self, path): return MyStore(path)

``open(path)`` opens the store at a path, the same one each time. A store without a sparse leg takes the other suites by
name. Replacement as a state machine is in :mod:`florilege.testing.stores.replacement`.
"""

from florilege.testing.stores.cases import NS, SPACE, SPARSE, contents, found, key_of, sparse_of, vectors_of, write_of
from florilege.testing.stores.moments import MomentTests
from florilege.testing.stores.records import DataStoreTests
from florilege.testing.stores.searches import FilterTests, VectorStoreTests
from florilege.testing.stores.sparse import SparseTests


class StoreTests(DataStoreTests, VectorStoreTests, SparseTests, FilterTests):
    """Every suite there is for a store with all legs, so that none is forgotten."""


__all__ = [
    "NS",
    "SPACE",
    "SPARSE",
    "DataStoreTests",
    "FilterTests",
    "MomentTests",
    "SparseTests",
    "StoreTests",
    "VectorStoreTests",
    "contents",
    "found",
    "key_of",
    "sparse_of",
    "vectors_of",
    "write_of",
]
