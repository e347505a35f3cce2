"""The families of criteria that can be proved, one file each; `proof.engine` lists them."""
