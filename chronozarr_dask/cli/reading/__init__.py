"""What ``read`` does: a request made of options, the part of a store that it names, the forms it is written in."""
