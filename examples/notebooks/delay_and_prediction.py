"""
Delay, and what prediction does about it
========================================

A spring in the laboratory on an actuator that is 9.4 ms late (M. I. Wallace et al., Earthquake Engng Struct. Dyn. 34
(2005) 1817-1832): unstable as it is, stable with forward prediction.
"""

# %%
# The test, as it stands in the gallery.
from pathlib import Path

import halfreal

gallery = Path(halfreal.__file__).parent / "examples"
test = halfreal.load(gallery / "spring_mass_damper" / "forward_prediction.toml")
test

# %%
# Without prediction the loop is unstable: the delay takes more damping away than there is.
bare = test.with_values({"coupling": {"kind": "none"}, "timing.duration": "2 s"})
halfreal.check(bare, remedies=False)

# %%
# Its poles over the delay. Where a line crosses zero damping, the loop loses stability.
poles = halfreal.poles(bare, over=("rig.actuator.delay", 1e-3, 15e-3))
print(poles.summary())
poles.plot()

# %%
# With prediction by the rig's delay the check says GO.
check = halfreal.check(test)
print(check.verdict)
check.plot()

# %%
# Target and measured displacement of the rehearsal, and the table behind them.
check.rehearsal.to_dataframe().describe()[["target", "gap"]]
