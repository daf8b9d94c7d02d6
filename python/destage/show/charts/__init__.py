"""Numbers as pictures: what a chart shows and how it looks. Drawing needs the extra `report`."""
