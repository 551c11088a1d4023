"""What pages show: values that use cases make, as one visitor may know them."""
