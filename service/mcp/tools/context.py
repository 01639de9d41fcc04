"""What may stand in this turn's prompt?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="context",
    title="Put a turn's prompt together",
    description=(
        "Call it in each turn with what your tools just read, the conversation and the question: it answers the blocks of the "
        "prompt in their order, with what the memory holds between them, each with its source and age, and the whole as `text`. "
        "Readings of earlier turns and decisions that do not hold any more are left out, and `dropped` says why."
    ),
    reads=True,
)
