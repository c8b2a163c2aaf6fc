"""What the parts of a test promise each other: virtual substructures, excitations, couplings, rigs and links.

A kind of part is a class that keeps one of these contracts, in a file of its own.  Code above the kinds asks what a
part can do, never what it is.  ``halfreal.definition.kinds`` lists halfreal's own kinds; installed packages add theirs.
"""
