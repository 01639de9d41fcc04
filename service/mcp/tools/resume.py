"""Where does the conversation start?"""

from service.mcp.tool import Tool

TOOL = Tool(
    operation="resume",
    title="Where a conversation starts",
    description=(
        "Call this first, before any word to the borrower. Name the borrower by `identifier` (the number that calls), "
        "`borrower_id` or `loan_id`. Start in `state`; when it is null hand over to a person. While `identity.holds` is false "
        "verify identity first, then go to `after_identity`. Speak of `previous_step.text` only while it is `speakable`. "
        "Begin no contact unless `contact.allowed`. Take `resume_id` and the state you really start in along in the summary."
    ),
    reads=True,
)
