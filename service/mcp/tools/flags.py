"""What has happened in the cycle?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="get_flags",
    title="What has happened in a cycle",
    description=(
        "Whether a reminder was sent, a payment link was shared and a payment arrived, each with the event behind it. Nothing "
        "that was said in a conversation sets them. Before sending anything take a permit: these are only read."
    ),
    reads=True,
)
