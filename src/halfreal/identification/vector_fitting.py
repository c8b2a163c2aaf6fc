"""Rational models of measured frequency responses (``halfreal.models.vector_fitting``), which rigs need too."""

from __future__ import annotations

from ..models.vector_fitting import RationalFit as RationalFit
from ..models.vector_fitting import vector_fit as vector_fit
