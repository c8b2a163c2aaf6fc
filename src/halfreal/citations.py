"""The papers behind the methods, by key: what a report prints under "methods used".

A block names its papers by key (``Block.references``), and ``paper`` turns keys into text.  A kind of an installed
package gives the text itself, so that its papers are listed in run files and reports without it.  A DOI is here only
where it was checked.
"""

from __future__ import annotations

PAPERS: dict[str, str] = {
    "baber1981": (
        "T. T. Baber, Y.-K. Wen, Random vibration of hysteretic, degrading systems, J. Eng. Mech. Div. ASCE 107 (1981) "
        "1069–1087."
    ),
    "bartl2016": ("A. Bartl, J. Mayet, M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14."),
    "baumgarte1972": (
        "J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, Comput. Methods "
        "Appl. Mech. Engrg 1 (1972) 1–16, doi:10.1016/0045-7825(72)90018-7."
    ),
    "butterworth1930": ('S. Butterworth, "On the theory of filter amplifiers", Wireless Engineer 7 (1930) 536–541.'),
    "carrion2007": (
        "J. E. Carrion, B. F. Spencer, Model-based strategies for real-time hybrid testing, NSEL Report 6, University "
        "of Illinois at Urbana-Champaign (2007)."
    ),
    "chae2013": (
        "Y. Chae, K. Kazemibidokhti, J. M. Ricles, Adaptive time series compensator for delay compensation of "
        "servo-hydraulic actuator systems for real-time hybrid simulation, Earthquake Engng Struct. Dyn. 42 (2013) "
        "1697–1715, doi:10.1002/eqe.2294."
    ),
    "chen2015": (
        "P.-C. Chen, C.-M. Chang, B. F. Spencer, K.-C. Tsai, Adaptive model-based tracking control for real-time "
        "hybrid simulation, Bull. Earthquake Eng. 13 (2015) 1633–1653, doi:10.1007/s10518-014-9681-2."
    ),
    "chung1993": (
        "J. Chung, G. M. Hulbert, A time integration algorithm for structural dynamics with improved numerical "
        "dissipation: the generalized-α method, J. Appl. Mech. 60 (1993) 371–375, doi:10.1115/1.2900803."
    ),
    "combescure1997": (
        "D. Combescure, P. Pegon, α-operator splitting time integration technique for pseudodynamic testing: error "
        "propagation analysis, Soil Dyn. Earthquake Engng 16 (1997) 427–443, doi:10.1016/S0267-7261(97)00017-1."
    ),
    "condori2023": (
        "J. W. Condori Uribe, M. Salmeron, E. Patino, H. Montoya, S. J. Dyke, C. E. Silva, A. Maghareh, M. Najarian, "
        "A. Montoya, Experimental benchmark control problem for multi-axial real-time hybrid simulation, Front. Built "
        "Environ. 9 (2023) 1270996."
    ),
    "constantinou1990": (
        "M. C. Constantinou, A. Mokha, A. Reinhorn, Teflon bearings in base isolation II: modeling, J. Struct. Eng. "
        "116 (1990) 455–474."
    ),
    "constantinou1993": (
        "M. C. Constantinou, M. D. Symans, Experimental study of seismic response of buildings with supplemental fluid "
        "dampers, Struct. Design Tall Build. 2 (1993) 93–132."
    ),
    "craig1968": (
        "R. R. Craig, M. C. C. Bampton, Coupling of substructures for dynamic analyses, AIAA J. 6 (1968) 1313–1319, "
        "doi:10.2514/3.4741."
    ),
    "crisfield1991": (
        "M. A. Crisfield, Non-linear Finite Element Analysis of Solids and Structures, vol. 1, Wiley (1991)."
    ),
    "dlr": (
        "DLR Institute of Aeroelasticity, paper on hardware-in-the-loop simulation with the six-axis hydraulic shaking "
        "table MAVIS."
    ),
    "dyke1995": (
        "S. J. Dyke, B. F. Spencer, P. Quast, M. K. Sain, Role of control–structure interaction in protective system "
        "design, J. Eng. Mech. 121 (1995) 322–338."
    ),
    "filippou1983": (
        "F. C. Filippou, E. P. Popov, V. V. Bertero, Effects of bond deterioration on hysteretic behavior of "
        "reinforced concrete joints, UCB/EERC-83/19, University of California, Berkeley (1983)."
    ),
    "guo2014": (
        "T. Guo, C. Chen, W. Xu, F. Sanchez, A frequency response analysis approach for quantitative assessment of "
        "actuator tracking for real-time hybrid simulation, Smart Mater. Struct. 23 (2014) 045042."
    ),
    "gustavsen1999": (
        "B. Gustavsen, A. Semlyen, Rational approximation of frequency domain responses by vector fitting, IEEE Trans. "
        "Power Delivery 14 (1999) 1052–1061, doi:10.1109/61.772353."
    ),
    "guyan1965": ("R. J. Guyan, Reduction of stiffness and mass matrices, AIAA J. 3 (1965) 380, doi:10.2514/3.2874."),
    "hilber1977": (
        "H. M. Hilber, T. J. R. Hughes, R. L. Taylor, Improved numerical dissipation for time integration algorithms "
        "in structural dynamics, Earthquake Engng Struct. Dyn. 5 (1977) 283–292, doi:10.1002/eqe.4290050306."
    ),
    "horiuchi1999": (
        "T. Horiuchi, M. Inoue, T. Konno, Y. Namita, Real-time hybrid experimental system with actuator delay "
        "compensation and its application to a piping system with energy absorber, Earthquake Engng Struct. Dyn. 28 "
        "(1999) 1121–1141."
    ),
    "ibarra2005": (
        "L. F. Ibarra, R. A. Medina, H. Krawinkler, Hysteretic models that incorporate strength and stiffness "
        "deterioration, Earthquake Engng Struct. Dyn. 34 (2005) 1489–1511."
    ),
    "kalman1960": (
        "R. E. Kalman, A new approach to linear filtering and prediction problems, J. Basic Eng. 82 (1960) 35–45."
    ),
    "kolay2014": (
        "C. Kolay, J. M. Ricles, Development of a family of unconditionally stable explicit direct integration "
        "algorithms with controllable numerical energy dissipation, Earthquake Engng Struct. Dyn. 43 (2014) 1361–1380."
    ),
    "kolay2019": (
        "C. Kolay, J. M. Ricles, Improved explicit integration algorithms for structural dynamic analysis with "
        "unconditional stability and controllable numerical dissipation, J. Earthquake Eng. 23 (2019) 771–792."
    ),
    "lignos2011": (
        "D. G. Lignos, H. Krawinkler, Deterioration modeling of steel components in support of collapse prediction of "
        "steel moment frames under earthquake loading, J. Struct. Eng. 137 (2011) 1291–1302."
    ),
    "ljung1999": "L. Ljung, System Identification: Theory for the User, 2nd ed., Prentice Hall (1999).",
    "newey1987": (
        "W. K. Newey, K. D. West, A simple, positive semi-definite, heteroskedasticity and autocorrelation consistent "
        "covariance matrix, Econometrica 55 (1987) 703–708."
    ),
    "kent1971": (
        "D. C. Kent, R. Park, Flexural members with confined concrete, J. Struct. Div. ASCE 97 (1971) 1969–1990."
    ),
    "kiefer2005": (
        "N. M. Kiefer, T. J. Vogelsang, A new asymptotic theory for heteroskedasticity-autocorrelation robust tests, "
        "Econometric Theory 21 (2005) 1130–1164."
    ),
    "menegotto1973": (
        "M. Menegotto, P. E. Pinto, Method of analysis for cyclically loaded R.C. plane frames including changes in "
        "geometry and non-elastic behavior of elements under combined normal force and bending, IABSE Symposium, "
        "Lisbon (1973) 15–22."
    ),
    "mosqueda2007": (
        "G. Mosqueda, B. Stojadinović, S. A. Mahin, Real-time error monitoring for hybrid simulation. Part I: "
        "methodology and experimental verification, J. Struct. Eng. 133 (2007) 1100–1108."
    ),
    "nakashima1992": (
        "M. Nakashima, H. Kato, E. Takaoka, Development of real-time pseudo dynamic testing, Earthquake Engng Struct. "
        "Dyn. 21 (1992) 79–92, doi:10.1002/eqe.4290210106."
    ),
    "newmark1959": (
        "N. M. Newmark, A method of computation for structural dynamics, J. Eng. Mech. Div. ASCE 85 (1959) 67–94, "
        "doi:10.1061/JMCEA3.0000098."
    ),
    "nordtorp": (
        "F. Nordtorp, G. Abbiati, A DAE solver for coordination of force-controlled hybrid testing, engrXiv preprint."
    ),
    "peceli1986": (
        "G. Peceli, A common structure for recursive discrete transforms, IEEE Trans. Circuits Syst. 33 (1986) "
        "1035–1036."
    ),
    "phillips2013": (
        "B. M. Phillips, B. F. Spencer, Model-based multiactuator control for real-time hybrid simulation, J. Eng. "
        "Mech. 139 (2013) 219–228."
    ),
    "quiroz2024": (
        "M. Quiroz, C. Gálmez, G. Fermandois, Robust decentralized adaptive compensation for the multi-axial real-time "
        "hybrid simulation benchmark, Front. Built Environ. (2024), doi 10.3389/fbuil.2024.1394952."
    ),
    "ruffini2020": (
        "V. Ruffini, C. P. Szczyglowski, D. A. W. Barton, M. H. Lowenberg, S. A. Neild, Real-time hybrid testing of "
        "strut-braced wing under aerodynamic loading using an electrodynamical actuator, Exp. Tech. (2020), "
        "doi:10.1007/s40799-020-00394-5."
    ),
    "schellenberg2009": (
        "A. H. Schellenberg, S. A. Mahin, G. L. Fenves, Advanced implementation of hybrid simulation, PEER Report "
        "2009/104, University of California, Berkeley (2009)."
    ),
    "schroeder1970": (
        "M. R. Schroeder, Synthesis of low-peak-factor signals and binary sequences with low autocorrelation, IEEE "
        "Trans. Inform. Theory 16 (1970) 85–89."
    ),
    "scott1982": (
        "B. D. Scott, R. Park, M. J. N. Priestley, Stress–strain behavior of concrete confined by overlapping hoops at "
        "low and high strain rates, ACI J. 79 (1982) 13–27."
    ),
    "silva2020": (
        "C. E. Silva, D. Gomez, A. Maghareh, S. J. Dyke, B. F. Spencer, Benchmark control problem for real-time hybrid "
        "simulation, Mech. Syst. Signal Process. 135 (2020) 106381."
    ),
    "simo1998": ("J. C. Simo, T. J. R. Hughes, Computational Inelasticity, Springer (1998)."),
    "spacone1996": (
        "E. Spacone, F. C. Filippou, F. F. Taucer, Fibre beam-column model for non-linear analysis of R/C frames: Part "
        "I. Formulation, Earthquake Engng Struct. Dyn. 25 (1996) 711–725."
    ),
    "spencer1997": (
        "B. F. Spencer, S. J. Dyke, M. K. Sain, J. D. Carlson, Phenomenological model for magnetorheological dampers, "
        "J. Eng. Mech. 123 (1997) 230–238."
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
    "wilson2002": (
        "E. L. Wilson, Three-Dimensional Static and Dynamic Analysis of Structures, 3rd ed., Computers and Structures, "
        "Berkeley (2002)."
    ),
    "yassin1994": (
        "M. H. M. Yassin, Nonlinear analysis of prestressed concrete structures under monotonic and cyclic loads, "
        "dissertation, University of California, Berkeley (1994)."
    ),
    "zayas1990": (
        "V. A. Zayas, S. S. Low, S. A. Mahin, A simple pendulum technique for achieving seismic isolation, Earthquake "
        "Spectra 6 (1990) 317–333."
    ),
}


def paper(reference: str) -> str:
    """The paper under a key; a reference that is no key is the text itself, as kinds of installed packages bring it."""
    return PAPERS.get(reference, reference)
