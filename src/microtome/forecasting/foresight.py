"""What ``release`` does with a forecast: it says what to expect, or refuses before anything is spent.

Nothing here may depend on a number of records that is protected. Where it is, the public capacity stands for it; where
there is none, nothing is foretold.
"""

from __future__ import annotations

from microtome.errors import ForecastError
from microtome.forecasting.prediction import Forecast, forecast_of
from microtome.forecasting.verdict import Verdict
from microtome.forecasting.words import cautions, heading, on_epsilon
from microtome.progress import Tell
from microtome.published import Release
from microtome.schema import Schema
from microtome.settings import PrivacySettings

_UNKNOWN = (
    "The number of records is protected and no bound on it is public, so what the release will be worth is not "
    "foretold; 'microtome forecast' says it for any number that you name."
)


_DOUBT = (
    "This is a guess where categories or bounds are to be learnt: columns of few distinct numbers, such as codes, come "
    "out better than foretold; declare them with 'kind: categorical'."
)


def foresee(
    settings: PrivacySettings,
    schema: Schema,
    num_records: int | None,
    tell: Tell,
    *,
    anyway: bool = False,
    like: Release | None = None,
) -> None:
    """Tell what a release of a table will be worth; refuse one that is worth next to nothing.

    Whoever says ``anyway`` wants it whatever it is worth, and is told nothing but a word on ε.
    """
    size = settings.public_size(num_records)
    if anyway or size is None or size < 2:
        tell("" if anyway else _UNKNOWN, on_epsilon(settings.epsilon))
        return
    forecast = forecast_of(settings, schema, size, like)
    match forecast.verdict:
        case Verdict.NOTHING:
            raise ForecastError(_refusal(forecast))
    tell(f"{forecast.verdict.in_words} {_figures(forecast)}", cautions(forecast.lost, settings.epsilon))


def foresee_images(settings: PrivacySettings, *, tell: Tell) -> None:
    """A word on the ε of a release of images, for which there is no forecast."""
    tell("", on_epsilon(settings.epsilon))


def _figures(forecast: Forecast) -> str:
    pairs = "" if forecast.pairs is None else f", tables of two columns by {forecast.pairs.error:.2g}"
    return f"Columns will be off by about {forecast.margins:.2g}{pairs} (0 is perfect, 1 is nothing in common)."


def _refusal(forecast: Forecast) -> str:
    useful = forecast.useful_epsilon
    remedy = (
        "No ε up to 100 would make it useful." if useful is None else f"It becomes useful from about ε = {useful:g}."
    )
    return "\n".join(
        [
            f"nothing was spent, for next to nothing would be learnt: {heading(forecast)}",
            _figures(forecast),
            *cautions(forecast.lost, forecast.release.settings.epsilon),
            *([_DOUBT] if any(not column.declared for column in forecast.columns) else []),
            f"{remedy} Declare more, leave columns out, raise ε or find more records; 'microtome forecast' tries it "
            "out. To release it all the same say --anyway (anyway=True).",
        ]
    )
