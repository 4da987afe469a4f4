"""The Czech bank: its tables, its schema, and how well a loan's end is foretold from account and orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from census import data_folder
from microtome.schema import LinkedSchema

Tables = dict[str, pd.DataFrame]
_DATES = ("birth_date", "create_date", "granted_date", "issued_date")
_BAD = ("B", "D")
"""Loans that were not, or are not, paid back."""


def bank_folder() -> Path:
    """Where the bank's tables are."""
    return data_folder() / "czech_bank"


def bank_schema() -> LinkedSchema:
    """What the bank's documentation says."""
    text = Path(__file__).with_name("bank.yaml").read_text(encoding="utf-8")
    return LinkedSchema.loads(text, folder=bank_folder())


def bank_tables(schema: LinkedSchema) -> Tables:
    """The private tables."""
    return {name: read_frame(bank_folder() / f"{name}.csv") for name in schema.names}


def read_frame(path: Path) -> pd.DataFrame:
    """A table with dates as dates and text as it stands."""
    frame = pd.read_csv(path, keep_default_na=False)
    for name in set(_DATES) & set(frame.columns):
        frame[name] = pd.to_datetime(frame[name]).dt.date
    return frame


def loan_auc(train: Tables, real: Tables) -> float:
    """AUC on real loans of whether they end badly, learnt from account, orders and owner of other loans."""
    features, bad = _loans(train)
    if bad.nunique() < 2:
        return 0.5
    model = _model().fit(features, bad)
    tested, truth = _loans(real)
    return float(roc_auc_score(truth, model.predict_proba(tested)[:, 1]))


def loan_auc_of_real(real: Tables, seed: int) -> float:
    """The same learnt from the real loans themselves, by cross-validation."""
    features, bad = _loans(real)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(_model(), features, bad, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(bad, scores))


def _model() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0)


def _loans(tables: Tables) -> tuple[Any, pd.Series[bool]]:
    """A row a loan: its account, the sums and numbers of that account's orders, and the number of its holders."""
    loans = tables["loan"].merge(tables["account"], on="account_id", how="left")
    orders = tables["order"].groupby(["account_id", "category"])["amount"].sum().unstack(fill_value=0.0)
    orders = orders.reindex(columns=["HH", "LO", "IN", "LE", "  "], fill_value=0.0)
    number = tables["order"].groupby("account_id")["amount"].agg(["size", "mean", "max"])
    holders = tables["disp"].groupby("account_id").size()
    frame = pd.DataFrame({"account": loans["account_id"], "weekly": (loans["frequency"] != "M").astype(float)})
    frame["opened"] = pd.to_datetime(loans["create_date"]).astype("int64")
    frame["holders"] = frame["account"].map(holders)
    for part in (orders, number):
        frame = frame.join(part.add_prefix("orders "), on="account")
    return frame.drop(columns="account").astype(np.float64).to_numpy(), loans["status"].isin(_BAD)
