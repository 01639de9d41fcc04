"""What agents do with decisions, through the API: they draw one, check it, see a source at a version, read what is current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.service.api import Answer, Api, Body


@dataclass
class Agents:
    """Of one service. Times count from its `now`; a later call's default is never before an earlier one's."""

    service: Api
    borrower: str = "B-1"
    source: str = "offers"

    def decision(self, decision_id: str, version: str = "v12", minutes: float = 60, **own: Any) -> Body:
        return {
            "decision_id": decision_id,
            "borrower_id": self.borrower,
            "kind": "waiver",
            "conclusion": "10 % waiver, eligible",
            "source": self.source,
            "source_version": version,
            "decided_at": self.service.ago(minutes=minutes),
        } | own

    async def decide(self, decision_id: str, version: str = "v12", minutes: float = 60, **own: Any) -> Answer:
        return await self.service.post("/v1/decisions", self.decision(decision_id, version, minutes, **own))

    async def see(self, version: str, minutes: float = 10, **own: Any) -> Answer:
        told = {"source": self.source, "version": version, "observed_at": self.service.ago(minutes=minutes)}
        return await self.service.post("/v1/sources", told | own)

    async def check(self, decision_id: str, version: str | None = None, **own: Any) -> Answer:
        named = {} if version is None else {"source_version": version}
        return await self.service.post(f"/v1/decisions/{decision_id}/check", named | own)

    async def listed(self, purpose: str | None = None, borrower: str | None = None) -> list[Body]:
        asked = "" if purpose is None else f"?purpose={purpose}"
        answer = await self.service.get(f"/v1/borrowers/{borrower or self.borrower}/decisions{asked}")
        assert answer.status == 200, answer
        return list(answer["items"])

    async def current(self, borrower: str | None = None) -> set[str]:
        return {item["decision_id"] for item in await self.listed(borrower=borrower)}

    async def past(self, decision_id: str) -> Body:
        (found,) = [item for item in await self.listed("history") if item["decision_id"] == decision_id]
        return found

    async def version(self) -> int:
        return int((await self.service.get(f"/v1/borrowers/{self.borrower}"))["record_version"])
