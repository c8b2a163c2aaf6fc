"""A mass on a spring, for the contract of the kind "opensees"; run by OpenSees' process only."""

import openseespy.opensees as ops

ops.model("basic", "-ndm", 1, "-ndf", 1)
ops.node(1, 0.0)
ops.node(2, 0.0)
ops.fix(1, 1)
ops.mass(2, 2.2)
ops.uniaxialMaterial("Elastic", 1, 2250.0)
ops.element("zeroLength", 1, 1, 2, "-mat", 1, "-dir", 1)
