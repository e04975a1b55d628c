def greet(name):
    """Say hello to somebody."""
    return f"Hello, {name.split()[0]}!"
