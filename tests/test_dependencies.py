"""What a plain install brings: permissive licences only, no deep-learning framework, nothing heavy at import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import ROOT

PERMISSIVE = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
        "MIT",
        "PSF-2.0",
        "Unlicense",
        "Zlib",
    }
)

# How metadata written before SPDX expressions spells the same licences.
SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "mit license": "MIT",
}

# Weak copyleft by file, accepted by name: a progress bar that the hub client of `tokenizers` requires, used
# unmodified and never imported by this project.
ACCEPTED = {"tqdm": "MPL-2.0"}

# Says "dependency licenses" beside its own two; the texts of PDFium and what it links are permissive.
REMARKS = {"pypdfium2": "dependency licenses"}

MOST_DISTRIBUTIONS = 40
FRAMEWORKS = frozenset({"torch", "tensorflow", "jax", "transformers", "sentence-transformers"})
HEAVY = ("lxml", "msgspec", "numpy", "onnxruntime", "pypdfium2", "regex", "rich", "sqlite3", "tokenizers")


@cache
def default_install() -> dict[str, metadata.Distribution]:
    """Every distribution a plain install of this project brings, by canonical name."""
    found: dict[str, metadata.Distribution] = {}
    wanted = ["florilege"]
    while wanted:
        name = canonicalize_name(wanted.pop())
        if name in found:
            continue
        found[name] = metadata.distribution(name)
        for line in found[name].requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                wanted.append(requirement.name)
    del found["florilege"]
    return found


def licences(distribution: metadata.Distribution) -> set[str]:
    """The licences a distribution states, as SPDX names where the spelling is known."""
    stated = distribution.metadata.get("License-Expression") or distribution.metadata.get("License")
    if not stated:
        classifiers = distribution.metadata.get_all("Classifier") or []
        stated = ", ".join(line.rsplit(" :: ", 1)[1] for line in classifiers if line.startswith("License ::"))
    words = [word.strip() for word in re.split(r"\bAND\b|\bOR\b|,|;", stated)]
    return {SPELLINGS.get(word.lower(), word) for word in words if word}


@pytest.mark.parametrize("name", sorted(default_install()))
def test_licence_is_permissive(name: str) -> None:
    stated = licences(default_install()[name]) - {ACCEPTED.get(name), REMARKS.get(name)}
    assert stated, f"{name} states no licence"
    assert stated <= PERMISSIVE, f"{name} states {sorted(stated - PERMISSIVE)}"


def test_exceptions_are_still_needed() -> None:
    for name, licence in {**ACCEPTED, **REMARKS}.items():
        assert licence in licences(default_install()[name])


def test_default_install_stays_small_and_has_no_framework() -> None:
    assert not FRAMEWORKS & default_install().keys()
    assert len(default_install()) <= MOST_DISTRIBUTIONS


def test_constraints_pin_everything_and_by_version_only() -> None:
    pinned = set()
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==[0-9][0-9A-Za-z.]*", line)
            assert match, f"not a plain pin: {line}"
            pinned.add(canonicalize_name(match[1]))
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    wanted = {*default_install(), *(canonicalize_name(Requirement(line).name) for line in tools)}
    assert wanted <= pinned, f"not pinned: {sorted(wanted - pinned)}"


def test_import_is_light() -> None:
    code = f"import sys, json, florilege; print(json.dumps(sorted(set({HEAVY!r}) & set(sys.modules))))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert json.loads(printed) == []
