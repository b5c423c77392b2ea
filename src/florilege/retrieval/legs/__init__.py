"""The legs of a search: what each is asked, and how their rankings become one."""

from florilege.retrieval.legs.fusion import Fusion, rrf, weighted

__all__ = ["Fusion", "rrf", "weighted"]
