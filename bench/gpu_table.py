#!/usr/bin/env python3
"""The table of bench/gpu.sh, from the JSON files that its stages left in a folder; missing ones are named.

  bench/gpu_table.py FOLDER
  bench/gpu_table.py --self-test

Files: plan-NETWORK-BATCH.json (vdnn plan), bench-NETWORK-BATCH-BUDGET.json (vdnn bench),
predict-NETWORK-BATCH-BUDGET-POLICY.json (vdnn plan on a profile), pytorch-NETWORK-BATCH.jsonl
(gpu_pytorch.py), verify-NETWORK-POLICY.json (vdnn verify), cases (what was to be measured, a line
NETWORK:BATCH each), profile (the profile's name).
"""

import json
import pathlib
import sys
import tempfile

BUDGETS = ("all", "half", "quarter", "least")
MEANING = {"all": "everything", "half": "1/2 network-wide", "quarter": "1/4 network-wide", "least": "least"}
VARIANTS = ("plain", "save_on_cpu", "checkpoint", "two_streams")
GIB = 2**30


def load(path):
    """What a stage wrote; None where it wrote nothing that is whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def load_lines(path):
    rows = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue  # cut off
    return rows


def gib(size):
    return "" if size is None else f"{size / GIB:.2f}"


def text_table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [str(cell).ljust(width) if i < 3 else str(cell).rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


class Results:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.missing = []
        cases = self.folder / "cases"
        lines = cases.read_text(encoding="utf-8").split() if cases.exists() else []
        self.cases = [(line.rsplit(":", 1)[0], int(line.rsplit(":", 1)[1])) for line in lines]
        profile = self.folder / "profile"
        self.profile = profile.read_text(encoding="utf-8").strip() if profile.exists() else "profile"

    def file(self, name):
        found = load(self.folder / name)
        if found is None:
            self.missing.append(name)
        return found

    # A row for each policy in each budget.
    def vdnn_rows(self, network, batch):
        rows = []
        for budget in BUDGETS:
            stem = f"{network}-{batch}-{budget}"
            if (self.folder / f"bench-{stem}.not-asked").exists():
                continue
            bench = self.file(f"bench-{stem}.json")
            for policy in bench["policies"] if bench else []:
                rows.append(self.vdnn_row(f"{network} ({batch})", budget, stem, policy, bench["budget_bytes"]))
        return rows

    def vdnn_row(self, case, budget, stem, policy, budget_bytes):
        name = policy["policy"]
        head = [case, f"{MEANING[budget]}, {gib(budget_bytes)}", f"vdnn {name}"]
        if not policy.get("fits", True):
            return [*head, "does not fit", "", "", "", gib(policy["least_budget_bytes"]) + " least", "", "", ""]
        steps = policy["steps"] + 1  # the totals are of the first one, too
        on_device = (policy["kernel_seconds"] + policy["stall_seconds"]) / steps
        ratios = sorted(policy.get("ratios") or [policy["ratio"]])
        predicted = load(self.folder / f"predict-{stem}-{name}.json")
        if predicted is None or not predicted.get("fits"):
            prediction, predicted_ratio = "", ""
        else:
            prediction = f"{1e3 * predicted['predicted_seconds']:.1f}"
            predicted_ratio = f"{predicted['slowdown']:.3f}"
        return [*head, gib(policy["peak_bytes"]), f"{1e3 * policy['median_step_seconds']:.1f}",
                f"{1e3 * on_device:.1f}", f"{policy['ratio']:.3f} ({ratios[0]:.2f}-{ratios[-1]:.2f})",
                gib(policy["offloaded_bytes"] / steps), f"{100 * policy['hidden_copy_share']:.1f} %",
                prediction, predicted_ratio]

    def pytorch_rows(self, network, batch):
        name = f"pytorch-{network}-{batch}.jsonl"
        by_variant = {row["variant"]: row for row in load_lines(self.folder / name)}
        rows = []
        plain = by_variant.get("plain", {}).get("median_step_seconds")
        for variant in VARIANTS:
            row = by_variant.get(variant)
            head = [f"{network} ({batch})", "", f"PyTorch {variant}"]
            if row is None:
                self.missing.append(f"{name}, {variant}")
            elif "error" in row:
                rows.append([*head, row["error"][:24], "", "", "", "", "", "", ""])
            else:
                ratio = f"{row['median_step_seconds'] / plain:.3f}" if plain else ""
                rows.append([*head, gib(row.get("peak_bytes")), f"{1e3 * row['median_step_seconds']:.1f}", "",
                             ratio, "", "", "", ""])
        return rows

    def speed(self):
        head = ["network", "budget, GiB", "who", "peak GiB", "step ms", "device ms", "x oracle, x plain",
                "out GiB", "hidden", "predicted ms", "predicted x"]
        rows = []
        for network, batch in self.cases:
            rows += self.vdnn_rows(network, batch) + self.pytorch_rows(network, batch)
        return text_table(head, rows) if rows else "no step was measured"

    def bits(self):
        """The table of verify, and whether all runs were equal."""
        rows, equal = [], True
        for path in sorted(self.folder.glob("verify-*.json")):
            run = load(path)
            network, policy = path.stem.removeprefix("verify-").split("_", 1)
            good = run is not None and run.get("equal") is True
            equal = equal and good
            if run is None or "equal" not in run:
                rows.append([network, policy, "NOT COMPARED", "", ""])
            else:
                rows.append([network, policy, "equal" if good else "DIFFERENT", gib(run["peak_bytes"]),
                             gib(run["offloaded_bytes"])])
        if not rows:
            return "nothing was compared bit for bit", False
        return text_table(["network", "policy", "bits", "peak GiB", "out GiB"], rows), equal

    def report(self):
        bits, equal = self.bits()
        text = (f"Bit for bit against unlimited memory, in the least budget of each policy\n\n{bits}\n\n"
                f"Steps\n\n{self.speed()}\n\n"
                "step: median of whole steps, vdnn's with its data loader; device: kernels and their waits for "
                "copies, mean, the first step included\nx oracle: median over rounds of the step against the oracle's of the same round; "
                "x plain: against plain PyTorch\npeak: of PyTorch torch.cuda.max_memory_allocated; predicted: "
                f"profile:{self.profile}, without having seen this machine\n")
        if self.missing:
            text += "\nmissing: " + "; ".join(self.missing) + "\n"
        return text, equal and not self.missing


def self_test():
    measured = {"policy": "auto", "fits": True, "steps": 4, "peak_bytes": 2 * GIB, "median_step_seconds": 0.2,
                "ratio": 1.25, "ratios": [1.3, 1.2, 1.25], "kernel_seconds": 0.5, "stall_seconds": 0.25,
                "offloaded_bytes": 5 * GIB, "hidden_copy_share": 0.875}
    refused = {"policy": "vdnn-dyn", "fits": False, "least_budget_bytes": 3 * GIB}
    files = {
        "cases": "vgg-16:64 alexnet:256", "profile": "h200-141gb",
        "bench-vgg-16-64-half.json": json.dumps({"budget_bytes": 2.5 * GIB, "policies": [measured, refused]}),
        "bench-vgg-16-64-quarter.json": "{ cut off",
        "bench-vgg-16-64-least.not-asked": "",
        "predict-vgg-16-64-half-auto.json": json.dumps({"fits": True, "predicted_seconds": 0.1, "slowdown": 1.5}),
        "pytorch-vgg-16-64.jsonl": "\n".join([
            json.dumps({"variant": "plain", "median_step_seconds": 0.1, "peak_bytes": GIB}),
            json.dumps({"variant": "checkpoint", "median_step_seconds": 0.15, "peak_bytes": GIB}),
            json.dumps({"variant": "save_on_cpu", "error": "OutOfMemoryError: CUDA out of memory"}),
            "{\"vari"]),
        "verify-vgg-16_auto.json": json.dumps({"equal": True, "peak_bytes": GIB, "offloaded_bytes": 0}),
        "verify-alexnet_vdnn-all.json": json.dumps({"equal": False, "peak_bytes": GIB, "offloaded_bytes": GIB})}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
        text, good = Results(folder).report()
        for wanted in ("vgg-16 (64)", "1/2 network-wide, 2.50", "1.250 (1.20-1.30)", "150.0", "87.5 %", "100.0",
                       "1.500", "does not fit", "3.00 least", "PyTorch checkpoint", "OutOfMemoryError: CUDA",
                       "DIFFERENT", "bench-vgg-16-64-quarter.json", "bench-alexnet-256-all.json",
                       "pytorch-vgg-16-64.jsonl, two_streams"):
            assert wanted in text, f"'{wanted}' is not in\n{text}"
        assert "bench-vgg-16-64-least" not in text, text
        assert not good
        empty, good = Results(pathlib.Path(folder) / "nothing").report()
        assert "nothing was compared" in empty and not good
        print(text)
    print("self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text, good = Results(sys.argv[1]).report()
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
