"""Makes tests for `promtool test rules` of the series in recorded.yaml and what they must page, in recorded-alerts.yaml.

    recorded_alerts.py FILE
"""

import pathlib
import re
import sys

import yaml

HERE = pathlib.Path(__file__).parent


def at_minute(values, minute):
    """What stands there: `7x3` is four samples, `_x3` three."""
    samples = []
    for word in values.split():
        value, _, more = word.partition("x")
        samples += [value] * (int(more or 0) + (value != "_" or not more))
    return float(samples[minute])


def test(recorded, wanted):
    series = recorded[wanted["recording"]]
    if only := wanted.get("only"):
        series = [it for it in series if re.match(only, it["series"])]
    assert series, f"{wanted['name']}: nothing was recorded"
    rules = yaml.safe_dump(wanted["alert_rule_test"], width=1000)
    # What the run itself gave.
    if roots := {*re.findall(r'root="(\w+)"', str(series))}:
        [root] = roots
        rules = rules.replace("ROOT", root)
    if "SILENT" in rules:
        [silent] = [it["values"] for it in series if "api_silent_seconds" in it["series"]]
        seconds = at_minute(silent, 60)
        rules = rules.replace("SILENT", f"{seconds // 60:.0f}m {seconds % 60:.0f}s")
    rules = yaml.safe_load(rules)
    return {"name": wanted["name"], "interval": "1m", "input_series": series, "alert_rule_test": rules}


def main(file):
    recorded = yaml.safe_load((HERE / "recorded.yaml").read_text())
    wanted = yaml.safe_load((HERE / "recorded-alerts.yaml").read_text())
    used = {it["recording"] for it in wanted}
    assert used == set(recorded), f"recorded and not looked at: {set(recorded) - used}"
    tests = [test(recorded, it) for it in wanted]
    whole = {"rule_files": ["alerts.rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    pathlib.Path(file).write_text(yaml.safe_dump(whole))


main(sys.argv[1])
