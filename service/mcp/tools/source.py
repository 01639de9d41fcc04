"""A source was seen at a version."""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="report_source",
    title="Report the version of a source",
    description=(
        "Tell which version a source (offers, rates, policies) was at when you read it, for one entity or as a whole."
        " Decisions that rest on an older one go stale."
    ),
    reads=False,
)
