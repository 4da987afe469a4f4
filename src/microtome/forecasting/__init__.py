"""What a release would be worth, before anything is spent: public facts alone, no private row.

reference.py       what columns look like where nobody has looked
search_trial.py    the search for what nobody has declared, tried out on these
trial.py           … and the profile
anticipated.py     the noise that a release would have
columns.py         … what it leaves of single columns
pairs.py           … and of two-way tables
attacker.py        what the release would give away
cost.py            memory and time
verdict.py         all of it in one of four words
prediction.py      ``forecast`` and what it gives; the curve over ε
words.py           … in sentences
figures.py         … for programs
page.py            … in a notebook
foresight.py       what ``release`` does with it
"""

from microtome.forecasting.columns import ColumnForecast, Learning
from microtome.forecasting.prediction import Forecast, forecast, forecast_of
from microtome.forecasting.verdict import Verdict

__all__ = ["ColumnForecast", "Forecast", "Learning", "Verdict", "forecast", "forecast_of"]
