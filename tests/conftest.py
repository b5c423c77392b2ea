"""Settings shared by every test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
# The default run is the same everywhere, so that it tells of the change under test; the soak looks for what is new.
settings.register_profile("default", max_examples=50, deadline=None, derandomize=True, suppress_health_check=_slow)
settings.register_profile("soak", max_examples=250, deadline=None, suppress_health_check=_slow)
settings.load_profile("soak" if os.environ.get("FLORILEGE_SOAK") else "default")
