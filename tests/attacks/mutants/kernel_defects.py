"""Compiled losses that are off by more than the rounding that sensitivities allow, or left behind by a cache."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

PRODUCTS = "tests/kernels/test_products.py"

FORMULAS = (
    Mutant(
        "compiled logarithm cancels near 0",
        "kernels.compiled.exponential:log_sum",
        "z if k == 0 else m - 1.0",
        "m - 1.0",
        f"{PRODUCTS} -k few_ulps",
    ),
    Mutant(
        "compiled exponential cancels near 0",
        "kernels.compiled.exponential:fading",
        "1.0 - power - power * (quotient * r)",
        "1.0 - (quotient * r + 1.0) * power",
        f"{PRODUCTS} -k few_ulps",
    ),
    Mutant(
        "a table just worth compiling for left to the reference",
        "trusted.compiling:is_compiled",
        "entries >= WORTH_COMPILING",
        "entries > WORTH_COMPILING",
        f"{PRODUCTS} -k size_decides",
    ),
    Mutant(
        "machine code of an older formula kept",
        "trusted.jit:Kept._index_key",
        "(*super()._index_key(signature, codegen), _fingerprint(self._folder))",
        "super()._index_key(signature, codegen)",
        f"{PRODUCTS} -k older_formula",
    ),
)
