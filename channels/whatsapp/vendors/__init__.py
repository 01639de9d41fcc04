"""One module for each provider of WhatsApp: raw bodies in, messages, statuses and hard events out."""
