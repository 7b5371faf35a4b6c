"""A trained model as a file: weights, schema, guarantee, certificate and versions, all public or noisy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.data.schema import Schema
from sottovoce.errors import DataError, ParameterError
from sottovoce.estimators.unit_ball import row_products
from sottovoce.files import read_json, require_unchanged, text_of, with_checksum, write
from sottovoce.report.notebook import ShownModel
from sottovoce.results.result import NO_FINDINGS, Result

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.arrays import Matrix
    from sottovoce.evaluation.figures import Estimate
    from sottovoce.exports.scorecard import Scorecard
    from sottovoce.features.effects import Contributions, Effect, Surface
    from sottovoce.features.marginals import Marginal
    from sottovoce.report import Card
    from sottovoce.report.drawing import Drawing
    from sottovoce.results.inference.listing import ListedCoefficient
    from sottovoce.results.inference.summary import Summary
    from sottovoce.results.inference.terms import UserTerms

FORMAT = "sottovoce-model/1"


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Model(ShownModel):
    """A private linear model of a declared table. Holds no data; may be published as it is.

    Methods take a table with the columns that the schema declares (a path, pandas, polars, pyarrow, an Arrow
    stream), or an array of rows encoded by it, as `encode` makes them. Predictions for private records are
    exact functions of these records: for their owner only."""

    result: Result
    schema: Schema
    loss: str
    dataset: str
    created: str
    versions: dict[str, str]
    purpose: str = ""
    contact: str = ""
    figures: tuple[Estimate, ...] = ()
    marginals: tuple[Marginal, ...] = ()

    def __post_init__(self) -> None:
        if self.schema.target is None or self.result.weights.size != self._outputs * self._columns:
            raise DataError("this model's weights do not fit its schema. Fit it again.")

    def __repr__(self) -> str:
        assert self.schema.target is not None
        return (
            f"Model(target={self.schema.target.name!r}, loss={self.loss!r}, "
            f"columns={len(self.schema.columns)}, result={self.result!r})"
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """Declared classes in ascending order; of two, the second is that of positive scores."""
        assert self.schema.target is not None
        if self.schema.target.classes is None:
            raise AttributeError("a regression model has no classes.")
        found: list[Any] = sorted(self.schema.target.classes)
        return np.array(found)

    @property
    def privacy(self) -> dict[str, Any]:
        """What is promised, as plain values, see `Result.privacy`."""
        return self.result.privacy

    @property
    def is_classifier(self) -> bool:
        return self.schema.target is not None and self.schema.target.classes is not None

    @property
    def _outputs(self) -> int:
        return len(self.classes_) if self.is_classifier and len(self.classes_) > 2 else 1

    @property
    def _columns(self) -> int:
        from sottovoce.data.encoding import feature_names

        return len(feature_names(self.schema))

    def encode(self, table: Any) -> NDArray[np.float32]:
        """Rows of a table as this model was trained on them, in float32; predictions need none of it."""
        from sottovoce.data.encoding import encoded_table

        return encoded_table(self.schema, table)

    def decision_function(self, table: Any) -> NDArray[np.float64]:
        """Scores <x, w>: one a row, or one a row and class where there are more than two."""
        weights = self.weights
        rows = self._rows(table)
        if rows.dtype.kind not in "biuf" or rows.ndim != 2 or rows.shape[1] != weights.shape[1]:
            raise DataError(
                f"rows must have {weights.shape[1]} encoded columns. Make them with model.encode, or pass a "
                "table with the declared columns."
            )
        scores = row_products(rows, weights)
        return scores[:, 0] if self._outputs == 1 else scores

    def _rows(self, table: Any) -> NDArray[Any]:
        from sottovoce.data.encoding import encoded_table

        return table if isinstance(table, np.ndarray) else encoded_table(self.schema, table, np.float64)

    @property
    def weights(self) -> Matrix:
        """One row of weights an output, one column a feature."""
        return self.result.weights.reshape(self._outputs, -1)

    def predict(self, table: Any) -> NDArray[Any]:
        """The class with the largest score, the predicted number, or the expected count, at most `high`."""
        scores = self.decision_function(table)
        if not self.is_classifier:
            return self._numbers(scores)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @property
    def predict_proba(self) -> Callable[[Any], Matrix]:
        """Probability of each class, columns in the order of classes_; the logistic loss alone gives them."""
        if not self.is_classifier or self.loss not in ("logistic", "cloglog"):
            raise AttributeError('this model gives no probabilities. Fit a classifier with loss "logistic".')
        return self._chances

    def _chances(self, table: Any) -> Matrix:
        scores = self.decision_function(table)
        if self.loss == "cloglog":
            stays = np.exp(-np.exp(np.minimum(scores, 700.0)))
            return np.column_stack([stays, 1.0 - stays])
        if scores.ndim == 1:
            return np.exp(-np.logaddexp(0.0, np.column_stack([scores, -scores])))
        return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)))

    @property
    def is_count(self) -> bool:
        """Whether the logarithm of an expected count is linear, instead of the number itself."""
        return self.schema.target is not None and self.schema.target.count

    @property
    def scale(self) -> tuple[float, float]:
        """(middle, unit): a number is middle + unit times its score; of counts and classes (0, 1)."""
        assert self.schema.target is not None
        low, high = (-1.0, 1.0) if self.is_count else self.schema.target.range or (-1.0, 1.0)
        return low / 2.0 + high / 2.0, high / 2.0 - low / 2.0

    def _numbers(self, scores: Matrix) -> Matrix:
        assert self.schema.target is not None
        if self.schema.target.count and self.schema.target.high is not None:
            with np.errstate(over="ignore"):
                return np.minimum(np.exp(scores), self.schema.target.high)
        middle, unit = self.scale
        return middle + unit * scores

    def summary(
        self, *, against: str | Sequence[str] = (), per: Mapping[str, float] | None = None, **options: Any
    ) -> Summary:
        """Coefficients in the units of the schema with standard errors, tests and intervals; asks nothing.

        `against="region=north"`, or several such names, are references in place of those declared, and
        `per={"age": 10}` are units. Options: level=0.95, exp=False (odds ratios), simultaneous=False and
        within=None (the schema's, if it declares one), see `inference.summary.summarized`. Needs a fit with
        inference=0.3 or another part."""
        return self.result.summary(terms=self.terms(against, per), **options)

    def marginal_effects(self, table: Any, level: float = 0.95) -> Summary:
        """Average effects of numbers and categories on what is predicted, at rows of a pandas dataframe."""
        from sottovoce.exports.effects import marginal_effects

        return marginal_effects(self, table, level)

    def predict_interval(self, table: Any, level: float = 0.95, *, response: bool = False) -> Matrix:
        """Score, number or expected count, its lower and upper end: three columns, of the model's mean;
        NaN where they are not determined.

        With more than two classes, log odds of the second, third, ... against the first: one more axis."""
        from scipy import special

        from sottovoce.results.inference.summary import predicted

        if self.result.inference is None:
            raise ParameterError(NO_FINDINGS)
        rows = self._rows(table)
        self.decision_function(rows)
        scores = predicted(self.result.inference, self.terms(), np.asarray(rows, dtype=np.float64), level)
        if response and self.is_classifier:
            if self._outputs > 1 or self.loss != "logistic":
                raise ParameterError(
                    "response=True gives probabilities of two classes, by the logistic loss."
                )
            return np.asarray(special.expit(scores))
        return scores if self.is_classifier else self._numbers(scores)

    def survival(self, table: Any) -> Matrix:
        """The chance of each row to live past the end of each interval, of a model of a time to event."""
        from sottovoce.exports.survival import survival

        return survival(self, table)

    def survival_curves(self, table: Any, level: float = 0.95) -> Matrix:
        """The chance of each row to live past the end of each interval, and its lower and upper end, of a
        model of a time to event: rows by intervals by 3; NaN where it is not determined."""
        from sottovoce.exports.survival import survival_curves

        return survival_curves(self, table, level)

    def terms(self, against: str | Sequence[str] = (), per: Mapping[str, float] | None = None) -> UserTerms:
        """Coefficients per unit of each column, categories against references declared or named here."""
        from sottovoce.exports.units import terms_of

        return terms_of(self, against, per)

    def recalibrated(self, table: Any, *, budget: Budget, **options: Any) -> Model:
        """This model with its scores mapped to a s + b, two numbers fitted privately on labelled rows.

        For two classes with the logistic loss; options are those of
        `estimators.recalibration.recalibrated`."""
        from sottovoce.estimators.recalibration import recalibrated

        return recalibrated(self, table, budget=budget, **options)

    def coefficients(self) -> tuple[ListedCoefficient, ...]:
        """The model's own coefficients per unit of each column, each with about the sd of its privacy noise.

        With or without `inference`: nothing is asked for it; see `Result.coefficient_noise`. They predict.
        What they say of the population, and whether it is determined at all, is in `summary`."""
        from sottovoce.results.inference.listing import listed

        return listed(self.result.weights, self.result.noise, self.terms())

    def effects(self) -> tuple[Effect, ...]:
        """What each column of an additive model adds to the score, with its noise; costs nothing."""
        from sottovoce.features.effects import effects

        return effects(self)

    def surfaces(self) -> tuple[Surface, ...]:
        """What pairs of columns add to the score together, beyond `effects`; costs nothing."""
        from sottovoce.features.effects import surfaces

        return surfaces(self)

    def plot(self, *columns: str) -> Drawing:
        """The effects of these columns as pictures, or of all, the most important first: shown by a notebook,
        written as a page by `.save("curves.html")`. Costs nothing."""
        from sottovoce.report.drawing import Drawing

        known = {effect.column for effect in self.effects()}
        if not known:
            raise ParameterError(
                "this model was trained without marginals and has no curves to draw. Fit with "
                'model="additive" or "auto"; coefficients() lists what a linear model has.'
            )
        if unknown := [name for name in columns if name not in known]:
            raise ParameterError(
                f"no effect of {', '.join(map(repr, unknown))} is known, but of {', '.join(sorted(known))}."
            )
        card = self.card()
        wanted = [not columns or effect.column in columns for effect in self.effects()]
        kept = tuple(drawn for drawn, shown in zip(card.effects, wanted, strict=True) if shown)
        return Drawing(replace(card, effects=kept, pairs=() if columns else card.pairs))

    def explain_local(self, table: Any) -> Contributions:
        """What each column adds to the score of each row of a table; they and the constant add up to it.

        Exact functions of the rows given: of private records, for their owner only."""
        from sottovoce.features.effects import contributions

        return contributions(self, table)

    def card(self) -> Card:
        """What the report says about this model beyond its result."""
        from sottovoce.exports.card import card_of

        return card_of(self)

    @property
    def _scorecard(self) -> Scorecard:
        from sottovoce.exports.scorecard import Scorecard

        return Scorecard.of(self)

    @property
    def _summary(self) -> Summary | None:
        return None if self.result.inference is None else self.summary()

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn Pipeline that takes dataframes and needs no Sottovoce; skops stores it."""
        from sottovoce.exports.sklearn import to_sklearn

        return to_sklearn(self._scorecard)

    def to_onnx(self) -> Any:
        """An onnx.ModelProto in float64 (extra `sottovoce[onnx]`)."""
        from sottovoce.exports.onnx import to_onnx

        return to_onnx(self._scorecard)

    def to_sql(self, table: str) -> str:
        """One SELECT that scores a table in DuckDB and PostgreSQL."""
        from sottovoce.exports.sql import to_sql

        return to_sql(self._scorecard, table)

    def to_json(self) -> str:
        """Named coefficients with the guarantee."""
        from sottovoce.exports.coefficients import to_json

        return to_json(self._scorecard, self._summary)

    def to_r(self) -> str:
        """An R script that makes `model`, for R's own predict() and coef(), with the guarantee."""
        from sottovoce.exports.r import to_r

        return to_r(self._scorecard, self.weights, self.terms(), self._summary)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; floats survive the round trip exactly."""
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "created": self.created,
            "versions": self.versions,
            "loss": self.loss,
            "purpose": self.purpose,
            "contact": self.contact,
            "figures": [asdict(figure) for figure in self.figures],
            "marginals": [marginal.to_dict() for marginal in self.marginals],
            "schema_digest": self.schema.digest,
            "schema": self.schema.to_dict(),
            "result": self.result.to_dict(),
        }

    @classmethod
    def from_dict(cls, raw: object) -> Model:
        """Rebuild a model from `to_dict`; anything else is refused."""
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise DataError(
                f"this is not a model file: its format must be {FORMAT!r}. Write one with sottovoce fit."
            )
        try:
            schema = Schema.from_dict(raw["schema"])
            model = cls(
                result=Result.from_dict(raw["result"]),
                schema=schema,
                loss=text_of(raw["loss"]),
                dataset=text_of(raw["dataset"]),
                created=text_of(raw["created"]),
                versions={text_of(name): text_of(version) for name, version in raw["versions"].items()},
                purpose=text_of(raw.get("purpose", "")),
                contact=text_of(raw.get("contact", "")),
                figures=_figures(raw.get("figures", [])),
                marginals=_marginals(raw.get("marginals", []), schema),
            )
        except ParameterError:
            raise DataError("this model file is damaged: its schema cannot be read.") from None
        except DataError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise DataError("this model file is damaged: a field is missing or has the wrong type.") from None
        if model.schema.digest != raw.get("schema_digest"):
            raise DataError("this model file is damaged: its schema was changed after training.")
        return model

    def to_file(self) -> str:
        """What `save` writes: `to_dict`, and a checksum over all of it."""
        return json.dumps(with_checksum(self.to_dict()), indent=1, allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON in one step."""
        write(path, self.to_file())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """The model in a file; one that says something else than when it was written is refused.

        That notices accidents and edits, not a forger, who can write a new checksum: for that see --sign."""
        return cls.from_dict(require_unchanged(read_json(path, "model file")))


def _figures(raw: list[dict[str, Any]]) -> tuple[Estimate, ...]:
    if not raw:
        return ()
    from sottovoce.evaluation.figures import Estimate

    return tuple(map(Estimate.from_dict, raw))


def _marginals(raw: list[dict[str, Any]], schema: Schema) -> tuple[Marginal, ...]:
    """At most one for a column, which it fits."""
    if not raw:
        return ()
    from sottovoce.features.marginals import Marginal

    columns = {column.name: column for column in schema.columns}
    found = {marginal.name: marginal for marginal in map(Marginal.from_dict, raw)}
    if len(found) < len(raw) or not all(found[name].fits(columns[name]) for name in found):
        raise DataError("this model file is damaged: its marginals do not fit its columns.")
    return tuple(found.values())
