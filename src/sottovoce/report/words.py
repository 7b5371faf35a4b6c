"""What the page says in plain words, and the numbers those words need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.accounting.relations import Relation
from sottovoce.accounting.wording import at_least, at_most, right_guess, stated
from sottovoce.report.markup import capital, element, level, number, text

if TYPE_CHECKING:
    from sottovoce.accounting.guarantee import Guarantee
    from sottovoce.report.card import Measured
    from sottovoce.results.inference.summary import Summary
    from sottovoce.results.result import Result

FORMULA = (
    "P[M(D) \u2208 S] \u2264 e<sup>\u03b5</sup> \u00b7 P[M(D\u2032) \u2208 S] + \u03b4"
    "\u2003for every set S of outcomes and all D, D\u2032 that are neighbours"
)

NOT_PROMISED = (
    "What is true of the population stays visible: if smoking causes cancer, this model may show it.",
    "Unless the promise is for persons, one with k records is protected roughly k times less.",
    "The number of records (or of persons, if the promise is for them), the declared columns, bounds, "
    "categories and all settings are public.",
    "Running time and memory use, and whether a file was refused as invalid, are not covered.",
    "Other releases from the same data add up with this one, unless one ledger counts them all.",
)


def _factor(epsilon: float) -> str:
    """e^epsilon, as a power of ten where it is past what a float holds."""
    if epsilon < 700.0:
        return number(at_most(math.exp(epsilon)))
    return f"10<sup>{number(at_most(epsilon / math.log(10.0)))}</sup>"


def _guess(promise: Guarantee) -> str:
    """The chance of a right guess at most, the same wherever a page says it."""
    return f"{at_most(100.0 * right_guess(promise.epsilon, promise.delta), 4):.4g}\u00a0%"


def headline(result: Result) -> str:
    if result.simulated:
        return "Not private: the noise of this run was simulated from a seed"
    promise = result.guarantee
    named = (
        f"has narrowed one {promise.unit} down to two candidates picks the right one"
        if promise.relation is Relation.REPLACE_ONE
        else f"guesses whether one given {promise.unit} was counted at all is right"
    )
    return (
        f"Anyone who sees everything released and {named} with a probability of at most "
        f"{_guess(promise)}; a blind guess is right with 50\u00a0%"
    )


def promise(result: Result) -> str:
    """The guarantee in symbols, for a line below the headline; empty where there is none."""
    if result.simulated:
        return ""
    promised = result.guarantee
    pair = f"({at_most(promised.epsilon, 4):.4g}, {number(at_most(promised.delta))})"
    return f"{pair}-differential privacy for every {promised.unit}"


def _held_out(figures: tuple[Measured, ...], unit: str) -> str:
    if not figures:
        return ""
    return (
        f" Each of the {figures[0].n:,} {text(unit)}s held out is protected as well, by the part of the "
        "budget spent on the figures: nobody is in both parts."
    )


def promises(result: Result, figures: tuple[Measured, ...] = ()) -> list[str]:
    """Paragraphs: what is guaranteed and against whom."""
    promise = result.guarantee
    if result.simulated:
        return [
            "Anyone who knows the seed can remove the noise, and with it all protection. This page shows "
            "what a private run would look like. Keep it with the data; do not publish it.",
        ]
    unit = text(promise.unit)
    return [
        f"<strong>Whom it protects.</strong> Each of {text(promise.whose)}. Had any one of them "
        f"{_changed(promise)}, everything released by {_released_by(promise)} would have come out almost "
        f"equally likely.{_held_out(figures, promise.unit)}",
        "<strong>Against whom.</strong> Anyone who sees the weights, this page and the saved run: with "
        f"any computer, any other data, full knowledge of the method, even all the other {unit}s.",
        f"<strong>How strong.</strong> {_asked(promise)} at most "
        f"{_guess(promise)}; a blind guess is right with 50\u00a0%. The probability of "
        f"anything they may see changes by at most a factor of "
        f"e<sup>\u03b5</sup> = {_factor(promise.epsilon)}, plus \u03b4 = {number(at_most(promise.delta))}.",
        f"<strong>Other conventions.</strong> The promise is for {text(promise.neighbours)} "
        f"({text(promise.relation.value)}); {text(promise.otherwise)}.",
        *([f"<strong>How it adds up.</strong> It is {text(promise.chain)}."] if promise.chain else []),
        *([f"<strong>Mind:</strong> {text(promise.caveat)}."] if promise.caveat else []),
    ]


def _asked(promise: Guarantee) -> str:
    """What somebody asks whose chance to be right is bounded, which depends on what neighbours are."""
    if promise.relation is Relation.ZERO_OUT:
        return (
            f"Suppose they want to know whether one given {text(promise.unit)} was counted, and find yes and "
            "no equally likely beforehand. After seeing everything, they guess right with a probability of"
        )
    one = "the record was one" if promise.unit == "record" else "the records of a person were one"
    return (
        f"Suppose they know that {one} of two, and find both equally likely beforehand. After seeing "
        "everything, they pick the right one with a probability of"
    )


def _changed(promise: Guarantee) -> str:
    if promise.relation is Relation.REPLACE_ONE:
        return f"been replaced by any other valid {text(promise.unit)}"
    return "counted nothing, their number as stated being the same"


def charged(result: Result) -> str:
    """Which runs the ledger counted: all of them have its cap, or the last alone does."""
    alone = result.guarantee.runs > 1 and result.guarantee.cap_epsilon is None
    return "The last run, and none before it, was charged to" if alone else "Charged to"


def _released_by(promise: Guarantee) -> str:
    return "this run" if promise.runs == 1 else f"this run and the {promise.runs - 1} it builds on"


def certificate(result: Result) -> list[str]:
    """Sentences on what holds at the returned weights."""
    found, tolerance = result.certificate, result.tolerance
    bound = number(at_most(found.gradient_norm_at_most))
    curvature = number(at_least(found.curvature_at_least))
    kind = "mean clipped" if found.clipped else "true"
    said = [
        f"The {kind} gradient norm at these weights is <strong>at most {bound}</strong> and the smallest "
        f"eigenvalue of the {kind} Hessian is <strong>at least {curvature}</strong>, "
        f"with {level(found.confidence)} confidence. A gradient of zero with no negative eigenvalue would "
        "mean that no small change of the weights improves the fit.",
    ]
    said += [
        f"<strong>Mind:</strong> {text(caveat)}."
        for caveat in result.caveats
        if caveat != result.guarantee.caveat
    ]
    if found.below_noise_floor:
        said.append("The gradient is below the noise level: the bound is the noise floor, not a measurement.")
    if tolerance is not None and tolerance.curvature is not None:
        asked = (
            f"a gradient norm of at most {number(tolerance.gradient)} and an eigenvalue of at least "
            f"{number(-tolerance.curvature)}"
        )
        met = "That is met." if found.meets(tolerance) else "<strong>That was not certified.</strong>"
        said.append(f"Asked for was {asked}. {met}")
    said.append(f"The run stopped because {text(result.stop)}.")
    return said


def without_intervals() -> str:
    return element(
        "p",
        "<strong>No confidence intervals are available:</strong> no part of the budget was kept for them. "
        "Train with <code>--inference 0.3</code> for standard errors, tests and intervals.",
        class_="callout",
    )


def noise(reason: str) -> str:
    """What the column of noise beside weights means, or why it is empty."""
    if reason:
        return f"How far the noise for privacy moved each effect is not known: {text(reason)}."
    return (
        "Noise is the estimated standard deviation of an effect over repeated runs on the same records, "
        "caused by the noise for privacy (no further query was needed). An effect smaller than its noise is "
        "marked *: it may be nothing but noise. Sampling error comes on top."
    )


_NOISE = (
    "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis. TCC 2006."
)

_ACCOUNTANTS = {
    "gdp": (
        "Gaussian differential privacy (Dong et al., 2022)",
        "Dong, Roth, Su: Gaussian differential privacy. Journal of the Royal Statistical Society B 84, 2022.",
    ),
    "renyi": (
        "Renyi divergences of one order (Mironov, 2017)",
        "Mironov: Renyi differential privacy. Computer Security Foundations, 2017.",
    ),
}

_MODELS = {
    "odds ratio": "a logistic regression",
    "rate ratio": "a Poisson regression",
    "hazard odds ratio": "discrete-time hazards with a logit link",
    "hazard ratio": "discrete-time hazards with a complementary log-log link",
}


def methods(result: Result, summary: Summary) -> str:
    """A paragraph for a paper: what was done, how sure it is, what it promises."""
    promised = result.guarantee
    kind = "robust standard errors" if summary.robust else "model-based standard errors"
    promise = (
        "The noise of this run was simulated; it is not private."
        if result.simulated
        else f"All that is reported satisfies {stated(promised.epsilon, promised.delta)}-differential "
        f"privacy for every one of {promised.whose} ({promised.neighbours}), accounted for by "
        f"{' and '.join(name for name, _ in _accountants(result))}."
    )
    hidden = sum(not line.resolved for line in summary.lines)
    left = (
        f" {hidden} of {len(summary.lines)} coefficients could not be told from the noise and have no "
        "estimate."
        if hidden
        else ""
    )
    return (
        f"Coefficients of {_MODELS[summary.ratio] if summary.exp else 'a regression'} were estimated with "
        f"sottovoce {result.version} by noisy gradients and Hessians of its penalized loss (Gaussian noise "
        "calibrated to its sensitivity, Dwork et al., 2006), then one Newton step without the penalty. "
        f"{level(summary.level)} confidence intervals ({kind}, Student's distribution) cover the sampling "
        "error and the noise added for privacy; columns and reference categories were fixed before the data "
        f"were read.{left} {promise}"
    )


def references(result: Result) -> list[str]:
    """What the paragraph cites."""
    return [_NOISE, *(cited for _, cited in _accountants(result))]


def _accountants(result: Result) -> list[tuple[str, str]]:
    """What the runs were counted in; in files from before that was kept they were in the first of these."""
    counted = {preset.currency for preset in result.lineage}
    return [known for currency, known in _ACCOUNTANTS.items() if currency in counted] or [_ACCOUNTANTS["gdp"]]


def with_intervals(summary: Summary, *, drawn: bool) -> str:
    if not drawn:
        alone = any(line.resolved for line in summary.lines)
        which, what = ("but the intercept is", "the others") if alone else ("is", "all of them")
        return f"No coefficient {which} determined: the noise for privacy hides {what} in these records."
    return (
        f"Each interval is a {level(summary.level)} confidence interval for the population that the records "
        "were drawn from. It covers sampling error, the dark part of a bar, and the noise for privacy, the "
        "light part; the column privacy is that noise's share of the variance. The line marks no effect. "
        "Estimates are without the penalty, so they differ a little from the weights of the model."
    )


def measured(figures: tuple[Measured, ...], result: Result, *, timed: bool = False) -> list[str]:
    """What was measured on records or persons that training never saw, each with its interval; of a time to
    event nothing is."""
    unit = result.guarantee.unit
    whose = "rows" if unit == "record" else "persons"
    if timed:
        return ["<strong>How well it predicts was not measured:</strong> figures are of one row a record."]
    if not figures:
        return [
            "<strong>How well it predicts was not measured.</strong> <code>fit --evaluate 0.1</code> holds "
            "out a tenth and keeps a part of the budget for it; <code>sottovoce evaluate</code> measures on "
            "a test set."
        ]
    said = (
        f"The {whose} held out were measured with their own part of the budget. Each {text(unit)} is either "
        "trained on or measured, never both."
    )
    return [said] + [
        f"{text(capital(figure.name))} {number(figure.value)} on {figure.n:,} {whose} held out of "
        f"training, noise included: the exact figure lies between {number(figure.low)} and "
        f"{number(figure.high)} with {level(figure.confidence)} confidence."
        + (f" <strong>That is {text(figure.remark)} {whose}.</strong>" if figure.remark else "")
        for figure in figures
    ]
