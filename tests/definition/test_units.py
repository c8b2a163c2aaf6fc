"""Quantities: text to SI floats and back."""

from __future__ import annotations

import builtins
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pint
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from examples.wallace2005 import GALLERY
from halfreal import units
from halfreal.units import UnitError, parse, scale, text

from .stand_in import UNHURRIED


@pytest.mark.parametrize(
    ("given", "unit", "value"),
    [
        ("2.33 kN/mm", "N/m", 2.33e6),
        ("9.4 ms", "s", 0.0094),
        ("9.4ms", "s", 0.0094),
        ("  -5e-1 mm ", "m", -0.0005),
        ("−5 mm", "m", -0.005),
        ("15 kg/s", "N s/m", 15.0),
        ("39e3 N/(m s)", "N/(m s)", 39e3),
        ("39e3 N/m/s", "N/(m s)", 39e3),
        ("3 1/s", "1/s", 3.0),
        ("3 m/s²", "m/s^2", 3.0),
        ("3 m s⁻²", "m/s^2", 3.0),
        ("3 m*s**(-2)", "m/s^2", 3.0),
        ("20 µm", "m", 2e-5),
        ("1.5 kΩ", "ohm", 1500.0),
        ("1 lbf", "N", 4.4482216152605),  # exact by definition, as are the inch and g_0
        ("1 inch", "m", 0.0254),
        ("0.3 g_0", "m/s^2", 2.941995),
        ("1 gravity", "m/s^2", 9.80665),
        ("5 %", "1", 0.05),
        ("0.05", "1", 0.05),
        ("180 deg", "rad", math.pi),
        ("0 kg", "kg", 0.0),
    ],
)
def test_a_quantity_is_read_to_the_nearest_float(given: str, unit: str, value: float) -> None:
    assert parse(given, unit) == value


@pytest.mark.parametrize(
    ("given", "unit", "value"),
    [
        ("1.5 Hz", "Hz", 1.5),
        ("60 rpm", "Hz", 1.0),
        ("1 rad/s", "Hz", 1 / (2 * math.pi)),
        ("360 deg/s", "Hz", 1.0),
        ("1 Hz", "rad/s", 2 * math.pi),
        ("60 rpm", "rad/s", 2 * math.pi),
        ("2 m^2/Hz", "m^2/Hz", 2.0),
        ("1 m^2 s/rad", "m^2/Hz", 2 * math.pi),  # a density per rad/s is 2π times as dense per Hz
    ],
)
def test_angular_frequencies_become_hertz_and_back(given: str, unit: str, value: float) -> None:
    assert parse(given, unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("given", "unit", "words"),
    [
        ("2.2 kg", "N/m", ["'2.2 kg' is in kg where N/m is expected", "'1.5 N/m'"]),
        ("0.3 g", "m/s^2", ["gram", "'0.3 g_0'"]),
        ("3 Nm", "N m", ["'N m'"]),
        ("3 KN", "N", ["'KN'", "did you mean 'kN'"]),
        ("3 blah", "N", ["unknown unit 'blah'"]),
        ("5 deg", "1", ["deg", "plain number"]),
        ("5 %", "rad", ["%", "rad is expected"]),
        ("5", "N", ["no unit", "'5 N'"]),
        ("2,5 N", "N", ["point"]),
        ("3 N/m s", "N s/m", ["ambiguous", "a/(b c)"]),
        ("3 N/m*s", "N s/m", ["ambiguous"]),
        ("20 degC", "K", ["offset"]),
        ("", "N", ["not a quantity", "'1.5 N'"]),
        ("N", "N", ["not a quantity"]),
        ("nan N", "N", ["not finite"]),
        ("-inf", "1", ["not finite"]),
        ("1e999 N", "N", ["not finite"]),
        ("1e308 km", "m", ["not finite"]),
        ("9**9**9 m", "m", ["'**9**9 m'"]),
        ("3 m**99", "m", ["'m**99'"]),
        ("3 m**9**9", "m", ["'m**9**9'"]),
        ("2 250 N", "N", ["'250 N'"]),
        ("1 (m", "m", ["'(m'"]),
        ("1 N/(m", "N/m", ["unfinished"]),
        ("1 m*", "m", ["unfinished"]),
        ("1 " + "m" * 1000, "m", ["1002 characters"]),
        ("1" * 101, "1", ["101 characters"]),
    ],
)
def test_what_is_no_such_quantity_is_refused_with_a_remedy(given: str, unit: str, words: list[str]) -> None:
    with pytest.raises(UnitError) as caught:
        parse(given, unit)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("given", ["1e-999999999999 m", "0e999999999999 m", "0.0000 m"])
def test_exponents_of_any_length_cost_nothing(given: str) -> None:
    assert parse(given, "m") == 0.0


NAMES = ["m", "mm", "kN", "N", "s", "ms", "kg", "g", "inch", "lbf", "min", "MPa", "t"]


@settings(UNHURRIED, max_examples=100)
@given(
    st.floats(1e-6, 1e6),
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-2, 2)), min_size=1, max_size=2),
)
def test_values_agree_with_pints_own_evaluation(number: float, factors: list[tuple[str, int]]) -> None:
    unit = " ".join(f"{name}^{power}" for name, power in factors)
    registry = pint.get_application_registry()
    quantity = registry.Quantity(f"{number!r} * {unit.replace(' ', ' * ')}").to_base_units()
    assume(not quantity.dimensionless)
    target = " ".join(f"{name}^{int(power)}" for name, power in quantity.unit_items())
    assert parse(f"{number!r} {unit}", target) == pytest.approx(quantity.magnitude, rel=1e-12)


@settings(UNHURRIED, max_examples=100)
@given(
    st.decimals(-(10**9), 10**9, allow_nan=False, allow_infinity=False, places=7), st.sampled_from(["ms", "kN", "mm"])
)
def test_multiples_of_ten_are_rounded_once(number: Decimal, name: str) -> None:
    unit, power = {"ms": ("s", -3), "kN": ("N", 3), "mm": ("m", -3)}[name]
    assert parse(f"{number:f} {name}", unit) == float(number.scaleb(power))


@settings(UNHURRIED, max_examples=300)
@given(st.text(max_size=30) | st.from_regex(r"[0-9.e*^/() Nmskg%_+-]{1,25}", fullmatch=True))
def test_any_text_gives_a_finite_float_or_a_unit_error(given: str) -> None:
    try:
        value = parse(given, "N/m")
    except UnitError:
        return
    assert math.isfinite(value)


def test_nothing_in_a_quantity_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    parse("1 m", "m")  # the registry is built before eval is taken away

    def forbidden(*args: object) -> None:
        raise AssertionError(f"evaluated {args}")

    monkeypatch.setattr(builtins, "eval", forbidden)
    monkeypatch.setattr(pint.UnitRegistry, "parse_expression", forbidden)
    for nasty in ["__import__('os').getcwd() m", "1 __import__", "(1+1) m", "1+1 m", "1 m if 1 else 2", "2 __class__"]:
        with pytest.raises(UnitError):
            parse(nasty, "m")


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (0.0094, "s", "9.4 ms"),
        (2250.0, "N/m", "2.25 kN/m"),
        (2.33e6, "N/m", "2.33 MN/m"),
        (-2.0e-5, "m", "-20 µm"),
        (999.996, "N", "1 kN"),
        (3600.0, "s", "3600 s"),
        (0.0022, "kg", "2.2 g"),
        (2200.0, "kg", "2200 kg"),
        (31.98013, "rad/s", "31.98 rad/s"),
        (0.25, "m^2", "0.25 m^2"),
        (0.05, "1", "0.05"),
        (1.0e-20, "m", "1e-20 m"),
        (0.0, "N", "0 N"),
        (-0.0, "N", "0 N"),
        (math.inf, "N", "inf N"),
        (100.0, "Hz", "100 Hz"),
    ],
)
def test_quantities_are_written_as_engineers_write_them(value: float, unit: str, written: str) -> None:
    assert text(value, unit) == written


@settings(UNHURRIED, max_examples=300)
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["1", "s", "m", "kg", "N/m", "N s/m", "Hz", "rad", "rad/s", "m/s^2", "m^2", "V/N", "kg m^2"]),
)
def test_unrounded_text_reads_back_as_the_same_float(value: float, unit: str) -> None:
    assert parse(text(value, unit, digits=None), unit) == value


def test_numbers_of_a_table_are_scaled_with_one_rounding() -> None:
    numbers = np.array([9.4, 0.1, 1.7, -3.3])
    assert scale(numbers, "ms", "s").tolist() == [0.0094, 0.0001, 0.0017, -0.0033]
    assert scale(numbers, "kN/mm", "N/m").tolist() == [9.4e6, 1e5, 1.7e6, -3.3e6]
    with pytest.raises(UnitError, match="kg where N/m is expected"):
        scale(numbers, "kg", "N/m")
    with pytest.raises(UnitError, match="double precision"):
        scale(numbers, "Ym^9/ym^9", "1")


def test_names_that_need_no_registry_mean_what_they_mean_there():
    assert {name: units._root(name) for name in units._KNOWN} == {name: units._asked(name) for name in units._KNOWN}
    assert Fraction(units.registry().get_root_units("pi")[0]) == units._PI


def test_a_definition_in_common_units_is_read_without_the_registry():
    path = str(GALLERY / "forward_prediction.toml")
    code = f"import sys, halfreal; halfreal.load({path!r}); print('pint' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
