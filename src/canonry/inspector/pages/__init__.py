"""Pages: what each address answers; one request, one look through the gateway, one template."""
