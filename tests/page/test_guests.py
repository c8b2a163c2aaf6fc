"""Who may look and who may operate: tokens that work once, one operator, and what is asked for twice."""

from __future__ import annotations

import os

from halfreal.page.guests import MOST_VIEWS, TICKET_LASTS, Guests, View, hashed, read_state, write_state


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def made(state: dict | None = None) -> tuple[Guests, Clock, list[dict]]:
    clock, kept = Clock(), []
    return Guests(state or {}, kept.append, clock), clock, kept


def entered(guests: Guests, role: str) -> View:
    view = guests.view(guests.enter(guests.invite(role)))
    assert view is not None
    return view


def test_a_token_opens_the_page_once() -> None:
    guests, _, _ = made()
    token = guests.invite("operate")
    cookie = guests.enter(token)
    assert cookie is not None and guests.view(cookie) is not None
    assert guests.enter(token) is None
    assert guests.enter("") is None and guests.view(None) is None and guests.view("") is None
    assert guests.view(hashed(cookie)) is None  # what is kept is of no use to whoever reads it


def test_one_operates_and_hands_over_only_to_who_asks() -> None:
    guests, _, _ = made()
    first, second, third = (entered(guests, role) for role in ("operate", "watch", "watch"))
    assert [guests.role(view) for view in (first, second, third)] == ["operate", "watch", "watch"]
    assert not guests.hand_over(first, second.name)  # nobody has asked
    guests.ask(second)
    assert guests.asking == second.name
    assert not guests.hand_over(second, second.name)  # nobody takes over
    assert not guests.hand_over(first, third.name)
    assert guests.hand_over(first, second.name)
    assert [guests.role(view) for view in (first, second, third)] == ["watch", "operate", "watch"]
    assert guests.asking == "" and not guests.hand_over(second, "")


def test_a_second_token_to_operate_does_not_take_over() -> None:
    guests, _, _ = made()
    first, second = entered(guests, "operate"), entered(guests, "operate")
    assert (guests.role(first), guests.role(second)) == ("operate", "watch")


def test_a_ticket_is_for_one_view_one_word_and_some_seconds() -> None:
    guests, clock, _ = made()
    first, second = entered(guests, "operate"), entered(guests, "watch")
    ticket = guests.ticket(first, "arm")
    assert not guests.redeem(second, "arm", ticket)
    ticket = guests.ticket(first, "arm")
    assert not guests.redeem(first, "start", ticket)
    assert not guests.redeem(first, "arm", ticket)  # void after the first try
    ticket = guests.ticket(first, "arm")
    clock.now += TICKET_LASTS
    assert not guests.redeem(first, "arm", ticket)
    ticket = guests.ticket(first, "arm")
    assert guests.redeem(first, "arm", ticket) and not guests.redeem(first, "arm", ticket)
    assert not guests.redeem(first, "arm", "")


def test_a_hand_over_voids_what_the_former_operator_has_begun() -> None:
    guests, _, _ = made()
    first, second = entered(guests, "operate"), entered(guests, "watch")
    ticket = guests.ticket(first, "arm")
    guests.ask(second)
    assert guests.hand_over(first, second.name)
    assert not guests.redeem(first, "arm", ticket)


def test_a_page_that_is_served_anew_knows_its_browsers_and_the_tokens_that_are_used() -> None:
    guests, _, kept = made()
    token = guests.invite("operate")
    cookie = guests.enter(token)
    unused = guests.invite("watch")
    memory = os.memfd_create("guests")
    try:
        for state in kept:  # of changing length
            write_state(memory, state)
        again, _, _ = made(read_state(memory))
    finally:
        os.close(memory)
    view = again.view(cookie)
    assert view is not None and again.role(view) == "operate"
    assert again.enter(token) is None and again.enter(unused) is not None


def test_invitations_and_views_are_bounded_and_the_operator_stays() -> None:
    guests, _, kept = made()
    operator = entered(guests, "operate")
    for _ in range(MOST_VIEWS + 5):
        entered(guests, "watch")
    for _ in range(MOST_VIEWS + 5):
        guests.invite()
    assert len(kept[-1]["views"]) == len(kept[-1]["tokens"]) == MOST_VIEWS
    assert guests.role(operator) == "operate" and operator.key in kept[-1]["views"]
