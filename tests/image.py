"""Makes the images around a stand-in for their programs, twice, and reads what is in them.

    image.py XTASK...    the command that runs xtask
"""

import hashlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parents[1]


def made(xtask, program, binary, output):
    arguments = ["image", "--program", program, "--binary", binary, "--output", output]
    subprocess.run([*xtask, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return output.read_bytes()


def files(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {it.name: opened.extractfile(it).read() for it in opened.getmembers()}


def check(program, archive, binary):
    layout = files(archive)
    blob = lambda it: layout[f"blobs/sha256/{it['digest'].removeprefix('sha256:')}"]
    manifest = json.loads(blob(json.loads(layout["index.json"])["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    assert config["config"]["User"] == {"agent": "0:0", "aggregator": "65532:65532"}[program]
    [layer] = manifest["layers"]
    held = files(blob(layer))
    name = f"why-terminating-{program}"
    assert set(held) == {name, "licenses.txt", "sbom.cdx.json"} and held[name] == binary
    said = JsonStrictValidator(SchemaVersion.V1_5).validate_str(held["sbom.cdx.json"].decode())
    assert said is None, f"no CycloneDX 1.5: {said}"
    bill = json.loads(held["sbom.cdx.json"])
    notices = held["licenses.txt"].decode()
    crates = [it for it in bill["components"] if it.get("purl", "").startswith("pkg:cargo/")]
    assert len(crates) > 100 and {"tokio", "kube-client"} <= {it["name"] for it in crates}
    for crate in crates:
        assert f"\n{crate['name']} {crate['version']}: " in notices, f"{crate['name']}: not in licenses.txt"
    beside = sum(map(len, held.values())) - len(binary)
    assert beside < 1 << 20, f"{beside} bytes beside the program"
    return len(crates)


def main():
    xtask = sys.argv[1:] or ["cargo", "run", "-q", "-p", "xtask", "--"]
    busybox = shutil.which("busybox")
    binary = pathlib.Path(busybox).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        for program in ("agent", "aggregator"):
            first = made(xtask, program, busybox, pathlib.Path(folder) / "first.tar")
            second = made(xtask, program, busybox, pathlib.Path(folder) / "second.tar")
            assert hashlib.sha256(first).digest() == hashlib.sha256(second).digest(), "two images of one program differ"
            print(f"image of the {program}: {check(program, first, binary)} crates, with licences and bill of materials")


main()
