"""The calls of the API, one module for each noun. They are imported by the application alone (`service.web.app`)."""
