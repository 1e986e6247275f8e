"""Asks `kubectl why-terminating mcp` what the protocol's own client can ask, over a recorded cluster.

    mcp_client.py PLUGIN APISERVER
"""

import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from mcp import Client, StdioServerParameters, stdio_client

PLUGIN, APISERVER = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
MAX_ANSWER_BYTES = 65_536


def report(answer):
    assert not answer.is_error, answer.content
    assert sum(len(one.text.encode()) for one in answer.content) <= MAX_ANSWER_BYTES
    return json.loads(answer.content[0].text)


async def ask(kubeconfig):
    server = StdioServerParameters(command=PLUGIN, args=["mcp", "--kubeconfig", str(kubeconfig)])
    async with Client(stdio_client(server)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["before", "explain", "roots"], tools
        for tool in tools.values():
            assert tool.annotations.read_only_hint and tool.description, tool
            assert all(field.get("description") for field in tool.input_schema["properties"].values()), tool

        everything = report(await client.call_tool("roots", {}))
        roots = [root["id"] for root in everything["roots"]]
        assert roots, everything
        one = report(await client.call_tool("explain", {"what": roots[0]}))
        assert [root["id"] for root in one["roots"]] == roots[:1]
        named = report(await client.call_tool("explain", {"what": "ns/ack-system-e2e-test-0"}))
        assert named["verdict"] == "Stuck", named
        # Several at once.
        both = await asyncio.gather(*(client.call_tool("before", {"object": f"ns/{name}"}) for name in ("default", "kube-system")))
        assert all(report(answer)["subject"]["Before"] for answer in both)
        for wrong in ({"what": "--live"}, {"what": "ns/nowhere"}, {}):
            try:
                answer = await client.call_tool("explain", wrong)
                assert answer.is_error and answer.content[0].text, answer
            except Exception as error:
                assert not wrong, error
    print(f"mcp: {len(tools)} tools answer the protocol's own client")


with tempfile.TemporaryDirectory() as folder:
    kubeconfig = pathlib.Path(folder, "kubeconfig")
    server = subprocess.Popen([APISERVER, "--recording", "discovery-failure", "--kubeconfig", kubeconfig], stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if kubeconfig.exists():
                break
            time.sleep(0.1)
        asyncio.run(asyncio.wait_for(ask(kubeconfig), 60))
    finally:
        server.terminate()
        server.wait()
