"""All pages of the room, for the application to include."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from service.pages import (
    actions,
    agents,
    arrivals,
    borrower,
    borrowers,
    cases,
    day,
    health,
    judging,
    lists,
    lost,
    overview,
    privacy,
    rollout,
    signing,
)

ROUTERS: Final[tuple[APIRouter, ...]] = tuple(
    noun.router
    for noun in (
        signing,
        overview,
        borrowers,
        borrower,
        actions,
        privacy,
        lists,
        arrivals,
        day,
        agents,
        cases,
        health,
        judging,
        rollout,
        lost,  # the last: it takes whatever is left
    )
)
