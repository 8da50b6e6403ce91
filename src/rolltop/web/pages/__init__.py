"""The pages by the names of their templates: each module lists its routes in `ROUTES`."""
