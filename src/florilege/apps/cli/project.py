"""Which store a command works on."""

from __future__ import annotations

import argparse
import os
from typing import Literal

from florilege.corpus import Corpus
from florilege.model.errors import NotFound
from florilege.model.events import Subscriber


def store_path(args: argparse.Namespace) -> str:
    """``--store``, else ``.florilege`` in the project folder."""
    from florilege.ingest.paths import project_root

    return args.store or os.path.join(project_root(), ".florilege")


def open_corpus(
    args: argparse.Namespace,
    *,
    dense: Literal["default"] | None = "default",
    create: bool = False,
    on_event: Subscriber | None = None,
) -> Corpus:
    """The corpus the command line keeps in the project's store. NotFound (``no_store``) when there is none."""
    from florilege.opening import open as open_store

    path = store_path(args)
    if not create and "://" not in path and not os.path.exists(os.path.join(path, "store.db")):
        raise NotFound(f"no store at {path}; make one with: florilege sync PATH", code="no_store")
    return open_store(path, args.namespace, dense=dense, create=create, on_event=on_event)
