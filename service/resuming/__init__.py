"""The room of the answer to "where does the next conversation start?" (DESIGN 8 to 10; API 6).

    request     one request: who is calling, what stands, what may be handed out, what is kept of the answer
    start       where it starts, by whose proposal and why, and the words of the answer; pure
    gist        what resume tells of a record, concluded beforehand
    gists       gists as they are kept beside their records
    resumes     the answers that were given, kept for ops, and whether their starts were used
    crossed     which of them went on from another channel

Routes, hooks, MCP and pages come in here; it must not know by which of them it is asked.
"""
