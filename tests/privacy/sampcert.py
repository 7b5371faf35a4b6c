"""The samplers that SampCert verified in Lean, in integers: slow, and the judge of ours.

After de Medeiros et al. (2024), who formalize Canonne, Kamath & Steinke (2020). Every decision is a
comparison of whole numbers made from `entropy(n)`, n random bytes: no floating point, no logarithm."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Entropy = Callable[[int], bytes]


class Sampler:
    """Draws from the laws below, bit by bit, from one source of entropy."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._held, self._bits = 0, 0

    def _take(self, bits: int) -> int:
        while self._bits < bits:
            self._held |= int.from_bytes(self._entropy(64), "little") << self._bits
            self._bits += 512
        taken = self._held & ((1 << bits) - 1)
        self._held >>= bits
        self._bits -= bits
        return taken

    def uniform(self, below: int) -> int:
        """On 0..below-1: numbers of as many bits as it takes, until one is small enough."""
        bits = (below - 1).bit_length()
        while (drawn := self._take(bits)) >= below:
            pass
        return drawn

    def bernoulli(self, chance: Fraction) -> bool:
        return self.uniform(chance.denominator) < chance.numerator

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        """True with probability exp(-gamma).

        For gamma <= 1 the number of successes in a row of Bernoulli(gamma/1), Bernoulli(gamma/2), ... is even
        with that probability: the alternating series of exp. Beyond, a factor exp(-1) for each whole part."""
        while gamma > 1:
            if not self.bernoulli_exp(Fraction(1)):
                return False
            gamma -= 1
        count = 1
        while self.bernoulli(gamma / count):
            count += 1
        return count % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        """P(x) proportional to exp(-|x| / scale), scale = t/s.

        u + t v with u uniform below t and kept with exp(-u/t), and v the successes of exp(-1) in a row, is
        geometric with exp(-1/t); a whole s-th part of it is geometric with exp(-s/t). A sign, and 0 once."""
        t, s = scale.numerator, scale.denominator
        while True:
            u = self.uniform(t)
            if not self.bernoulli_exp(Fraction(u, t)):
                continue
            v = 0
            while self.bernoulli_exp(Fraction(1)):
                v += 1
            magnitude, negative = (u + t * v) // s, self.bernoulli(Fraction(1, 2))
            if magnitude or not negative:
                return -magnitude if negative else magnitude

    def gaussian(self, sigma: Fraction) -> int:
        """P(x) proportional to exp(-x^2 / (2 sigma^2)).

        A Laplace draw y of scale t = floor(sigma) + 1 is kept with exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)):
        the product of both laws is the one wanted, up to a constant."""
        t, square = sigma.numerator // sigma.denominator + 1, sigma * sigma
        while True:
            drawn = self.laplace(Fraction(t))
            if self.bernoulli_exp((abs(drawn) - square / t) ** 2 / (2 * square)):
                return drawn
