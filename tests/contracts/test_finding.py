from halfreal.contracts.finding import Finding, binding, note, reasons, remedies, told, verdict, warning

UNSTABLE = Finding("no-go", "unstable", 1.1, 1.0, remedies=("a shorter delay",), name="stability", room=0.0)
CLOSE = Finding("note", "close", 0.9, 1.0, name="limit of gap", room=0.1)


def test_it_is_a_go_unless_one_finding_is_a_no_go():
    assert verdict([]) == verdict([note("fine"), warning("look at it"), CLOSE]) == "GO"
    assert verdict([note("fine"), UNSTABLE]) == "NO-GO"


def test_warnings_say_that_they_are_and_remedies_are_told_once():
    assert reasons([UNSTABLE, warning("look at it"), CLOSE]) == ("unstable", "warning: look at it", "close")
    assert remedies([UNSTABLE, CLOSE, UNSTABLE]) == ("a shorter delay",)
    assert told(["warning: look at it", "fine"]) == [warning("look at it"), note("fine")]


def test_what_leaves_least_room_binds_and_of_equals_the_first():
    assert binding([note("fine")]) == "none"
    assert binding([note("fine"), CLOSE]) == "limit of gap, 10 % of margin left"
    other = Finding("no-go", "beyond", name="reach of the rig", room=0.0)
    assert binding([CLOSE, UNSTABLE, other]) == "stability, 0 % of margin left"
