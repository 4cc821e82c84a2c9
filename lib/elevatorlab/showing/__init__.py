"""What a person sees: the style of figures, captions, and the pages of the report."""
