"""May we remind, may we send the link?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="take_permit",
    title="Permit for a reminder or a payment link",
    description=(
        "Ask before each reminder and each payment link; send only with the permit, and only once. `permit_refused` says why "
        "not (`reason`) and when to ask again (`retry_at`). The same `holder` gets the same permit again after a lost answer. "
        "After sending post the event `reminder.sent` or `payment_link.shared`."
    ),
    reads=False,
)
