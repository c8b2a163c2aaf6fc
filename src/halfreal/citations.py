"""The papers behind the methods, by key: what a report prints under "methods used".

A block names its papers by key (``Block.references``); ``cite`` turns keys into text.  A DOI stands here only where it
was checked.
"""

from __future__ import annotations

from collections.abc import Iterable

PAPERS: dict[str, str] = {
    "bartl2016": ("A. Bartl, J. Mayet, M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14."),
    "chung1993": (
        "J. Chung, G. M. Hulbert, A time integration algorithm for structural dynamics with improved numerical "
        "dissipation: the generalized-α method, J. Appl. Mech. 60 (1993) 371–375, doi:10.1115/1.2900803."
    ),
    "guo2014": (
        "T. Guo, C. Chen, W. Xu, F. Sanchez, A frequency response analysis approach for quantitative assessment of "
        "actuator tracking for real-time hybrid simulation, Smart Mater. Struct. 23 (2014) 045042."
    ),
    "hilber1977": (
        "H. M. Hilber, T. J. R. Hughes, R. L. Taylor, Improved numerical dissipation for time integration algorithms "
        "in structural dynamics, Earthquake Engng Struct. Dyn. 5 (1977) 283–292, doi:10.1002/eqe.4290050306."
    ),
    "kolay2014": (
        "C. Kolay, J. M. Ricles, Development of a family of unconditionally stable explicit direct integration "
        "algorithms with controllable numerical energy dissipation, Earthquake Engng Struct. Dyn. 43 (2014) 1361–1380."
    ),
    "mosqueda2007": (
        "G. Mosqueda, B. Stojadinović, S. A. Mahin, Real-time error monitoring for hybrid simulation. Part I: "
        "methodology and experimental verification, J. Struct. Eng. 133 (2007) 1100–1108."
    ),
    "newmark1959": (
        "N. M. Newmark, A method of computation for structural dynamics, J. Eng. Mech. Div. ASCE 85 (1959) 67–94, "
        "doi:10.1061/JMCEA3.0000098."
    ),
    "nordtorp": (
        "F. Nordtorp, G. Abbiati, A DAE solver for coordination of force-controlled hybrid testing, engrXiv preprint."
    ),
    "ruffini2020": (
        "V. Ruffini, C. P. Szczyglowski, D. A. W. Barton, M. H. Lowenberg, S. A. Neild, Real-time hybrid testing of "
        "strut-braced wing under aerodynamic loading using an electrodynamical actuator, Exp. Tech. (2020), "
        "doi:10.1007/s40799-020-00394-5."
    ),
    "vanloan1978": (
        "C. F. Van Loan, Computing integrals involving the matrix exponential, IEEE Trans. Autom. Control 23 (1978) "
        "395–404, doi:10.1109/TAC.1978.1101743."
    ),
    "wallace2005adaptive": (
        "M. I. Wallace, D. J. Wagg, S. A. Neild, An adaptive polynomial based forward prediction algorithm for "
        "multi-actuator real-time dynamic substructuring, Proc. R. Soc. A 461 (2005) 3807–3826, "
        "doi:10.1098/rspa.2005.1532."
    ),
    "wallace2005stability": (
        "M. I. Wallace, J. Sieber, S. A. Neild, D. J. Wagg, B. Krauskopf, Stability analysis of real-time dynamic "
        "substructuring using delay differential equation models, Earthquake Engng Struct. Dyn. 34 (2005) 1817–1832, "
        "doi:10.1002/eqe.513."
    ),
    "wen1976": (
        "Y. K. Wen, Method for random vibration of hysteretic systems, J. Eng. Mech. Div. ASCE 102 (1976) 249–263, "
        "doi:10.1061/JMCEA3.0002106."
    ),
}


class UnknownCitationError(KeyError):
    """A key that no paper stands under."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


def cite(keys: Iterable[str]) -> list[str]:
    """The papers under ``keys``, each once, in the order in which they are first named."""
    wanted = list(dict.fromkeys(keys))
    unknown = [key for key in wanted if key not in PAPERS]
    if unknown:
        raise UnknownCitationError(
            f"no paper under {', '.join(map(repr, unknown))}; add it to halfreal.citations or use one of "
            f"{', '.join(PAPERS)}"
        )
    return [PAPERS[key] for key in wanted]
