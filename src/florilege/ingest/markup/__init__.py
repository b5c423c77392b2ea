"""Reading marked-up text: HTML, XML, and books made of HTML."""
