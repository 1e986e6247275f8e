"""Puts a release together twice, with a stand-in for the plugin, and reads what came out.

    release.py
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent / "chart"))
from chart import render

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]
# Whose first word is what krew takes as GOOS and GOARCH.
PLATFORMS = ["linux-amd64", "windows-amd64"]


def made(folder):
    output = folder / "out"
    program = folder / "program"
    shutil.copy("/bin/true", program)
    for beside in ("licenses.txt", "sbom.cdx.json"):
        (folder / beside).write_text(beside)
    image = folder / "image.oci.tar"
    image.write_bytes(b"image")
    plugins = [f"{platform}={program}" for platform in PLATFORMS]
    subprocess.run(["sh", ROOT / "deploy/release.sh", output, *plugins, "--", image], check=True, capture_output=True)
    return {file.name: file.read_bytes() for file in output.iterdir()}


def check_manifest(manifest, files):
    """What krew asks of one (its validation of indexoperations)."""
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2" and manifest["kind"] == "Plugin"
    assert manifest["metadata"]["name"] == "why-terminating"
    spec = manifest["spec"]
    assert spec["version"] == f"v{VERSION}" and re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert spec["homepage"].startswith("https://") and 0 < len(spec["shortDescription"]) <= 50 and spec["description"]
    found = []
    for platform in spec["platforms"]:
        labels = platform["selector"]["matchLabels"]
        found.append(f"{labels['os']}-{labels['arch']}")
        name = platform["uri"].rsplit("/", 1)[1]
        assert platform["uri"].startswith("https://") and f"/v{VERSION}/" in platform["uri"]
        assert name == f"kubectl-why_terminating-{found[-1]}.tar.gz"
        assert platform["sha256"] == hashlib.sha256(files[name]).hexdigest()
        copied = {pathlib.PurePosixPath(it["from"]).name for it in platform["files"]}
        assert {it["to"] for it in platform["files"]} == {"."} and platform["bin"] in copied
        assert platform["bin"] == "kubectl-why_terminating" + (".exe" if labels["os"] == "windows" else "")
    assert found == PLATFORMS


def check_archive(path):
    with tarfile.open(path) as archive:
        entries = {pathlib.PurePosixPath(it.name).name: it for it in archive.getmembers()}
    [program] = [it for name, it in entries.items() if re.fullmatch(r"kubectl-why_terminating(\.exe)?", name)]
    beside = {"LICENSE", "licenses.txt", "sbom.cdx.json", "kubectl-why_terminating.1"}
    assert program.mode & 0o111 and beside <= set(entries)
    assert all((it.uid, it.gid, it.mtime) == (0, 0, 0) for it in entries.values())


def check_chart(path):
    """Helm's engine takes the packed chart for the one of the tree."""
    assert render({}, chart=path) == render({})


def main():
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        first, second = pathlib.Path(first), pathlib.Path(second)
        files = made(first)
        assert files == made(second), "two releases of the same programs differ"
        archives = [name for name in files if name.endswith(".tar.gz")]
        assert len(archives) == len(PLATFORMS)
        for name in archives:
            check_archive(first / "out" / name)
        check_chart(first / f"out/why-terminating-{VERSION}.tgz")
        check_manifest(yaml.safe_load(files["why-terminating.yaml"]), files)
        sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].decode().splitlines())
        assert set(sums) == set(files) - {"SHA256SUMS"} and "image.oci.tar" in sums
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=first / "out", check=True)
        print(f"release: {len(files)} files of version {VERSION}, the same twice")


sys.exit(main())
