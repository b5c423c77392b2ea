"""What installed distributions offer: providers under one entry-point group, factories under the others.

Finding is one look at the metadata of what is installed, kept for the life of the process. Importing a provider may
fail; that is its own affair and told by :func:`florilege.plugins.report`. Two capabilities of one id are everybody's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from florilege.interfaces.chunking import CapabilityDescriptor
from florilege.model.errors import ConfigError, PluginError
from florilege.model.hashing import hexdigest

PROVIDERS = "florilege.providers"
FACTORIES = (
    "florilege.stores",
    "florilege.embedders",
    "florilege.rerankers",
    "florilege.steps",
    "florilege.models",
)
OWN = "florilege"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry point: who installed it, under which name, where it points, and the provider, or why there is none."""

    distribution: str
    version: str
    name: str
    target: str
    provider: Any = None
    descriptors: tuple[CapabilityDescriptor, ...] = ()
    error: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether it comes with this package."""
        return self.distribution == OWN

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.name})"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The capabilities there are, in order, and a hash that changes when any of them does."""

    capabilities: tuple[CapabilityDescriptor, ...]
    digest: str

    def versions(self) -> dict[str, str]:
        """Each capability's version by id."""
        return {str(item.id): item.version for item in self.capabilities}


@cache
def offers() -> tuple[Offer, ...]:
    """The providers there are: this package's own, then others by distribution and entry point.

    One that cannot be imported, or whose ``descriptors()`` cannot be used, is there with its ``error``.
    """
    found = [_offer(entry) for entry in _entries()]
    return tuple(sorted(found, key=lambda offer: (not offer.is_own, offer.distribution, offer.name)))


def third_parties() -> tuple[Offer, ...]:
    """The usable providers that others have installed. Raises as :func:`snapshot`."""
    if all(_owner(entry)[0] == OWN for entry in _entries()):
        return ()
    snapshot()
    return tuple(offer for offer in offers() if offer.error is None and not offer.is_own)


def snapshot() -> Snapshot:
    """The capabilities of all usable providers.

    Raises :class:`ConfigError` (``duplicate_capability``) naming the distributions when two have one id.
    """
    owners: dict[str, Offer] = {}
    found: list[CapabilityDescriptor] = []
    for offer in offers():
        for descriptor in offer.descriptors:
            other = owners.setdefault(descriptor.id, offer)
            if other is not offer:
                raise ConfigError(
                    f"capability {descriptor.id!r} is offered by {other} and by {offer}: uninstall one of them",
                    code="duplicate_capability",
                )
            found.append(descriptor)
    facts = [field for item in found for field in (item.id, item.kind, item.version, *item.media_types, "")]
    return Snapshot(tuple(found), hexdigest(*facts))


def names(group: str) -> tuple[str, ...]:
    """What is installed under one of the groups of factories."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def factory(group: str, name: str) -> Callable[..., Any]:
    """The factory that an entry point of ``group`` names.

    Raises :class:`ConfigError` (``unknown_plugin``, naming what there is; ``duplicate_plugin``), :class:`PluginError`
    when it cannot be imported.
    """
    if group not in FACTORIES:
        raise ConfigError(f"group {group!r} is not one of {', '.join(FACTORIES)}", code="unknown_plugin")
    installed = entry_points(group=group)
    matching = [entry for entry in installed if entry.name == name]
    if not matching:
        known = ", ".join(names(group)) or "none"
        raise ConfigError(
            f"nothing named {name!r} is installed under {group} (there is: {known})", code="unknown_plugin"
        )
    if len({entry.value for entry in matching}) > 1:
        owners = " and ".join(sorted(_owner(entry)[0] for entry in matching))
        raise ConfigError(f"{group} {name!r} is installed by {owners}: uninstall one", code="duplicate_plugin")
    try:
        found = matching[0].load()
    except (Exception, SystemExit) as error:
        owner = _owner(matching[0])[0]
        raise PluginError(f"{group} {name!r} of {owner} cannot be imported ({_told(error)})") from error
    if not callable(found):
        raise PluginError(f"{group} {name!r} of {_owner(matching[0])[0]} is not callable")
    made: Callable[..., Any] = found
    return made


@cache
def _entries() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=PROVIDERS))


def _offer(entry: EntryPoint) -> Offer:
    distribution, version = _owner(entry)
    try:
        provider = entry.load()()
        descriptors = tuple(provider.descriptors())
        for descriptor in descriptors:
            if not isinstance(descriptor, CapabilityDescriptor):
                raise TypeError(f"descriptors() gave a {type(descriptor).__name__}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a third party's module may raise anything
        _log.warning("provider %s of %s cannot be used: %s", entry.name, distribution, _told(error))
        return Offer(distribution, version, entry.name, entry.value, error=_told(error))
    return Offer(distribution, version, entry.name, entry.value, provider, descriptors)


def _owner(entry: EntryPoint) -> tuple[str, str]:
    if entry.dist is None:
        return "?", "?"
    return entry.dist.name.lower().replace("_", "-"), entry.dist.version


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
