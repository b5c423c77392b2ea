"""For plugin authors and tests: fakes that count, text that hurts, and the contract suites.

The suites need pytest and hypothesis; they live in their own modules (``florilege.testing.splitters``, ``.chunkers``,
``.stores``, ``.filters``), so that the fakes can be had without them.
"""

from florilege.testing.fakes import CountingEmbedder
from florilege.testing.models import FakeModel, FakeReranker, RecordingModel

__all__ = ["CountingEmbedder", "FakeModel", "FakeReranker", "RecordingModel"]
