"""The public face: the methods of a robot check what is given and call the catalogue, compiled where it pays."""
