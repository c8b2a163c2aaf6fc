"""Units at the edge: text such as ``"2.33 kN/mm"`` becomes an SI float, and an SI float becomes text for people.

Inside halfreal every number is a float in SI units (m, kg, s, N, rad) and frequencies are in Hz.

A quantity is a decimal number and a unit: names joined by blanks, ``*`` or ``/``, with whole exponents (``m/s^2``,
``N s/m``, ``N/(m s)``).  Anything else is refused before it goes any further: pint, imported only when a text has to be
read, provides the meaning of single names and never sees an expression.  Factors are exact fractions, so that
"9.4 ms" is the float 0.0094 and not its neighbour.

Angles: where Hz is expected an angular frequency is divided by 2π ("6.283 rad/s", "60 rpm" are 1 Hz); where rad/s is
expected a frequency in Hz is multiplied by 2π.

Decibels are a dimension of their own: "3 dB" is 3 where dB are expected, and is never made a factor, nor read as one.
"""

from __future__ import annotations

import difflib
import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from .errors import HalfrealError

LONGEST = 100
"""Characters a quantity may have."""

_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*")
_NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\b", re.IGNORECASE)
_TOKEN = re.compile(
    r"\s*(?:(?P<name>%|°|[A-Za-zµμΩ\u2126_][A-Za-z0-9Ω\u2126_]*)"
    r"(?:\s*(?:\^|\*\*)\s*(?P<power>[+-]?[0-9](?![0-9])|\([+-]?[0-9]\))|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]))?"
    r"|(?P<sign>[*·⋅/()])|(?P<one>1)(?![0-9.]))\s*"
)
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_COMMON = re.findall(
    r"\S+",
    "m mm µm um cm km s ms µs us min h N kN MN mN kg g t Hz kHz mHz rad mrad deg rpm g_0 gravity V mV A mA Pa kPa MPa "
    "GPa J kJ W kW H mH F ohm Ω T percent dB inch ft lbf kip",
)
_TRAPS = {"Nm": "N m", "Ns": "N s", "gs": "g_0", "G": "g_0", "Gs": "g_0"}
"""Names that pint does not know or takes for something else, and what was meant."""


_PI = Fraction("3.1415926535897932384626433832795028841971693993751")
_NEWTON = {"gram": 1, "meter": 1, "second": -2}
_VOLT = {"gram": 1, "meter": 2, "second": -3, "ampere": -1}
_PASCAL = {"gram": 1, "meter": -1, "second": -2}
_KNOWN: dict[str, tuple[str, dict[str, int]]] = {
    **{name: (size, {"meter": 1}) for name, size in (("m", "1"), ("mm", "1e-3"), ("µm", "1e-6"), ("um", "1e-6"))},
    **{name: (size, {"meter": 1}) for name, size in (("cm", "1e-2"), ("km", "1e3"))},
    **{name: (size, {"second": 1}) for name, size in (("s", "1"), ("ms", "1e-3"), ("µs", "1e-6"), ("us", "1e-6"))},
    **{name: (size, {"second": 1}) for name, size in (("min", "60"), ("h", "3600"))},
    **{name: (size, {"second": -1}) for name, size in (("Hz", "1"), ("kHz", "1e3"), ("mHz", "1e-3"))},
    **{name: (size, {"gram": 1}) for name, size in (("g", "1"), ("kg", "1e3"), ("t", "1e6"))},
    **{name: (size, _NEWTON) for name, size in (("N", "1e3"), ("kN", "1e6"), ("MN", "1e9"), ("mN", "1"))},
    **{name: (size, _PASCAL) for name, size in (("Pa", "1e3"), ("kPa", "1e6"), ("MPa", "1e9"), ("GPa", "1e12"))},
    **{name: (size, {"radian": 1}) for name, size in (("rad", "1"), ("mrad", "1e-3"))},
    **{name: (size, {"ampere": 1}) for name, size in (("A", "1"), ("mA", "1e-3"))},
    **{name: (size, _VOLT) for name, size in (("V", "1e3"), ("mV", "1"))},
    **{name: ("1e-2", {}) for name in ("%", "percent")},
    "g_0": ("9.80665", {"meter": 1, "second": -2}),
}
"""Size in root units and powers of these, of the names that definitions use most, as pint knows them: it takes longer
to be loaded than all of a definition to be read."""


class UnitError(HalfrealError):
    """A text that is not a quantity, or one of the wrong dimension."""


@cache
def registry() -> Any:
    import pint

    return pint.UnitRegistry(non_int_type=Fraction)


def parse(text: str, unit: str) -> float:
    """Read ``text`` as a quantity and return its magnitude in ``unit`` (``"1"`` for plain numbers)."""
    if len(text) > LONGEST:
        raise UnitError(f"'{text[:40]}…' has {len(text)} characters; a quantity is a number and a unit")
    if _NOT_FINITE.match(text):
        raise UnitError(f"'{text}' is not finite; give a finite number{_with(unit)}")
    match = _NUMBER.match(text.replace("−", "-"))
    if match is None:
        raise UnitError(f"'{text}' is not a quantity; write a number and a unit, such as {example(unit)}")
    number, rest = match.group(1), text[match.end() :].strip()
    if rest.startswith(","):
        raise UnitError(f"'{text}' has a comma; write decimals with a point, such as {example(unit)}")
    if unit != "1" and not rest:
        raise UnitError(
            f"'{text}' has no unit where {unit} is expected; write '{text.strip()} {unit}' if that is meant"
        )
    try:
        conversion = factor(rest or "1", unit)
    except UnitError as error:
        raise UnitError(f"'{text}' {error}") from error
    if not math.isfinite(float(number)):
        raise UnitError(f"'{text}' is not finite; give a number below 1e308 in {unit}")
    if float(number) == 0.0:
        return 0.0
    try:
        return float(Fraction(number) * conversion)
    except OverflowError:
        raise UnitError(f"'{text}' is not finite in {unit}; give a number below 1e308 {unit}") from None


def given(value: str | float, unit: str) -> float:
    """A value of a definition whose unit stands elsewhere in it: text with a unit, or a number where there is none."""
    if isinstance(value, str):
        return parse(value, unit)
    if unit != "1":
        raise UnitError(f"{value:g} has no unit where {unit} is expected; write '{value:g} {unit}' if that is meant")
    return float(value)


def times(value: str | float, factor: float) -> str | float:
    """A value as ``given`` takes it, so many times."""
    if not isinstance(value, str):
        return factor * value
    match = _NUMBER.match(value.replace("−", "-"))
    assert match is not None  # as whoever has read it knows
    return f"{factor * float(match.group(1))!r} {value[match.end() :]}"


def per(unit: str, divisor: str) -> str:
    """The unit ``unit`` per ``divisor``: "N/V" of "N" and "V", "m/(s^2 V)" of "m/s^2" and "V"."""
    whole: dict[str, int] = {}
    for sign, part in ((1, unit), (-1, divisor)):
        for name, power in _factors(part):
            whole[name] = whole.get(name, 0) + sign * power
    above, below = (
        " ".join(
            name if abs(power) == 1 else f"{name}^{abs(power)}" for name, power in whole.items() if sign * power > 0
        )
        for sign in (1, -1)
    )
    if not below:
        return above or "1"
    return f"{above or '1'}/({below})" if " " in below else f"{above or '1'}/{below}"


def in_base_units(unit: str) -> tuple[float, dict[str, int]]:
    """Its size in kg, m, s, A, K, rad, and the powers of these."""
    size, powers, angle, _ = _meaning(unit)
    short = {"gram": "kg", "meter": "m", "second": "s", "ampere": "A", "kelvin": "K", "radian": "rad"}
    found = {short[key]: int(power) for key, power in (*powers.items(), ("radian", angle)) if power and key in short}
    return float(size / Fraction(1000) ** found.get("kg", 0)), found


def scale(values: np.ndarray, given: str, unit: str) -> np.ndarray:
    """Numbers in the unit ``given`` as numbers in ``unit``; each is rounded once if the factor is n or 1/n."""
    try:
        conversion = factor(given, unit)
        with np.errstate(over="ignore"):  # the caller checks that the result is finite
            return values * float(conversion.numerator) / float(conversion.denominator)
    except UnitError as error:
        raise UnitError(f"'{given}' {error}") from error
    except OverflowError:
        raise UnitError(f"'{given}' is too far from {unit} for double precision") from None


def example(unit: str) -> str:
    """What a quantity in ``unit`` may look like, in quotes."""
    return "'0.05' or '5 %'" if unit == "1" else f"'1.5 {unit}'"


def _with(unit: str) -> str:
    return "" if unit == "1" else f" in {unit}"


# --- reading units ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def factor(given: str, unit: str) -> Fraction:
    """What a number in ``given`` is multiplied with to become one in ``unit``.  The error's text has no subject."""
    if len(given) > LONGEST:
        raise UnitError(f"has {len(given)} characters; a unit looks like 'kN/mm' or 'm/s^2'")
    size, dimensions, angle, cycles = _meaning(given)
    target_size, target_dimensions, target_angle, target_cycles = _meaning(unit)
    # between pure numbers and angles nothing else tells 5 % from 5°
    if dimensions != target_dimensions or (not dimensions and angle != target_angle):
        raise UnitError(_wrong_dimension(given, unit, dimensions, target_dimensions))
    ratio = size / target_size
    if target_cycles and not cycles:
        ratio /= (2 * _PI) ** int(angle)
    elif cycles and target_angle:
        ratio *= (2 * _PI) ** cycles
    return ratio


def _wrong_dimension(given: str, unit: str, dimensions: dict[str, Fraction], expected: dict[str, Fraction]) -> str:
    if given == "1":
        return f"has no unit where {unit} is expected; write one, as in {example(unit)}"
    message = f"is in {given} where {'a plain number' if unit == '1' else unit} is expected; "
    if dimensions == _meaning("kg")[1] and expected == _meaning("m/s^2")[1]:
        return message + "g is the gram: write '0.3 g_0' for an acceleration of 0.3 g"
    for name, _ in _factors(given):
        if name in _TRAPS:
            return message + f"if '{name}' means '{_TRAPS[name]}', write that"
    return message + f"give a quantity {'without a unit' if unit == '1' else f'in {unit}'}, such as {example(unit)}"


@lru_cache(maxsize=4096)
def _meaning(unit: str) -> tuple[Fraction, dict[str, Fraction], Fraction, int]:
    """Size in root units, powers of these units but the radian, power of the radian, and power of hertz."""
    size, powers, cycles = Fraction(1), dict[str, Fraction](), 0
    for name, power in _factors(unit):
        root_size, root, hertz = _root(name)
        size *= root_size**power
        cycles += power if hertz else 0
        for key, value in root.items():
            powers[key] = powers.get(key, Fraction(0)) + value * power
    angle = powers.pop("radian", Fraction(0))
    return size, {key: value for key, value in powers.items() if value}, angle, cycles


@lru_cache(maxsize=4096)
def _root(name: str) -> tuple[Fraction, dict[str, Fraction], bool]:
    if name == "dB":  # for pint the logarithm of a number
        return Fraction(1), {"decibel": Fraction(1)}, False
    if name in _KNOWN:
        size, powers = _KNOWN[name]
        return Fraction(size), {key: Fraction(power) for key, power in powers.items()}, name.endswith("Hz")
    return _asked(name)


def _asked(name: str) -> tuple[Fraction, dict[str, Fraction], bool]:
    """What pint knows of a name."""
    import pint

    units = registry()
    try:
        unit = units.Unit(name)
        size, root = units.get_root_units(unit)
        offset = units.Quantity(Fraction(0), unit).to_root_units().magnitude
    except (pint.errors.PintError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UnitError(f"has an unknown unit '{name}'{_nearest(name)}") from None
    if offset != 0:
        raise UnitError(f"is on a scale with an offset or a logarithm ('{name}'); give the plain value")
    hertz = any(key.endswith("hertz") for key in unit._units)
    return Fraction(size), {str(key): Fraction(value) for key, value in root._units.items()}, hertz


def _nearest(name: str) -> str:
    if name in _TRAPS:
        return f"; write '{_TRAPS[name]}'"
    lower = [known for known in _COMMON if known.lower() == name.lower()]
    near = lower or difflib.get_close_matches(name, _COMMON, n=1)
    return f"; did you mean '{near[0]}'?" if near else "; use SI units such as m, kg, s, N, Hz and their multiples"


def _factors(unit: str) -> list[tuple[str, int]]:
    """Names and powers of a unit expression; refuses what two people could read in two ways."""
    factors: list[tuple[str, int]] = []
    position, divide, divided, group, last = 0, False, False, False, ""
    while position < len(unit):
        token = _TOKEN.match(unit, position)
        if token is None:
            raise UnitError(f"has '{unit[position:]}' where a unit is expected; write it like 'kN/mm' or 'm/s^2'")
        position = token.end()
        sign = token["sign"] or ""
        if token["name"]:
            if divided and not divide and not group:
                raise UnitError(f"has the ambiguous unit '{unit}'; write 'a/(b c)' or 'a c/b'")
            power = int((token["power"] or (token["raised"] or "1").translate(_RAISED)).strip("()"))
            factors.append((token["name"], -power if divide or group else power))
            divide = False
        elif token["one"] and not last:
            pass  # as in 1/s
        elif sign == "/" and last in ("name", "one", ")") and not group:
            divide = divided = True
        elif sign == "(" and last == "/":
            group, divide = True, False
        elif sign == ")" and group and last == "name":
            group = False
        elif not (sign and sign in "*·⋅" and last == "name"):
            raise UnitError(f"has '{unit}' where a unit is expected; write it like 'kN/mm' or 'N/(m s)'")
        last = sign or ("name" if token["name"] else "one")
    if group or last not in ("name", "one", ")"):
        raise UnitError(f"has the unfinished unit '{unit}'; write it like 'kN/mm' or 'N/(m s)'")
    return factors


# --- writing quantities -----------------------------------------------------------------------------------------------

_POWERS = {"n": -9, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9}
_PREFIXES = {
    "m": "nµmk",
    "s": "nµm",
    "N": "µmkMG",
    "Hz": "mkM",
    "Pa": "kMG",
    "J": "mkM",
    "W": "mkM",
    "V": "µmk",
    "A": "µm",
    "H": "µm",
    "F": "nµm",
    "rad": "µm",
    "ohm": "mkM",
}
"""Multiples that people use, for units that begin with these names."""


def text(value: float, unit: str, digits: int | None = 4) -> str:
    """A quantity for people, such as "9.4 ms" for 0.0094 s.

    With ``digits=None`` nothing is rounded: ``parse`` gives the same float again.
    """
    suffix = "" if unit == "1" else f" {unit}"
    if value == 0 or not math.isfinite(value):
        return f"{value + 0.0:g}{suffix}"
    number = Decimal(repr(float(value)) if digits is None else f"{float(value):.{digits - 1}e}")
    shift, symbol = _multiple(number.adjusted(), unit)
    mantissa = number.scaleb(-shift)
    if not -4 <= mantissa.adjusted() < 7:
        return f"{_plain(f'{mantissa.normalize():e}')}{suffix}"
    return f"{_plain(f'{mantissa:f}')} {symbol}".rstrip()


def of_axis(values: np.ndarray, unit: str) -> tuple[float, str]:
    """Factor and unit that engineers would put at an axis with these SI values."""
    largest = float(np.max(np.abs(values)))
    if unit == "1" or largest == 0.0:
        return 1.0, "–" if unit == "1" else unit
    name = text(float(f"{largest:.3e}"), unit).split(" ", 1)[1]
    return 1.0 / parse(f"1 {name}", unit), name


def _multiple(exponent: int, unit: str) -> tuple[int, str]:
    """Power of ten and name of the multiple of ``unit`` that suits a number of this order of magnitude."""
    if unit == "1":
        return 0, ""
    if unit == "kg":
        return (-3, "g") if -6 <= exponent < 0 else (0, unit)
    name = re.split(r"[ /*]", unit, maxsplit=1)[0]
    for prefix in _PREFIXES.get(name, ""):
        if _POWERS[prefix] <= exponent < _POWERS[prefix] + 3:
            return _POWERS[prefix], prefix + unit
    return 0, unit


def _plain(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number and "e" not in number.lower() else number.lower()
