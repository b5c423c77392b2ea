"""Reading PDF: glyphs to lines, lines to reading order, ruled tables, outline and properties."""
