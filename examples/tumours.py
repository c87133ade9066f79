"""Is a tumour malignant? SQL fits a model, evaluates it and predicts with it.

    python examples/tumours.py

tumours.csv, in the same folder, has five measures from Breast Cancer Wisconsin (Diagnostic): Wolberg, Mangasarian,
Street and Street, UCI Machine Learning Repository, CC BY 4.0.
"""

from __future__ import annotations

from pathlib import Path

from pyarrow import csv

import sharkpy

MEASURES = ("mean_radius", "mean_texture", "mean_smoothness", "worst_area", "worst_concavity")


def main(context: sharkpy.SharkContext) -> float:
    """Print how good the model is. Return the share of tumours that it predicts right."""
    context.save_as_table(csv.read_csv(Path(__file__).with_name("tumours.csv")), "tumours", mode="overwrite")
    scaled = ", ".join(f"({name} - avg({name}) OVER ()) / stddev({name}) OVER () AS {name}" for name in MEASURES)
    context.sql("DROP TABLE IF EXISTS judged; DROP TABLE IF EXISTS tumour_model")
    context.sql(f"""
        GENERATE LogisticRegression((SELECT kind, {scaled} FROM tumours), 'kind', C => 10, model => 'tumour_model')
        AS TABLE judged
    """)
    context.sql("SELECT feature, coefficient FROM tumour_model ORDER BY abs(coefficient) DESC").show()
    context.sql("SELECT kind, prediction, count(*) AS tumours FROM judged GROUP BY kind, prediction").show()
    ((right,),) = context.sql("SELECT avg(IF(kind = prediction, 1, 0)) FROM judged").fetchall()
    print(f"{right:.1%} are told right")

    average = ", ".join("0" for _ in MEASURES)
    ((chance,),) = context.sql(f"SELECT predict_proba('tumour_model', {average})[1]").fetchall()
    print(f"a tumour that is average in all measures is malignant with probability {chance:.2f}")
    return float(right)


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session)
