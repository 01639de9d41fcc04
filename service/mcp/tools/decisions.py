"""What was decided about a borrower, and may it be used now?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="get_decisions",
    title="Decisions about a borrower",
    description=(
        "Conclusions that agents drew about this one borrower (waivers, plans, eligibility) and that are current: "
        "each with the version of its source. With `purpose` `history`, also those that went stale or were replaced, "
        "and why; none of those may be told as being so, nor its opposite. Before acting on one, check it "
        "(`check_decision`)."
    ),
    reads=True,
)
