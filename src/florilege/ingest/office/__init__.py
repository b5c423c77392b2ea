"""Reading office formats: walkers over the XML of OOXML, ODF and EPUB packages, and workbooks."""
