"""From the parts of a frame to its model under loads; what does not fit together is reported with node and element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from pydantic_core import PydanticCustomError

from ... import units
from ...contracts.quantities import ActsAs
from ...errors import HalfrealError
from ...values import found_in
from ..materials.law import Law
from .damping import Damping, DampingError, damping_of
from .elements.element import Site
from .loaded import Loaded
from .model import Model, at_rest, model_of
from .names import unknown
from .numbering import DIRECTIONS, Numbering, NumberingError, numbering
from .parts import Motion
from .piece import Piece
from .reduction import ReductionError, kept_of, reduced_numbering
from .statics import StaticsError, check_connected, check_stands, settle

UNITS = {"rotation": ("rad", "N m"), "displacement": ("m", "N"), "strain": ("1", "Pa")}
"""Of what a law takes and gives."""
YIELDED = 0.02
"""Part of the elastic force that a law may lack before it counts as yielded."""

YIELDS_AT = ("yield_moment", "yield_force", "yield_stress")
"""Settings from which on a law yields."""


class FrameError(HalfrealError):
    """Parts of a frame that do not fit together; ``at`` is the setting at fault."""

    def __init__(self, text: str, *at: str | int) -> None:
        super().__init__(text)
        self.at = at


@dataclass(frozen=True)
class Assembled:
    """A frame at rest under its loads, before anything excites it."""

    model: Model
    damping: Damping
    ground: np.ndarray
    """−M ι of a ground acceleration, (n,)."""
    interface: np.ndarray
    """B, (axes, n)."""
    force: np.ndarray
    """Where an excitation force acts, (n,)."""
    outputs: dict[str, np.ndarray]
    """Of the responses that are linear in the motion, by quantity, (rows, n)."""
    probes: np.ndarray
    responses: tuple[tuple[str, str], ...]
    """Names and units of all responses, as the block gives them."""
    whole: Model | None = None
    """The model before a reduction, not loaded."""


def assemble(given: Mapping[str, Any]) -> Assembled:
    """The frame by the fields of a ``Frame``, each good on its own."""
    dimensions = given["dimensions"]
    nodes = _nodes(given["nodes"], dimensions)
    site = Site(_numbering(given, nodes, dimensions), given["sections"], given["materials"])
    _check_sections(given["sections"], given["materials"])
    pieces, masses = [], _nodal_masses(given["nodes"], site.numbering)
    for name, element in given["elements"].items():
        for node in element.nodes:
            if node not in nodes:
                raise FrameError(f"element '{name}': {unknown('node', node, nodes)}", "elements", name, "nodes")
        try:
            pieces += element.pieces(name, site)
            found = element.mass(site, given["element_mass"] == "consistent")
        except PydanticCustomError as error:
            found_at, _ = found_in(error)[0]
            told = "; ".join(f"element '{name}': {text}" for _, text in found_in(error))
            raise FrameError(told, "elements", name, *found_at) from error
        if found is not None:
            masses.append(found)
    check_connected(given)
    if not len(site.numbering.free):
        raise FrameError("every node is held in every direction; leave some free to move", "nodes")
    model = model_of(site.numbering, pieces, masses)
    if not model.mass.nnz or not np.any(model.mass.diagonal() > 0.0):
        raise FrameError("no node that can move has mass; give nodes mass, or sections mass_per_length", "nodes")
    whole = None
    if given["reduction"] is not None:
        whole, model = model, _reduced(given, model, pieces, masses)
    interface = interface_rows(given, model)
    for i, (place, row) in enumerate(zip(given["interface"], interface, strict=True)):
        if not np.any(row):
            raise FrameError(
                f"{place.direction} of node '{place.node}' is held by a support; attach the specimen where the frame "
                "can move",
                "interface",
                i,
            )
    if np.linalg.matrix_rank(interface) < len(interface):
        raise FrameError("its axes are not independent; name different nodes or directions", "interface")
    # what the specimen holds up counts as held here
    springs = _specimen(given, model)
    check_stands(model, model.initial + springs, given["elements"])
    model = _under_gravity(given, model, springs)
    try:
        damping = damping_of(model, given["rayleigh"], given["modal_damping"])
    except DampingError as error:
        raise FrameError(str(error), "rayleigh" if given["modal_damping"] is None else "modal_damping") from error
    outputs, probes, responses = _responses(given["responses"], model, given["elements"], site)
    force = given["force"]
    return Assembled(
        model=model,
        damping=damping,
        ground=shaken(model, given["ground"], masses),
        interface=interface,
        force=np.zeros(model.dofs)
        if force is None
        else _row(force.node, force.direction, model.numbering, "force", "force"),
        outputs=outputs,
        probes=probes,
        responses=responses,
        whole=whole,
    )


def _reduced(
    given: Mapping[str, Any], model: Model, pieces: list[Piece], masses: list[tuple[Any, np.ndarray]]
) -> Model:
    """With fewer degrees of freedom in its linear parts."""
    check_stands(model, model.initial + _specimen(given, model), given["elements"])
    read = list(interface_rows(given, model))
    if given["force"] is not None:
        read.append(_row(given["force"].node, given["force"].direction, model.numbering, "force", "force"))
    read += [row for rows in _motions(given["responses"], model)[0].values() for row in rows]
    settings = given["reduction"]
    try:
        kept = kept_of(model, settings, read)
        return model_of(reduced_numbering(model, settings, kept), pieces, masses)
    except ReductionError as error:
        raise FrameError(str(error), "reduction") from error


def interface_rows(given: Mapping[str, Any], model: Model) -> np.ndarray:
    """B of a model, (axes, n)."""
    return np.array(
        [
            _row(place.node, place.direction, model.numbering, "interface", "interface", i)
            for i, place in enumerate(given["interface"])
        ]
    )


def load(assembled: Assembled, excitation: ActsAs) -> Loaded:
    """With the inputs that an excitation requires."""
    model, axes = assembled.model, len(assembled.interface)
    on_inputs = np.zeros((2 + axes, model.dofs))
    if excitation == "force":
        on_inputs[0] = assembled.force
    elif excitation == "ground":
        on_inputs[0] = assembled.ground
    on_inputs[2:] = -assembled.interface
    nothing = np.zeros_like(assembled.interface)
    return Loaded(
        model=model,
        damping=assembled.damping,
        on_inputs=on_inputs,
        displacement_outputs=np.vstack([assembled.interface, assembled.outputs["displacement"]]),
        velocity_outputs=np.vstack([nothing, assembled.outputs["velocity"]]),
        acceleration_outputs=np.vstack([nothing, assembled.outputs["acceleration"]]),
        probes=assembled.probes,
    )


def shaken(model: Model, direction: str, masses: list[tuple[Any, np.ndarray]]) -> np.ndarray:
    """−Tᵀ M ι of a ground acceleration; supports shake too, and pull through the elements' mass."""
    directions = model.numbering.directions
    if direction not in directions or direction.startswith("r"):
        raise FrameError(
            f"'{direction}' is not a displacement of this frame; use one of "
            f"{', '.join(one for one in directions if not one.startswith('r'))}",
            "ground",
        )
    influence = np.tile([float(one == direction) for one in directions], len(model.numbering.nodes))
    pulled = np.zeros(model.numbering.all)
    for dofs, matrix in masses:
        at = list(dofs)
        pulled[at] += matrix @ influence[at]
    return np.asarray(-(model.numbering.transformation.T @ pulled))


def _nodes(given: Mapping[str, Any], dimensions: int) -> dict[str, np.ndarray]:
    for name, node in given.items():
        if len(node.at) != dimensions:
            raise FrameError(
                f"node '{name}' has {len(node.at)} coordinates, but dimensions = {dimensions}; give {dimensions}",
                "nodes",
                name,
                "at",
            )
    return {name: np.asarray(node.at, dtype=float) for name, node in given.items()}


def _numbering(given: Mapping[str, Any], nodes: dict[str, np.ndarray], dimensions: int) -> Numbering:
    directions = DIRECTIONS[dimensions]
    slaves = []
    for i, constraint in enumerate(given["constraints"]):
        for name in (constraint.master, *constraint.slaves):
            if name not in nodes:
                raise FrameError(f"constraint '{constraint.kind}': {unknown('node', name, nodes)}", "constraints", i)
        slaves += [row for row in constraint.rows(nodes, dimensions) if row[1] in directions]
    fixed = {name: [one for one in node.fixed if one in directions] for name, node in given["nodes"].items()}
    try:
        return numbering(nodes, dimensions, fixed, slaves)
    except NumberingError as error:
        raise FrameError(str(error), "constraints") from error


def _nodal_masses(given: Mapping[str, Any], numbers: Numbering) -> list[tuple[Any, np.ndarray]]:
    turning = np.array([one.startswith("r") for one in numbers.directions])
    return [
        (numbers.indices(name), np.diag(np.where(turning, node.inertia, node.mass)))
        for name, node in given.items()
        if node.mass > 0.0 or node.inertia > 0.0
    ]


def _check_sections(sections: Mapping[str, Any], materials: Mapping[str, Any]) -> None:
    """Refuse sections of fibres whose materials are none, whether an element has them or not."""
    for name, section in sections.items():
        try:
            section.check(materials)
        except PydanticCustomError as error:
            texts = "; ".join(f"section '{name}': {text}" for _, text in found_in(error))
            raise FrameError(texts, "sections", name) from error


def _row(node: str, direction: str, numbers: Numbering, what: str, *at: str | int) -> np.ndarray:
    """The free degrees of freedom's share in a displacement of a node, (n,); faults name the setting ``at``."""
    if node not in numbers.nodes:
        raise FrameError(f"{what}: {unknown('node', node, numbers.nodes)}", *at)
    if direction not in numbers.directions:
        raise FrameError(
            f"{what}: '{direction}' is not a direction of this frame; use one of {', '.join(numbers.directions)}", *at
        )
    return np.asarray(numbers.transformation[numbers.index(node, direction)].toarray()[0])


def _specimen(given: Mapping[str, Any], model: Model) -> sparse.csr_matrix:
    """Springs at the interface in the place of a specimen."""
    interface = interface_rows(given, model)
    return sparse.csr_matrix(interface.T * _typical(model.initial) @ interface)


def _typical(stiffness: sparse.csr_matrix) -> float:
    diagonal = stiffness.diagonal()
    return float(np.median(diagonal[diagonal > 0.0])) if np.any(diagonal > 0.0) else 1.0


def _under_gravity(given: Mapping[str, Any], model: Model, springs: sparse.csr_matrix) -> Model:
    """The model at rest under the gravity loads."""
    total = np.zeros(model.dofs)
    for i, one in enumerate(given["loads"]):
        turning = one.direction.startswith("r")
        value, other = (one.moment, one.force) if turning else (one.force, one.moment)
        if value is None or other is not None:
            raise FrameError(
                f"the load at node '{one.node}' in {one.direction} needs {'a moment' if turning else 'a force'}, and "
                "nothing else",
                "loads",
                i,
            )
        total += value * _row(one.node, one.direction, model.numbering, "loads", "loads", i)
    try:
        model = at_rest(model, settle(model, total, springs) if np.any(total) else total)
    except StaticsError as error:
        if error.moved is not None:  # most often because a hinge has yielded, which is then named
            _check_elastic(at_rest(model, error.moved))
        raise
    if np.any(total):
        check_stands(model, model.stiffness + springs, given["elements"], loaded=True)
        _check_elastic(model)
    return model


def _check_elastic(model: Model) -> None:
    """Refuse a frame that yields before the test has started."""
    named = model.named()
    for key, at in model.instances.items():
        if model.laws[at].curved:
            continue
        law, strain, stress = model.laws[at], model.states["strain"][at], model.states["stress"][at]
        elastic = law.initial_stiffness * strain
        if abs(stress - elastic) > YIELDED * abs(elastic):
            unit, moved = UNITS[law.of][1], UNITS[law.of][0]
            raise FrameError(
                f"the {named[key]} yields under the gravity loads: it carries {units.text(float(stress), unit)} at "
                f"{units.text(float(strain), moved)}, where {units.text(float(stress / law.initial_stiffness), moved)} "
                f"would be elastic{_strength(law, unit)}; strengthen it, or lower the loads",
                "elements",
                key[0],
            )


def _strength(law: Law, unit: str) -> str:
    """The setting from which on a law yields, where it has one."""
    for key in YIELDS_AT:
        if (value := getattr(law, key, None)) is not None:
            return f" ({key} is {units.text(float(value), unit)})"
    return ""


def _responses(
    given: Mapping[str, Any], model: Model, parts: Mapping[str, Any], site: Site
) -> tuple[dict[str, np.ndarray], np.ndarray, tuple[tuple[str, str], ...]]:
    """Rows of outputs by quantity, probes of laws, and names with units in the order of the outputs."""
    rows, moving = _motions(given, model)
    probes, told = [], [(name, one.unit) for name, one in moving.items()]
    for name, one in given.items():
        if name in moving:
            continue
        elements = dict.fromkeys(element for element, _ in model.instances)
        if one.element not in elements:
            raise FrameError(
                f"response '{name}': {unknown('element with a nonlinear law', one.element, elements)}",
                "responses",
                name,
            )
        try:
            asked = parts[one.element].reading(one, site)
        except PydanticCustomError as error:
            texts = (text for _, text in found_in(error))
            raise FrameError(
                "; ".join(f"response '{name}' of element '{one.element}': {text}" for text in texts), "responses", name
            ) from error
        places = {"law": model.instances, "section": model.recorded}[asked.of]
        at = places.get((one.element, asked.number))
        if at is None:
            raise FrameError(
                f"response '{name}': element '{one.element}' has no law {one.law}; count from its first end",
                "responses",
                name,
            )
        probes.append([float(asked.force), float(at)])
        told.append((name, asked.unit or UNITS[model.laws[at].of][asked.force]))
    outputs = {key: np.array(found).reshape(len(found), model.dofs) for key, found in rows.items()}
    return outputs, np.array(probes).reshape(len(probes), 2), tuple(told)


def _motions(given: Mapping[str, Any], model: Model) -> tuple[dict[str, list[np.ndarray]], dict[str, Motion]]:
    """Rows of the responses that are linear in the motion, by quantity, and these responses."""
    moving = {name: one for name, one in given.items() if isinstance(one, Motion)}
    rows: dict[str, list[np.ndarray]] = {"displacement": [], "velocity": [], "acceleration": []}
    for name, one in moving.items():
        row = _row(one.node, one.direction, model.numbering, f"response '{name}'", "responses", name)
        if one.against is not None:
            row = row - _row(one.against, one.direction, model.numbering, f"response '{name}'", "responses", name)
        for quantity, found in rows.items():
            found.append(row if quantity == one.quantity else np.zeros(model.dofs))
    return rows, moving
