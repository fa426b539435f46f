"""Writes what a build of Headwater is made of, as CycloneDX: every crate of Cargo.lock, none left out.

    python3 scripts/sbom.py > sbom.json

Each crate has its package URL, version, licence, what it depends on, and, where it comes from a registry, the SHA-256
by which Cargo checks it. The same lock file gives the same bytes. Nothing but the standard library is needed, and `cargo`,
which knows the licences.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def locked(text: str) -> list[dict[str, object]]:
    """The packages of a lock file: tables of `name = "text"` and lists of text, and nothing else."""
    packages = []
    for block in text.split("[[package]]\n")[1:]:
        fields: dict[str, object] = dict(re.findall(r'^(\w+) = "([^"]*)"$', block, flags=re.MULTILINE))
        listed = re.search(r"^dependencies = \[\n(.*?)^\]", block, flags=re.MULTILINE | re.DOTALL)
        fields["dependencies"] = re.findall(r'"([^"]*)"', listed.group(1)) if listed else []
        packages.append(fields)
    return packages


def url(package: dict[str, object]) -> str:
    """The package URL of a crate."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def expression(licence: str) -> str:
    """The licence as an SPDX expression; older crates write `/` for `OR`."""
    return re.sub(r"\s*/\s*", " OR ", licence)


def component(package: dict[str, object], licence: str | None) -> dict[str, object]:
    """A crate as CycloneDX writes it."""
    if package.get("source") not in (None, REGISTRY):
        raise SystemExit(f"{url(package)} comes from {package['source']}: only crates.io is described")
    written: dict[str, object] = {
        "type": "library",
        "bom-ref": url(package),
        "name": package["name"],
        "version": package["version"],
        "purl": url(package),
    }
    if "checksum" in package:
        written["hashes"] = [{"alg": "SHA-256", "content": package["checksum"]}]
    if licence:
        written["licenses"] = [{"expression": expression(licence)}]
    return written


def dependencies(packages: list[dict[str, object]]) -> list[dict[str, object]]:
    """What each crate depends on. The lock file leaves the version out where there is but one."""
    by_name: dict[object, list[dict[str, object]]] = {}
    for package in packages:
        by_name.setdefault(package["name"], []).append(package)

    def found(text: str) -> str:
        name, _, version = text.partition(" ")
        held = [one for one in by_name[name] if version in ("", one["version"])]
        if len(held) != 1:
            raise SystemExit(f"Cargo.lock names {text!r}, which {len(held)} crates are")
        return url(held[0])

    return [{"ref": url(package), "dependsOn": sorted(map(found, package["dependencies"]))} for package in packages]


def bill(lock: str, metadata: dict[str, object]) -> dict[str, object]:
    """The whole bill of a lock file, with licences out of what `cargo metadata` says."""
    packages = locked(lock)
    licences = {(one["name"], one["version"]): one["license"] for one in metadata["packages"]}
    own = next(one for one in packages if one["name"] == "headwater-server")
    unknown = [url(one) for one in packages if not licences.get((one["name"], one["version"]))]
    if unknown:
        raise SystemExit(f"cargo knows no licence of {', '.join(unknown)}")
    digest = hashlib.sha256(lock.encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'sha256:{digest}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "headwater",
                "name": "headwater",
                "version": own["version"],
                "licenses": [{"expression": expression(licences["headwater-server", own["version"]])}],
            },
            "properties": [{"name": "headwater:Cargo.lock:sha256", "value": digest}],
        },
        "components": [component(one, licences[one["name"], one["version"]]) for one in packages],
        "dependencies": [
            {"ref": "headwater", "dependsOn": sorted(url(one) for one in packages if "source" not in one)},
            *dependencies(packages),
        ],
    }


def main() -> None:
    """Writes the bill to standard output."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "metadata", "--format-version", "1", "--locked"]
    told = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE)
    if told.returncode != 0:
        raise SystemExit("cargo metadata failed: see above")
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    json.dump(bill(lock, json.loads(told.stdout)), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
