"""Which store a command works on."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from florilege.corpus import Corpus
from florilege.model.errors import NotFound
from florilege.model.events import Subscriber

if TYPE_CHECKING:
    from florilege.config import Config
    from florilege.retrieval.forms import Forms


def configured(args: argparse.Namespace) -> Config:
    """The project's configuration, read once a command."""
    from florilege.config import load_config
    from florilege.ingest.paths import project_root

    config: Config | None = getattr(args, "config", None)
    if config is None:
        config = args.config = load_config(project_root())
    return config


def store_path(args: argparse.Namespace) -> str:
    """``--store``, else the configured one, else ``.florilege`` in the project folder."""
    from florilege.ingest.paths import project_root

    return args.store or configured(args).store or os.path.join(project_root(), ".florilege")


def open_corpus(
    args: argparse.Namespace,
    *,
    dense: Literal["default"] | None = "default",
    create: bool = False,
    on_event: Subscriber | None = None,
) -> Corpus:
    """The corpus the command line keeps in the project's store. NotFound (``no_store``) when there is none."""
    from florilege.opening import open as open_store

    config = configured(args)
    path = store_path(args)
    if not create and "://" not in path and not os.path.exists(os.path.join(path, "store.db")):
        raise NotFound(f"no store at {path}; make one with: florilege sync PATH", code="no_store")
    return open_store(
        path,
        args.namespace or config.namespace,
        dense=None if dense is None or config.dense is None else config.embedder(config.dense),
        pipeline=config.pipeline(),
        fields=config.fields or None,
        create=create,
        read_only=not create and "://" not in path and not os.access(os.path.join(path, "store.db"), os.W_OK),
        on_event=on_event,
    )


@contextmanager
def dry_corpus(args: argparse.Namespace, **options: Any) -> Iterator[Corpus]:
    """The corpus as :func:`open_corpus` opens it; where there is none, an empty one that leaves nothing behind."""
    with ExitStack() as stack:
        try:
            corpus = open_corpus(args, **options)
        except NotFound as error:
            if error.code != "no_store":
                raise
            nowhere = argparse.Namespace(**{**vars(args), "store": stack.enter_context(TemporaryDirectory())})
            corpus = open_corpus(nowhere, create=True, **options)
        yield stack.enter_context(corpus)


def retriever_of(args: argparse.Namespace, corpus: Corpus) -> Forms:
    """The recipe ``--recipe`` names, over ``corpus``; its plain retriever when none is named."""
    return configured(args).recipe(args.recipe, corpus) if args.recipe else corpus.retriever()
