"""Makes the images around a stand-in for their programs, twice, and reads what is in them.

    image.py XTASK...    the command that runs xtask
"""

import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parents[1]
USERS = {"agent": "0:0", "aggregator": "65532:65532", "plugin": "65532:65532"}
# As glibc tells of itself in what it is linked into, and where ELF says for which machine a program is.
GLIBC = b"\0GNU C Library (stand-in) stable release version 2.99.\n"
MACHINE, ARM64 = 18, 183
MOST = 12 << 20
WANTED = {"title", "description", "version", "licenses"}


def labels():
    """Those that each stage of the Dockerfile gives; both ways to make an image say the same of it."""
    stages = re.split(r"^FROM scratch AS (\w+)$", (ROOT / "Dockerfile").read_text(), flags=re.M)[1:]
    texts = dict(zip(stages[::2], stages[1::2]))
    return {name: dict(re.findall(r'(org\.opencontainers\.image\.\w+)="([^"]*)"', text)) for name, text in texts.items()}


LABELS = labels()


def image(xtask, program, binaries, output):
    named = [word for binary in binaries for word in ("--binary", binary)]
    return subprocess.run(
        [*xtask, "image", "--program", program, *named, "--output", output], cwd=ROOT, capture_output=True, text=True
    )


def made(xtask, program, binaries, output):
    done = image(xtask, program, binaries, output)
    assert done.returncode == 0, done.stderr
    return output.read_bytes()


def files(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {it.name: opened.extractfile(it).read() for it in opened.getmembers()}


def check(program, archive, binaries):
    """What each machine's image holds; `binaries` by the machine."""
    layout = files(archive)
    blob = lambda it: layout[f"blobs/sha256/{it['digest'].removeprefix('sha256:')}"]
    [named] = json.loads(layout["index.json"])["manifests"]
    if len(binaries) == 1:
        described = [named]
    else:
        assert named["mediaType"] == "application/vnd.oci.image.index.v1+json"
        described = json.loads(blob(named))["manifests"]
    assert [it["platform"]["architecture"] for it in described] == list(binaries)
    for descriptor, binary in zip(described, binaries.values()):
        manifest = json.loads(blob(descriptor))
        config = json.loads(blob(manifest["config"]))
        assert config["config"]["User"] == USERS[program]
        assert config["config"]["Labels"] == manifest["annotations"] == LABELS[program], config
        assert config["architecture"] == descriptor["platform"]["architecture"]
        [layer] = manifest["layers"]
        held = files(blob(layer))
        [entrypoint] = config["config"]["Entrypoint"]
        assert set(held) == {entrypoint[1:], "licenses.txt", "sbom.cdx.json"} and held[entrypoint[1:]] == binary
        count = check_documents(held["licenses.txt"].decode(), held["sbom.cdx.json"].decode())
        beside = sum(map(len, held.values())) - len(binary)
        assert beside < 1 << 20, f"{beside} bytes beside the program"
    return count


def check_bill(xtask, program, binary, folder, archive):
    """What the Dockerfile puts beside the program is what lies there in the image."""
    subprocess.run([*xtask, "bill", program, binary, folder], cwd=ROOT, check=True)
    layout = files(archive)
    for name in ("licenses.txt", "sbom.cdx.json"):
        content = (folder / name).read_bytes()
        assert any(content in blob for blob in layout.values()), f"{program}: the image has another {name}"


def check_documents(notices, bill):
    said = JsonStrictValidator(SchemaVersion.V1_5).validate_str(bill)
    assert said is None, f"no CycloneDX 1.5: {said}"
    components = json.loads(bill)["components"]
    crates = [it for it in components if it.get("purl", "").startswith("pkg:cargo/")]
    assert len(crates) > 100 and {"tokio", "kube-client"} <= {it["name"] for it in crates}
    for crate in crates:
        assert f"\n{crate['name']} {crate['version']}: " in notices, f"{crate['name']}: not in licenses.txt"
    assert {("glibc", "2.99")} <= {(it["name"], it["version"]) for it in components}
    assert "GNU C Library (2.99)" in notices and "GNU LESSER GENERAL PUBLIC LICENSE" in notices
    return len(crates)


def main():
    for program, named in LABELS.items():
        assert {it.rsplit(".", 1)[1] for it in named} == WANTED, f"{program}: labels {named}"
    assert set(LABELS) == set(USERS), LABELS
    xtask = sys.argv[1:] or ["cargo", "run", "-q", "-p", "xtask", "--"]
    amd64 = pathlib.Path(shutil.which("busybox")).read_bytes() + GLIBC
    arm64 = amd64[:MACHINE] + bytes([ARM64, 0]) + amd64[MACHINE + 2 :]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # One is too heavy by itself, and one with what lies beside it.
        padded = {name: amd64 + bytes(size - len(amd64)) for name, size in {"heavy": MOST + 1, "full": MOST}.items()}
        programs = {"amd64": amd64, "arm64": arm64, **padded}
        for name, content in programs.items():
            (folder / name).write_bytes(content)
        for program in USERS:
            first = made(xtask, program, [folder / "amd64"], folder / "first.tar")
            second = made(xtask, program, [folder / "amd64"], folder / "second.tar")
            assert first == second, "two images of one program differ"
            count = check(program, first, {"amd64": amd64})
            check_bill(xtask, program, folder / "amd64", folder / f"bill-of-{program}", first)
            print(f"image of the {program}: {count} crates, with licences and bill of materials")
        machines = [folder / "amd64", folder / "arm64"]
        both = made(xtask, "agent", machines, folder / "both.tar")
        assert both == made(xtask, "agent", machines, folder / "both-again.tar"), "two images of two programs differ"
        check("agent", both, {"amd64": amd64, "arm64": arm64})
        for name, said in {"heavy": f"has {MOST + 1} bytes", "full": "the image of why-terminating-agent for amd64 has"}.items():
            refused = image(xtask, "agent", [folder / name], folder / f"{name}.tar")
            assert refused.returncode != 0 and said in refused.stderr, refused.stderr
            assert not (folder / f"{name}.tar").exists()
        print("image: two machines in one archive; a program over 12 MiB is refused, and one that is so with its licences")


main()
