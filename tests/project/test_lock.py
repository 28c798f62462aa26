"""requirements.lock has the same versions as uv.lock, on every platform and Python, for users without uv."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .source_files import ROOT

LOCK = tomllib.loads((ROOT / "uv.lock").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS, _, BUILD_PINS = (ROOT / "requirements.lock").read_text().partition("# build backend\n")

Pin = tuple[str, str]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_pip_and_uv_install_the_same_versions(python: str, platform: str) -> None:
    environment = _environment(python, platform)
    pinned = [_pin(line) for line in requirements(PINS) if _applies(line.marker, environment)]
    assert sorted(pinned) == sorted(locked(environment))


def test_every_locked_package_is_pinned_somewhere() -> None:
    """Also those that none of the platforms above wants."""
    in_uv = {(package["name"], package["version"]) for package in LOCK["package"]}
    assert {_pin(line) for line in requirements(PINS)} == in_uv - {("plait", PROJECT["project"]["version"])}


def test_the_build_backend_is_pinned() -> None:
    pins = dict(_pin(line) for line in requirements(PINS + BUILD_PINS))
    for wanted in map(Requirement, PROJECT["build-system"]["requires"]):
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)])


def test_the_locks_name_no_host_but_the_public_index() -> None:
    assert "://" not in PINS + BUILD_PINS
    urls = re.findall(r'"(\w+://[^"]+)"', (ROOT / "uv.lock").read_text())
    assert {urlsplit(url).hostname for url in urls} == {"pypi.org", "files.pythonhosted.org"}


def test_every_pin_has_the_hashes_of_the_lock() -> None:
    """pip installs nothing else then: no other file by the same name and version."""
    in_uv = {
        (package["name"], package["version"]): {
            file["hash"] for file in [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        }
        for package in LOCK["package"]
    }
    for text in (PINS, BUILD_PINS):
        for line in _lines(text):
            hashes = set(re.findall(r"--hash=(sha256:[0-9a-f]{64})(?: |$)", line))
            assert hashes, line
            assert text is BUILD_PINS or hashes == in_uv[_pin(_requirement(line))]
    assert "--require-hashes -r requirements.lock" in (ROOT / "scripts/environment").read_text()


def requirements(text: str) -> list[Requirement]:
    return [_requirement(line) for line in _lines(text)]


def _lines(text: str) -> list[str]:
    """A package with its hashes as one line."""
    whole = text.replace("\\\n", "")
    return [line for line in whole.splitlines() if line and not line.startswith("#")]


def _requirement(line: str) -> Requirement:
    return Requirement(line.partition("--hash=")[0].strip())


def locked(environment: dict[str, str]) -> set[Pin]:
    """Walk uv.lock from plait with all its extras and groups, as far as the markers allow."""
    reached: set[tuple[str, str, str | None]] = set()
    plait = _package({"name": "plait"})
    ahead = [
        dependency
        for group in ("optional-dependencies", "dev-dependencies")
        for listed in plait.get(group, {}).values()
        for dependency in listed
    ] + plait["dependencies"]
    while ahead:
        dependency = ahead.pop()
        marker = Marker(dependency["marker"]) if "marker" in dependency else None
        if not _applies(marker, environment):
            continue
        package = _package(dependency)
        for extra in (None, *dependency.get("extra", ())):
            node = (package["name"], package["version"], extra)
            if node not in reached:
                reached.add(node)
                ahead += _dependencies(package, extra)
    return {(name, version) for name, version, _ in reached}


def _package(dependency: dict[str, Any]) -> dict[str, Any]:
    [package] = _candidates(dependency)
    return package


def _candidates(dependency: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for package in LOCK["package"]:
        if package["name"] == dependency["name"] and dependency.get("version") in (None, package["version"]):
            yield package


def _dependencies(package: dict[str, Any], extra: str | None) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (
        package.get("dependencies", []) if extra is None else package.get("optional-dependencies", {}).get(extra, [])
    )
    return listed


def _pin(requirement: Requirement) -> Pin:
    [specifier] = requirement.specifier
    assert specifier.operator == "=="
    return canonicalize_name(requirement.name), specifier.version


def _applies(marker: Marker | None, environment: dict[str, str]) -> bool:
    return marker is None or marker.evaluate(environment)


def _environment(python: str, platform: str) -> dict[str, str]:
    environment = {key: str(value) for key, value in default_environment().items()}
    environment["python_version"] = python
    environment["python_full_version"] = f"{python}.0"
    environment["sys_platform"] = platform
    environment["platform_system"] = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[platform]
    environment["os_name"] = "nt" if platform == "win32" else "posix"
    return environment
