"""Virtual substructures, integration schemes, excitations and the emulated reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .excitations import Chirp as Chirp
    from .excitations import FromChannel as FromChannel
    from .excitations import Gust as Gust
    from .excitations import MultiSine as MultiSine
    from .excitations import Pulse as Pulse
    from .excitations import Random as Random
    from .excitations import Record as Record
    from .excitations import Sine as Sine
    from .excitations import Square as Square
    from .excitations import Step as Step
    from .excitations import SteppedSine as SteppedSine
    from .excitations.silent import silence as silence
    from .force_control.baumgarte import Baumgarte as Baumgarte
    from .force_control.constrained import Constrained as Constrained
    from .force_control.constrained import ForceMethod as ForceMethod
    from .force_control.index_one import IndexOne as IndexOne
    from .force_control.index_one_generalized_alpha import IndexOneGeneralizedAlpha as IndexOneGeneralizedAlpha
    from .force_control.stiffness_estimate import Estimate as Estimate
    from .frame.builder import FrameBuilder as FrameBuilder
    from .frame.builder import regular_frame as regular_frame
    from .frame.builder import regular_space_frame as regular_space_frame
    from .frame.builder import shear_building as shear_building
    from .frame.frame import Frame as Frame
    from .materials.bilinear import BilinearHinge as BilinearHinge
    from .materials.bilinear import BilinearLaw as BilinearLaw
    from .materials.bouc_wen import BoucWenHinge as BoucWenHinge
    from .materials.bouc_wen import BoucWenLaw as BoucWenLaw
    from .materials.concrete_with_tension import ConcreteWithTension as ConcreteWithTension
    from .materials.cubic import CubicHinge as CubicHinge
    from .materials.cubic import CubicLaw as CubicLaw
    from .materials.elastic import ElasticFibre as ElasticFibre
    from .materials.elastic import LinearHinge as LinearHinge
    from .materials.elastic import LinearLaw as LinearLaw
    from .materials.elastoplastic import ElastoplasticFibre as ElastoplasticFibre
    from .materials.elastoplastic import ElastoplasticHinge as ElastoplasticHinge
    from .materials.elastoplastic import ElastoplasticLaw as ElastoplasticLaw
    from .materials.friction import Friction as Friction
    from .materials.friction_pendulum import FrictionPendulum as FrictionPendulum
    from .materials.gap import Gap as Gap
    from .materials.gap import Hook as Hook
    from .materials.ibarra_medina_krawinkler import IMKHinge as IMKHinge
    from .materials.ibarra_medina_krawinkler import IMKLaw as IMKLaw
    from .materials.kent_park import KentPark as KentPark
    from .materials.law import rows as rows
    from .materials.maxwell_damper import MaxwellDamper as MaxwellDamper
    from .materials.menegotto_pinto import MenegottoPintoFibre as MenegottoPintoFibre
    from .materials.menegotto_pinto import MenegottoPintoHinge as MenegottoPintoHinge
    from .materials.menegotto_pinto import MenegottoPintoLaw as MenegottoPintoLaw
    from .materials.mr_damper import MRDamper as MRDamper
    from .materials.power_damper import PowerDamper as PowerDamper
    from .materials.uniaxial import uniaxial as uniaxial
    from .opensees.model import OpenSeesModel as OpenSeesModel
    from .sampled_drive import SampledFollower as SampledFollower
    from .schemes.central_difference import CentralDifference as CentralDifference
    from .schemes.exact import Exact as Exact
    from .schemes.exact import discretise as discretise
    from .schemes.exact import exact_method as exact_method
    from .schemes.exact import exact_step as exact_step
    from .schemes.explicit_newmark import ExplicitNewmark as ExplicitNewmark
    from .schemes.generalized_alpha import GeneralizedAlpha as GeneralizedAlpha
    from .schemes.hht import HHT as HHT
    from .schemes.kr_alpha import KRAlpha as KRAlpha
    from .schemes.mkr_alpha import MKRAlpha as MKRAlpha
    from .schemes.newmark import Newmark as Newmark
    from .schemes.operator_splitting import OperatorSplitting as OperatorSplitting
    from .schemes.runge_kutta import Heun as Heun
    from .schemes.runge_kutta import RungeKutta4 as RungeKutta4
    from .schemes.tableaus import NamedTableau as NamedTableau
    from .schemes.tableaus import UserTableau as UserTableau
    from .shaker import Drive as Drive
    from .shaker import Shaker as Shaker
    from .shaker import polynomials as polynomials
    from .shaker import responses as responses
    from .structures.base_excited import BaseExcited as BaseExcited
    from .structures.base_excited import InterfaceError as InterfaceError
    from .structures.beam import Beam as Beam
    from .structures.beam import BeamResponse as BeamResponse
    from .structures.beam import BeamSupport as BeamSupport
    from .structures.beam import Place as Place
    from .structures.beam import Segment as Segment
    from .structures.beam_elements import node_dofs as node_dofs
    from .structures.beam_elements import rectangle as rectangle
    from .structures.beam_elements import uniform_beam as uniform_beam
    from .structures.craig_bampton import Reduction as Reduction
    from .structures.craig_bampton import ReductionError as ReductionError
    from .structures.craig_bampton import boundary_modes as boundary_modes
    from .structures.craig_bampton import craig_bampton as craig_bampton
    from .structures.craig_bampton import reduced as reduced
    from .structures.damping import Rayleigh as Rayleigh
    from .structures.damping import modal_damping as modal_damping
    from .structures.elements import Element as Element
    from .structures.elements import Term as Term
    from .structures.frame_elements import DIRECTIONS as DIRECTIONS
    from .structures.frame_elements import Section as Section
    from .structures.frame_elements import frame_beam as frame_beam
    from .structures.frame_elements import frame_dofs as frame_dofs
    from .structures.frame_elements import rigid_mass as rigid_mass
    from .structures.joints import Joint as Joint
    from .structures.joints import point_mass as point_mass
    from .structures.joints import spring as spring
    from .structures.modal import ModalResponse as ModalResponse
    from .structures.modal import Modes as Modes
    from .structures.partition import Partition as Partition
    from .structures.partition import Removed as Removed
    from .structures.programmed import FmuModel as FmuModel
    from .structures.programmed import LibraryModel as LibraryModel
    from .structures.programmed import UserModel as UserModel
    from .structures.spring_damper import SpringDamper as SpringDamper
    from .structures.state_space import StateSpaceModel as StateSpaceModel
    from .structures.structure import Response as Response
    from .structures.structure import Structure as Structure
    from .structures.structure import Support as Support
    from .structures.substructure import Substructure as Substructure
    from .structures.substructure import SubstructureError as SubstructureError
    from .structures.substructure import couple as couple
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "excitations": "Chirp FromChannel Gust MultiSine Pulse Random Record Sine Square Step SteppedSine",
            "excitations.silent": "silence",
            "force_control.baumgarte": "Baumgarte",
            "force_control.constrained": "Constrained ForceMethod",
            "force_control.index_one": "IndexOne",
            "force_control.index_one_generalized_alpha": "IndexOneGeneralizedAlpha",
            "force_control.stiffness_estimate": "Estimate",
            "sampled_drive": "SampledFollower",
            "frame.builder": "FrameBuilder regular_frame regular_space_frame shear_building",
            "frame.frame": "Frame",
            "materials.bilinear": "BilinearHinge BilinearLaw",
            "materials.bouc_wen": "BoucWenHinge BoucWenLaw",
            "materials.concrete_with_tension": "ConcreteWithTension",
            "materials.cubic": "CubicHinge CubicLaw",
            "materials.elastic": "ElasticFibre LinearHinge LinearLaw",
            "materials.elastoplastic": "ElastoplasticFibre ElastoplasticHinge ElastoplasticLaw",
            "materials.friction": "Friction",
            "materials.friction_pendulum": "FrictionPendulum",
            "materials.gap": "Gap Hook",
            "materials.ibarra_medina_krawinkler": "IMKHinge IMKLaw",
            "materials.kent_park": "KentPark",
            "materials.law": "rows",
            "materials.maxwell_damper": "MaxwellDamper",
            "materials.menegotto_pinto": "MenegottoPintoFibre MenegottoPintoHinge MenegottoPintoLaw",
            "materials.mr_damper": "MRDamper",
            "materials.power_damper": "PowerDamper",
            "materials.uniaxial": "uniaxial",
            "schemes.central_difference": "CentralDifference",
            "schemes.exact": "Exact discretise exact_method exact_step",
            "schemes.explicit_newmark": "ExplicitNewmark",
            "schemes.generalized_alpha": "GeneralizedAlpha",
            "schemes.hht": "HHT",
            "schemes.kr_alpha": "KRAlpha",
            "schemes.mkr_alpha": "MKRAlpha",
            "schemes.newmark": "Newmark",
            "schemes.operator_splitting": "OperatorSplitting",
            "schemes.runge_kutta": "Heun RungeKutta4",
            "schemes.tableaus": "NamedTableau UserTableau",
            "shaker": "Drive Shaker polynomials responses",
            "structures.base_excited": "BaseExcited InterfaceError",
            "structures.beam": "Beam BeamResponse BeamSupport Place Segment",
            "structures.beam_elements": "node_dofs rectangle uniform_beam",
            "structures.craig_bampton": "Reduction ReductionError boundary_modes craig_bampton reduced",
            "structures.damping": "Rayleigh modal_damping",
            "structures.elements": "Element Term",
            "structures.frame_elements": "DIRECTIONS Section frame_beam frame_dofs rigid_mass",
            "structures.joints": "Joint point_mass spring",
            "structures.modal": "ModalResponse Modes",
            "structures.partition": "Partition Removed",
            "structures.spring_damper": "SpringDamper",
            "structures.state_space": "StateSpaceModel",
            "structures.structure": "Response Structure Support",
            "structures.substructure": "Substructure SubstructureError couple",
            "opensees.model": "OpenSeesModel",
            "structures.programmed": "FmuModel LibraryModel UserModel",
        },
    )
