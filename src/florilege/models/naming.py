"""Models by name, ``ADAPTER:NAME``, for the command line and configuration files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from florilege.discovery import factory, names
from florilege.model.errors import ConfigError
from florilege.models.anthropic_api import anthropic
from florilege.models.calling import CheckedModel, as_model
from florilege.models.openai_api import openai
from florilege.vendors import client, secret


def named_model(
    spec: str, *, base_url: str | None = None, api_key_env: str | None = None, timeout: float | None = None
) -> CheckedModel:
    """The model ``spec`` names: ``openai:NAME``, ``anthropic:NAME``, or ``ADAPTER:NAME`` of an adapter installed under
    ``florilege.models``, which makes a model of the name and these options.

    The vendor's library reads its usual environment variables for what is not given; ``api_key_env`` names another one
    for the key. Raises ConfigError for an unknown adapter or a variable that is not set.
    """
    adapter, _, name = spec.partition(":")
    installed = names("florilege.models") if adapter not in _ADAPTERS else ()
    if adapter not in (*_ADAPTERS, *installed) or not name:
        known = ", ".join(f"{item}:NAME" for item in (*_ADAPTERS, *installed))
        raise ConfigError(f"model: {spec!r} is not one of {known}")
    options: dict[str, Any] = {}
    if base_url is not None:
        options["base_url"] = base_url
    if timeout is not None:
        options["timeout"] = timeout
    if api_key_env is not None:
        options["api_key"] = secret(api_key_env, f"model {spec!r}")
    if adapter in installed:
        return as_model(factory("florilege.models", adapter)(name, **options))
    return _ADAPTERS[adapter](name, options)


def _openai(name: str, options: dict[str, Any]) -> CheckedModel:
    return openai(client("openai", "OpenAI", "OPENAI_API_KEY", options)).retrieval_model(name)


def _anthropic(name: str, options: dict[str, Any]) -> CheckedModel:
    return anthropic(client("anthropic", "Anthropic", "ANTHROPIC_API_KEY", options)).retrieval_model(name)


_ADAPTERS: dict[str, Callable[[str, dict[str, Any]], CheckedModel]] = {"openai": _openai, "anthropic": _anthropic}
