"""GENERATE and predict: functions of whole tables, models as tables, models as functions of columns."""
