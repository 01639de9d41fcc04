"""The WhatsApp channel: its agent's flow, and one module for each vendor of chats."""
