"""What every store must do, as tests to subclass.

    class TestMyStore(DataStoreTests, VectorStoreTests, SparseTests, FilterTests):
        def open(self, path): return MyStore(path)

``open(path)`` opens the store at a path, the same one each time. Replacement as a state machine is in
:mod:`florilege.testing.stores.replacement`.
"""

from florilege.testing.stores.cases import NS, SPACE, SPARSE, contents, found, key_of, sparse_of, vectors_of, write_of
from florilege.testing.stores.records import DataStoreTests
from florilege.testing.stores.searches import FilterTests, VectorStoreTests
from florilege.testing.stores.sparse import SparseTests

__all__ = [
    "NS",
    "SPACE",
    "SPARSE",
    "DataStoreTests",
    "FilterTests",
    "SparseTests",
    "VectorStoreTests",
    "contents",
    "found",
    "key_of",
    "sparse_of",
    "vectors_of",
    "write_of",
]
