"""What answers a command with a measurement: simulated actuators, specimens and sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .actuator import Delay as Delay
    from .actuator import FirstOrder as FirstOrder
    from .actuator import SecondOrder as SecondOrder
    from .assembled import AssembledRig as AssembledRig
    from .camera import Camera as Camera
    from .coupled_actuators import CoupledActuators as CoupledActuators
    from .coupled_actuators import StrokeSensors as StrokeSensors
    from .electrodynamic import Electrodynamic as Electrodynamic
    from .flexible_specimen import FlexibleSpecimen as FlexibleSpecimen
    from .force_actuated import ForceActuated as ForceActuated
    from .force_actuated import Moving as Moving
    from .force_controlled import ForceControlled as ForceControlled
    from .held_structure import HeldStructure as HeldStructure
    from .interface_geometry import AXES as AXES
    from .interface_geometry import GeometryError as GeometryError
    from .interface_geometry import InterfaceGeometry as InterfaceGeometry
    from .interface_geometry import Placed as Placed
    from .interface_geometry import motion_from_sensors as motion_from_sensors
    from .kinematics import Coupler as Coupler
    from .kinematics import Kinematics as Kinematics
    from .peak_filter import PeakFilter as PeakFilter
    from .programmed import FmuRig as FmuRig
    from .programmed import FmuSpecimen as FmuSpecimen
    from .programmed import LibraryRig as LibraryRig
    from .programmed import LibrarySpecimen as LibrarySpecimen
    from .programmed import UserRig as UserRig
    from .programmed import UserSpecimen as UserSpecimen
    from .programmed_actuator import FmuActuator as FmuActuator
    from .programmed_actuator import LibraryActuator as LibraryActuator
    from .programmed_actuator import UserActuator as UserActuator
    from .sensors import DisplacementSensor as DisplacementSensor
    from .sensors import ForceSensor as ForceSensor
    from .sensors import MomentSensor as MomentSensor
    from .sensors import RotationSensor as RotationSensor
    from .sensors import Sensors as Sensors
    from .servo_hydraulic import Converter as Converter
    from .servo_hydraulic import HydraulicActuator as HydraulicActuator
    from .servo_hydraulic import ServoHydraulic as ServoHydraulic
    from .shaking_table import ShakingTable as ShakingTable
    from .simulated import SimulatedRig as SimulatedRig
    from .specimen import Specimen as Specimen
    from .stroke_estimator import StrokeEstimator as StrokeEstimator
    from .table_kinematics import TableKinematics as TableKinematics
    from .table_parts import MAVIS as MAVIS
    from .table_parts import ForcePlate as ForcePlate
    from .table_parts import Pid as Pid
    from .table_parts import Platform as Platform
    from .table_parts import TableActuator as TableActuator
    from .table_parts import Valves as Valves
    from .table_tuning import axis_response as axis_response
    from .table_tuning import tune_controller as tune_controller
    from .transfer_system import TransferSystem as TransferSystem
    from .transfer_system import rigid_body_mass as rigid_body_mass
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "programmed_actuator": "FmuActuator LibraryActuator UserActuator",
            "actuator": "Delay FirstOrder SecondOrder",
            "assembled": "AssembledRig",
            "camera": "Camera",
            "coupled_actuators": "CoupledActuators StrokeSensors",
            "electrodynamic": "Electrodynamic",
            "flexible_specimen": "FlexibleSpecimen",
            "force_actuated": "ForceActuated Moving",
            "force_controlled": "ForceControlled",
            "held_structure": "HeldStructure",
            "interface_geometry": "AXES GeometryError InterfaceGeometry Placed motion_from_sensors",
            "kinematics": "Coupler Kinematics",
            "peak_filter": "PeakFilter",
            "sensors": "DisplacementSensor ForceSensor MomentSensor RotationSensor Sensors",
            "servo_hydraulic": "Converter HydraulicActuator ServoHydraulic",
            "shaking_table": "ShakingTable",
            "simulated": "SimulatedRig",
            "specimen": "Specimen",
            "table_kinematics": "TableKinematics",
            "stroke_estimator": "StrokeEstimator",
            "table_parts": "MAVIS ForcePlate Pid Platform TableActuator Valves",
            "table_tuning": "axis_response tune_controller",
            "transfer_system": "TransferSystem rigid_body_mass",
            "programmed": "FmuRig FmuSpecimen LibraryRig LibrarySpecimen UserRig UserSpecimen",
        },
    )
