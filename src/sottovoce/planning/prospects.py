"""Which forecast belongs to which method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.errors import ParameterError
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.gradient_descent import GradientDescent
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.paper.phases import PaperMethod
from sottovoce.planning.forecast_adapt import AdaptProspect
from sottovoce.planning.forecast_batch import BatchProspect
from sottovoce.planning.forecast_descent import DescentProspect
from sottovoce.planning.forecast_ours import CubicProspect, MajorizeProspect
from sottovoce.planning.forecast_paper import PaperProspect

if TYPE_CHECKING:
    from sottovoce.methods.loop import Method
    from sottovoce.planning.forecast import Prospect


def prospect_of(method: Method) -> Prospect:
    """The forecast of a method of the registry; any other is refused."""
    match method:
        case Adapt():
            return AdaptProspect(method)
        case Majorize():
            return MajorizeProspect(method)
        case Cubic():
            return CubicProspect(method)
        case PaperMethod():
            return PaperProspect(method)
        case GradientDescent():
            return DescentProspect(method)
        case BatchDescent():
            return BatchProspect(method)
        case _:
            raise ParameterError("a plan is made for the methods of the registry; pass one of their names.")
