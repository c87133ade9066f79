"""Algorithms: estimators with scikit-learn's conventions, written against passes over blocks."""
