"""A frame for pictures and reports: where its parts are, and what the state of its block shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse

from ...contracts.inside import Inside, Member, Sketch, Spot
from .elements.element import Site
from .loaded import Loaded
from .model import Model, along


def sketch_of(given: Mapping[str, Any], model: Model) -> Sketch:
    """Of the fields of a ``Frame`` and its model."""
    nodes, elements = given["nodes"], given["elements"]
    places = model.numbering.nodes
    return Sketch(
        nodes=places,
        fixed={
            name: tuple(one for one in node.fixed if one in model.numbering.directions) for name, node in nodes.items()
        },
        mass=_masses(given, model),
        members=tuple(Member(name, tuple(one.nodes), one.look) for name, one in elements.items()),
        spots=tuple(spot for spot, _ in _spots(given, model)),
        interface=tuple((one.node, one.direction) for one in given["interface"]),
        pins=tuple(_at(one.nodes, places, place) for one in elements.values() for place in one.pinned),
        links=tuple((one.master, slave) for one in given["constraints"] for slave in one.slaves),
    )


def inside_of(given: Mapping[str, Any], loaded: Loaded) -> Inside:
    """Of the fields of a ``Frame``, and the frame with its inputs."""
    model = loaded.model
    at = np.array([instance for _, instance in _spots(given, model)], dtype=int)
    site = Site(model.numbering, given["sections"], given["materials"])
    pieces = [piece for name, one in given["elements"].items() for piece in one.pieces(name, site)]
    return Inside(
        sketch=sketch_of(given, model),
        directions=model.numbering.directions,
        to_nodes=model.numbering.transformation,
        mass=model.mass,
        damping=sparse.csr_matrix(loaded.damping.matrix()),
        stiffness=model.stiffness,
        on_inputs=loaded.on_inputs,
        spots=at,
        rest=(model.states["strain"][at].copy(), model.states["stress"][at].copy()),
        dashpots=tuple(
            (piece.element, along(piece, model.numbering).toarray()[0], float(piece.damping[0, 0]))
            for piece in pieces
            if piece.damping is not None
        ),
    )


def _masses(given: Mapping[str, Any], model: Model) -> dict[str, float]:
    """Of each node, with the elements' share [kg]."""
    found = {name: node.mass for name, node in given["nodes"].items()}
    site, per = Site(model.numbering, given["sections"], given["materials"]), len(model.numbering.directions)
    names = list(given["nodes"])
    for element in given["elements"].values():
        share = element.mass(site, False)
        for dof, value in zip(*share, strict=True) if share is not None else ():
            if dof % per == 0:
                found[names[dof // per]] += float(np.sum(value))
    return found


def _spots(given: Mapping[str, Any], model: Model) -> Iterator[tuple[Spot, int]]:
    """Laws that are not linear, with their instances."""
    for piece in model.pieces:
        nodes = given["elements"][piece.element].nodes
        for k, law in enumerate(piece.laws):
            if law.linear:
                continue
            place = piece.places[k] if piece.places else 0.5
            yield (
                Spot(
                    name=piece.ends[k],
                    member=piece.element,
                    at=_at(nodes, model.numbering.nodes, place),
                    of=law.of,
                    stiffness=law.initial_stiffness,
                    volume=piece.volumes[k] if piece.volumes else 1.0,
                ),
                model.instances[piece.element, k],
            )


def _at(nodes: tuple[str, ...], places: Mapping[str, np.ndarray], along_it: float) -> np.ndarray:
    first, last = places[nodes[0]], places[nodes[-1]]
    return np.asarray(first + along_it * (last - first))
