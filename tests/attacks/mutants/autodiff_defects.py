"""Clipping that does not bound what it should. These need PyTorch."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

SENSITIVITY = "tests/autodiff/test_sensitivity.py"
RUNS = "tests/autodiff/test_runs.py"

CLIPPING = (
    Mutant(
        "clipping dropped",
        "autodiff/clipping.py",
        ".clamp_min(1e-300), max=1.0)",
        ".clamp_min(1e-300), min=1.0, max=1.0)",
        SENSITIVITY,
    ),
    Mutant(
        "terms that are not finite let through",
        "autodiff/clipping.py",
        "usable = torch.isfinite(norms)",
        "usable = torch.ones_like(norms, dtype=torch.bool)",
        SENSITIVITY,
    ),
    Mutant(
        "products clipped to twice their limit",
        "autodiff/risk.py",
        "limit = self._settings.curvature_clip * float(np.linalg.norm(along))",
        "limit = 2.0 * self._settings.curvature_clip * float(np.linalg.norm(along))",
        SENSITIVITY,
    ),
    Mutant(
        "differences of losses not clipped",
        "autodiff/line.py",
        "clipped_numbers(here - there, -limit, limit, shares)",
        "clipped_numbers(here - there, -1e300, 1e300, shares)",
        SENSITIVITY,
    ),
    Mutant(
        "clipped gradient charged as if a record were added",
        "autodiff/problem.py",
        "        longest = self.problem.slope\n",
        "        longest = 0.5 * self.problem.slope\n",
        SENSITIVITY,
    ),
    Mutant(
        "module's Hessian charged as if a record were added",
        "autodiff/problem.py",
        "        longest = self.problem.curvature_high\n",
        "        longest = 0.5 * self.problem.curvature_high\n",
        SENSITIVITY,
    ),
    Mutant(
        "certificate of a clipped risk claims the risk's own gradient",
        "methods/loop.py",
        "            below_noise_floor=floor,\n            clipped=problem.clipped,\n",
        "            below_noise_floor=floor,\n",
        RUNS,
    ),
)

_STATE = "tests/autodiff/test_state.py"

STATE = (
    Mutant(
        "a layer that sets itself up on its first batch let in",
        "autodiff/claims.py",
        "    if writer is not None:\n",
        "    if writer == 0:\n",
        f"{_STATE} -k writes_its_own",
    ),
    Mutant(
        "claims checked on real examples",
        "autodiff/claims.py",
        "inputs, targets = made_up(examples, ceiling)",
        "inputs, targets = examples.inputs[:PROBES], examples.targets[:PROBES]",
        f"{_STATE} -k real_example",
    ),
    Mutant(
        "one copy of the module serves all passes",
        "autodiff/terms.py",
        "module, loss = copy.deepcopy((self._module, self._loss))",
        "module, loss = self._module, self._loss",
        f"{_STATE} -k starts_to_write",
    ),
    Mutant(
        "a stand-in counts for the example it stands in for",
        "autodiff/terms.py",
        "        terms[broken] = torch.nan\n",
        "",
        f"{_STATE} -k past_the_last_class",
    ),
)
