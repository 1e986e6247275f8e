"""Makes a release for two machines, with the addresses of a forge and a registry, with a stand-in for the compiler, and checks its archives, krew's manifest, the chart and the
images.

    release.py
"""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import yaml
from helm_python import Chart

sys.path.insert(0, str(pathlib.Path(__file__).parent / "chart"))
from chart import render

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]
MACHINES = ["amd64", "arm64"]
WINDOWS = ["windows-amd64", "windows-arm64"]
# As made on macOS.
PREBUILT = "darwin-arm64"
# Where the release is said to be published.
REGISTRY, FORGE = "registry.example.com/wt", "https://forge.example.com/wt"
NOTICES = {"licenses.txt", "sbom.cdx.json"}
# The user of each image.
USERS = {
    "why-terminating-agent": "0:0",
    "why-terminating-aggregator": "65532:65532",
    "kubectl-why_terminating": "65532:65532",
}
# Builds a script that has glibc's version as a static program has it. Everything else runs the real cargo.
CARGO = """#!/bin/sh
case $1 in build | zigbuild) ;; *) exec {cargo} "$@" ;; esac
[ "$1" = build ] || exe=.exe
while [ $# -gt 0 ]; do
    case $1 in --target) triple=$2 ;; --target-dir) target=$2 ;; --bin) name=$2 ;; esac
    shift
done
mkdir -p "$target/$triple/release"
echo '#!/bin/true GNU C Library (stand-in) stable release version 2.99.' >"$target/$triple/release/$name${{exe-}}"
chmod 755 "$target/$triple/release/$name${{exe-}}"
"""


# cargo-about takes minutes to build.
ABOUT = """#!/bin/sh
[ "$1 $2 $3 $4 $5" = "generate --frozen --fail --config deploy/about.toml" ] && [ -f deploy/about.hbs ] && echo the licences of crates
"""


def made(folder):
    target = folder / "target"
    target.mkdir()
    tools = ROOT / (os.environ.get("TARGET") or os.environ.get("CARGO_TARGET_DIR") or "target") / "tools"
    (target / "tools").symlink_to(tools)
    programs = {"CARGO": CARGO.format(cargo=os.environ.get("CARGO") or shutil.which("cargo")), "ABOUT": ABOUT}
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    env = {**os.environ, "TARGET": str(target), **{name: str(folder / name) for name in programs}}
    (folder / "prebuilt").mkdir()
    with tarfile.open(folder / f"prebuilt/kubectl-why_terminating-{PREBUILT}.tar.gz", "w:gz") as archive:
        for name in ["kubectl-why_terminating", "LICENSE", "licenses.txt"]:
            archive.addfile(tarfile.TarInfo(f"./{name}"))
    env.update(IMAGE_REPOSITORY=REGISTRY, REPOSITORY_URL=FORGE, PREBUILT=str(folder / "prebuilt"))
    arguments = [folder / "out", ",".join(MACHINES), ",".join(WINDOWS)]
    subprocess.run(["sh", ROOT / "deploy/release.sh", *arguments], check=True, env=env)
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


def held(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {pathlib.PurePosixPath(it.name).name: (it, opened.extractfile(it).read()) for it in opened if it.isfile()}


def check_manifest(manifest, files):
    """What krew asks of one (its validation of indexoperations)."""
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2" and manifest["kind"] == "Plugin"
    assert manifest["metadata"]["name"] == "why-terminating"
    spec = manifest["spec"]
    assert spec["version"] == f"v{VERSION}" and re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert spec["homepage"] == FORGE and 0 < len(spec["shortDescription"]) <= 50 and spec["description"]
    # Terminals show both as they are.
    assert all(len(line) <= 80 for text in (spec["description"], spec["caveats"]) for line in text.splitlines())
    found = []
    for platform in spec["platforms"]:
        labels = platform["selector"]["matchLabels"]
        found.append(f"{labels['os']}-{labels['arch']}")
        name = platform["uri"].rsplit("/", 1)[1]
        assert platform["uri"].startswith(f"{FORGE}/releases/download/v{VERSION}/")
        assert name == f"kubectl-why_terminating-{found[-1]}.tar.gz"
        assert platform["bin"].endswith(".exe") == (labels["os"] == "windows")
        assert platform["sha256"] == hashlib.sha256(files[name]).hexdigest()
        copied = {pathlib.PurePosixPath(it["from"]).name for it in platform["files"]}
        assert {it["to"] for it in platform["files"]} == {"."} and platform["bin"] in copied <= set(held(files[name]))
    assert found == [PREBUILT, *(f"linux-{machine}" for machine in MACHINES), *WINDOWS]


def check_archive(archive, program="kubectl-why_terminating"):
    entries = held(archive)
    assert entries[program][0].mode & 0o111 and NOTICES | {"LICENSE", "kubectl-why_terminating.1"} <= set(entries)
    assert all((it.uid, it.gid, it.mtime) == (0, 0, 0) for it, _ in entries.values())


def check_image(program, archive):
    layout = {name: content for name, (_, content) in held(archive).items()}
    blob = lambda it: layout[it["digest"].removeprefix("sha256:")]
    [index] = json.loads(layout["index.json"])["manifests"]
    name = program.removeprefix("why-terminating-").replace("_", "-")
    assert index["annotations"]["org.opencontainers.image.ref.name"] == f"{REGISTRY}/{name}:{VERSION}", index
    for descriptor, machine in zip(json.loads(blob(index))["manifests"], MACHINES, strict=True):
        manifest = json.loads(blob(descriptor))
        image = json.loads(blob(manifest["config"]))
        assert image["architecture"] == descriptor["platform"]["architecture"] == machine
        config = image["config"]
        assert config["User"] == USERS[program] and config["Entrypoint"] == [f"/{program}"] and "Env" not in config, config
        labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
        assert (labels["title"], labels["version"], labels["licenses"]) == (program, VERSION, "Apache-2.0") and labels["description"]
        assert labels["source"] == labels["url"] == FORGE and len(labels["revision"]) == 40 and labels["created"][4] == "-", labels
        [layer] = manifest["layers"]
        entries = held(blob(layer))
        assert set(entries) == {program, *NOTICES} and entries[program][0].mode & 0o777 == 0o755, set(entries)
        check_notices(*(entries[name][1].decode() for name in sorted(NOTICES)))


def check_notices(licenses, bill):
    components = {it["name"]: it["version"] for it in json.loads(bill)["components"]}
    assert len(components) > 100 and components["glibc"] == "2.99" and "tokio" in components and str(ROOT) not in bill
    assert "the licences of crates" in licenses and "GNU LESSER GENERAL PUBLIC LICENSE" in licenses


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = made(folder)
        for machine in MACHINES:
            check_archive(files[f"kubectl-why_terminating-linux-{machine}.tar.gz"])
        for platform in WINDOWS:
            archive = files[f"kubectl-why_terminating-{platform}.tar.gz"]
            check_archive(archive, "kubectl-why_terminating.exe")
            texts = {name: text.decode() for name, (_, text) in held(archive).items() if name in NOTICES}
            assert "mingw-w64" in texts["sbom.cdx.json"] and "mingw-w64" in texts["licenses.txt"]
        for program in USERS:
            check_image(program, files[f"{program}.oci.tar"])
        # Helm's engine takes the packed chart for the one of the tree, with images that exist.
        packed = folder / f"out/why-terminating-{VERSION}.tgz"
        own = {program: {"image": {"repository": f"{REGISTRY}/{program}"}} for program in ("agent", "aggregator")}
        assert render({}, chart=packed) == render(own) and "cannot be pulled" not in str(render({}, chart=packed))
        meta = Chart.load(packed).metadata
        assert meta["home"] == FORGE and ".invalid" not in str(meta) and "VERSION" not in str(meta), meta
        check_manifest(yaml.safe_load(files["why-terminating.yaml"]), files)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder / "out", check=True)
        assert len(files["SHA256SUMS"].splitlines()) == len(files) - 1
        print(f"release: {len(files)} files of version {VERSION}")


sys.exit(main())
